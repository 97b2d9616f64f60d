package io.fovea.jmh;

import io.fovea.InTurn;
import io.fovea.Markdown;
import io.fovea.jmh.BesideStore.Engine;
import io.fovea.jmh.BesideWork.Workload;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Measures Fovea beside LMDB, RocksDB and MVStore, and prints a table in Markdown; with {@code
 * --plot}, draws it. docs/benchmarks/beside.md says what is equal and what is not.
 *
 * <pre>
 *   java -cp jmh/target/benchmarks.jar io.fovea.jmh.BesideOthers --plot beside.svg
 * </pre>
 *
 * <p>Each engine has a JVM of its own ({@link BesideWork}) with the same options and heap, so that
 * no engine pays for another one's garbage. All engines are open at the same time. A round is a
 * slice of each in turn, so that each gets the same of a machine whose speed changes. Figures are
 * medians over the rounds. A run in which a read is wrong, or an update is lost, fails.
 */
@Command(
    name = "BesideOthers",
    mixinStandardHelpOptions = true,
    showDefaultValues = true,
    description = "Measures Fovea beside LMDB, RocksDB and MVStore.")
public final class BesideOthers implements Callable<Integer> {
  /** Until a process has closed its store. */
  private static final int EXIT_SECONDS = 60;

  @Option(names = "--records", description = "How many records of 108 bytes.")
  private int records = 1_000_000;

  @Option(names = "--slice", description = "Seconds of each slice.")
  private double slice = 1;

  @Option(names = "--rounds", description = "Slices of each engine in each line.")
  private int rounds = 5;

  @Option(names = "--warm-up", description = "Rounds before them, which do not count.")
  private int warmUp = 3;

  @Option(names = "--memory", description = "MiB of each engine's cache.")
  private int memory = 512;

  @Option(names = "--heap", description = "MiB of each JVM's heap.")
  private int heap = 2048;

  @Option(
      names = "--engines",
      split = ",",
      description = "Which engines, the first one is what the others are compared with.")
  private List<Engine> engines = List.of(Engine.values());

  @Option(names = "--workloads", split = ",", description = "Which lines, by what they do.")
  private List<Workload> workloads = List.of(Workload.values());

  @Option(names = "--dir", description = "Where the files are; by default a temporary folder.")
  private Path dir;

  @Option(names = "--plot", description = "The chart, as SVG.")
  private Path plot;

  private BesideOthers() {}

  /** A line of the table. */
  record Line(String title, Workload workload, int threads, boolean durable) {}

  /** A line's figures by engine: operations a second in each round. */
  record Figures(Line line, Map<Engine, double[]> rounds) {
    double median(Engine e) {
      return InTurn.median(rounds.get(e));
    }

    /** Half of the distance from the least to the most, in parts of the median. */
    double spread(Engine e) {
      double[] all = rounds.get(e);
      double most = Arrays.stream(all).max().orElseThrow();
      double least = Arrays.stream(all).min().orElseThrow();
      return (most - least) / 2 / median(e);
    }

    /** The median over the rounds of the ratio to another engine in the same round. */
    double ratio(Engine e, Engine to) {
      double[] ratios = rounds.get(e).clone();
      Arrays.setAll(ratios, i -> ratios[i] / rounds.get(to)[i]);
      return InTurn.median(ratios);
    }
  }

  private static final List<Line> LINES =
      List.of(
          new Line("reads of 1 record, 1 thread", Workload.READ, 1, false),
          new Line("reads of 1 record, 2 threads", Workload.READ, 2, false),
          new Line("scans of 100 records, 1 thread", Workload.SCAN, 1, false),
          new Line("4 reads and 4 updates, 1 thread", Workload.UPDATE, 1, false),
          new Line("4 reads and 4 updates, 2 threads", Workload.UPDATE, 2, false),
          new Line("4 reads and 4 updates, durable, 2 threads", Workload.UPDATE, 2, true));

