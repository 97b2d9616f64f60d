package io.fovea.jmh;

import io.fovea.Cursor;
import io.fovea.Database;
import io.fovea.DatabaseStats;
import io.fovea.Durability;
import io.fovea.Key;
import io.fovea.Markdown;
import io.fovea.Options;
import io.fovea.Order;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.Table;
import io.fovea.TxOptions;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
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
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.Histogram;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * An export of a whole table beside threads that write to it: how many attempts it takes, how long,
 * and how long the writers' slowest transaction takes meanwhile. Each round reads in a snapshot.
 */
@Command(
    name = "SnapshotExport",
    mixinStandardHelpOptions = true,
    showDefaultValues = true,
    description = "Exports a table beside writers.")
public final class SnapshotExport implements Callable<Integer> {
  private static final Layout.Builder B = Layout.builder();
  private static final Field NUMBER = B.int64("number");
  private static final Field PAD = B.bytes("pad", 90);
  private static final TableSpec SPEC =
      TableSpec.of("records", KeySpec.of(FieldType.INT64), B.build());
  private static final int BATCH = 1_000;
  private static final long NANOS_MAX = 60_000_000_000L;

  @Option(names = "--path", description = "The database; removed before and left behind.")
  private Path path = Path.of("export.fovea");

  @Option(names = "--records", description = "How many records.")
  private long records = 10_000_000;

  @Option(names = "--buffer", description = "The buffer, in MiB.")
  private long buffer = 512;

  @Option(names = "--writers", description = "How many threads write.")
  private int writers = 1;

  @Option(names = "--rounds", description = "How many exports.")
  private int rounds = 5;

  @Option(names = "--pause", description = "Between two transactions of a writer, microseconds.")
  private long pause = 100;

  private final AtomicBoolean stop = new AtomicBoolean();
  private final AtomicInteger phase = new AtomicInteger();

  private SnapshotExport() {}

  /** See the class. */
  public static void main(String[] args) {
    System.exit(new CommandLine(new SnapshotExport()).execute(args));
  }

  /** What a writer has measured: by phase, without a snapshot and beside one. */
  private static final class Writer {
    private final Histogram[] latencies = {
      new Histogram(NANOS_MAX, 3), new Histogram(NANOS_MAX, 3)
    };
  }

  @Override
  public Integer call() throws Exception {
    for (String suffix : List.of("", ".log", ".dwb")) {
      Files.deleteIfExists(Path.of(path + suffix));
    }
    Options options = Options.defaults().bufferBytes(buffer << 20).durability(Durability.ASYNC);
    try (Database db = Database.open(path, options)) {
      load(db);
      List<Writer> all = new ArrayList<>();
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < writers; i++) {
        Writer w = new Writer();
        long seed = i;
        all.add(w);
        threads.add(Thread.ofPlatform().start(() -> write(db, w, seed)));
      }
      Markdown.head("export", "attempts", "s", "records/s", "pages copied", "MiB in the file");
      for (int r = 1; r <= rounds; r++) {
        Thread.sleep(3_000); // without a snapshot, to compare with
        phase.set(1);
        round(db, r);
        phase.set(0);
      }
      stop.set(true);
      for (Thread t : threads) {
        t.join();
      }
      System.out.println();
      Markdown.head("writers", "transactions", "median, µs", "99.9 %, ms", "slowest, ms");
      for (int p = 0; p < 2; p++) {
        Histogram sum = new Histogram(NANOS_MAX, 3);
        for (Writer w : all) {
          sum.add(w.latencies[p]);
        }
        Markdown.line(
            p == 0 ? "without a snapshot" : "beside the export",
            text("%,.0f", sum.getTotalCount()),
            text("%.1f", sum.getValueAtPercentile(50) / 1e3),
            text("%.2f", sum.getValueAtPercentile(99.9) / 1e6),
            text("%.2f", sum.getMaxValue() / 1e6));
      }
    }
    return 0;
  }

  private static String text(String format, double value) {
    return String.format(Locale.ROOT, format, value);
  }

  private void load(Database db) {
    Table t = db.table(SPEC);
    for (long from = 0; from < records; from += BATCH) {
      long first = from;
      db.run(
          tx -> {
            Key key = t.key();
            Row row = t.row();
            byte[] pad = new byte[90];
            for (long k = first; k < Math.min(records, first + BATCH); k++) {
              row.clear();
              t.insert(tx, key.set(k), row.setLong(NUMBER, 0).setBytes(PAD, pad));
            }
          });
    }
    db.checkpoint();
  }

  private void write(Database db, Writer mine, long seed) {
    Table t = db.table(SPEC);
    Key key = t.key();
    Row row = t.row();
    SplittableRandom random = new SplittableRandom(seed);
    while (!stop.get()) {
      int before = phase.get();
      long began = System.nanoTime();
      long k = random.nextLong(records);
      db.run(
          tx -> {
            t.get(tx, key.set(k), row);
            t.update(tx, row.setLong(NUMBER, row.getLong(NUMBER) + 1));
          });
      long nanos = System.nanoTime() - began;
      // One that both phases had a part of counts as beside the snapshot.
      mine.latencies[Math.max(before, phase.get())].recordValue(Math.min(nanos, NANOS_MAX));
      if (pause > 0) {
        LockSupport.parkNanos(pause * 1000);
      }
    }
  }

  private void round(Database db, int number) {
    DatabaseStats.Snapshots before = db.stats().snapshots();
    int[] attempts = new int[1];
    long[] found = new long[1];
    long began = System.nanoTime();
    DatabaseStats.Snapshots after;
    try (Database then = db.snapshot()) {
      Table t = then.table(SPEC);
      then.run(
          TxOptions.forReading(),
          tx -> {
            attempts[0]++;
            found[0] = 0;
            try (Cursor c = t.scan(tx, Range.all(), Order.ASCENDING)) {
              while (c.next()) {
                found[0] += c.row().getLong(NUMBER) >= 0 ? 1 : 0;
              }
            }
          });
      after = db.stats().snapshots();
    }
    double seconds = (System.nanoTime() - began) / 1e9;
    if (found[0] != records) {
      throw new IllegalStateException(found[0] + " records of " + records);
    }
    Markdown.line(
        String.valueOf(number),
        String.valueOf(attempts[0]),
        text("%.2f", seconds),
        text("%,.0f", records / seconds),
        text("%,.0f", after.pagesCopied() - before.pagesCopied()),
        text("%,.0f", after.fileBytes() >> 20));
  }
}
