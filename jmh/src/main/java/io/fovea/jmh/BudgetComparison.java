package io.fovea.jmh;

import io.fovea.InTurn;
import io.fovea.Markdown;
import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.function.DoubleUnaryOperator;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * Tells whether a change has made an operation of the budget slower. Measures two builds in one
 * JVM, each with its own class loader, in alternating slices of {@value #SLICE_MILLIS} ms.
 * Disturbances affect both, so the ratio is accurate to one or two percent, where separate runs of
 * JMH differ by twenty.
 *
 * <p>The remaining noise is the compiler, which inlines slightly differently in each JVM. So each
 * operation runs in several JVMs, with the order of the builds swapped in every other one. Four
 * JVMs that agree mean more than an exact figure of one.
 */
@Command(
    name = "BudgetComparison",
    mixinStandardHelpOptions = true,
    showDefaultValues = true,
    description = "Compares the operations of the budget between two builds.")
public final class BudgetComparison implements Callable<Integer> {
  static final int SLICE_MILLIS = 10;

  @Parameters(index = "0", description = "Benchmarks jar of the build before the change.")
  private Path before;

  @Parameters(index = "1", description = "Benchmarks jar of the build after the change.")
  private Path after;

  @Parameters(index = "2..*", description = "Operations: ${COMPLETION-CANDIDATES}. Default: all.")
  private List<BudgetPiece.Operation> operations = List.of(BudgetPiece.Operation.values());

  @Option(names = "--records", description = "Number of records.")
  private int records = 100_000;

  @Option(names = "--rounds", description = "Slices of each build; the first quarter warms up.")
  private int rounds = 1_000;

  @Option(names = "--jvms", description = "JVMs per operation and order of the builds.")
  private int jvms = 2;

  private BudgetComparison() {}

  /** The result of one JVM. */
  record Pair(double before, double after, double ratio) {}

  /** Runs the benchmark. */
  public static void main(String[] args) {
    System.exit(
        new CommandLine(new BudgetComparison())
            .setCaseInsensitiveEnumValuesAllowed(true)
            .execute(args));
  }

  @Override
  public Integer call() throws Exception {
    List<List<Pair>> found = new ArrayList<>();
    operations.forEach(o -> found.add(new ArrayList<>()));
    // Operations alternate, so that a slow phase of the machine affects all of them.
    for (int i = 0; i < 2 * jvms; i++) {
      for (int o = 0; o < operations.size(); o++) {
        found.get(o).add(inOwnJvm(operations.get(o), i % 2 == 1));
      }
    }
    Markdown.head("operation", "before, ns", "after, ns", "after / before", "least", "most");
    for (int o = 0; o < operations.size(); o++) {
      List<Pair> pairs = found.get(o);
      double[] ratios = pairs.stream().mapToDouble(Pair::ratio).sorted().toArray();
      Markdown.line(
          operations.get(o).name().toLowerCase(Locale.ROOT).replace('_', ' '),
          text("%.0f", InTurn.median(pairs.stream().mapToDouble(Pair::before).toArray())),
          text("%.0f", InTurn.median(pairs.stream().mapToDouble(Pair::after).toArray())),
          text("%.3f", (ratios[(ratios.length - 1) / 2] + ratios[ratios.length / 2]) / 2),
          text("%.3f", ratios[0]),
          text("%.3f", ratios[ratios.length - 1]));
    }
    return 0;
  }

  private static String text(String format, double value) {
    return String.format(Locale.ROOT, format, value);
  }

  private Pair inOwnJvm(BudgetPiece.Operation operation, boolean afterFirst)
      throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx2g",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                Child.class.getName(),
                before.toString(),
                after.toString(),
                operation.name(),
                String.valueOf(records),
                String.valueOf(rounds),
                String.valueOf(afterFirst))
            .redirectError(ProcessBuilder.Redirect.DISCARD) // log output of the databases
            .start();
    String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (process.waitFor() != 0) {
      throw new IOException(operation + " failed: run " + process.info().commandLine().orElse(""));
    }
    double[] values =
        Arrays.stream(printed.trim().split(" ")).mapToDouble(Double::parseDouble).toArray();
    return new Pair(values[0], values[1], values[2]);
  }

  /** Measures both builds in this JVM. */
  static final class Child {
    private Child() {}

    /** Prints nanoseconds of both builds, and their ratio. */
    public static void main(String[] args) throws Exception {
      int records = Integer.parseInt(args[3]);
      int rounds = Integer.parseInt(args[4]);
      Pair pair =
          measure(
              loader(args[0]),
              loader(args[1]),
              args[2],
              records,
              rounds,
              Boolean.parseBoolean(args[5]));
      System.out.println(pair.before + " " + pair.after + " " + pair.ratio);
    }
  }

  /**
   * Measures an operation of two builds.
   *
   * @param before the {@link #loader} of the build before; likewise {@code after}
   * @param afterFirst whether the build after is loaded first
   */
  static Pair measure(
      ClassLoader before,
      ClassLoader after,
      String operation,
      int records,
      int rounds,
      boolean afterFirst)
      throws Exception {
    try (Build first = Build.of(afterFirst ? after : before, operation, records);
        Build second = Build.of(afterFirst ? before : after, operation, records)) {
      return afterFirst
          ? measure(second.piece, first.piece, rounds)
          : measure(first.piece, second.piece, rounds);
    }
  }

  private static Pair measure(DoubleUnaryOperator before, DoubleUnaryOperator after, int rounds) {
    int warmUp = rounds / 4;
    double[] befores = new double[rounds - warmUp];
    double[] afters = new double[befores.length];
    double[] ratios = new double[befores.length];
    for (int round = -warmUp; round < ratios.length; round++) {
      boolean turn = (round & 1) == 0;
      double a = (turn ? before : after).applyAsDouble(SLICE_MILLIS * 1e6);
      double b = (turn ? after : before).applyAsDouble(SLICE_MILLIS * 1e6);
      if (round >= 0) {
        befores[round] = turn ? a : b;
        afters[round] = turn ? b : a;
        ratios[round] = afters[round] / befores[round];
      }
    }
    return new Pair(InTurn.median(befores), InTurn.median(afters), InTurn.median(ratios));
  }

  /** A {@link BudgetPiece} of another class loader. */
  private record Build(DoubleUnaryOperator piece) implements Closeable {

    static Build of(ClassLoader loader, String operation, int records) throws Exception {
      return new Build(
          (DoubleUnaryOperator)
              loader
                  .loadClass(BudgetPiece.class.getName())
                  .getConstructor(String.class, int.class)
                  .newInstance(operation, records));
    }

    @Override
    public void close() throws IOException {
      ((Closeable) piece).close();
    }
  }

  /**
   * Returns a class loader for a build, for use until the JVM ends. A build without {@link
   * BudgetPiece} gets that of this one, which is last on the class path.
   */
  static ClassLoader loader(String classPath) throws MalformedURLException {
    List<URL> urls = new ArrayList<>(urls(classPath));
    urls.addAll(urls(System.getProperty("java.class.path")));
    return new URLClassLoader(urls.toArray(new URL[0]), ClassLoader.getPlatformClassLoader());
  }

  private static List<URL> urls(String classPath) throws MalformedURLException {
    List<URL> urls = new ArrayList<>();
    for (String part : classPath.split(File.pathSeparator)) {
      urls.add(Path.of(part).toUri().toURL());
    }
    return urls;
  }
}
