package io.fovea.translations;

import io.fovea.InTurn;
import io.fovea.Markdown;
import io.fovea.config.Translation;
import io.fovea.translations.RecordsEngine.Spec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.DoubleFunction;
import java.util.function.ToDoubleFunction;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * Compares the costs of the translations: figures of "Predictive Translation" (SIGMOD 2026) and of
 * "In-Memory Performance for Big Data" (PVLDB 8, 2014).
 *
 * <pre>
 *   ladder     descents through pages of links, by fill of the pool           figure 9, ablation
 *   memory     random lookups, tree and API, all in memory                    figure 5
 *   metadata   share of a buffer for pages, by size of the file        figure 12
 *   larger     random lookups of data five times the buffer                   figures 6 and 7
 * sizes      lookups by size of the working set, all in memory              figures 1 and 10 (2014)
 *   beyond     the same, of sizes just below and above the buffer             figure 11
 *   inserts    random inserts into a table that grows to six times            figure 12
 *   drift      a quarter of the working set is replaced at a time             figure 13
 *   promotion  frame hints, and promotion to preferred frames   section 6.7 of 2026
 *   locations  lookups that begin at cached key locations, tree and API           in no paper
 * </pre>
 *
 * <p>Each kind has a separate JVM. All are open, and one works at a time, a slice in every round
 * ({@link Turns}).
 */
@Command(
    name = "Translations",
    mixinStandardHelpOptions = true,
    showDefaultValues = true,
    description = "Compares page translations.")
public final class Translations implements Callable<Integer> {
  private static final int PAGE = 4096;
  static final int GROUP = 64;

  private static final ToDoubleFunction<double[]> PER_SECOND = a -> a[0] * 1e9 / a[1];

  @Parameters(
      description =
          "ladder, memory, metadata, larger, sizes, beyond, inserts, drift, promotion, locations.")
  private List<String> figures = new ArrayList<>();

  @Option(names = "--dir", description = "Folder for database files.")
  private Path dir = Path.of(".");

  @Option(
      names = "--quick",
      description = "Small and short, as a test; the figures are meaningless.")
  private boolean quick;

  @Option(
      names = "--records",
      description =
          "Number of records of 8 + 120 bytes; by default 4 million in memory, 10 million in a file.")
  private Long records;

  @Option(names = "--rounds", description = "Measured slices of each kind.")
  private int rounds = 16;

  @Option(
      names = "--vmcache",
      paramLabel = "PROGRAM",
      description = "Program of vmcache, built separately, which adds a line to locations.")
  private Path vmcache;

  @Option(
      names = "--threads",
      split = ",",
      paramLabel = "N",
      description = "Numbers of threads of ladder and memory.")
  private int[] threadCounts = {1, 2};

  @Option(
      names = "--fills",
      split = ",",
      paramLabel = "PART",
      description = "Fills of ladder, pages relative to frames; 0.25 to 1.1 by default.")
  private double[] fills;

  @Option(names = "--slice", description = "Milliseconds.")
  private int slice = 200;

  private Translations() {}

  /** Runs the benchmark. */
  public static void main(String[] args) {
    System.exit(new CommandLine(new Translations()).execute(args));
  }

  @Override
  public Integer call() throws Exception {
    if (quick) {
      rounds = 2;
      slice = 50;
    }
    for (String figure : figures) {
      switch (figure) {
        case "ladder" -> new Ladder(this, threadCounts, fills()).run();
        case "memory" -> memory();
        case "metadata" -> metadata();
        case "larger" -> larger();
        case "sizes" -> sizes();
        case "beyond" -> beyond();
        case "inserts" -> inserts();
        case "drift" -> drift();
        case "promotion" -> promotion();
        case "locations" -> new KeyLocationLookups(this, records(10_000_000), vmcache).run();
        default -> throw new IllegalArgumentException("No figure " + figure + ".");
      }
      System.out.println();
    }
    return 0;
  }

  /** Returns the requested fills, or the default ones; few with --quick. */
  private double[] fills() {
    double[] asked = fills;
    if (asked != null) {
      return asked;
    }
    return quick ? new double[] {0.5, 1.1} : new double[] {0.25, 0.5, 0.75, 0.95, 1.1};
  }

  boolean quick() {
    return quick;
  }

