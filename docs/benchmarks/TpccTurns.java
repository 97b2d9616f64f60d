import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.function.IntToLongFunction;

/**
 * Compares two builds of the TPC-C driver in one JVM, in alternating slices: the thread's processor
 * time per transaction of the full mix, one warehouse, in memory. Each build has its own class loader
 * and database. Suits a machine with other load, which slows adjacent slices alike.
 *
 * <pre>
 *   java --enable-native-access=ALL-UNNAMED -Xmx900m docs/benchmarks/TpccTurns.java OLD.jar NEW.jar \
 *       [ROUNDS [SECONDS [WARMUP]]]
 * </pre>
 *
 * The jars are those that {@code tpcc/tpcc.sh} builds. Each round is a line with the medians of the
 * slices, and the median ratio of adjacent slices. The order of loading may matter: repeat it with
 * the jars exchanged.
 */
final class TpccTurns {
  /** A hundred decks. */
  private static final int SLICE = 2_300;

  private TpccTurns() {}

  public static void main(String[] args) throws Exception {
    if (args.length < 2) {
      System.err.println("TpccTurns OLD.jar NEW.jar [ROUNDS [SECONDS [WARMUP]]]");
      System.exit(1);
    }
    int rounds = args.length > 2 ? Integer.parseInt(args[2]) : 5;
    double seconds = args.length > 3 ? Double.parseDouble(args[3]) : 12;
    double warmup = args.length > 4 ? Double.parseDouble(args[4]) : 20;
    IntToLongFunction before = slices(args[0]);
    IntToLongFunction after = slices(args[1]);
    for (long end = end(warmup); System.nanoTime() < end; ) {
      before.applyAsLong(SLICE);
      after.applyAsLong(SLICE);
    }
    System.out.println("| round | before, us | after, us | after / before | slices |");
    System.out.println("|---|---|---|---|---|");
    double[] ratios = new double[rounds];
    for (int round = 0; round < rounds; round++) {
      double[][] found = new double[3][0];
      for (long end = end(seconds); System.nanoTime() < end; ) {
        boolean first = found[0].length % 2 == 0;
        double a = first ? before.applyAsLong(SLICE) : 0;
        double b = after.applyAsLong(SLICE);
        a = first ? a : before.applyAsLong(SLICE);
        double[] values = {a / SLICE / 1e3, b / SLICE / 1e3, b / a};
        for (int i = 0; i < values.length; i++) {
          found[i] = Arrays.copyOf(found[i], found[i].length + 1);
          found[i][found[i].length - 1] = values[i];
        }
      }
      ratios[round] = median(found[2]);
      System.out.printf(
          Locale.ROOT,
          "| %d | %.1f | %.1f | %.3f | %d |%n",
          round + 1,
          median(found[0]),
          median(found[1]),
          ratios[round],
          found[0].length);
    }
    System.out.printf(Locale.ROOT, "| median |  |  | %.3f |  |%n", median(ratios));
    Runtime.getRuntime().halt(0);
  }

  private static IntToLongFunction slices(String jar) throws Exception {
    URL[] urls = {Path.of(jar).toUri().toURL()};
    ClassLoader own = new URLClassLoader(urls, ClassLoader.getPlatformClassLoader());
    return (IntToLongFunction)
        own.loadClass("io.fovea.tpcc.Slices").getConstructor().newInstance();
  }

  private static long end(double seconds) {
    return System.nanoTime() + (long) (seconds * 1e9);
  }

  private static double median(double[] values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    return sorted.length == 0 ? Double.NaN : sorted[sorted.length / 2];
  }
}
