package io.fovea.jmh;

import static io.fovea.jmh.NumberedRecords.text;

import io.fovea.InTurn;
import io.fovea.Markdown;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * What the first use of a store costs in a new JVM, compared with other engines: opening a new
 * store, one transaction, and closing it; and a load of records as the first thing.
 *
 * <p>Each figure comes from a separate process ({@link ColdRun}); the kinds are started in turn,
 * round after round. Rows with a cache use an AOT cache, trained once before by the same run.
 */
@Command(
    name = "ColdStart",
    mixinStandardHelpOptions = true,
    showDefaultValues = true,
    description = "Measures the first use of a store in a new JVM.")
public final class ColdStart implements Callable<Integer> {
  /** The first feature version with AOT caches of the form used here. */
  private static final int AOT_JDK = 25;

  @Option(names = "--dir", description = "Folder for the stores, which are deleted afterwards.")
  private Path dir = Path.of(".");

  @Option(names = "--records", description = "Number of records of 128 bytes that a load adds.")
  private int records = 500_000;

  @Option(names = "--rounds", description = "Processes of each kind.")
  private int rounds = 10;

  private ColdStart() {}

  /** Runs the benchmark. */
  public static void main(String[] args) {
    System.exit(new CommandLine(new ColdStart()).execute(args));
  }

  /** The columns of {@link ColdRun}'s output. */
  private enum Column {
    PROCESSOR,
    OPEN,
    LOAD,
    ALL,
    AGAIN
  }

  /** A line of a table. */
  private final class Kind {
    final String name;
    final String engine;
    final int added;
    final boolean cached;
    final List<double[]> runs = new ArrayList<>();

    Kind(String name, String engine, int added, boolean cached) {
      this.name = name;
      this.engine = engine;
      this.added = added;
      this.cached = cached;
    }

    void train() throws IOException, InterruptedException {
      if (cached) {
        run("-XX:AOTCacheOutput=" + cache());
      }
    }

    void measure() throws IOException, InterruptedException {
      runs.add(cached ? run("-XX:AOTCache=" + cache()) : run());
    }

    private Path cache() {
      return dir.resolve("cold-" + engine + ".aot");
    }

    private double[] run(String... options) throws IOException, InterruptedException {
      Path folder = Files.createTempDirectory(dir, "cold");
      try {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.add("--enable-native-access=ALL-UNNAMED");
        command.add("--add-opens=java.base/java.nio=ALL-UNNAMED"); // lmdbjava changes addresses
        command.add("--add-exports=java.base/sun.nio.ch=ALL-UNNAMED");
        command.addAll(List.of(options));
        command.addAll(List.of("-cp", System.getProperty("java.class.path")));
        command.addAll(List.of(ColdRun.class.getName(), engine, "" + added, folder.toString()));
        Process process =
            new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        String out =
            new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        int status = process.waitFor();
        if (status != 0) {
          throw new IllegalStateException(name + " ended with " + status + ".");
        }
        return out.lines()
            .filter(line -> line.startsWith(ColdRun.FIGURES)) // a JVM that trains prints more
            .flatMap(line -> Stream.of(line.substring(ColdRun.FIGURES.length()).split(" ")))
            .mapToDouble(Double::parseDouble)
            .toArray();
      } finally {
        remove(folder);
      }
    }

    double median(Column column) {
      return quantile(column, 0.5);
    }

    double quantile(Column column, double part) {
      double[] all = runs.stream().mapToDouble(r -> r[column.ordinal()]).toArray();
      return InTurn.quantile(all, part);
    }
  }

  @Override
  public Integer call() throws Exception {
    List<Kind> opens = new ArrayList<>();
    opens.add(new Kind("JVM alone", "none", 0, false));
    opens.add(new Kind("Fovea", "fovea", 0, false));
    opens.add(new Kind("Fovea, in memory", "fovea-memory", 0, false));
    if (Runtime.version().feature() >= AOT_JDK) {
      opens.add(new Kind("Fovea, AOT cache", "fovea", 0, true));
    }
    opens.add(new Kind("MVStore", "mvstore", 0, false));
    opens.add(new Kind("MVStore, in memory", "mvstore-memory", 0, false));
    opens.add(new Kind("LMDB", "lmdb", 0, false));
    opens.add(new Kind("RocksDB", "rocksdb", 0, false));
    List<Kind> loads = new ArrayList<>();
    loads.add(new Kind("Fovea, transactions", "fovea", records, false));
    loads.add(new Kind("Fovea, one load", "fovea-bulk", records, false));
    loads.add(new Kind("MVStore", "mvstore", records, false));
    loads.add(new Kind("LMDB", "lmdb", records, false));
    loads.add(new Kind("RocksDB", "rocksdb", records, false));
    List<Kind> all = new ArrayList<>(opens);
    all.addAll(loads);
    for (Kind k : all) {
      k.train();
    }
    for (int r = 0; r < rounds; r++) {
      for (Kind k : all) {
        k.measure();
      }
    }
    Markdown.head(
        "open, one transaction, close",
        "processor s",
        "least-most",
        "elapsed ms",
        "open again, ms",
        "least-most");
    for (Kind k : opens) {
      Markdown.line(
          k.name,
          text("%.2f", k.median(Column.PROCESSOR)),
          range(k, "%.2f", Column.PROCESSOR, 1),
          text("%.0f", k.median(Column.ALL) * 1e3),
          text("%.1f", k.median(Column.AGAIN) * 1e3),
          range(k, "%.1f", Column.AGAIN, 1e3));
    }
    System.out.println();
    Markdown.head(
        "load", "records/s", "least-most", "processor s, with open and close", "least-most");
    for (Kind k : loads) {
      Markdown.line(
          k.name,
          text("%,.0f", records / k.median(Column.LOAD)),
          text("%,.0f", records / k.quantile(Column.LOAD, 1))
              + text("-%,.0f", records / k.quantile(Column.LOAD, 0)),
          text("%.2f", k.median(Column.PROCESSOR)),
          range(k, "%.2f", Column.PROCESSOR, 1));
    }
    System.out.printf("%nMedians of %d processes of each, in turn.%n", rounds);
    for (Kind k : all) {
      Files.deleteIfExists(k.cache());
    }
    return 0;
  }

  private static String range(Kind k, String format, Column column, double factor) {
    return text(format, k.quantile(column, 0) * factor)
        + "-"
        + text(format, k.quantile(column, 1) * factor);
  }

  private static void remove(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }
}
