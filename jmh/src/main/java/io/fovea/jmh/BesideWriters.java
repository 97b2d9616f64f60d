package io.fovea.jmh;

import io.fovea.Database;
import io.fovea.Durability;
import io.fovea.Key;
import io.fovea.Markdown;
import io.fovea.Options;
import io.fovea.Row;
import io.fovea.Table;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.Histogram;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * What a large operation on a table costs those who write meanwhile: an index is built and dropped,
 * and a table is dropped. The writers' rate during the operation stands beside their rate in as
 * long a time before it and after it, so that a machine that drifts spoils neither.
 */
@Command(
    name = "BesideWriters",
    mixinStandardHelpOptions = true,
    showDefaultValues = true,
    description = "Builds and drops an index, and drops a table, beside writers.")
public final class BesideWriters implements Callable<Integer> {
  private static final Layout.Builder B = Layout.builder();
  private static final Field NUMBER = B.int64("number");
  private static final Field GROUP = B.int64("group");
  private static final Field PAD = B.bytes("pad", 90);
  private static final Layout LAYOUT = B.build();
  private static final KeySpec KEY = KeySpec.of(FieldType.INT64);
  private static final TableSpec PLAIN = TableSpec.of("records", KEY, LAYOUT);
  private static final TableSpec INDEXED = PLAIN.with(IndexSpec.on("by_group", GROUP));
  private static final TableSpec OTHER = TableSpec.of("others", KEY, LAYOUT);
  private static final int BATCH = 1_000;
  private static final int OTHERS = 100_000;
  private static final long WARM_UP_NANOS = 10_000_000_000L;
  private static final long REST_NANOS_MIN = 3_000_000_000L;
  private static final long NANOS_MAX = 60_000_000_000L;

  @Option(names = "--path", description = "The database; removed before and left behind.")
  private Path path = Path.of("writers.fovea");

  @Option(names = "--records", description = "How many records the table has.")
  private long records = 10_000_000;

  @Option(names = "--buffer", description = "The buffer, in MiB.")
  private long buffer = 4_096;

  @Option(names = "--writers", description = "How many threads write.")
  private int writers = 1;

  @Option(names = "--rounds", description = "How often each operation is done.")
  private int rounds = 3;

  @Option(names = "--pause", description = "Between two transactions of a writer, microseconds.")
  private long pause = 0;

  private final AtomicBoolean stop = new AtomicBoolean();

  /** Whether writers write to the table itself, else to another. */
  private volatile boolean same;

  private BesideWriters() {}

  /** See the class. */
  public static void main(String[] args) {
    System.exit(new CommandLine(new BesideWriters()).execute(args));
  }

  /** One thread that writes: what it has done since it was asked last. */
  private static final class Writer {
    private Histogram latencies = new Histogram(NANOS_MAX, 3);

    synchronized void record(long nanos) {
      latencies.recordValue(Math.min(nanos, NANOS_MAX));
    }

    synchronized Histogram take() {
      Histogram taken = latencies;
      latencies = new Histogram(NANOS_MAX, 3);
      return taken;
    }
  }

  /** What all writers did in some time. */
  private record Phase(double perSecond, double slowestMillis) {}

  private final List<Writer> all = new ArrayList<>();

  /** How long the last operation took: writers are looked at for as long before the next one. */
  private long lastNanos;