  /** See the class. */
  public static void main(String[] args) {
    System.exit(
        new CommandLine(new BesideOthers())
            .setCaseInsensitiveEnumValuesAllowed(true)
            .execute(args));
  }

  @Override
  public Integer call() throws Exception {
    if (records < 1 || rounds < 1 || warmUp < 0 || slice <= 0) {
      throw new IllegalArgumentException("records, rounds and slice are positive");
    }
    List<Figures> figures = new ArrayList<>();
    Map<Engine, String> isolation = new EnumMap<>(Engine.class);
    Path folder = Files.createTempDirectory(dir == null ? temporary() : dir, "beside");
    try {
      for (boolean durable : new boolean[] {false, true}) {
        List<Line> lines =
            LINES.stream()
                .filter(l -> l.durable == durable && workloads.contains(l.workload))
                .toList();
        if (!lines.isEmpty()) {
          figures.addAll(measure(folder, durable, lines, isolation));
        }
      }
    } finally {
      delete(folder);
    }
    List<Engine> there = engines.stream().filter(isolation::containsKey).toList();
    print(there, isolation, figures);
    if (plot != null) {
      Files.writeString(plot, BesideChart.draw(there, figures), StandardCharsets.UTF_8);
    }
    return 0;
  }

  private static Path temporary() {
    return Path.of(System.getProperty("java.io.tmpdir"));
  }

  private List<Figures> measure(
      Path folder, boolean durable, List<Line> lines, Map<Engine, String> isolation)
      throws Exception {
    List<Process> processes = new ArrayList<>();
    List<Figures> figures = new ArrayList<>();
    try {
      Map<Engine, Child> children = new EnumMap<>(Engine.class);
      for (Engine e : engines) {
        // One load after the other: two at once are slower than that.
        say(e.title + (durable ? ", durable" : "") + ": load");
        Process process =
            start(e, Files.createDirectory(folder.resolve(e + "-" + durable)), durable);
        processes.add(process);
        Child child = new Child(e, process);
        String line = child.line();
        if (line != null && line.startsWith(BesideWork.READY)) {
          children.put(e, child);
          isolation.put(e, line.substring(BesideWork.READY.length()));
        } else if (line != null && line.startsWith(BesideWork.MISSING)) {
          say(
              "%s does not run on this machine and is left out: %s"
                  .formatted(e.title, line.substring(BesideWork.MISSING.length())));
        } else {
          throw BesideWork.unexpected(e, line);
        }
      }
      for (Line line : lines) {
        say(line.title);
        figures.add(inTurn(line, children));
      }
      for (Child child : children.values()) {
        child.ask(BesideWork.CHECK);
        child.send(BesideWork.END);
      }
      for (Process p : processes) {
        if (!p.waitFor(EXIT_SECONDS, TimeUnit.SECONDS)) {
          throw new IOException("a process does not end: " + p.info());
        }
      }
      return figures;
    } finally {
      processes.forEach(Process::destroyForcibly);
      for (Process p : processes) {
        p.waitFor();
      }
    }
  }

  private Figures inTurn(Line line, Map<Engine, Child> children) throws IOException {
    String what = "%s %d %d".formatted(line.workload, line.threads, (long) (slice * 1e9));
    Map<Engine, double[]> all = new EnumMap<>(Engine.class);
    children.keySet().forEach(e -> all.put(e, new double[rounds]));
    for (int round = -warmUp; round < rounds; round++) {
      for (Map.Entry<Engine, Child> child : children.entrySet()) {
        double perSecond = child.getValue().ask(what);
        if (round >= 0) {
          all.get(child.getKey())[round] = perSecond;
        }
      }
    }
    return new Figures(line, all);
  }

  // ------------------------------------------------------------------------------------ processes

