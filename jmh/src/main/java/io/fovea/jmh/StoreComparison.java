package io.fovea.jmh;

import io.fovea.InTurn;
import io.fovea.Markdown;
import io.fovea.jmh.ComparisonWorker.Workload;
import io.fovea.jmh.StoreAdapter.Engine;
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
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Compares Fovea with LMDB, RocksDB and MVStore, and prints a Markdown table; {@code --plot} draws
 * it. {@code --rivals} adds two engines and more lines. docs/benchmarks/rivals.md describes what is
 * equal and what is not.
 *
 * <pre>
 *   java -cp jmh/target/benchmarks.jar io.fovea.jmh.StoreComparison --plot beside.svg
 *   docs/benchmarks/run.sh rivals      with what mvn -Privals builds on the class path
 * </pre>
 *
 * <p>Each engine has a separate JVM ({@link ComparisonWorker}) with the same options and heap, so
 * no engine pays for another one's garbage. All engines are open at the same time. A round is a
 * slice of each in turn, so changes in the speed of the machine affect all of them. Figures are
 * medians over the rounds. A run fails if a read is wrong or an update is lost; lost updates are
 * counted in the table.
 */
@Command(
    name = "StoreComparison",
    mixinStandardHelpOptions = true,
    showDefaultValues = true,
    description = "Compares Fovea with LMDB, RocksDB and MVStore.")
public final class StoreComparison implements Callable<Integer> {
  /** How long to wait for a process to close its store. */
  private static final int EXIT_SECONDS = 60;

  /** Memory of a process after its load that does not belong to files. */
  private static final long AFTER_LOAD = 16 << 20;

  @Option(names = "--records", description = "Number of records of 108 bytes.")
  private int records = 1_000_000;

  @Option(names = "--slice", description = "Seconds of each slice.")
  private double slice = 1;

  @Option(names = "--rounds", description = "Slices of each engine per line.")
  private int rounds = 5;

  @Option(names = "--warm-up", description = "Warm-up rounds.")
  private int warmUp = 3;

  @Option(names = "--memory", description = "MiB of each engine's cache.")
  private int memory = 512;

  @Option(names = "--heap", description = "MiB of each JVM's heap.")
  private int heap = 2048;

  @Option(
      names = "--engines",
      split = ",",
      description = "Engines to measure; the first one is the baseline.")
  private List<Engine> engines = Engine.USUAL;

  @Option(
      names = "--rivals",
      description =
          "All engines, with more lines: loads, 8 reads and 8 updates, 16 threads, data beyond memory.")
  private boolean rivals;

  @Option(
      names = "--beyond-records",
      description = "With --rivals: number of records beyond memory; 0 to omit these lines.")
  private int beyondRecords = 2_000_000;

  @Option(
      names = "--beyond-memory",
      description = "With --rivals: MiB of each engine's cache beyond memory.")
  private int beyondMemory = 32;

  @Option(
      names = "--beyond-heap",
      description =
          "With --rivals: MiB of each JVM's heap beyond memory, including caches on the heap.")
  private int beyondHeap = 128;

  @Option(
      names = "--beyond-limit",
      description =
          "With --rivals: MiB of the control group of a JVM beyond memory, including its pages in the cache of"
              + " the operating system.")
  private int beyondLimit = 288;

  @Option(names = "--workloads", split = ",", description = "Lines to measure, by workload.")
  private List<Workload> workloads = List.of(Workload.values());

  @Option(names = "--dir", description = "Folder for the files; by default a temporary folder.")
  private Path dir;

  @Option(names = "--plot", description = "File for the chart, as SVG.")
  private Path plot;

  private StoreComparison() {}

  /** A line of the table. A line without a workload is a load, measured once. */
  record Line(String title, @Nullable Workload workload, int threads, boolean durable) {}

  /** The results of a line by engine: operations per second in each round. */
  record Figures(Line line, Map<Engine, double[]> rounds) {
    double median(Engine e) {
      return InTurn.median(rounds.get(e));
    }

