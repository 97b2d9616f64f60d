package io.fovea.jmh;

import io.fovea.Database;
import io.fovea.Key;
import io.fovea.Options;
import io.fovea.Row;
import io.fovea.RowTable;
import io.fovea.Task;
import io.fovea.Transaction;
import io.fovea.config.LocationCacheLayout;
import io.fovea.config.Translation;
import io.fovea.schema.Field;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Random lookups per second among 10 million records with keys of 8 and values of 120 bytes, in
 * memory. {@code PointLookup} measures the tree alone, without transactions and API.
 *
 * <p>{@link #oneEach} runs a serializable transaction per lookup, {@link #inTransactions} one per
 * 64 lookups. Threads: {@code -t 2}.
 */
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@Warmup(iterations = 5, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(value = 3, jvmArgsAppend = "-Xmx1g")
public class ApiPointLookup {
  private static final int LOOKUPS = 64;
  private static final int VALUE_BYTES = 120;
  private static final int LOAD_BATCH = 1000;

  /** The table, read by all threads. */
  @State(Scope.Benchmark)
  public static class Records {
    /** The number of records. */
    @Param("10000000")
    public int records;

    /** The distribution of keys: {@code uniform} or {@code zipf}. */
    @Param("uniform")
    public String keys;

    /** The page translation. */
    @Param("PREDICTIVE")
    public String translation;

    /**
     * Where lookups begin: {@code ROOT}; {@code LOCATIONS}, at cached key locations; {@code FEW},
     * the same with memory for few of them; {@code SHORTCUT}, key locations behind a directory of
     * virtual memory.
     */
    @Param("ROOT")
    public String begin;

    private Database db;
    private RowTable table;
    private Field first;

    /** Loads the records, in key order. */
    @Setup(Level.Trial)
    public void load() {
      KeySpec.Definition k = KeySpec.define();
      k.int64("id");
      Layout.Definition b = Layout.define();
      first = b.int64("first");
      b.bytes("payload", VALUE_BYTES - 8 - 2);
      db =
          Database.inMemory(
              Options.defaults()
                  .bufferBytes((256L << 20) + records * 220L)
                  .experiments(exp -> exp.translation(Translation.valueOf(translation)))
                  .experiments(exp -> exp.cacheAllKeyLocations(!begin.equals("ROOT")))
                  .experiments(
                      exp ->
                          exp.locationCacheLayout(
                              begin.equals("SHORTCUT")
                                  ? LocationCacheLayout.SHORTCUT
                                  : LocationCacheLayout.FLAT))
                  .memory(mem -> mem.locationCacheBytes(begin.equals("FEW") ? 1 : 0)));
      table = db.table(TableSpec.of("lookup", k.build(), b.build()));
      Key key = table.key();
      Row row = table.row();
      for (int from = 0; from < records; from += LOAD_BATCH) {
        int begin = from;
        int end = Math.min(records, from + LOAD_BATCH);
        db.run(
            tx -> {
              for (int n = begin; n < end; n++) {
                table.insert(tx, key.set((long) n), row.clear().setLong(first, n));
              }
            });
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
    private final Task<RuntimeException> one = this::lookUp;
    private final Task<RuntimeException> many = this::lookUpMany;
    private RowTable table;
    private Field first;
    private KeyChooser chooser;
    private Key key;
    private Row row;
    private long sum;

    /** Creates the state. */
    @Setup(Level.Trial)
    public void make(Records records) {
      table = records.table;
      first = records.first;
      key = table.key();
      row = table.row();
      chooser = new KeyChooser(records.records, records.keys, Thread.currentThread().threadId());
    }

    private void lookUp(Transaction tx) {
      if (!table.get(tx, key.set((long) chooser.next()), row)) {
        throw new IllegalStateException("A loaded record is missing.");
      }
      sum += row.getLong(first);
    }

    private void lookUpMany(Transaction tx) {
      for (int i = 0; i < LOOKUPS; i++) {
        lookUp(tx);
      }
    }
  }

  /** One transaction per lookup. */
  @Benchmark
  public long oneEach(Records records, Worker worker) {
    records.db.run(worker.one);
    return worker.sum;
  }

  /** One transaction per 64 lookups. */
  @Benchmark
  @OperationsPerInvocation(LOOKUPS)
  public long inTransactions(Records records, Worker worker) {
    records.db.run(worker.many);
    return worker.sum;
  }
}
