import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;

/**
 * Prints a table of runs of the driver (TPC-C, YCSB or lookups) that alternated by slices.sh, in several rounds.
 *
 * <p>The folder has one title per line in titles.txt, and the n-th run's report of round r in round-r/n.json. Runs measure
 * wall-clock time, including that of the others' slices: with N runs, rates are multiplied by N. Figures are medians of the
 * rounds. A ratio is the median of the rounds' ratios to the first line, with their minimum and maximum.
 *
 * <p>Usage: {@code java Comparison.java FOLDER [WHAT]}; WHAT is the heading of the titles.
 */
final class Comparison {
  private Comparison() {}

  /** A line of the table. */
  private record Line(String title, List<String> reports) {
    double[] values(ToDoubleFunction<String> of) {
      return reports.stream().mapToDouble(r -> r == null ? Double.NaN : of.applyAsDouble(r)).toArray();
    }

    /** The values of the rounds that have a report. */
    double[] there(ToDoubleFunction<String> of) {
      return Arrays.stream(values(of)).filter(v -> !Double.isNaN(v)).toArray();
    }
  }

  public static void main(String[] args) throws IOException {
    Path folder = Path.of(args[0]);
    List<Line> lines = new ArrayList<>();
    int rounds = 0;
    for (String title : Files.readAllLines(folder.resolve("titles.txt"))) {
      List<String> reports = new ArrayList<>();
      for (int round = 1; Files.isDirectory(folder.resolve("round-" + round)); round++) {
        Path file = folder.resolve("round-" + round).resolve(lines.size() + 1 + ".json");
        reports.add(Files.exists(file) ? Files.readString(file) : null);
        rounds = round;
      }
      lines.add(new Line(title, reports));
    }
    int n = lines.size();
    boolean lookups =
        lines.stream().flatMap(l -> l.reports.stream()).anyMatch(r -> r != null && r.contains("\"lookupsPerSecond\""));
    String what = lookups ? "lookups" : "transactions";
    System.out.println(
        "| " + (args.length > 1 ? args[1] : "") + " | " + what + "/s | least | most | of the first (least-most) | reads a "
            + (lookups ? "lookup | writes a lookup |" : "transaction | writes a transaction | aborts per 1,000 commits | µs of clients' threads"
                + " a transaction | consistent |")
            + " rounds |");
    System.out.println("|---".repeat(lookups ? 8 : 11) + "|");
    for (Line line : lines) {
      double[] all = line.there(r -> n * perSecond(r));
      if (all.length == 0) {
        System.out.println("| " + line.title + " | no report" + " | -".repeat(lookups ? 5 : 8) + " | 0 |");
        continue;
      }
      StringBuilder s = new StringBuilder("| ").append(line.title);
      cell(s, "%,.0f", Reports.median(all));
      cell(s, "%,.0f", Arrays.stream(all).min().orElseThrow());
      cell(s, "%,.0f", Arrays.stream(all).max().orElseThrow());
      s.append(" | ").append(ratio(line.values(Comparison::perSecond), lines.getFirst().values(Comparison::perSecond)));
      for (String field : new String[] {"reads", "writes"}) {
        cell(s, "%.3f", Reports.median(line.there(r -> rate(r, field) / perSecond(r))));
      }
      if (!lookups) {
        cell(s, "%.2f", Reports.median(line.there(Comparison::aborts)));
        cell(s, "%.1f", Reports.median(line.there(Comparison::clientMicros)));
        boolean checked = line.reports.stream().anyMatch(r -> r != null && r.contains("\"consistent\""));
        boolean broken = line.reports.stream().anyMatch(r -> r != null && r.contains("\"consistent\": false"));
        s.append(checked ? broken ? " | NO" : " | yes" : " | -");
      }
      System.out.println(s.append(" | ").append(all.length).append(" |"));
    }
    if (rounds == 0) {
      System.err.println(folder + " has no rounds");
    }
  }

  private static void cell(StringBuilder s, String format, double value) {
    s.append(" | ").append(Double.isNaN(value) ? "-" : String.format(Locale.ROOT, format, value));
  }

  private static String ratio(double[] values, double[] first) {
    double[] ratios = new double[values.length];
    Arrays.setAll(ratios, i -> values[i] / first[i]);
    ratios = Arrays.stream(ratios).filter(v -> !Double.isNaN(v)).sorted().toArray();
    return ratios.length == 0
        ? "-"
        : String.format(
            Locale.ROOT, "%.3f (%.2f-%.2f)", Reports.median(ratios), ratios[0], ratios[ratios.length - 1]);
  }

  private static double perSecond(String report) {
    return Stream.of("lookupsPerSecond", "goodputPerSecond", "transactionsPerSecond")
        .mapToDouble(name -> Reports.number(report, name))
        .filter(rate -> !Double.isNaN(rate))
        .findFirst()
        .orElse(Double.NaN);
  }

  /** Reads or writes of the device per second. */
  private static double rate(String report, String field) {
    String name = field.equals("reads") ? "deviceReadsPerSecond" : "deviceWritesPerSecond";
    double given = Reports.number(report, name);
    return Double.isNaN(given)
        ? Reports.number(Reports.after(report, "\"engine\""), field) / Reports.number(report, "measuredSeconds")
        : given;
  }

  private static double aborts(String report) {
    String aborts = Reports.after(report, "\"aborts\"");
    double sum = Reports.number(aborts, "validation") + Reports.number(aborts, "lock") + Reports.number(aborts, "phantom");
    return 1000 * sum / Math.max(1, Reports.number(report, "commits"));
  }

  /** Processor time of clients' threads per transaction; NaN if the system does not count it. */
  private static double clientMicros(String report) {
    double transactions = Reports.number(report, "transactionsPerSecond") * Reports.number(report, "measuredSeconds");
    return Reports.threads(report)
        .filter(threads -> threads.name().equals("client"))
        .mapToDouble(threads -> 1e6 * threads.processorSeconds() / transactions)
        .findFirst()
        .orElse(Double.NaN);
  }
}
