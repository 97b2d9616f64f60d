package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Duplicates;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.support.SoakReport;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Maintenance borrows the contexts of transactions. There are fewer contexts than threads, so each
 * passes directly to a waiting thread. If maintenance touches one after returning it, it interferes
 * with another transaction, which the sum of all accounts, a unique index or a long value reveals.
 *
 * <p>{@code -Dcontexts.seconds=N}: how long the writers run; {@code -Dcontexts.seed=N}: the first
 * seed.
 */
@Tag("slow")
@Timeout(600)
class BorrowedContextsTest {
  private static final long SECONDS = Long.getLong("contexts.seconds", 0);
  private static final long SEED = Long.getLong("contexts.seed", 1);
  private static final int WRITERS = 16;
  private static final int TRANSFERS = 300;
  private static final int ACCOUNTS = 50;
  private static final int CENTS = 1000;
  private static final int VALUES = 20;

  private static final Layout LAYOUT;
  private static final Field BALANCE;
  private static final Field TAG;

  static {
    Layout.Definition b = Layout.define();
    BALANCE = b.int64("balance");
    TAG = b.int64("tag");
    LAYOUT = b.build();
  }

  private static final TableSpec BANK =
      TableSpec.of("bank", KeySpec.of(FieldType.INT32), LAYOUT)
          .with(IndexSpec.unique("by_tag", TAG));

  private static final IndexSpec BY_BALANCE = IndexSpec.on("by_balance", BALANCE);

  @TempDir Path dir;

  private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
  private final AtomicInteger working = new AtomicInteger(WRITERS);
  private final AtomicInteger transfers = new AtomicInteger();

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void compactions(boolean inMemory) throws Exception {
    run("compactions", inMemory, db -> db.compact(CompactOptions.defaults()));
  }

  /** All maintenance that borrows contexts, slots, log sessions, run files and rings. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void everything(boolean inMemory) throws Exception {
    AtomicInteger loads = new AtomicInteger();
    run(
        "everything",
        inMemory,
        db -> db.compact(CompactOptions.defaults()),
        db -> load(db, "sorted", loads.incrementAndGet(), true),
        db -> load(db, "unsorted", loads.incrementAndGet(), false),
        db -> {
          db.table(BANK.with(BY_BALANCE));
          assertTrue(db.dropIndex("bank", "by_balance"));
        },
        db -> {
          try (Database then = db.snapshot()) {
            TableSpec found = Objects.requireNonNull(then.describe("bank"));
            RowTable bank = then.table(found.indexes().size() > 1 ? BANK.with(BY_BALANCE) : BANK);
            then.read(
                tx -> {
                  checkBank(tx, bank);
                  return null;
                });
          }
          db.checkpoint();
        });
  }

  private static void load(Database db, String name, int version, boolean ascending) {
    Table<byte[], byte[]> table = db.table(TableSpec.bytes(name, 8)).bytes();
    int records = 300;
    table.load(
        LoadOptions.defaults()
            .ascending(ascending)
            .memoryBytes(1 << 20)
            .duplicates(Duplicates.REPLACE),
        to -> {
          for (int i = 0; i < records; i++) {
            to.add(loadKey(ascending ? i : i * 7 % records), loadValue(i % 50 == 0, version));
          }
        });
    db.read(
        tx -> {
          for (int i = 0; i < records; i += 25) {
            byte[] found = table.get(tx, loadKey(i));
            assertEquals(version, found == null ? -1 : ByteBuffer.wrap(found).getInt());
          }
          return null;
        });
  }

  private static byte[] loadKey(int i) {
    return ByteBuffer.allocate(8).putLong(i).array();
  }

  private static byte[] loadValue(boolean isLong, int version) {
    return ByteBuffer.allocate(isLong ? 9000 : 20).putInt(version).array();
  }

  /** Repeats one kind of maintenance until the writers end. */
  private interface Maintenance {
    void once(Database db);
  }

