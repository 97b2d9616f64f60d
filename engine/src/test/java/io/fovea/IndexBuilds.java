package io.fovea;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.buffer.AllocatorState;
import io.fovea.catalog.DeferredDrops;
import io.fovea.config.Durability;
import io.fovea.config.LeakDetection;
import io.fovea.error.DuplicateKeyException;
import io.fovea.index.TableCore;
import io.fovea.io.Storage;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

/** Base of tests that build indexes while other threads change the table. */
abstract class IndexBuilds {
  static final Layout LAYOUT;
  static final Field V;
  static final Field U;

  static {
    Layout.Definition b = Layout.define();
    V = b.int64("v");
    U = b.int64("u");
    LAYOUT = b.build();
  }

  static final TableSpec PLAIN = TableSpec.of("t", KeySpec.of(FieldType.INT64), LAYOUT);
  static final TableSpec OTHER = TableSpec.bytes("other", 20);
  static final IndexSpec BY_V = IndexSpec.on("by_v", V);
  static final IndexSpec BY_U = IndexSpec.unique("by_u", U);

  static final Options SMALL =
      Options.defaults()
          .bufferBytes(600_000)
          .device(dev -> dev.pageSize(4096))
          .memory(mem -> mem.timestampBytes(1 << 20))
          .transactions(txs -> txs.maxActive(8))
          .log(
              log ->
                  log.maxBytes(1 << 20)
                      .bufferBytes(64 << 10)
                      .segmentBytes(64 << 10)
                      .checkpointInterval(Duration.ZERO))
          .durability(Durability.SYNC)
          .transactions(txs -> txs.leakDetection(LeakDetection.OFF));

  static final Options MEMORY = Options.defaults().bufferBytes(16 << 20);

  static Database open(SimDisk disk, Options options) {
    return Database.open(new SimStorage(disk), options);
  }

  static void put(Database db, RowTable t, long from, long to) {
    for (long i = from; i < to; i += 50) {
      long first = i;
      db.run(
          tx -> {
            for (long k = first; k < Math.min(to, first + 50); k++) {
              t.put(tx, t.key().set(k), t.row().setLong(V, k % 17).setLong(U, k));
            }
          });
    }
  }

  static void verify(Database db) {
    VerifyReport report = db.verify();
    assertTrue(report.ok(), report::toString);
  }

  static long entries(Database db, RowIndex i) {
    return db.read(
        tx -> {
          long count = 0;
          try (RowCursor c = i.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
            while (c.next()) {
              count++;
            }
          }
          return count;
        });
  }

  static long pagesInUse(Database db) {
    AllocatorState s = db.store().pool().allocatorState();
    return s.highWater() - s.freePages() - 2;
  }

  static boolean hasDrops(Database db) {
    boolean[] some = {false};
    DeferredDrops.forEach(db.store().catalog(), (id, root, from, to) -> some[0] = true);
    return some[0];
  }

  static void awaitNoDrops(Database db) throws InterruptedException {
    while (hasDrops(db)) {
      Thread.sleep(1);
    }
  }

  static final class Builder extends Thread {
    final AtomicReference<Throwable> failure = new AtomicReference<>();
    private final Runnable work;

    Builder(Runnable work) {
      this.work = work;
    }

    @Override
    public void run() {
      try {
        work.run();
      } catch (Throwable e) {
        failure.set(e);
      }
    }

    void done() throws Exception {
      join();
      if (failure.get() != null) {
        throw new AssertionError(failure.get());
      }
    }
  }

  /** An index by v + u whose builder stops at a record until released. */
  static final class Held {
    final CountDownLatch there = new CountDownLatch(1);
    final CountDownLatch go = new CountDownLatch(1);
    volatile Thread builder;

    /** Starts a build in a thread and returns when it has stopped at the record. */
    Builder start(Runnable work) throws InterruptedException {
      Builder started = new Builder(work);
      builder = started;
      started.start();
      there.await();
      return started;
    }

    IndexSpec spec(int record) {
      return spec(record, false);
    }

    /** The same index, or a unique one by u. */
    IndexSpec spec(int record, boolean unique) {
      AtomicInteger seen = new AtomicInteger();
      return IndexSpec.extracted(
          "computed",
          KeySpec.of(FieldType.INT64),
          unique,
          (key, row, out) -> {
            if (Thread.currentThread() == builder && seen.incrementAndGet() == record) {
              there.countDown();
              awaitQuietly(go);
            }
            out.set((unique ? 0 : row.getLong(V)) + row.getLong(U));
            return true;
          });
    }
  }

