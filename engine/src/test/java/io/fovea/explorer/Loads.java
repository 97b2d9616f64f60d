package io.fovea.explorer;

import io.fovea.Cursor;
import io.fovea.Database;
import io.fovea.LoadOptions;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.RowCursor;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.Table;
import io.fovea.config.Duplicates;
import io.fovea.error.InvalidUseException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.nio.ByteBuffer;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Bulk loads. Each replaces the first records of a table by those of its generation. So generations
 * never increase from one record to the next, and the newest one has as many records as it states.
 */
final class Loads {
  private static final Layout.Definition D = Layout.define();
  private static final Field GENERATION = D.int64("generation");
  private static final Field PAD = D.varBytes("pad", 200);
  private static final TableSpec ROWS =
      TableSpec.of("loaded_rows", KeySpec.of(FieldType.INT32), D.build())
          .with(IndexSpec.on("by_generation", GENERATION));
  private static final int LARGE = 1 << 20;

  private final ReentrantLock bytesLock = new ReentrantLock();
  private final ReentrantLock rowsLock = new ReentrantLock();

  static void load(Life life, Worker worker) throws Exception {
    Loads own = life.state(Loads.class, Loads::new);
    boolean bytes = worker.random.nextBoolean();
    ReentrantLock lock = bytes ? own.bytesLock : own.rowsLock;
    if (!lock.tryLock()) {
      return;
    }
    try {
      if (bytes) {
        bytes(life, worker);
      } else {
        rows(life, worker);
      }
    } finally {
      lock.unlock();
    }
  }

  private static LoadOptions how(Random r) {
    return LoadOptions.defaults()
        .duplicates(Duplicates.REPLACE)
        .ascending(r.nextBoolean())
        .memoryBytes(r.nextBoolean() ? 1 << 20 : 8 << 20);
  }

  private static void bytes(Life life, Worker worker) throws Exception {
    Random r = worker.random;
    Table<byte[], byte[]> t = life.db.table(TableSpec.bytes("loaded", 20)).bytes();
    long generation = 1 + generation(life.db, t);
    int n = 1 + r.nextInt(r.nextInt(4) == 0 ? 3_000 : 300);
    int size = 16 + r.nextInt(r.nextInt(8) == 0 ? 2_000 : 100);
    Source source = new Source(life, r, n);
    boolean fails = r.nextInt(8) == 0;
    try {
      t.load(
          how(r),
          into -> {
            byte[] value = new byte[size];
            ByteBuffer.wrap(value).putLong(generation).putLong(n);
            for (int i = 0; i < n; i++) {
              source.before(i);
              into.add(Life.key("k", i), value);
            }
            if (fails) {
              throw new Refusal();
            }
          });
      Violation.unless(!fails, "a load whose source failed has succeeded");
    } catch (Refusal e) {
      Violation.same(generation - 1, generation(life.db, t), "generation after a failed load");
      return;
    }
    Violation.same(generation, generation(life.db, t), "generation after a load");
  }

  private static final class Refusal extends Exception {
    private static final long serialVersionUID = 1L;
  }

  private static long generation(Database db, Table<byte[], byte[]> t) {
    return db.<Long, RuntimeException>read(
        tx -> {
          long last = Long.MAX_VALUE;
          long newest = 0;
          long n = 0;
          long of = 0;
          try (Cursor<byte[], byte[]> c = t.scan(tx, null, null, ScanOrder.ASCENDING)) {
            while (c.next()) {
              ByteBuffer b = ByteBuffer.wrap(c.value());
              long g = b.getLong();
              Violation.unless(g <= last, "generation " + g + " behind " + last);
              if (newest == 0) {
                newest = g;
                of = b.getLong();
              }
              n += g == newest ? 1 : 0;
              last = g;
            }
          }
          Violation.same(of, n, "records of generation " + newest);
          return newest;
        });
  }

  /** A source of records, which may be slow enough for others to fill the log. */
  private static final class Source {
    /** The number of milliseconds without a step after which the log counts as full. */
    private static final int STILL = 200;

    private final Life life;
    private final int at;
    private final int steps;

    Source(Life life, Random r, int n) {
      this.life = life;
      this.at = r.nextInt(4) == 0 ? r.nextInt(n) : -1;
      this.steps = r.nextInt(300);
    }

    void before(int record) {
      if (record != at) {
        return;
      }
      long until = life.steps.get() + steps;
      long last = 0;
      // Until enough steps were done, or until none makes progress.
      for (int still = 0; !life.stop && last < until && still < STILL; still++) {
        LockSupport.parkNanos(1_000_000);
        long now = life.steps.get();
        still = now == last ? still : 0;
        last = now;
      }
    }
  }

  private static void rows(Life life, Worker worker) {
    Random r = worker.random;
    Database db = life.db;
    RowTable t = db.table(ROWS);
    long generation = 1 + newest(db, t);
    int n = 1 + r.nextInt(500);
    byte[] pad = new byte[r.nextInt(200)];
    Source source = new Source(life, r, n);
    t.load(
        how(r),
        into -> {
          Row row = t.row();
          for (int i = 0; i < n; i++) {
            source.before(i);
            row.clear().setLong(GENERATION, generation);
            into.add(t.key().set(i), row.setBytes(PAD, pad));
          }
        });
    Violation.same(generation, newest(db, t), "generation after a load of rows");
  }

  private static long newest(Database db, RowTable t) {
    return db.<Long, RuntimeException>read(
        tx -> {
          long sum = 0;
          long n = 0;
          long newest = 0;
          try (RowCursor c = t.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
            while (c.next()) {
              long g = c.row().getLong(GENERATION);
              newest = Math.max(newest, g);
              sum += g * (c.key().getInt(0) + 1);
              n++;
            }
          }
          try (RowCursor c = t.index("by_generation").scan(tx, Range.all(), ScanOrder.ASCENDING)) {
            while (c.next()) {
              sum -= c.row().getLong(GENERATION) * (c.key().getInt(0) + 1);
              n--;
            }
          }
          Violation.same(0, n, "records without entries of loaded_rows");
          Violation.same(0, sum, "sum of records without entries of loaded_rows");
          return newest;
        });
  }

  /** Writes into a table that is being loaded: it succeeds or is refused. */
  static void beside(Life life, Worker worker) {
    RowTable t = life.db.table(ROWS);
    try {
      life.db.run(
          tx -> {
            Row row = t.row().setLong(GENERATION, 0);
            t.put(tx, t.key().set(LARGE + worker.id), row);
            t.delete(tx, t.key().set(LARGE + worker.id));
          });
    } catch (InvalidUseException e) {
      Violation.unless(
          String.valueOf(e.getMessage()).contains("load"), "refused without a load: " + e);
    }
  }
}
