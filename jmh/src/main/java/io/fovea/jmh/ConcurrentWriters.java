package io.fovea.jmh;

import static io.fovea.jmh.NumberedRecords.idle;
import static io.fovea.jmh.NumberedRecords.text;

import io.fovea.Database;
import io.fovea.Markdown;
import io.fovea.Options;
import io.fovea.config.Durability;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Measures the cost of large operations on a table for concurrent writers: an index is built and
 * dropped, and a table is dropped. Compares the writers' rate during the operation with their rate
 * in equal times before and after it, so that drift of the machine cancels out.
 *
 * <p>The writers use the table whose index is built, and another one while a table is dropped.
 */
@Command(
    name = "ConcurrentWriters",
    mixinStandardHelpOptions = true,
    showDefaultValues = true,
    description = "Builds and drops an index, and drops a table, with concurrent writers.")
public final class ConcurrentWriters implements Callable<Integer> {
  private static final int OTHERS = 100_000;
  private static final long WARM_UP_NANOS = 10_000_000_000L;
  private static final long REST_NANOS_MIN = 3_000_000_000L;
  private static final long NANOS_MAX = 60_000_000_000L;

  /** Time limit for freeing the pages of a dropped table. */
  private static final long FREE_NANOS_MAX = 300_000_000_000L;

  /** The operations. */
  enum Operation {
    /** Builds an index, then drops it. */
    INDEX,
    /** Drops the table, until its pages are free. */
    DROP
  }

  @Option(
      names = "--path",
      description = "The database; an existing one is deleted first. It is kept afterwards.")
  private Path path = Path.of("writers.fovea");

  @Option(names = "--records", description = "Number of records in the table.")
  private long records = 10_000_000;

  @Option(names = "--buffer", description = "Size of the buffer, in MiB.")
  private long buffer = 4_096;

  @Option(names = "--writers", description = "Number of writing threads.")
  private int writers = 1;

  @Option(names = "--rounds", description = "Repetitions of each operation.")
  private int rounds = 3;

  @Option(names = "--operations", split = ",", description = "${COMPLETION-CANDIDATES}.")
  private List<Operation> operations = List.of(Operation.values());

  @Option(names = "--pad", description = "Bytes of a record, minus 24.")
  private int pad = 90;

  @Option(
      names = "--rest",
      description = "Longest time measured before and after an operation, in seconds.")
  private long rest = 10;

  @Option(names = "--figures", description = "File for the figures of the page.")
  private @Nullable Path figures;

  @Option(
      names = "--pause",
      description = "Pause between two transactions of a writer, in microseconds.")
  private long pause = 0;

  private final AtomicBoolean stop = new AtomicBoolean();

  /** Whether writers use the table itself, otherwise another one. */
  private volatile boolean same;

  private ConcurrentWriters() {}

  /** Runs the benchmark. */
  public static void main(String[] args) {
    System.exit(
        new CommandLine(new ConcurrentWriters())
            .setCaseInsensitiveEnumValuesAllowed(true)
            .execute(args));
  }

  /** One writing thread, and its counts since the last query. */
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

  /** The combined counts of all writers in a period. */
  private record Phase(double perSecond, double slowestMillis) {}

  private NumberedRecords of = new NumberedRecords("records", pad);
  private final NumberedRecords other = new NumberedRecords("others", 90);

  private final List<Writer> all = new ArrayList<>();

  /** Duration of the last operation; the phase before the next one is as long. */
  private long lastNanos;

  @Override
  public Integer call() throws Exception {
    NumberedRecords.remove(path);
    of = new NumberedRecords("records", pad);
    Options options = Options.defaults().bufferBytes(buffer << 20).durability(Durability.ASYNC);
    try (Database db = Database.open(path, options)) {
      other.load(db.table(other.plain), OTHERS);
      long used = used(db);
      of.load(db.table(of.plain), records);
      db.checkpoint();
      same = operations.contains(Operation.INDEX);
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
      if (operations.contains(Operation.INDEX)) {
        index(db);
      }
      if (operations.contains(Operation.DROP)) {
        drop(db, used);
      }
      stop.set(true);
      for (Thread t : threads) {
        t.join();
      }
    }
    return 0;
  }