    /** Returns half the distance from the minimum to the maximum, relative to the median. */
    double spread(Engine e) {
      double[] all = rounds.get(e);
      double most = Arrays.stream(all).max().orElseThrow();
      double least = Arrays.stream(all).min().orElseThrow();
      return (most - least) / 2 / median(e);
    }

    /** Returns the median of the ratios to another engine in the same round. */
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

  private static final List<Line> RIVALS =
      List.of(
          new Line("reads of 1 record, 1 thread", Workload.READ, 1, false),
          new Line("reads of 1 record, 2 threads", Workload.READ, 2, false),
          new Line("scans of 100 records, 1 thread", Workload.SCAN, 1, false),
          new Line("8 reads and 8 updates, 1 thread", Workload.UPDATE_8, 1, false),
          new Line("8 reads and 8 updates, 2 threads", Workload.UPDATE_8, 2, false),
          new Line("8 reads and 8 updates, 16 threads", Workload.UPDATE_8, 16, false),
          new Line("8 reads and 8 updates, durable, 1 thread", Workload.UPDATE_8, 1, true),
          new Line("8 reads and 8 updates, durable, 2 threads", Workload.UPDATE_8, 2, true),
          new Line("8 reads and 8 updates, durable, 16 threads", Workload.UPDATE_8, 16, true));

  private static final List<Line> BEYOND =
      List.of(
          new Line("beyond memory: reads of 1 record, 2 threads", Workload.READ, 2, false),
          new Line("beyond memory: scans of 100 records, 2 threads", Workload.SCAN, 2, false),
          new Line("beyond memory: 8 reads and 8 updates, 2 threads", Workload.UPDATE_8, 2, false));

  /**
   * The engines that are open at the same time.
   *
   * @param name the name of the load and of the folders
   * @param memory MiB of each cache
   * @param heap MiB of each heap
   * @param limit MiB of total memory after the load; 0 for unlimited
   */
  private record Phase(
      String name,
      List<Line> lines,
      boolean durable,
      int records,
      int memory,
      int heap,
      int limit) {
    /** Tells whether memory is limited; another process then loads the records. */
    boolean isBounded() {
      return limit > 0;
    }

    /** Returns a phase with the same records, other memory, and no limit. */
    Phase unbounded(int memory, int heap) {
      return new Phase(name, lines, durable, records, memory, heap, 0);
    }
  }

  private List<Phase> phases() {
    List<Line> all = rivals ? RIVALS : LINES;
    List<Phase> phases = new ArrayList<>();
    for (boolean durable : new boolean[] {false, true}) {
      List<Line> lines =
          all.stream().filter(l -> l.durable == durable && workloads.contains(l.workload)).toList();
      String name = durable ? "durable" : "in memory";
      if (!lines.isEmpty()) {
        phases.add(new Phase(name, lines, durable, records, memory, heap, 0));
      }
    }
    if (rivals && beyondRecords > 0) {
      String why = ControlGroup.missing();
      if (why == null) {
        phases.add(
            new Phase(
                "beyond memory",
                BEYOND,
                false,
                beyondRecords,
                beyondMemory,
                beyondHeap,
                beyondLimit));
      } else {
        say("Lines of data beyond memory are omitted: " + why);
      }
    }
    return phases;
  }

  /** Runs the benchmark. */
  public static void main(String[] args) {
    System.exit(
        new CommandLine(new StoreComparison())
            .setCaseInsensitiveEnumValuesAllowed(true)
            .execute(args));
  }

  @Override
  public Integer call() throws Exception {
    if (records < 1 || rounds < 1 || warmUp < 0 || slice <= 0) {
      throw new IllegalArgumentException("records, rounds and slice must be positive");
    }
    if (rivals && engines == Engine.USUAL) {
      engines = List.of(Engine.values());
    }
    List<Figures> figures = new ArrayList<>();
    Map<Engine, String> isolation = new EnumMap<>(Engine.class);
    Map<Engine, Long> lost = new EnumMap<>(Engine.class);
    Path folder = Files.createTempDirectory(dir == null ? temporary() : dir, "beside");
    try {
      for (Phase phase : phases()) {
        figures.addAll(measure(folder, phase, isolation, lost));
      }
    } finally {
      delete(folder);
    }
    List<Engine> there = engines.stream().filter(isolation::containsKey).toList();
    print(there, isolation, lost, figures);
    if (plot != null) {
      List<Figures> drawn = figures.stream().filter(f -> isDrawn(f.line)).toList();
      Files.writeString(plot, ComparisonChart.draw(there, drawn), StandardCharsets.UTF_8);
    }
    return lost.values().stream().allMatch(n -> n == 0) ? 0 : 1;
  }