  int rounds() {
    return rounds;
  }

  /** Lets engines take turns; engines that have begun before are warm. */
  Turns turns(List<Engine> engines, String command, boolean begun) {
    return Turns.of(engines, command, warmUpNanos(begun), sliceNanos(), rounds);
  }

  /** Returns the warm-up: longer for newly started engines, shorter for later commands. */
  private long warmUpNanos(boolean begun) {
    return (quick ? 50 : begun ? 500 : 2500) * 1_000_000L;
  }

  private long sliceNanos() {
    return slice * 1_000_000L;
  }

  private static String text(String format, Object... values) {
    return String.format(Locale.ROOT, format, values);
  }

  static String name(Translation kind) {
    return kind.name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  // ------------------------------------------------------------------------------------ in memory

  private long records(long memory) {
    return records != null ? records : quick ? 20_000 : memory;
  }

  static Spec spec(Translation kind, long records) {
    return Spec.of(records, 8, 120, PAGE, (96L << 20) + records * 200).with(kind);
  }

  private void memory() {
    long n = records(4_000_000);
    Translation[] kinds = {
      Translation.PREDICTIVE,
      Translation.LATCHED,
      Translation.OPTIMISTIC,
      Translation.SWIZZLED,
      Translation.VIRTUAL,
      Translation.DIRECT
    };
    Map<String, List<String>> trees = new LinkedHashMap<>();
    Map<String, List<String>> databases = new LinkedHashMap<>();
    for (Translation kind : kinds) {
      trees.put(name(kind), List.of("tree", kind.name(), String.valueOf(n)));
      databases.put(name(kind), spec(kind, n).words());
    }
    databases.put(
        "predictive, no huge pages",
        spec(Translation.PREDICTIVE, n).with(false, true, Begin.ROOT).words());
    List<Engine> engines = Engine.start(PoolEngine.class, trees);
    for (int threads : threadCounts) {
      System.out.printf(
          "%nThe tree alone (descent, copy, validation), %,d records of 8 + 120 bytes, threads: %d, %d"
              + " slices of each:%n%n",
          n, threads, rounds);
      print(engines, "run " + threads, 0, threads > threadCounts[0]);
    }
    Engine.close(engines);
    engines = Engine.start(RecordsEngine.class, databases);
    for (int threads : threadCounts) {
      System.out.printf(
          "%nThe API, %d lookups in a read-only transaction, threads: %d, %d slices of each:%n%n",
          GROUP, threads, rounds);
      print(engines, get(threads, 0, n, GROUP), 0, threads > threadCounts[0]);
    }
    Engine.close(engines);
  }

  static String get(int threads, long first, long count, int each) {
    return "get " + threads + " " + first + " " + count + " " + each;
  }

  /** Prints a table of throughput, with ratios to one of the engines. */
  void print(List<Engine> engines, String command, int beside, boolean begun) {
    Turns turns = turns(engines, command, begun);
    Markdown.head(
        "kind", "lookups/s", "least", "most", "of " + engines.get(beside).title + " (quartiles)");
    for (int i = 0; i < engines.size(); i++) {
      double[] values = turns.values(i, PER_SECOND);
      Markdown.line(
          engines.get(i).title,
          text("%,.0f", InTurn.median(values)),
          text("%,.0f", InTurn.quantile(values, 0)),
          text("%,.0f", InTurn.quantile(values, 1)),
          turns.ratio(i, beside, PER_SECOND));
    }
  }

  // ------------------------------------------------------------------------------------ from files

  /** Creates a file of records for each kind: one is loaded, the others are copies. */
  private Spec file(Path[] files) throws IOException {
    return file(files, spec(Translation.PREDICTIVE, records(10_000_000)));
  }

  private Spec file(Path[] files, Spec like) throws IOException {
    Path first = dir.resolve("translations-0.fovea");
    Files.deleteIfExists(first);
    // Half of the data, to speed up the load.
    Spec spec = like.at(first.toString(), like.bufferBytes() / 2);
    Engine.close(Engine.start(RecordsEngine.class, Map.of("load", spec.words())));
    for (int i = 0; i < files.length; i++) {
      files[i] = dir.resolve("translations-" + i + ".fovea");
      if (i > 0) {
        Files.deleteIfExists(files[i]);
        Files.copy(first, files[i]);
      }
    }
    return spec;
  }

  private static void delete(Path[] files) throws IOException {
    for (Path file : files) {
      Files.deleteIfExists(file);
      Files.deleteIfExists(file.resolveSibling(file.getFileName() + ".dwb"));
    }
  }

  /**
   * Opens the kinds on their files, with buffers of a part of the file; each is full when ready.
   */
  private List<Engine> open(Translation[] kinds, Path[] files, Spec spec, double part)
      throws IOException {
    long buffer = Math.max(1 << 20, (long) (Files.size(files[0]) * part));
    Map<String, List<String>> arguments = new LinkedHashMap<>();
    for (int i = 0; i < kinds.length; i++) {
      arguments.put(name(kinds[i]), spec.with(kinds[i]).at(files[i].toString(), buffer).words());
    }
    return Engine.start(RecordsEngine.class, arguments);
  }

  private void larger() throws IOException {
    Translation[] kinds = {
      Translation.PREDICTIVE, Translation.LATCHED, Translation.SWIZZLED, Translation.VIRTUAL
    };
    Path[] files = new Path[kinds.length];
    Spec spec = file(files);
    List<Engine> engines = open(kinds, files, spec, 0.2);
    long n = spec.records();
    engines.forEach(e -> e.ask("fill 0 " + n / 5));
    String[][] cases = {
      {"one thread, one read at a time", get(1, 0, n, 1)},
      {"two threads, each one read at a time", get(2, 0, n, 1)},
      {"two threads, RowTable.getAll of 256 keys", "all 2 0 " + n + " 256"}
    };
    for (String[] c : cases) {
      System.out.printf(
          "%n%,d records of 8 + 120 bytes, data five times the buffer, %s, %d slices of each:%n%n",
          n, c[0], rounds);
      Turns turns = Turns.of(engines, c[1], warmUpNanos(false), 2 * sliceNanos(), rounds);
      Markdown.head(
          "kind",
          "lookups/s (least-most)",
          "of predictive (quartiles)",
          "device reads/s",
          "reads per lookup",
          "processor time, us per read",
          "of predictive (quartiles)");
      ToDoubleFunction<double[]> cpu = a -> a[2] / 1e3 / Math.max(1, a[3]);
      for (int i = 0; i < engines.size(); i++) {
        Markdown.line(
            engines.get(i).title,
            turns.span(i, PER_SECOND),
            turns.ratio(i, 0, PER_SECOND),
            text("%,.0f", turns.median(i, a -> a[3] * 1e9 / a[1])),
            text("%.3f", turns.median(i, a -> a[3] / a[0])),
            text("%.1f", turns.median(i, cpu)),
            turns.ratio(i, 0, cpu));
      }
    }
    Engine.close(engines);
    delete(files);
  }

  private void metadata() throws IOException {
    Path[] files = new Path[1];
    Spec spec = file(files, spec(Translation.PREDICTIVE, records(4_000_000)));
    double[] pools = quick ? new double[] {2} : new double[] {1.2, 2, 5, 10, 20, 40};
    Translation[] kinds = {Translation.PREDICTIVE, Translation.LATCHED, Translation.VIRTUAL};
    String[][] cells = new String[kinds.length][pools.length];
    for (int p = 0; p < pools.length; p++) {
      for (int k = 0; k < kinds.length; k++) {
        Engine e = open(new Translation[] {kinds[k]}, files, spec, 1 / pools[p]).getFirst();
        double[] size = e.ask("size");
        double left = size[0] * size[1] / size[2];
        cells[k][p] = text("%.1f %%", 100 * (1 - left) / left);
        e.close();
      }
    }
    System.out.println(
        "\nMetadata as a share of the memory of pages, by size of the file in buffers:\n");
    Markdown.head("kind", Arrays.stream(pools).mapToObj(d -> text("%s", d)).toArray());
    for (int k = 0; k < kinds.length; k++) {
      Markdown.line(name(kinds[k]), (Object[]) cells[k]);
    }
    Markdown.line(
        "the paper's vmcache, 16 bytes a page of the file",
        Arrays.stream(pools).mapToObj(d -> text("%.1f %%", 100 * d * 16 / PAGE)).toArray());
    delete(files);
  }

  // -------------------------------------------------------------------------------- working sets

  private static Spec small(long records) {
    return Spec.of(records, 20, 20, 2 * PAGE, (64L << 20) + records * 80);
  }

  private void sizes() {
    long n = records != null ? records : quick ? 20_000 : 6_000_000;
    Translation[] kinds = {
      Translation.DIRECT, Translation.PREDICTIVE, Translation.SWIZZLED, Translation.LATCHED
    };
    Map<String, List<String>> arguments = new LinkedHashMap<>();
    for (Translation kind : kinds) {
      arguments.put(name(kind), small(n).with(kind).words());
    }
    List<Engine> engines = Engine.start(RecordsEngine.class, arguments);
    double[] sizes = {0.05, 0.1, 0.25, 0.5, 0.75, 1};
    System.out.printf(
        "%n%,d records of 20 + 20 bytes, pages of 8 KiB, all in memory, two threads; parts of the table,"
            + " %d slices of each:%n%n",
        n, slices());
    print(engines, sizes, size -> get(2, 0, (long) (n * size), GROUP), "of all");
    Engine.close(engines);
  }

  /** Returns the slices of each kind in a table of sizes. */
  private int slices() {
    return rounds * 2 / 3 + 1;
  }

  /** Prints lookups by size of the working set, and ratios to the first kind. */
  private void print(
      List<Engine> engines, double[] sizes, DoubleFunction<String> command, String what) {
    List<Turns> all = new ArrayList<>();
    for (double size : sizes) {
      all.add(Turns.of(engines, command.apply(size), warmUpNanos(false), sliceNanos(), slices()));
    }
    Object[] heads = Arrays.stream(sizes).mapToObj(s -> text("%s %s", s, what)).toArray();
    Markdown.head("lookups/s (least-most)", heads);
    for (int i = 0; i < engines.size(); i++) {
      int at = i;
      Markdown.line(engines.get(i).title, all.stream().map(t -> t.span(at, PER_SECOND)).toArray());
    }
    for (int i = 1; i < engines.size(); i++) {
      int at = i;
      Markdown.line(
          engines.get(i).title + " of " + engines.get(0).title,
          all.stream().map(t -> t.ratio(at, 0, PER_SECOND)).toArray());
    }
  }

  private void beyond() throws IOException {
    Translation[] kinds = {
      Translation.PREDICTIVE, Translation.SWIZZLED, Translation.LATCHED, Translation.VIRTUAL
    };
    Path[] files = new Path[kinds.length];
    Spec spec = file(files, small(records != null ? records : quick ? 60_000 : 8_000_000));
    List<Engine> engines = open(kinds, files, spec, 0.6);
    double[] size = engines.getFirst().ask("size");
    double perPool = spec.records() * size[0] * size[1] / size[3];
    System.out.printf(
        "%n%,d records of 20 + 20 bytes, pages of 8 KiB, two threads; the working set in buffers of"
            + " predictive, %d slices of each:%n%n",
        spec.records(), slices());
    engines.forEach(e -> e.ask("fill 0 " + (long) (0.9 * perPool)));
    print(
        engines,
        new double[] {0.9, 1.0, 1.05, 1.1, 1.2, 1.5},
        s -> get(2, 0, Math.min(spec.records(), (long) (s * perPool)), 1),
        "pools");
    Engine.close(engines);
    delete(files);
  }

  private void inserts() {
    long n = records != null ? records : quick ? 20_000 : 1_000_000;
    Translation[] kinds = {
      Translation.DIRECT, Translation.PREDICTIVE, Translation.SWIZZLED, Translation.LATCHED
    };
    Map<String, List<String>> arguments = new LinkedHashMap<>();
    for (Translation kind : kinds) {
      arguments.put(
          name(kind), small(n).with(kind).at(Spec.MEMORY, (128L << 20) + n * 6 * 130).words());
    }
    List<Engine> engines = Engine.start(RecordsEngine.class, arguments);
    int steps = 50;
    long each = n / 10 / GROUP * GROUP;
    Turns turns = Turns.of(engines, "insert " + each, quick ? 0 : 5, steps);
    System.out.printf(
        "%n%,d random inserts into %,d records of 20 + 20 bytes, %d a transaction, a thread:%n%n",
        each * steps, n, GROUP);
    Markdown.head(
        "kind",
        "ns an insert (least-most)",
        "first tenth",
        "last tenth",
        "time of direct (quartiles)");
    for (int i = 0; i < engines.size(); i++) {
      double[] nanos = turns.values(i, a -> a[0] / each);
      Markdown.line(
          engines.get(i).title,
          turns.span(i, a -> a[0] / each),
          text("%.0f", InTurn.quantile(Arrays.copyOf(nanos, steps / 10), 0.5)),
          text("%.0f", InTurn.quantile(Arrays.copyOfRange(nanos, steps - steps / 10, steps), 0.5)),
          turns.ratio(i, 0, a -> a[0]));
    }
    Engine.close(engines);
  }

  private void drift() throws IOException {
    Translation[] kinds = {
      Translation.PREDICTIVE, Translation.SWIZZLED, Translation.LATCHED, Translation.VIRTUAL
    };
    Path[] files = new Path[kinds.length];
    Spec spec = file(files);
    for (double share : new double[] {0.1, 0.9}) {
      List<Engine> engines = open(kinds, files, spec, 0.2);
      double[] size = engines.getFirst().ask("size");
      double perPool = spec.records() * size[0] * size[1] / size[3];
      new Drift(engines, spec.records(), perPool, share, quick).run();
      Engine.close(engines);
    }
    delete(files);
  }

  // ----------------------------------------------------------------------------- hints, promotion

  /** Compares lookups by hint with and without promotion to preferred frames. */
  private void promotion() throws IOException {
    String[] titles = {
      "hints, pages in preferred frames",
      "hints, pages in other frames",
      "locations, preferred frames",
      "locations, other frames",
      "no hints, other frames at first"
    };
    Path[] files = new Path[titles.length];
    Spec spec = file(files, spec(Translation.PREDICTIVE, records(2_000_000)));
    long buffer = Math.max(1 << 20, (long) (Files.size(files[0]) * 0.3));
    Map<String, List<String>> arguments = new LinkedHashMap<>();
    for (int i = 0; i < titles.length; i++) {
      boolean hints = i < 4;
      arguments.put(
          titles[i],
          spec.with(true, hints, i / 2 == 1 ? Begin.FLAT : Begin.ROOT)
              .at(files[i].toString(), buffer)
              .words());
    }
    List<Engine> engines = Engine.start(RecordsEngine.class, arguments);
    long n = spec.records();
    for (int i = 1; i < titles.length; i += i < 3 ? 2 : 1) {
      // Three pools of data, so that pages go to any free frame.
      engines.get(i).ask("get 2 0 " + n + " 64 " + (quick ? 1 : 8) * 1_000_000_000L);
    }
    for (int threads = 1; threads <= 2; threads++) {
      String command = get(threads, 0, (long) (n * 0.27), GROUP);
      Turns turns = Turns.of(engines, command, 2 * warmUpNanos(false), sliceNanos(), rounds);
      System.out.printf(
          "%nWorking set of 0.9 pools, threads: %d, %d lookups a transaction, %d slices of each:%n%n",
          threads, GROUP, rounds);
      Markdown.head(
          "kind",
          "lookups/s (least-most)",
          "of the first (quartiles)",
          "of the line above",
          "hits by hint",
          "by prediction",
          "by search",
          "reads per lookup",
          "pages in preferred frames");
      for (int i = 0; i < engines.size(); i++) {
        double[] placed = engines.get(i).ask("placement");
        Markdown.line(
            engines.get(i).title,
            turns.span(i, PER_SECOND),
            turns.ratio(i, 0, PER_SECOND),
            i == 0 ? "-" : turns.ratio(i, i - 1, PER_SECOND),
            hits(turns, i, 4),
            hits(turns, i, 5),
            hits(turns, i, 6),
            text("%.4f", turns.median(i, a -> a[3] / a[0])),
            text("%.0f %%", 100 * placed[1] / placed[0]));
      }
    }
    Engine.close(engines);
    delete(files);
  }

  private static String hits(Turns turns, int engine, int kind) {
    return text("%.1f %%", turns.median(engine, a -> 100 * a[kind] / (a[4] + a[5] + a[6])));
  }
}