  private void index(Database db) throws IOException {
    Figures to = new Figures(figures, "index");
    for (int r = 0; r < rounds; r++) {
      Measurement b = measure("index of " + records + " records built", () -> db.table(of.indexed));
      to.add("built during writes", "s", "", b.seconds);
      to.add("writers during it / without", "", ">= 0.8", b.ratio());
      to.add("slowest write during it", "ms", "", b.during.slowestMillis);
      b = measure("that index dropped", () -> db.dropIndex("records", "by_group"));
      to.add("dropIndex returns after", "ms", "", b.seconds * 1e3);
    }
  }

  private void drop(Database db, long used) throws IOException {
    Figures to = new Figures(figures, "drop");
    for (int r = 0; r < rounds; r++) {
      same = false;
      if (r > 0) {
        of.load(db.table(of.plain), records);
        db.checkpoint();
      }
      idle(REST_NANOS_MIN);
      // Freeing its pages in the background is a part of the cost.
      long kept = used(db);
      double[] millis = new double[1];
      Measurement b =
          measure(
              "table of " + records + " records dropped, until its pages are free",
              () -> {
                long began = System.nanoTime();
                db.dropTable("records");
                millis[0] = (System.nanoTime() - began) / 1e6;
                awaitFree(db, used + (kept - used) / 100);
              });
      to.add("size of the table", "GB", "", (kept - used) / 1e9);
      to.add("dropTable returns after", "ms", "<= 10", millis[0]);
      to.add("pages are free after", "s", "", b.seconds);
      to.add("writers until then / without", "", ">= 0.9", b.ratio());
      to.add("slowest write until then", "ms", "", b.during.slowestMillis);
    }
  }

  private static long used(Database db) {
    return db.stats().storage().bytes() - db.stats().storage().freeBytes();
  }

  private void write(Database db, Writer mine, long seed) {
    NumberedRecords.Counting inRecords =
        new NumberedRecords.Counting(of, db.table(of.plain), records, seed);
    NumberedRecords.Counting inOthers =
        new NumberedRecords.Counting(other, db.table(other.plain), OTHERS, seed);
    while (!stop.get()) {
      long began = System.nanoTime();
      (same ? inRecords : inOthers).run(db);
      mine.record(System.nanoTime() - began);
      if (pause > 0) {
        LockSupport.parkNanos(pause * 1000);
      }
    }
  }

  /** An operation, with the writers before, during and after it. */
  private record Measurement(double seconds, Phase before, Phase during, Phase after) {
    double ratio() {
      return 2 * during.perSecond / (before.perSecond + after.perSecond);
    }
  }

  private Measurement measure(String name, Runnable operation) {
    takeAll();
    long nanos = rest(lastNanos);
    idle(nanos);
    Phase before = phase(nanos);
    long began = System.nanoTime();
    operation.run();
    lastNanos = System.nanoTime() - began;
    Phase during = phase(lastNanos);
    nanos = rest(lastNanos);
    idle(nanos);
    Measurement b = new Measurement(lastNanos / 1e9, before, during, phase(nanos));
    Markdown.line(
        name,
        text("%.2f", b.seconds),
        text("%,.0f", before.perSecond),
        text("%,.0f", during.perSecond),
        text("%,.0f", b.after.perSecond),
        text("%.2f", b.ratio()),
        text("%.2f", before.slowestMillis),
        text("%.2f", during.slowestMillis));
    return b;
  }

  private long rest(long nanos) {
    return Math.clamp(nanos, Math.min(REST_NANOS_MIN, rest * 1_000_000_000), rest * 1_000_000_000);
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

  private static void awaitFree(Database db, long most) {
    long until = System.nanoTime() + FREE_NANOS_MAX;
    while (used(db) > most) {
      if (System.nanoTime() > until) {
        throw new IllegalStateException(
            used(db)
                + " bytes are in use "
                + FREE_NANOS_MAX / 1e9
                + " s after the drop, not "
                + most);
      }
      idle(1_000_000);
    }
  }
}
