package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Writers that leave evidence of whether a copy is a consistent state of the database. Every
 * transaction takes the next global number, increments its writer's counter, moves money, and adds
 * a line to a journal under its number. Some delete many old lines or replace a long value.
 */
final class BackupLoad implements AutoCloseable {
  private static final int ACCOUNTS = 40;
  private static final long MONEY = 1000;
  private static final int KEEP = 400;
  private static final int LONG_EVERY = 10;
  private static final int NUMBER = 1000;
  private static final int FLOOR = 1001;

  private static final Field N;
  private static final Field BALANCE;
  private static final Field WRITER;
  private static final Field COUNT;
  private static final Field TEXT;
  private static final TableSpec COUNTERS;
  private static final TableSpec MONEYS;
  private static final TableSpec LINES;
  private static final TableSpec LONGS = TableSpec.bytes("longs", 20);

  static {
    Layout.Definition b = Layout.define();
    N = b.int64("n");
    COUNTERS = TableSpec.of("counters", KeySpec.of(FieldType.INT32), b.build());
    b = Layout.define();
    BALANCE = b.int64("balance");
    MONEYS = TableSpec.of("money", KeySpec.of(FieldType.INT32), b.build());
    b = Layout.define();
    WRITER = b.int32("writer");
    COUNT = b.int64("count");
    TEXT = b.text("text", 200);
    LINES =
        TableSpec.of("lines", KeySpec.of(FieldType.INT64), b.build())
            .with(IndexSpec.on("byWriter", WRITER));
  }

  private final Database db;
  private final int writers;
  private final long seed;
  private final AtomicLongArray acknowledged;
  private final List<Thread> threads = new ArrayList<>();
  private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
  private volatile boolean stop;

  BackupLoad(Database db, int writers, long seed) {
    this.db = db;
    this.writers = writers;
    this.seed = seed;
    this.acknowledged = new AtomicLongArray(writers);
    RowTable money = db.table(MONEYS);
    RowTable counters = db.table(COUNTERS);
    db.run(
        tx -> {
          for (int i = 0; i < ACCOUNTS; i++) {
            if (!money.exists(tx, money.key().set(i))) {
              money.insert(tx, money.key().set(i), money.row().setLong(BALANCE, MONEY));
            }
          }
        });
    for (int w = 0; w < writers; w++) {
      acknowledged.set(w, count(counters, w));
    }
  }

  private long count(RowTable counters, int key) {
    return db.read(
        tx -> {
          Row row = counters.row();
          return counters.get(tx, counters.key().set(key), row) ? row.getLong(N) : 0L;
        });
  }

  BackupLoad start() {
    for (int w = 0; w < writers; w++) {
      int me = w;
      Thread t = new Thread(() -> work(me), "writer-" + w);
      threads.add(t);
      t.start();
    }
    return this;
  }

  long[] acknowledged() {
    long[] all = new long[writers];
    for (int w = 0; w < writers; w++) {
      all[w] = acknowledged.get(w);
    }
    return all;
  }

  void awaitMore(long more) {
    long sum = sum();
    while (sum() < sum + more && failure.get() == null) {
      Thread.onSpinWait();
    }
    rethrow();
  }

  private long sum() {
    long sum = 0;
    for (long n : acknowledged()) {
      sum += n;
    }
    return sum;
  }

  private void rethrow() {
    Throwable f = failure.get();
    if (f != null) {
      throw new AssertionError("seed " + seed, f);
    }
  }

