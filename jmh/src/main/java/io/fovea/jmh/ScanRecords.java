package io.fovea.jmh;

import io.fovea.Cursor;
import io.fovea.Database;
import io.fovea.Key;
import io.fovea.Options;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.RowCursor;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.Table;
import io.fovea.Transaction;
import io.fovea.TxOptions;
import io.fovea.Work;
import io.fovea.config.Durability;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The cost of a scan of a few records from a random key, in one transaction. The records are those
 * of {@link StoreComparison}: a key of 8 bytes and a value of 100, inserted in random order, 1,000
 * per transaction. An operation is one transaction.
 *
 * <p>{@code reading} selects a read-only transaction, which scans by leaves, or a read-write
 * transaction, which scans by items.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 6, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 3, jvmArgsAppend = "-Xmx1g")
public class ScanRecords {
  private static final int BATCH = 1_000;
  private static final int KEY_BYTES = 8;
  private static final int VALUE_BYTES = 100;
  private static final long MEMORY = 512L << 20;

  /** The two tables. */
  @State(Scope.Benchmark)
  public static class Records {
    /** Records per table. */
    @Param("1000000")
    public int records;

    private Database db;
    private Table<byte[], byte[]> bytes;
    private RowTable rows;
    private Field number;

    /** Loads the tables. */
    @Setup(Level.Trial)
    public void load() {
      db =
          Database.inMemory(Options.defaults().bufferBytes(2 * MEMORY).durability(Durability.NONE));
      bytes = db.table(TableSpec.bytes("bytes", KEY_BYTES)).bytes();
      Layout.Definition layout = Layout.define();
      number = layout.int64("number");
      layout.bytes("pad", VALUE_BYTES - Long.BYTES - 2);
      rows = db.table(TableSpec.of("rows", KeySpec.of(FieldType.INT64), layout.build()));
      for (int first = 0; first < records; first += BATCH) {
        int from = first;
        db.run(tx -> put(tx, from, Math.min(records, from + BATCH)));
      }
    }

    private void put(Transaction tx, int from, int to) {
      Key key = rows.key();
      Row row = rows.row();
      for (int i = from; i < to; i++) {
        long hash = ComparisonRecords.hash(i);
        byte[] k = new byte[KEY_BYTES];
        ComparisonRecords.setNumber(hash, k);
        bytes.put(tx, k, new byte[VALUE_BYTES]);
        rows.put(tx, key.set(hash), row);
      }
    }

    /** Closes the database. */
    @TearDown(Level.Trial)
    public void close() {
      db.close();
    }
  }

  /** The state of one thread. */
  @State(Scope.Thread)
  public static class Worker {
    /** Records per scan. */
    @Param({"100"})
    public int scanned;

    /** Whether the transaction is read-only. */
    @Param({"true", "false"})
    public boolean reading;

    private final SplittableRandom random = new SplittableRandom(1);
    private final Work<Long, RuntimeException> bytesUp = tx -> bytes(tx, ScanOrder.ASCENDING);
    private final Work<Long, RuntimeException> bytesDown = tx -> bytes(tx, ScanOrder.DESCENDING);
    private final Work<Long, RuntimeException> rowsUp = tx -> rows(tx, ScanOrder.ASCENDING);
    private final Work<Long, RuntimeException> rowsDown = tx -> rows(tx, ScanOrder.DESCENDING);
    private Records of;
    private TxOptions options;
    private Key from;
    private Range up;
    private Range down;
    private byte[] start;

    /** Creates the state. */
    @Setup(Level.Trial)
    public void make(Records records) {
      of = records;
      options = reading ? TxOptions.forReading() : TxOptions.defaults();
      from = of.rows.key();
      up = Range.atLeast(from);
      down = Range.atMost(from);
    }

    long run(Work<Long, RuntimeException> work) {
      long hash = ComparisonRecords.hash(random.nextInt(of.records));
      start = new byte[KEY_BYTES];
      ComparisonRecords.setNumber(hash, start);
      from.set(hash);
      return of.db.call(options, work);
    }

    private long bytes(Transaction tx, ScanOrder order) {
      boolean ascends = order == ScanOrder.ASCENDING;
      long sum = 0;
      try (Cursor<byte[], byte[]> cursor =
          of.bytes.scan(tx, ascends ? start : null, ascends ? null : start, order)) {
        for (int i = 0; i < scanned && cursor.next(); i++) {
          sum += cursor.key()[0] + cursor.value()[VALUE_BYTES - 1];
        }
      }
      return sum;
    }

    private long rows(Transaction tx, ScanOrder order) {
      long sum = 0;
      try (RowCursor cursor = of.rows.scan(tx, order == ScanOrder.ASCENDING ? up : down, order)) {
        for (int i = 0; i < scanned && cursor.next(); i++) {
          sum += cursor.row().getLong(of.number);
        }
      }
      return sum;
    }
  }

  /** Byte strings, ascending: arrays for key and value of each record. */
  @Benchmark
  public long bytesUp(Worker worker) {
    return worker.run(worker.bytesUp);
  }

  /** Byte strings, descending. */
  @Benchmark
  public long bytesDown(Worker worker) {
    return worker.run(worker.bytesDown);
  }

  /** Rows, ascending: each is copied into the cursor's row. */
  @Benchmark
  public long rowsUp(Worker worker) {
    return worker.run(worker.rowsUp);
  }

  /** Rows, descending. */
  @Benchmark
  public long rowsDown(Worker worker) {
    return worker.run(worker.rowsDown);
  }
}
