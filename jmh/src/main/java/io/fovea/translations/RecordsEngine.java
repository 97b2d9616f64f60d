package io.fovea.translations;

import com.sun.management.OperatingSystemMXBean;
import io.fovea.Batch;
import io.fovea.Database;
import io.fovea.DatabaseStats;
import io.fovea.Hints;
import io.fovea.Key;
import io.fovea.LoadOptions;
import io.fovea.Options;
import io.fovea.Row;
import io.fovea.RowTable;
import io.fovea.Task;
import io.fovea.Transaction;
import io.fovea.TxOptions;
import io.fovea.WrongKeyLocations;
import io.fovea.btree.KeyLocationCache;
import io.fovea.config.Durability;
import io.fovea.config.LocationCacheLayout;
import io.fovea.config.Translation;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * A database of records with the keys 0, 1, 2 and so on, for lookups and inserts. See {@link
 * Engine}.
 *
 * <pre>
 *   get THREADS FIRST COUNT EACH NANOS          looks up records FIRST to FIRST + COUNT - 1, uniformly, EACH in a
 *                                               read-only transaction: lookups, nanoseconds, those of all
 *                                               processors, reads of the device, hits by hint, by prediction, by search
 *   all THREADS FIRST COUNT EACH NANOS          the same, with Table.getAll
 *   drift THREADS FIRST COUNT EACH NANOS BUCKET as get, but answers lookups by buckets of BUCKET nanoseconds,
 *                                              and the reads of the device last
 *   fill FIRST COUNT                            reads a record of each page
 *   insert COUNT                                inserts COUNT records with random keys: nanoseconds
 *   size                                        pages that fit the pool, page size, its bytes, those of the file
 *   placement                                   pages in the pool, those in their preferred frames
 * </pre>
 */
final class RecordsEngine implements AutoCloseable {
  /** Keeps the logger reachable; otherwise its level is lost. */
  private static final Logger LOGGER = Logger.getLogger("io.fovea");

  private static final int FILL_DEPTH = 64;
  private static final int INSERTS = 64;
  private static final int FILLING_AT = 8 + 2;

  /**
   * The parameters of the database.
   *
   * @param path the file; {@link #MEMORY} for none
   */
  record Spec(
      Translation translation,
      boolean hugePages,
      boolean hints,
      Begin begin,
      long records,
      int keyBytes,
      int valueBytes,
      int pageSize,
      long bufferBytes,
      String path) {
    static final String MEMORY = "-";

    /** Predictive translation with all hints and huge pages, in memory. */
    static Spec of(long records, int keyBytes, int valueBytes, int pageSize, long bufferBytes) {
      return new Spec(
          Translation.PREDICTIVE,
          true,
          true,
          Begin.ROOT,
          records,
          keyBytes,
          valueBytes,
          pageSize,
          bufferBytes,
          MEMORY);
    }

    /** Returns the parameters as a command line. */
    List<String> words() {
      return List.of(
          translation.name(),
          String.valueOf(hugePages),
          String.valueOf(hints),
          begin.name(),
          String.valueOf(records),
          String.valueOf(keyBytes),
          String.valueOf(valueBytes),
          String.valueOf(pageSize),
          String.valueOf(bufferBytes),
          path);
    }

    static Spec of(String[] words) {
      return new Spec(
          Translation.valueOf(words[0]),
          Boolean.parseBoolean(words[1]),
          Boolean.parseBoolean(words[2]),
          Begin.valueOf(words[3]),
          Long.parseLong(words[4]),
          Integer.parseInt(words[5]),
          Integer.parseInt(words[6]),
          Integer.parseInt(words[7]),
          Long.parseLong(words[8]),
          words[9]);
    }

    Spec with(Translation other) {
      return new Spec(
          other,
          hugePages,
          hints,
          begin,
          records,
          keyBytes,
          valueBytes,
          pageSize,
          bufferBytes,
          path);
    }

    Spec with(boolean huge, boolean hinted, Begin where) {
      return new Spec(
          translation,
          huge,
          hinted,
          where,
          records,
          keyBytes,
          valueBytes,
          pageSize,
          bufferBytes,
          path);
    }

    Spec at(String file, long buffer) {
      return new Spec(
          translation,
          hugePages,
          hints,
          begin,
          records,
          keyBytes,
          valueBytes,
          pageSize,
          buffer,
          file);
    }

    Options options() {
      return Options.defaults()
          .bufferBytes(bufferBytes)
          .durability(Durability.NONE)
          .device(dev -> dev.pageSize(pageSize))
          .experiments(
              exp ->
                  exp.translation(translation)
                      .hugePages(hugePages)
                      .hints(hints ? Hints.ALL : Hints.NONE)
                      .cacheAllKeyLocations(begin.atPlaces())
                      .locationCacheLayout(
                          begin == Begin.SHORTCUT
                              ? LocationCacheLayout.SHORTCUT
                              : LocationCacheLayout.FLAT))
          .memory(
              mem -> mem.locationCacheBytes(begin == Begin.FEW ? KeyLocationCache.BYTES_MIN : 0));
    }

    /** Wide keys begin with the number, so that separators are as short as with narrow keys. */
    Key set(Key key, long n) {
      return keyBytes == Long.BYTES ? key.set(n) : key.clear().int64(n).int64(~n).int32((int) n);
    }
  }