  /** Tells whether a line is drawn: of the lines of rivals, one number of threads per workload. */
  private boolean isDrawn(Line line) {
    return !rivals
        || line.workload == Workload.SCAN
        || line.workload != null && line.threads == (line.durable ? 16 : 2);
  }

  private static Path temporary() {
    return Path.of(System.getProperty("java.io.tmpdir"));
  }

  private List<Figures> measure(
      Path folder, Phase phase, Map<Engine, String> isolation, Map<Engine, Long> lost)
      throws Exception {
    List<Process> processes = new ArrayList<>();
    List<ControlGroup> groups = new ArrayList<>();
    List<Figures> figures = new ArrayList<>();
    try {
      Map<Engine, Child> children = new EnumMap<>(Engine.class);
      Map<Engine, double[]> loads = new EnumMap<>(Engine.class);
      for (Engine e : engines) {
        // Loads run one after another, since two at once are slower.
        say(e.title + ", " + phase.name + ": load");
        Path files = Files.createDirectory(folder.resolve(e + "-" + phase.name.replace(' ', '-')));
        if (phase.isBounded() && !loadAhead(e, files, phase.unbounded(memory, heap))) {
          continue;
        }
        Process process = start(e, files, phase);
        processes.add(process);
        ControlGroup group = phase.isBounded() ? ControlGroup.around(process.pid()) : null;
        if (group != null) {
          groups.add(group);
        }
        Child child = new Child(e, process);
        String ready = child.ready();
        if (ready == null) {
          continue;
        }
        String[] words = ready.split(" ", 2);
        children.put(e, child);
        loads.put(e, new double[] {Double.parseDouble(words[0])});
        isolation.put(e, words[1]);
        if (group != null) {
          group.limit((long) phase.limit << 20);
        }
      }
      if (rivals && !phase.isBounded()) {
        String title = phase.name + ": records loaded, 1 thread";
        figures.add(new Figures(new Line(title, null, 1, phase.durable), loads));
      }
      for (Line line : phase.lines) {
        say(line.title);
        figures.add(inTurn(line, children));
      }
      for (Map.Entry<Engine, Child> child : children.entrySet()) {
        lost.merge(child.getKey(), (long) child.getValue().ask(ComparisonWorker.CHECK), Long::sum);
        child.getValue().send(ComparisonWorker.END);
      }
      for (Process p : processes) {
        awaitEnd(p);
      }
      return figures;
    } finally {
      processes.forEach(Process::destroyForcibly);
      for (Process p : processes) {
        p.waitFor();
      }
      for (ControlGroup group : groups) {
        group.close();
      }
    }
  }

  /**
   * Loads the records in another process, with the memory of the lines in memory. An engine that
   * splits pages at random would take most of the time if its cache were small. Returns whether the
   * engine is available.
   */
  private boolean loadAhead(Engine engine, Path files, Phase phase)
      throws IOException, InterruptedException {
    Process process = start(engine, files, phase);
    try (ControlGroup group = ControlGroup.around(process.pid())) {
      try {
        Child child = new Child(engine, process);
        if (child.ready() == null) {
          return false;
        }
        child.send(ComparisonWorker.END);
        awaitEnd(process);
      } finally {
        process.destroyForcibly().waitFor();
      }
      // Pages cached for the loader would be available to the measured process without counting as
      // its memory.
      group.limit(AFTER_LOAD);
      return true;
    }
  }