  @Override
  public Integer call() throws Exception {
    for (String suffix : List.of("", ".log", ".dwb", ".snap")) {
      Files.deleteIfExists(Path.of(path + suffix));
    }
    Options options = Options.defaults().bufferBytes(buffer << 20).durability(Durability.ASYNC);
    try (Database db = Database.open(path, options)) {
      load(db, db.table(OTHER), OTHERS);
      load(db, db.table(PLAIN), records);
      db.checkpoint();
      same = true;
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < writers; i++) {
        Writer w = new Writer();
        long seed = i;
        all.add(w);
        threads.add(Thread.ofPlatform().start(() -> write(db, w, seed)));
      }
      idle(WARM_UP_NANOS);
      Markdown.head(
          "operation",
          "s",
          "writers before, tx/s",
          "during",
          "after",
          "during / mean of both",
          "slowest before, ms",
          "slowest during, ms");
      for (int r = 0; r < rounds; r++) {
        beside("index of " + records + " records built", () -> db.table(INDEXED));
        beside("that index dropped", () -> db.dropIndex("records", "by_group"));
      }
      same = false;
      idle(REST_NANOS_MIN);
      // Its pages come back in the background, which is a part of what it costs.
      long kept = db.stats().storage().bytes() - db.stats().storage().freeBytes();
      beside(
          "table of " + records + " records dropped, until its pages are free",
          () -> {
            long began = System.nanoTime();
            db.dropTable("records");
            System.err.printf(
                Locale.ROOT, "dropTable took %.2f ms%n", (System.nanoTime() - began) / 1e6);
            awaitFree(db, kept / 2);
          });
      stop.set(true);
      for (Thread t : threads) {
        t.join();
      }
    }
    return 0;
  }

  private static void load(Database db, Table t, long n) {
    SplittableRandom random = new SplittableRandom(1);
    for (long from = 0; from < n; from += BATCH) {
      long first = from;
      db.run(
          tx -> {
            Key key = t.key();
            Row row = t.row();
            byte[] pad = new byte[90];
            for (long k = first; k < Math.min(n, first + BATCH); k++) {
              row.clear();
              row.setLong(NUMBER, 0).setLong(GROUP, random.nextLong(n)).setBytes(PAD, pad);
              t.insert(tx, key.set(k), row);
            }
          });
    }
  }

  private void write(Database db, Writer mine, long seed) {
    Table records = db.table(PLAIN);
    Table others = db.table(OTHER);
    Work inRecords = new Work(records, this.records, seed);
    Work inOthers = new Work(others, OTHERS, seed);
    while (!stop.get()) {
      long began = System.nanoTime();
      (same ? inRecords : inOthers).run(db);
      mine.record(System.nanoTime() - began);
      if (pause > 0) {
        LockSupport.parkNanos(pause * 1000);
      }
    }
  }

  /** Reads a record of a table and changes it. */
  private static final class Work {
    private final Table table;
    private final long n;
    private final Key key;
    private final Row row;
    private final SplittableRandom random;

    Work(Table table, long n, long seed) {
      this.table = table;
      this.n = n;
      this.key = table.key();
      this.row = table.row();
      this.random = new SplittableRandom(seed);
    }

    void run(Database db) {
      long k = random.nextLong(n);
      db.run(
          tx -> {
            table.get(tx, key.set(k), row);
            table.update(tx, row.setLong(NUMBER, row.getLong(NUMBER) + 1));
          });
    }
  }

  private void beside(String name, Runnable operation) {
    takeAll();
    long rest = Math.max(REST_NANOS_MIN, lastNanos);
    idle(rest);
    Phase before = phase(rest);
    long began = System.nanoTime();
    operation.run();
    long nanos = System.nanoTime() - began;
    Phase during = phase(nanos);
    lastNanos = nanos;
    idle(Math.max(REST_NANOS_MIN, nanos));
    Phase after = phase(Math.max(REST_NANOS_MIN, nanos));
    Markdown.line(
        name,
        text("%.2f", nanos / 1e9),
        text("%,.0f", before.perSecond),
        text("%,.0f", during.perSecond),
        text("%,.0f", after.perSecond),
        text("%.2f", 2 * during.perSecond / (before.perSecond + after.perSecond)),
        text("%.2f", before.slowestMillis),
        text("%.2f", during.slowestMillis));
  }

  private Histogram takeAll() {
    Histogram sum = new Histogram(NANOS_MAX, 3);
    all.forEach(w -> sum.add(w.take()));
    return sum;
  }

  private Phase phase(long nanos) {
    Histogram h = takeAll();
    return new Phase(h.getTotalCount() / (nanos / 1e9), h.getMaxValue() / 1e6);
  }

  private static void awaitFree(Database db, long keptBytes) {
    while (db.stats().storage().bytes() - db.stats().storage().freeBytes() > keptBytes) {
      idle(1_000_000);
    }
  }

  private static void idle(long nanos) {
    long until = System.nanoTime() + nanos;
    for (long left = nanos; left > 0; left = until - System.nanoTime()) {
      LockSupport.parkNanos(left);
    }
  }

  private static String text(String format, double value) {
    return String.format(Locale.ROOT, format, value);
  }
}
