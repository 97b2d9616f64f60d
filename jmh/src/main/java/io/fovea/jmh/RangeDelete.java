package io.fovea.jmh;

import static io.fovea.jmh.NumberedRecords.text;

import io.fovea.Database;
import io.fovea.Markdown;
import io.fovea.Options;
import io.fovea.Range;
import io.fovea.RowTable;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * The time to remove a range of records: in one transaction, and in steps. The time ends when the
 * commit is durable. There is no other load.
 */
@Command(
    name = "RangeDelete",
    mixinStandardHelpOptions = true,
    showDefaultValues = true,
    description = "Removes ranges of a table.")
public final class RangeDelete implements Callable<Integer> {
  @Option(
      names = "--path",
      description = "The database; an existing one is deleted first. It is kept afterwards.")
  private Path path = Path.of("ranges.fovea");

  @Option(names = "--records", description = "Number of records in a range.")
  private long records = 1_000_000;

  @Option(names = "--step", description = "Records that a step removes.")
  private long step = 10_000;

  @Option(names = "--buffer", description = "Size of the buffer, in MiB.")
  private long buffer = 4_096;

  @Option(names = "--limit", description = "Limit of a transaction, in MiB.")
  private long limit = 1_024;

  @Option(names = "--rounds", description = "Ranges per method.")
  private int rounds = 5;

  @Option(names = "--figures", description = "File for the figures of the page.")
  private @Nullable Path figures;

  private RangeDelete() {}

  /** Runs the benchmark. */
  public static void main(String[] args) {
    System.exit(new CommandLine(new RangeDelete()).execute(args));
  }

  @Override
  public Integer call() throws Exception {
    NumberedRecords.remove(path);
    NumberedRecords of = new NumberedRecords("records", 90);
    Figures to = new Figures(figures, "range");
    Options options =
        Options.defaults()
            .bufferBytes(buffer << 20)
            .transactions(t -> t.maxBytes(limit << 20))
            .log(l -> l.maxBytes(4L << 30));
    try (Database db = Database.open(path, options)) {
      RowTable t = db.table(of.plain);
      // One range more than is removed, so that remaining records can be counted.
      long all = (2L * rounds + 1) * records;
      of.load(t, all);
      db.checkpoint();
      Markdown.head("range of " + records, "s", "µs a record");
      for (int r = 0; r < rounds; r++) {
        long first = 2L * r * records;
        double whole = timed(() -> db.call(tx -> t.deleteRange(tx, range(t, first))), records);
        line("in one transaction", whole);
        to.add("of " + text("%,.0f", records) + " in one transaction", "ms", "<= 50", whole * 1e3);
        db.checkpoint();
        double steps = timed(() -> inSteps(db, t, range(t, first + records)), records);
        line("in steps of " + step, steps);
        to.add("in steps of " + text("%,.0f", step), "ms", "", steps * 1e3);
        db.checkpoint();
      }
      if (t.count() != all - 2L * rounds * records) {
        throw new IllegalStateException(t.count() + " records are left of " + all);
      }
    }
    return 0;
  }

  private Range range(RowTable t, long first) {
    return Range.between(t.key().set(first), t.key().set(first + records - 1));
  }

  private long inSteps(Database db, RowTable t, Range range) {
    long removed = 0;
    for (long n = step; n == step; ) {
      n = db.call(tx -> t.deleteRange(tx, range, step));
      removed += n;
    }
    return removed;
  }

  /** Removes a range, and returns the number of records removed. */
  @FunctionalInterface
  private interface Removal {
    long run();
  }

  private static double timed(Removal removal, long expected) {
    long began = System.nanoTime();
    long removed = removal.run();
    double seconds = (System.nanoTime() - began) / 1e9;
    if (removed != expected) {
      throw new IllegalStateException(removed + " records removed of " + expected);
    }
    return seconds;
  }

  private void line(String what, double seconds) {
    Markdown.line(what, text("%.3f", seconds), text("%.2f", 1e6 * seconds / records));
  }
}
