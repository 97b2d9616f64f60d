import java.util.Arrays;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Reads values from the driver's JSON reports, for the programs of this folder. They are run from source ({@code java
 * Summary.java}), and java compiles this class with them.
 */
final class Reports {
  private static final Pattern THREADS =
      Pattern.compile(
          "\"name\": \"([^\"]*)\",\\s*\"threads\": (\\d+),\\s*"
              + "\"processorSeconds\": ([0-9.E-]+),\\s*\"readySeconds\": ([0-9.E-]+)");

  private Reports() {}

  /** All threads of a name in the measured time. */
  record Threads(String name, int number, double processorSeconds, double readySeconds) {}

  /** The times of threads; empty if the system does not count them. */
  static Stream<Threads> threads(String report) {
    return THREADS
        .matcher(after(report, "\"threadTimes\": ["))
        .results()
        .map(
            m ->
                new Threads(
                    m.group(1),
                    Integer.parseInt(m.group(2)),
                    Double.parseDouble(m.group(3)),
                    Double.parseDouble(m.group(4))));
  }

  /** The text after a mark; empty if the mark is missing. */
  static String after(String json, String mark) {
    int at = json.indexOf(mark);
    return at < 0 ? "" : json.substring(at + mark.length());
  }

  /** The first field of that name; NaN if there is none. */
  static double number(String json, String field) {
    Matcher m = Pattern.compile('"' + field + "\"\\s*:\\s*(-?[\\d.eE+-]+)").matcher(json);
    return m.find() ? Double.parseDouble(m.group(1)) : Double.NaN;
  }

  /** The number of intervals of a series that are warm-up. */
  static int warmup(String series) {
    double seconds = number(series, "warmupSeconds");
    return (int) Arrays.stream(column(series, "second", 0)).filter(second -> second <= seconds + 1e-6).count();
  }

  /** A column of a series from an interval on; empty if it is missing. */
  static double[] column(String series, String name, int from) {
    Matcher m = Pattern.compile('"' + name + "\"\\s*:\\s*\\[([^\\]]*)]").matcher(series);
    if (!m.find()) {
      return new double[0];
    }
    return Stream.of(m.group(1).split(","))
        .skip(from)
        .map(String::strip)
        .filter(v -> !v.isEmpty() && !v.equals("null"))
        .mapToDouble(Double::parseDouble)
        .toArray();
  }

  /** The median of values in any order; NaN if there are none. */
  static double median(double[] values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    int n = sorted.length;
    return n == 0 ? Double.NaN : (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
  }
}