  private final Spec spec;
  private final Database db;
  private final RowTable table;
  private final Field number;
  private final Field filling;
  private final List<Worker> workers = new ArrayList<>();
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final Random random = new Random(0);
  private long inserted;

  private RecordsEngine(Spec spec) {
    this.spec = spec;
    boolean memory = spec.path.equals(Spec.MEMORY);
    db =
        memory
            ? Database.inMemory(spec.options())
            : Database.open(Path.of(spec.path), spec.options());
    Layout.Definition b = Layout.define();
    number = b.int64("number");
    filling = b.bytes("filling", spec.valueBytes - FILLING_AT);
    KeySpec key =
        spec.keyBytes == Long.BYTES
            ? KeySpec.of(FieldType.INT64)
            : KeySpec.of(FieldType.INT64, FieldType.INT64, FieldType.INT32);
    Layout layout = b.build();
    boolean there = db.tables().contains("records");
    table = db.table(TableSpec.of("records", key, layout));
    if (!there) {
      load();
    }
    if (spec.begin == Begin.UNUSED) {
      db.table(TableSpec.of("others", key, layout).cacheLocations());
    }
  }

  private void load() {
    byte[] bytes = new byte[filling.width()];
    table.load(
        LoadOptions.defaults().ascending(true),
        into -> {
          Key key = table.key();
          Row row = table.row().setBytes(filling, bytes);
          for (long n = 0; n < spec.records; n++) {
            into.add(spec.set(key, n), row.setLong(number, n));
          }
        });
  }

  @Override
  public void close() {
    threads.shutdownNow();
    db.close();
  }

  /** The lookups of one thread. */
  private final class Worker implements Task<RuntimeException> {
    private final Key key = table.key();
    private final Row row = table.row();
    private final TxOptions reading = TxOptions.forReading();
    private Batch batch = table.batch(1);
    private int batchSize = 1;
    private long[] buckets = new long[0];
    private long state;
    private boolean all;
    private long first;
    private long count;
    private int each;

    Worker(int number) {
      state = (number + 1) * 0x9E37_79B9_7F4A_7C15L;
    }

    private long draw() {
      // xorshift64*: no division.
      long x = state;
      x ^= x >>> 12;
      x ^= x << 25;
      x ^= x >>> 27;
      state = x;
      long n = first + Math.unsignedMultiplyHigh(x * 0x2545_F491_4F6C_DD1DL, count);
      return n < spec.records ? n : n - spec.records;
    }

    @Override
    public void run(Transaction tx) {
      if (all) {
        batch.clear();
        for (int i = 0; i < each; i++) {
          long n = draw();
          if (spec.keyBytes == Long.BYTES) {
            batch.add().int64(n);
          } else {
            batch.add().int64(n).int64(~n).int32((int) n);
          }
        }
        table.getAll(tx, batch);
        for (int i = 0; i < each; i++) {
          require(batch.found(i));
        }
        return;
      }
      for (int i = 0; i < each; i++) {
        long n = draw();
        require(table.get(tx, spec.set(key, n), row) && row.getLong(number) == n);
      }
    }

    private void require(boolean found) {
      if (!found) {
        throw new IllegalStateException("A loaded record is missing.");
      }
    }

    /** Runs until the end of the time, and returns the number of lookups. */
    long run(long start, long nanos, long bucketNanos) {
      if (all && batchSize != each) {
        batch = table.batch(each);
        batchSize = each;
      }
      long n = 0;
      for (long now = start; now - start < nanos; n += each) {
        db.run(reading, this);
        now = System.nanoTime();
        if (bucketNanos > 0 && now - start < nanos) {
          buckets[(int) ((now - start) / bucketNanos)] += each;
        }
      }
      return n;
    }
  }