  @Override
  public void close() {
    stop = true;
    for (Thread t : threads) {
      boolean interrupted = false;
      while (t.isAlive()) {
        try {
          t.join();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
    rethrow();
  }

  private void work(int me) {
    try {
      Random r = new Random(seed + me);
      RowTable counters = db.table(COUNTERS);
      RowTable money = db.table(MONEYS);
      RowTable lines = db.table(LINES);
      Table<byte[], byte[]> longs = db.table(LONGS).bytes();
      while (!stop) {
        int from = r.nextInt(ACCOUNTS);
        int to = r.nextInt(ACCOUNTS);
        long amount = r.nextInt(100);
        long n =
            db.call(
                tx -> {
                  long number = add(tx, counters, NUMBER);
                  long mine = add(tx, counters, me);
                  move(tx, money, from, -amount);
                  move(tx, money, to, amount);
                  lines.insert(
                      tx,
                      lines.key().set(number),
                      lines
                          .row()
                          .setInt(WRITER, me)
                          .setLong(COUNT, mine)
                          .setText(TEXT, "line " + number));
                  if (number % KEEP == 0) {
                    deleteOld(tx, counters, lines, number - KEEP);
                  }
                  if (mine % LONG_EVERY == 0) {
                    longs.put(tx, name(me), value(me, mine));
                  }
                  return mine;
                });
        acknowledged.set(me, n);
      }
    } catch (Throwable t) {
      failure.compareAndSet(null, t);
    }
  }

  private static long add(Transaction tx, RowTable counters, int key) {
    Row row = counters.row();
    Key k = counters.key().set(key);
    long n = (counters.getForUpdate(tx, k, row) ? row.getLong(N) : 0) + 1;
    counters.put(tx, k, row.clear().setLong(N, n));
    return n;
  }

  private static void move(Transaction tx, RowTable money, int account, long amount) {
    Row row = money.row();
    assertTrue(money.getForUpdate(tx, money.key().set(account), row));
    money.update(tx, row.setLong(BALANCE, row.getLong(BALANCE) + amount));
  }

  private static void deleteOld(Transaction tx, RowTable counters, RowTable lines, long upTo) {
    Row row = counters.row();
    Key k = counters.key().set(FLOOR);
    long floor = counters.get(tx, k, row) ? row.getLong(N) : 0;
    for (long i = floor + 1; i <= upTo; i++) {
      assertTrue(lines.delete(tx, lines.key().set(i)));
    }
    counters.put(tx, k, row.clear().setLong(N, upTo));
  }

  private static byte[] name(int writer) {
    return ("writer " + writer).getBytes(StandardCharsets.UTF_8);
  }

  private static byte[] value(int writer, long n) {
    byte[] v = new byte[9000 + (int) (n % 3) * 4000];
    new Random(31L * writer + n).nextBytes(v);
    ByteBuffer.wrap(v).putLong(n);
    return v;
  }

  /**
   * Checks that a database is a state that these writers can produce.
   *
   * @param least the acknowledged transactions per writer when the copy began
   * @param most those acknowledged when it ended; one more per writer may have been in progress
   */
  static void check(Database copy, int writers, long[] least, long[] most) {
    assertEquals(List.of(), copy.verify().problems());
    RowTable counters = copy.table(COUNTERS);
    RowTable money = copy.table(MONEYS);
    RowTable lines = copy.table(LINES);
    Table<byte[], byte[]> longs = copy.table(LONGS).bytes();
    copy.read(
        tx -> {
          Row row = counters.row();
          long number = counters.get(tx, counters.key().set(NUMBER), row) ? row.getLong(N) : 0;
          long floor = counters.get(tx, counters.key().set(FLOOR), row) ? row.getLong(N) : 0;
          long[] counts = new long[writers];
          long sum = 0;
          for (int w = 0; w < writers; w++) {
            counts[w] = counters.get(tx, counters.key().set(w), row) ? row.getLong(N) : 0;
            sum += counts[w];
            assertTrue(least[w] <= counts[w], "lost: " + counts[w] + " of " + least[w]);
            assertTrue(counts[w] <= most[w] + 1, "from the future: " + counts[w]);
          }
          assertEquals(number, sum);
          long balance = 0;
          Row account = money.row();
          for (int i = 0; i < ACCOUNTS; i++) {
            assertTrue(money.get(tx, money.key().set(i), account));
            balance += account.getLong(BALANCE);
          }
          assertEquals(ACCOUNTS * MONEY, balance);
          long[] left = counts.clone();
          Row line = lines.row();
          for (long i = number; i > floor; i--) {
            assertTrue(lines.get(tx, lines.key().set(i), line), "line " + i + " of " + number);
            assertEquals("line " + i, line.getText(TEXT));
            int w = line.getInt(WRITER);
            assertEquals(left[w]--, line.getLong(COUNT));
          }
          long n = 0;
          try (RowCursor c = lines.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
            while (c.next()) {
              n++;
            }
          }
          assertEquals(number - floor, n);
          for (int w = 0; w < writers; w++) {
            long last = counts[w] / LONG_EVERY * LONG_EVERY;
            byte[] v = longs.get(tx, name(w));
            if (last > 0) {
              assertNotNull(v);
              assertArrayEquals(value(w, last), v);
            }
          }
          return null;
        });
  }
}