  private void run(String name, boolean inMemory, Maintenance... kinds) throws Exception {
    Options options =
        Options.defaults().bufferBytes(16 << 20).transactions(t -> t.maxActive(WRITERS / 2));
    try (Database db =
        inMemory ? Database.inMemory(options) : Database.open(dir.resolve(name), options)) {
      RowTable bank = db.table(BANK);
      Table<byte[], byte[]> values = db.table(TableSpec.bytes("values", 20)).bytes();
      db.run(
          tx -> {
            for (int i = 0; i < ACCOUNTS; i++) {
              bank.put(tx, bank.key().set(i), bank.row().setLong(BALANCE, CENTS).setLong(TAG, i));
            }
          });
      List<Writer> writers = new ArrayList<>();
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < WRITERS; i++) {
        Writer w = new Writer(db, bank, values, i);
        writers.add(w);
        threads.add(Thread.ofPlatform().name("writer-" + i).start(() -> tried(w)));
      }
      List<AtomicInteger> done = new ArrayList<>();
      for (Maintenance kind : kinds) {
        AtomicInteger times = new AtomicInteger();
        done.add(times);
        threads.add(
            Thread.ofPlatform()
                .name("maintenance-" + done.size())
                .start(
                    () ->
                        tried(
                            () -> {
                              while (someWork()) {
                                kind.once(db);
                                times.incrementAndGet();
                              }
                            })));
      }
      for (Thread t : threads) {
        t.join();
      }
      Throwable f = failure.get();
      if (f != null) {
        throw new AssertionError("-Dcontexts.seed=" + SEED + ": " + f, f);
      }
      db.read(
          tx -> {
            checkBank(tx, bank);
            for (Writer w : writers) {
              w.check(tx);
            }
            return null;
          });
      VerifyReport report = db.verify();
      assertTrue(report.ok(), report::toString);
      SoakReport.line(
          "BorrowedContextsTest." + name + (inMemory ? " in memory" : ""),
          transfers + " transfers, maintenance " + done + ", no violation");
    }
  }

  /** Waits for some transfers, so that there is work; returns false at the end. */
  private boolean someWork() {
    int until = transfers.get() + 20;
    while (working.get() > 0 && failure.get() == null) {
      if (transfers.get() >= until) {
        return true;
      }
      Thread.yield();
    }
    return false;
  }

  private void tried(Runnable work) {
    try {
      work.run();
    } catch (Throwable t) {
      failure.compareAndSet(null, t);
    }
  }

  private static void checkBank(Transaction tx, RowTable bank) {
    long sum = 0;
    int rows = 0;
    Map<Long, Integer> owners = new HashMap<>();
    try (RowCursor c = bank.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
      for (; c.next(); rows++) {
        sum += c.row().getLong(BALANCE);
        owners.put(c.row().getLong(TAG), c.key().getInt(0));
      }
    }
    assertEquals(ACCOUNTS, rows);
    assertEquals(ACCOUNTS * (long) CENTS, sum);
    assertEquals(ACCOUNTS, owners.size());
    Map<Long, Integer> entries = new HashMap<>();
    try (RowCursor c = bank.index("by_tag").scan(tx, Range.all(), ScanOrder.ASCENDING)) {
      while (c.next()) {
        entries.put(c.row().getLong(TAG), c.key().getInt(0));
      }
    }
    assertEquals(owners, entries);
  }

  /** Transfers cents between accounts, swaps their tags, and writes long values. */
  private final class Writer implements Runnable {
    private final Database db;
    private final RowTable bank;
    private final Table<byte[], byte[]> values;
    private final int id;
    private final Random random;

    private final int[] lengths = new int[VALUES];

    Writer(Database db, RowTable bank, Table<byte[], byte[]> values, int id) {
      this.db = db;
      this.bank = bank;
      this.values = values;
      this.id = id;
      this.random = new Random(SEED * 1000 + id);
    }

    @Override
    public void run() {
      long end = System.nanoTime() + SECONDS * 1_000_000_000L;
      try {
        for (int i = 0; failure.get() == null; i++) {
          if (SECONDS > 0 ? System.nanoTime() > end : i == TRANSFERS) {
            return;
          }
          transfer();
          if (i % 128 == 127) {
            db.read(
                tx -> {
                  checkBank(tx, bank);
                  check(tx);
                  return null;
                });
          }
        }
      } finally {
        working.decrementAndGet();
      }
    }

    private void transfer() {
      int from = random.nextInt(ACCOUNTS);
      int to = (from + 1 + random.nextInt(ACCOUNTS - 1)) % ACCOUNTS;
      int n = random.nextInt(VALUES);
      int length = random.nextInt(3) == 0 ? 0 : 1 + random.nextInt(30_000);
      db.run(
          tx -> {
            Row a = bank.row();
            Row b = bank.row();
            assertTrue(bank.get(tx, bank.key().set(from), a));
            assertTrue(bank.get(tx, bank.key().set(to), b));
            long tag = a.getLong(TAG);
            long other = b.getLong(TAG);
            bank.update(tx, a.setLong(BALANCE, a.getLong(BALANCE) - 1).setLong(TAG, -1 - id));
            bank.update(tx, b.setLong(BALANCE, b.getLong(BALANCE) + 1).setLong(TAG, tag));
            bank.update(tx, a.setLong(TAG, other));
            if (length == 0) {
              assertEquals(lengths[n] != 0, values.delete(tx, key(n)));
            } else {
              values.put(tx, key(n), value(n, length));
            }
          });
      lengths[n] = length;
      transfers.incrementAndGet();
    }

    void check(Transaction tx) {
      for (int n = 0; n < VALUES; n++) {
        byte[] found = values.get(tx, key(n));
        if (lengths[n] == 0) {
          assertNull(found);
        } else {
          assertArrayEquals(value(n, lengths[n]), found, "value " + n + " of writer " + id);
        }
      }
    }

    private byte[] key(int n) {
      return ByteBuffer.allocate(8).putInt(id).putInt(n).array();
    }

    /** Every eighth byte identifies the value. */
    private byte[] value(int n, int length) {
      byte[] v = new byte[length];
      ByteBuffer b = ByteBuffer.wrap(v);
      for (int at = 0; at + 8 <= length; at += 8) {
        b.putInt(at, id * VALUES + n).putInt(at + 4, length + at);
      }
      return v;
    }
  }
}