  static void awaitQuietly(CountDownLatch latch) {
    boolean interrupted = false;
    while (true) {
      try {
        latch.await();
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  static TableCore coreOf(Database db) {
    return db.schema().core("t");
  }

  static void makeUnique(Database db, RowTable t) {
    for (long k = 0; k < 600; k++) {
      long own = k;
      db.run(
          tx -> {
            Row row = t.row();
            if (t.getForUpdate(tx, t.key().set(own), row)) {
              t.update(tx, row.setLong(U, 1_000_000 + own));
            }
          });
    }
  }

  static void write(Database db, Random random, AtomicBoolean end, AtomicLong changes) {
    do { // at least once, even if scheduled late
      RowTable t;
      try {
        t = db.table(PLAIN);
      } catch (io.fovea.error.IncompatibleSchemaException e) {
        // The table has an index now, so any handle may change it.
        t = new RowTable(db, coreOf(db), PLAIN);
      }
      RowTable table = t;
      long k = random.nextInt(600);
      long v = random.nextInt(20);
      // Unique with a few exceptions.
      long u = random.nextInt(40) == 0 ? random.nextInt(600) : k;
      int what = random.nextInt(4);
      try {
        db.run(
            tx -> {
              Key key = table.key().set(k);
              Row row = table.row();
              switch (what) {
                case 0 -> table.put(tx, key, row.setLong(V, v).setLong(U, u));
                case 1 -> table.delete(tx, key);
                case 2 -> {
                  if (table.getForUpdate(tx, key, row)) {
                    table.update(tx, row.setLong(V, v).setLong(U, u));
                  }
                }
                default -> {
                  table.delete(tx, key);
                  table.put(tx, key, row.setLong(V, v).setLong(U, u));
                }
              }
            });
        changes.incrementAndGet();
      } catch (DuplicateKeyException e) {
        // a duplicate exists, or existed at some time while the index did
      }
    } while (!end.get());
  }

  /** Enough concurrent index builds that the next index is built by transactions. */
  static final class Crowd implements AutoCloseable {
    private final List<Held> builds = new ArrayList<>();
    private final List<Builder> builders = new ArrayList<>();

    Crowd(Database db) throws InterruptedException {
      for (int i = 0; i < Storage.LOADS; i++) {
        TableSpec spec = TableSpec.of("crowd" + i, KeySpec.of(FieldType.INT64), LAYOUT);
        RowTable t = db.table(spec);
        db.run(tx -> t.put(tx, t.key().set(1L), t.row()));
        Held held = new Held();
        TableSpec with = spec.with(held.spec(1));
        Builder builder = held.start(() -> db.table(with));
        builds.add(held);
        builders.add(builder);
      }
    }

    @Override
    public void close() {
      builds.forEach(held -> held.go.countDown());
      for (Builder builder : builders) {
        try {
          builder.done();
        } catch (Exception e) {
          throw new AssertionError(e);
        }
      }
    }
  }

  /** Returns the log that a build writes, and the most that a crash would have needed. */
  static long[] logOf(long max, int records, IndexSpec index, boolean crowded) throws Exception {
    SimDisk disk = new SimDisk(11);
    try (Database db =
        open(
            disk,
            SMALL
                .bufferBytes(8 << 20)
                .durability(Durability.ASYNC)
                .log(log -> log.maxBytes(max)))) {
      RowTable t = db.table(PLAIN);
      t.load(
          LoadOptions.defaults().ascending(true),
          into -> {
            for (long k = 0; k < records; k++) {
              into.add(t.key().set(k), t.row().setLong(V, k % 17).setLong(U, k));
            }
          });
      Crowd crowd = crowded ? new Crowd(db) : null;
      db.checkpoint();
      DatabaseStats.Log before = db.stats().log();
      AtomicLong most = new AtomicLong();
      AtomicBoolean over = new AtomicBoolean();
      Thread looks =
          Thread.ofPlatform()
              .start(
                  () -> {
                    while (!over.get()) {
                      most.accumulateAndGet(db.stats().log().redoBytes(), Math::max);
                      Thread.yield();
                    }
                  });
      try {
        db.table(PLAIN.with(index));
      } finally {
        over.set(true);
        looks.join();
      }
      long written = db.stats().log().bytes() - before.bytes();
      if (crowd != null) {
        crowd.close();
      }
      verify(db);
      return new long[] {written, most.get()};
    }
  }
}