  private double[] run(String[] words) {
    long[] n = new long[words.length];
    for (int i = 1; i < words.length; i++) {
      n[i] = Long.parseLong(words[i]);
    }
    return switch (words[0]) {
      case "get" -> get((int) n[1], n[2], n[3], (int) n[4], n[5], false, 0);
      case "all" -> get((int) n[1], n[2], n[3], (int) n[4], n[5], true, 0);
      case "drift" -> get((int) n[1], n[2], n[3], (int) n[4], n[5], false, n[6]);
      case "fill" -> fill(n[1], n[2]);
      case "insert" -> insert(n[1]);
      case "size" -> size();
      case "placement" -> {
        DatabaseStats.Placement p = db.placement();
        yield new double[] {p.pages(), p.pagesInPreferredFrame()};
      }
      default -> throw new IllegalArgumentException(words[0]);
    };
  }

  private double[] size() {
    DatabaseStats s = db.stats();
    return new double[] {
      s.buffer().frames(), s.buffer().pageSize(), spec.bufferBytes, s.storage().bytes()
    };
  }

  private double[] get(
      int threadCount, long first, long count, int each, long nanos, boolean all, long bucket) {
    while (workers.size() < threadCount) {
      workers.add(new Worker(workers.size()));
    }
    if (spec.begin == Begin.WRONG) {
      WrongKeyLocations.make(db, random);
    }
    DatabaseStats before = db.stats();
    long cpu = cpuNanos();
    List<Future<Long>> running = new ArrayList<>();
    long start = System.nanoTime();
    for (Worker w : workers.subList(0, threadCount)) {
      w.first = first;
      w.count = count;
      w.each = each;
      w.all = all;
      w.buckets = new long[bucket > 0 ? (int) (nanos / bucket) + 1 : 0];
      running.add(threads.submit(() -> w.run(start, nanos, bucket)));
    }
    long lookups = 0;
    for (Future<Long> f : running) {
      lookups += result(f);
    }
    long took = System.nanoTime() - start;
    cpu = cpuNanos() - cpu;
    DatabaseStats after = db.stats();
    long reads = after.io().reads() - before.io().reads();
    if (bucket > 0) {
      int n = (int) (nanos / bucket);
      double[] sums = new double[n + 1];
      for (Worker w : workers.subList(0, threadCount)) {
        for (int i = 0; i < n; i++) {
          sums[i] += w.buckets[i];
        }
      }
      sums[n] = reads;
      return sums;
    }
    return new double[] {
      lookups,
      took,
      cpu,
      reads,
      after.buffer().hinted() - before.buffer().hinted(),
      after.buffer().predicted() - before.buffer().predicted(),
      after.buffer().mispredicted() - before.buffer().mispredicted()
    };
  }

  private static long result(Future<Long> f) {
    try {
      return f.get();
    } catch (InterruptedException | ExecutionException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Returns the processor time of the process; 0 if the JVM does not provide it. */
  private static long cpuNanos() {
    return ManagementFactory.getOperatingSystemMXBean() instanceof OperatingSystemMXBean os
        ? Math.max(0, os.getProcessCpuTime())
        : 0;
  }

  private double[] fill(long first, long count) {
    Batch batch = table.batch(FILL_DEPTH);
    DatabaseStats.Storage s = db.stats().storage();
    double bytes = (double) (s.bytes() - s.freeBytes()) / spec.records;
    // Two keys per page on average, since pages are not equally full.
    long step = Math.max(1, (long) (spec.pageSize / bytes / 2));
    for (long at = first; at < first + count; ) {
      batch.clear();
      for (; at < first + count && batch.size() < FILL_DEPTH; at += step) {
        long n = at % spec.records;
        if (spec.keyBytes == Long.BYTES) {
          batch.add().int64(n);
        } else {
          batch.add().int64(n).int64(~n).int32((int) n);
        }
      }
      db.run(TxOptions.forReading(), tx -> table.getAll(tx, batch));
    }
    return new double[] {count};
  }

  private double[] insert(long count) {
    Key key = table.key();
    Row row = table.row();
    long start = System.nanoTime();
    for (long done = 0; done < count; done += INSERTS) {
      db.run(
          tx -> {
            for (int i = 0; i < INSERTS; i++) {
              // A distinct number for each, in scattered order, above the loaded ones.
              long n = spec.records + ((inserted + i) * 0x9E37_79B9_7F4A_7C15L >>> 2);
              table.insert(tx, spec.set(key, n), row.setLong(number, n));
            }
          });
      inserted += INSERTS;
    }
    return new double[] {System.nanoTime() - start};
  }

  /** The child process. */
  public static void main(String[] args) throws IOException {
    LOGGER.setLevel(Level.WARNING);
    try (RecordsEngine e = new RecordsEngine(Spec.of(args))) {
      Engine.serve(e::run);
    }
  }
}
