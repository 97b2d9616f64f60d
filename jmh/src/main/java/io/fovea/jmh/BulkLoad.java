package io.fovea.jmh;

import static io.fovea.jmh.NumberedRecords.text;

import io.fovea.Database;
import io.fovea.LoadReport;
import io.fovea.Markdown;
import io.fovea.Options;
import io.fovea.RowTable;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Records per second loaded into an empty table: in key order, in random order, and with an index.
 * In turn with these it measures the device: a file with as many bytes as the first load wrote,
 * written sequentially past the page cache, and synced.
 *
 * <p>Each load uses a new database, and its time ends when it is durable.
 */
@Command(
    name = "BulkLoad",
    mixinStandardHelpOptions = true,
    showDefaultValues = true,
    description = "Loads tables, and compares with the speed of the device.")
public final class BulkLoad implements Callable<Integer> {
  private static final int BLOCK = 1 << 20;
  private static final int ALIGNMENT = 4096;
  private static final String RATE = "records/s";

  @Option(
      names = "--path",
      description = "The database; an existing one is deleted first. It is kept afterwards.")
  private Path path = Path.of("load.fovea");

  @Option(names = "--records", description = "Number of records.")
  private long records = 10_000_000;

  @Option(names = "--pad", description = "Bytes of a record, minus 24.")
  private int pad = 90;

  @Option(names = "--buffer", description = "Size of the buffer, in MiB.")
  private long buffer = 512;

  @Option(names = "--rounds", description = "Loads of each kind.")
  private int rounds = 3;

  @Option(names = "--figures", description = "File for the figures of the page.")
  private @Nullable Path figures;

  private NumberedRecords of = new NumberedRecords("records", pad);

  private BulkLoad() {}

  /** Runs the benchmark. */
  public static void main(String[] args) {
    System.exit(new CommandLine(new BulkLoad()).execute(args));
  }

  /** The result of one load. */
  private record Done(double seconds, long writtenBytes, LoadReport report) {}

  @Override
  public Integer call() throws Exception {
    of = new NumberedRecords("records", pad);
    Figures to = new Figures(figures, "load");
    Markdown.head("load", "s", RATE, "MiB/s written", "of the device's", "MiB sorted in files");
    for (int r = 1; r <= rounds; r++) {
      Done ascending = load(of.plain, true);
      double device = device(ascending.writtenBytes);
      double share = perSecond(ascending) / device;
      line("ascending", ascending, device);
      to.add("in the order of keys", RATE, ">= 2500000, or the device's", rate(ascending));
      to.add("in the order of keys: written", "MiB/s", "", perSecond(ascending));
      to.add("the device alone: written", "MiB/s", "", device);
      to.add("load / the device", "", "", share);
      Done scattered = load(of.plain, false);
      line("in no order", scattered, device);
      to.add("in no order", RATE, "", rate(scattered));
      Done indexed = load(of.indexed, true);
      line("ascending, with an index", indexed, device);
      to.add("in the order of keys, with an index", RATE, "", rate(indexed));
    }
    return 0;
  }

  private double rate(Done d) {
    return records / d.seconds;
  }

  private static double perSecond(Done d) {
    return d.writtenBytes / d.seconds / (1 << 20);
  }

  private void line(String what, Done d, double device) {
    Markdown.line(
        what,
        text("%.2f", d.seconds),
        text("%,.0f", rate(d)),
        text("%,.0f", perSecond(d)),
        text("%.2f", perSecond(d) / device),
        text("%,.0f", d.report.sortedBytes() / (double) (1 << 20)));
  }

  private Done load(TableSpec spec, boolean ascending) throws IOException {
    NumberedRecords.remove(path);
    Options options = Options.defaults().bufferBytes(buffer << 20);
    try (Database db = Database.open(path, options)) {
      RowTable t = db.table(spec);
      long before = db.stats().io().writtenBytes();
      long began = System.nanoTime();
      LoadReport report = ascending ? of.load(t, records) : of.loadScattered(t, records);
      double seconds = (System.nanoTime() - began) / 1e9;
      long written = db.stats().io().writtenBytes() - before;
      if (report.records() != records || t.count() != records) {
        throw new IllegalStateException(report + " of " + records + " records");
      }
      return new Done(seconds, written, report);
    }
  }

  /** Returns the JDK's option to bypass the page cache; javac warns about its name. */
  private static OpenOption direct() {
    try {
      Class<?> options = Class.forName("com.sun.nio.file.ExtendedOpenOption");
      return (OpenOption) options.getField("DIRECT").get(null);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("This JDK cannot open files with O_DIRECT.", e);
    }
  }

  /** Returns MiB per second of writing a file sequentially, including the sync. */
  private double device(long bytes) throws IOException {
    NumberedRecords.remove(path);
    long blocks = Math.max(1, bytes / BLOCK);
    try (Arena arena = Arena.ofConfined();
        FileChannel file =
            FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE, direct())) {
      ByteBuffer block = arena.allocate(BLOCK, ALIGNMENT).asByteBuffer();
      long began = System.nanoTime();
      for (long i = 0; i < blocks; i++) {
        block.clear();
        block.putLong(0, i);
        for (long at = i * BLOCK; block.hasRemaining(); ) {
          at += file.write(block, at);
        }
      }
      file.force(true);
      return blocks / ((System.nanoTime() - began) / 1e9);
    } finally {
      Files.deleteIfExists(path);
    }
  }
}