  private Process start(Engine engine, Path folder, boolean durable) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-Xmx" + heap + "m");
    command.add("--enable-native-access=ALL-UNNAMED");
    // lmdbjava sets the addresses of buffers.
    command.add("--add-opens=java.base/java.nio=ALL-UNNAMED");
    command.add("--add-exports=java.base/sun.nio.ch=ALL-UNNAMED");
    if (Runtime.version().feature() >= 24) {
      command.add("--sun-misc-unsafe-memory-access=allow");
    }
    command.add("-Dlmdbjava.disable.checks=true");
    command.add("-cp");
    command.add(System.getProperty("java.class.path"));
    command.add(BesideWork.class.getName());
    command.add(engine.name());
    command.add(folder.toString());
    command.add(Long.toString((long) memory << 20));
    command.add(Integer.toString(records));
    command.add(Boolean.toString(durable));
    return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
  }

  /** A process and what it says. */
  private static final class Child {
    private final Engine engine;
    private final BufferedReader in;
    private final PrintWriter out;

    Child(Engine engine, Process process) {
      this.engine = engine;
      this.in = process.inputReader(StandardCharsets.UTF_8);
      this.out = new PrintWriter(process.outputWriter(StandardCharsets.UTF_8), true);
    }

    /** The next line that is an answer; null at the end. */
    String line() throws IOException {
      for (String s = in.readLine(); s != null; s = in.readLine()) {
        if (s.startsWith(BesideWork.PREFIX)) {
          return s.substring(BesideWork.PREFIX.length());
        }
        System.err.println(engine.title + ": " + s);
      }
      return null;
    }

    void send(String line) {
      out.println(line);
    }

    double ask(String question) throws IOException {
      send(question);
      String answer = line();
      if (answer == null || !answer.startsWith(BesideWork.DONE)) {
        throw BesideWork.unexpected(engine, answer);
      }
      return Double.parseDouble(answer.substring(BesideWork.DONE.length()));
    }
  }

  private static void delete(Path folder) throws IOException {
    Files.walkFileTree(
        folder,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
              throws IOException {
            Files.delete(file);
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult postVisitDirectory(Path dir, IOException failure)
              throws IOException {
            Files.delete(dir);
            return FileVisitResult.CONTINUE;
          }
        });
  }

  // --------------------------------------------------------------------------------------- output

  private void print(List<Engine> there, Map<Engine, String> isolation, List<Figures> figures) {
    Markdown.head("transactions/s", there.stream().map(e -> e.title).toArray());
    for (Figures f : figures) {
      Markdown.line(f.line.title, there.stream().map(e -> cell(f, e, there.get(0))).toArray());
    }
    System.out.printf(
        Locale.ROOT,
        "%nMedians of %d slices of %s s in turn, ± half of the distance from the least to the most; after ·, the"
            + " median of the ratio to %s in the same round. %,d records, %d MiB for each cache, a heap of"
            + " %d MiB for each JVM, JDK %s, %d processors.%n%n",
        rounds,
        Double.toString(slice).replaceFirst("\\.0$", ""),
        there.get(0).title,
        records,
        memory,
        heap,
        Runtime.version().feature(),
        Runtime.getRuntime().availableProcessors());
    Markdown.head("engine", "transactions");
    there.forEach(e -> Markdown.line(e.title, isolation.get(e)));
  }

  private static String cell(Figures f, Engine e, Engine first) {
    String cell =
        String.format(Locale.ROOT, "%s ± %.0f %%", number(f.median(e)), 100 * f.spread(e));
    return e == first ? cell : cell + String.format(Locale.ROOT, " · %.2f", f.ratio(e, first));
  }

  /** Three digits that count: 1,230,000. */
  static String number(double value) {
    double unit = Math.pow(10, Math.max(0, Math.floor(Math.log10(Math.max(value, 1))) - 2));
    return String.format(Locale.ROOT, "%,.0f", Math.round(value / unit) * unit);
  }

  private static final long BEGAN = System.nanoTime();

  private static void say(String what) {
    System.err.println(Duration.ofNanos(System.nanoTime() - BEGAN).toSeconds() + " s: " + what);
  }
}