  private static void awaitEnd(Process process) throws IOException, InterruptedException {
    if (!process.waitFor(EXIT_SECONDS, TimeUnit.SECONDS)) {
      throw new IOException("A process did not end: " + process.info());
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

  private static Process start(Engine engine, Path folder, Phase phase) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-Xmx" + phase.heap + "m");
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
    command.add(ComparisonWorker.class.getName());
    command.add(engine.name());
    command.add(folder.toString());
    command.add(Long.toString((long) phase.memory << 20));
    command.add(Integer.toString(phase.records));
    command.add(Boolean.toString(phase.durable));
    command.add(Boolean.toString(phase.isBounded()));
    return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
  }

  /** A child process and its output. */
  private static final class Child {
    private final Engine engine;
    private final BufferedReader in;
    private final PrintWriter out;

    Child(Engine engine, Process process) {
      this.engine = engine;
      this.in = process.inputReader(StandardCharsets.UTF_8);
      this.out = new PrintWriter(process.outputWriter(StandardCharsets.UTF_8), true);
    }

    String line() throws IOException {
      for (String s = in.readLine(); s != null; s = in.readLine()) {
        if (s.startsWith(ComparisonWorker.PREFIX)) {
          return s.substring(ComparisonWorker.PREFIX.length());
        }
        System.err.println(engine.title + ": " + s);
      }
      return null;
    }

    /** Returns the text after the answer to the start; null if the engine is not available. */
    @Nullable String ready() throws IOException {
      String line = line();
      if (line != null && line.startsWith(ComparisonWorker.READY)) {
        return line.substring(ComparisonWorker.READY.length());
      }
      if (line == null || !line.startsWith(ComparisonWorker.MISSING)) {
        throw ComparisonWorker.unexpected(engine, line);
      }
      say(
          "%s does not run on this machine and is left out: %s"
              .formatted(engine.title, line.substring(ComparisonWorker.MISSING.length())));
      return null;
    }

    void send(String line) {
      out.println(line);
    }

    double ask(String question) throws IOException {
      send(question);
      String answer = line();
      if (answer == null || !answer.startsWith(ComparisonWorker.DONE)) {
        throw ComparisonWorker.unexpected(engine, answer);
      }
      return Double.parseDouble(answer.substring(ComparisonWorker.DONE.length()));
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

  private void print(
      List<Engine> there,
      Map<Engine, String> isolation,
      Map<Engine, Long> lost,
      List<Figures> figures) {
    Markdown.head(
        rivals ? "transactions/s; records/s" : "transactions/s",
        there.stream().map(e -> e.title).toArray());
    for (Figures f : figures) {
      Markdown.line(f.line.title, there.stream().map(e -> cell(f, e, there.get(0))).toArray());
    }
    System.out.printf(
        Locale.ROOT,
        "%nMedians of %d slices of %s s in turn, ± half of the range; after ·, the"
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
    if (figures.stream().anyMatch(f -> BEYOND.contains(f.line))) {
      System.out.printf(
          Locale.ROOT,
          "Beyond memory: %,d records, %d MiB for each cache, a heap of %d MiB, and a control group of %d MiB"
              + " for each JVM after its load, with what the operating system keeps of its files.%n%n",
          beyondRecords,
          beyondMemory,
          beyondHeap,
          beyondLimit);
    }
    Markdown.head("engine", "transactions", "lost updates");
    there.forEach(e -> Markdown.line(e.title, isolation.get(e), lost.get(e)));
  }

  private static String cell(Figures f, Engine e, Engine first) {
    if (!f.rounds.containsKey(e)) {
      return "";
    }
    String cell =
        f.line.workload == null
            ? number(f.median(e))
            : String.format(Locale.ROOT, "%s ± %.0f %%", number(f.median(e)), 100 * f.spread(e));
    return e == first ? cell : cell + String.format(Locale.ROOT, " · %.2f", f.ratio(e, first));
  }

  /** Formats a number with three significant digits: 1,230,000. */
  static String number(double value) {
    double unit = Math.pow(10, Math.max(0, Math.floor(Math.log10(Math.max(value, 1))) - 2));
    return String.format(Locale.ROOT, "%,.0f", Math.round(value / unit) * unit);
  }

  private static final long BEGAN = System.nanoTime();

  private static void say(String what) {
    System.err.println(Duration.ofNanos(System.nanoTime() - BEGAN).toSeconds() + " s: " + what);
  }
}
