package io.fovea.jmh;

import static io.fovea.jmh.NumberedRecords.text;

import io.fovea.Database;
import io.fovea.DatabaseStats;
import io.fovea.Markdown;
import io.fovea.Options;
import io.fovea.Range;
import io.fovea.RowCursor;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.TxOptions;
import io.fovea.config.Durability;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * An export of a whole table concurrent with writers: number of attempts, duration, and the
 * writers' slowest transaction during it. Each round reads in a snapshot.
 */
@Command(
    name = "SnapshotExport",
    mixinStandardHelpOptions = true,
    showDefaultValues = true,
    description = "Exports a table with concurrent writers.")
public final class SnapshotExport implements Callable<Integer> {
  private static final long NANOS_MAX = 60_000_000_000L;
  private static final long REST_NANOS = 3_000_000_000L;

  @Option(
      names = "--path",
      description = "The database; an existing one is deleted first. It is kept afterwards.")
  private Path path = Path.of("export.fovea");

  @Option(names = "--records", description = "Number of records.")
  private long records = 10_000_000;

  @Option(names = "--buffer", description = "Size of the buffer, in MiB.")
  private long buffer = 512;

  @Option(names = "--writers", description = "Number of writing threads.")
  private int writers = 1;

  @Option(names = "--rounds", description = "Number of exports.")
  private int rounds = 5;

  @Option(
      names = "--pause",
      description = "Pause between two transactions of a writer, in microseconds.")
  private long pause = 100;

  @Option(names = "--figures", description = "File for the figures of the page.")
  private @Nullable Path figures;

  private final NumberedRecords of = new NumberedRecords("records", 90);
  private final AtomicBoolean stop = new AtomicBoolean();

  /** The number of the current export, or 0 between exports. */
  private final AtomicInteger phase = new AtomicInteger();

  private SnapshotExport() {}

  /** Runs the benchmark. */
  public static void main(String[] args) {
    System.exit(new CommandLine(new SnapshotExport()).execute(args));
  }

  /** Measurements of a writer by phase. Read after the phase has ended. */
  private static final class Writer {
    private final Histogram[] latencies;

    Writer(int rounds) {
      latencies = new Histogram[rounds + 1];
      for (int i = 0; i <= rounds; i++) {
        latencies[i] = new Histogram(NANOS_MAX, 3);
      }
    }

    synchronized void record(int phase, long nanos) {
      latencies[phase].recordValue(Math.min(nanos, NANOS_MAX));
    }

    synchronized void addTo(Histogram sum, int phase) {
      sum.add(latencies[phase]);
    }
  }

  private final List<Writer> all = new ArrayList<>();

  @Override
  public Integer call() throws Exception {
    NumberedRecords.remove(path);
    Figures to = new Figures(figures, "export");
    Options options = Options.defaults().bufferBytes(buffer << 20).durability(Durability.ASYNC);
    try (Database db = Database.open(path, options)) {
      of.load(db.table(of.plain), records);
      db.checkpoint();
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < writers; i++) {
        Writer w = new Writer(rounds);
        long seed = i;
        all.add(w);
        threads.add(Thread.ofPlatform().start(() -> write(db, w, seed)));
      }
      Markdown.head("export", "attempts", "s", "records/s", "pages copied", "MiB in the file");
      for (int r = 1; r <= rounds; r++) {
        NumberedRecords.idle(REST_NANOS); // the baseline without a snapshot
        phase.set(r);
        round(db, r, to);
        phase.set(0);
        to.add("slowest write during it", "ms", "< 50", sum(r, r).getMaxValue() / 1e6);
      }
      stop.set(true);
      for (Thread t : threads) {
        t.join();
      }
      to.add("slowest write without", "ms", "", sum(0, 0).getMaxValue() / 1e6);
      System.out.println();
      Markdown.head("writers", "transactions", "median, µs", "99.9 %, ms", "slowest, ms");
      line("without a snapshot", sum(0, 0));
      line("during the export", sum(1, rounds));
    }
    return 0;
  }

  private Histogram sum(int from, int to) {
    Histogram sum = new Histogram(NANOS_MAX, 3);
    for (Writer w : all) {
      for (int p = from; p <= to; p++) {
        w.addTo(sum, p);
      }
    }
    return sum;
  }

  private static void line(String what, Histogram h) {
    Markdown.line(
        what,
        text("%,.0f", h.getTotalCount()),
        text("%.1f", h.getValueAtPercentile(50) / 1e3),
        text("%.2f", h.getValueAtPercentile(99.9) / 1e6),
        text("%.2f", h.getMaxValue() / 1e6));
  }

  private void write(Database db, Writer mine, long seed) {
    NumberedRecords.Counting work =
        new NumberedRecords.Counting(of, db.table(of.plain), records, seed);
    while (!stop.get()) {
      int before = phase.get();
      long began = System.nanoTime();
      work.run(db);
      long nanos = System.nanoTime() - began;
      // A transaction that spans both phases counts as concurrent with the snapshot.
      mine.record(Math.max(before, phase.get()), nanos);
      if (pause > 0) {
        LockSupport.parkNanos(pause * 1000);
      }
    }
  }

  private void round(Database db, int number, Figures to) throws IOException {
    DatabaseStats.Snapshots before = db.stats().snapshots();
    int[] attempts = new int[1];
    long[] found = new long[1];
    long began = System.nanoTime();
    DatabaseStats.Snapshots after;
    try (Database then = db.snapshot()) {
      RowTable t = then.table(of.plain);
      then.run(
          TxOptions.forReading(),
          tx -> {
            attempts[0]++;
            found[0] = 0;
            try (RowCursor c = t.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
              while (c.next()) {
                found[0] += c.row().getLong(of.number) >= 0 ? 1 : 0;
              }
            }
          });
      after = db.stats().snapshots();
    }
    double seconds = (System.nanoTime() - began) / 1e9;
    if (found[0] != records) {
      throw new IllegalStateException(found[0] + " records of " + records);
    }
    to.add("attempts", "", "<= 1", attempts[0]);
    to.add("read", "records/s", "", records / seconds);
    Markdown.line(
        String.valueOf(number),
        String.valueOf(attempts[0]),
        text("%.2f", seconds),
        text("%,.0f", records / seconds),
        text("%,.0f", after.pagesCopied() - before.pagesCopied()),
        text("%,.0f", after.fileBytes() >> 20));
  }
}
