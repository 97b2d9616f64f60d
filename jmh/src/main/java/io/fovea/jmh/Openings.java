package io.fovea.jmh;

import static io.fovea.jmh.NumberedRecords.text;

import io.fovea.Database;
import io.fovea.InTurn;
import io.fovea.Key;
import io.fovea.Markdown;
import io.fovea.Options;
import io.fovea.Row;
import io.fovea.RowTable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * The time to open a large, cleanly closed file, and how much of the buffer this touches: the first
 * open in a JVM, and later ones. Each is followed by a read of the last record, timed separately.
 *
 * <p>{@code --load} creates the file without opening it, so that the measured open is in a new JVM.
 */
@Command(
    name = "Openings",
    mixinStandardHelpOptions = true,
    showDefaultValues = true,
    description = "Opens a large file.")
public final class Openings implements Callable<Integer> {
  private static final double MILLIS = 1e6;
  private static final String AIM = "<= 100";

  @Option(names = "--path", description = "The database.")
  private Path path = Path.of("open.fovea");

  @Option(names = "--records", description = "Number of records that --load creates.")
  private long records = 80_000_000;

  @Option(names = "--load", description = "Creates the file, replacing an existing one, and ends.")
  private boolean load;

  @Option(names = "--buffer", description = "Size of the buffer, in MiB.")
  private long buffer = 4096;

  @Option(names = "--openings", description = "Number of opens, one after another.")
  private int openings = 11;

  @Option(names = "--figures", description = "File for the figures of the page.")
  private @Nullable Path figures;

  private final NumberedRecords of = new NumberedRecords("records", 90);

  private Openings() {}

  /** Runs the benchmark. */
  public static void main(String[] args) {
    System.exit(new CommandLine(new Openings()).execute(args));
  }

  @Override
  public Integer call() throws Exception {
    Options options = Options.defaults().bufferBytes(buffer << 20);
    if (load) {
      NumberedRecords.remove(path);
      try (Database db = Database.open(path, options)) {
        of.load(db.table(of.plain), records);
      }
      return 0;
    }
    double[] opened = new double[openings];
    double[] first = new double[openings];
    double[] touched = new double[openings];
    for (int i = 0; i < openings; i++) {
      long before = residentKib();
      long began = System.nanoTime();
      try (Database db = Database.open(path, options)) {
        opened[i] = (System.nanoTime() - began) / MILLIS;
        touched[i] = (residentKib() - before) / 1024.0;
        began = System.nanoTime();
        RowTable t = db.table(of.plain);
        long last = t.count() - 1;
        Key key = t.key();
        Row row = t.row();
        if (!db.read(tx -> t.get(tx, key.set(last), row))) {
          throw new IllegalStateException("Missing record " + last + ".");
        }
        first[i] = (System.nanoTime() - began) / MILLIS;
      }
    }
    double gib = Files.size(path) / (double) (1 << 30);
    Markdown.head("opening", "ms", "ms until a record was read", "MiB touched");
    for (int i = 0; i < openings; i++) {
      Markdown.line(
          i + 1, text("%.1f", opened[i]), text("%.1f", first[i]), text("%.1f", touched[i]));
    }
    Figures to = new Figures(figures, "open");
    to.add("the file", "GiB", "", gib);
    to.add("the first time in a JVM", "ms", AIM, opened[0]);
    to.add("again in the same JVM", "ms", AIM, median(opened));
    to.add("the first read after it", "ms", "", median(first));
    to.add("additional memory of the process, buffer 4 GiB", "MiB", "", touched[0]);
    return 0;
  }

  /** Returns the median of all but the first. */
  private static double median(double[] values) {
    return InTurn.median(Arrays.copyOfRange(values, Math.min(1, values.length - 1), values.length));
  }

  private static long residentKib() throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith("VmRSS:")) {
        return Long.parseLong(line.replaceAll("[^0-9]", ""));
      }
    }
    throw new IllegalStateException("/proc does not show the memory of the process.");
  }
}
