import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Prints the cost to TPC-C of data that outgrows its pool, from runs that alternated by slices.sh, stored as for Comparison.java.
 *
 * <p>The data of the first line of titles.txt fits its pool, that of the others does not. The table has the ratio of a run's
 * transactions to those of the first run in the same seconds, which cancels the drift of the machine, by the size of its data
 * at that time; and this ratio divided by that just before the data outgrew the pool in the same round, since JVMs differ.
 * Figures are medians of the rounds, with minimum and maximum.
 *
 * <p>Usage: {@code java Crossing.java FOLDER}
 */
final class Crossing {
  private Crossing() {}

  /** Sizes of the data in pools: each line of the table is from one to the next. */
  private static final double[] FROM = {0.6, 0.8, 0.9, 1.0, 1.05, 1.1, 1.2, 1.4, 1.7, 2.0};

  /** Just before the data is larger than the pool. */
  private static final double BEFORE = 0.9;

  /** The minimum number of seconds of a line in a round; a line with fewer is empty. */
  private static final int SECONDS_MIN = 8;

  /** The seconds of a run after its warm-up. */
  private record Series(double begin, double[] seconds, double[] operations, double[] reads, double[] pools) {
    static Series of(String report) {
      String series = Reports.after(report, "\"series\"");
      Matcher time = Pattern.compile("\"time\"\\s*:\\s*\"([^\"]+)\"").matcher(report);
      if (!time.find()) {
        throw new IllegalArgumentException("a report without its time");
      }
      int from = Reports.warmup(series);
      return new Series(
          Instant.parse(time.group(1)).getEpochSecond(),
          Reports.column(series, "second", from),
          Reports.column(series, "operations", from),
          Reports.column(series, "reads", from),
          Reports.column(series, "dataRatio", from));
    }

    /** Transactions per second at a time; NaN if the run did not measure then. */
    double at(double moment) {
      int i = Arrays.binarySearch(seconds, moment - begin);
      int next = i < 0 ? -i - 1 : i;
      return next == seconds.length || next == 0 && moment - begin < seconds[0] - 1 ? Double.NaN : operations[next];
    }
  }

  public static void main(String[] args) throws IOException {
    Path folder = Path.of(args[0]);
    List<String> titles = Files.readAllLines(folder.resolve("titles.txt"));
    List<List<Series>> rounds = new ArrayList<>();
    for (int round = 1; Files.isDirectory(folder.resolve("round-" + round)); round++) {
      List<Series> runs = new ArrayList<>();
      for (int run = 1; run <= titles.size(); run++) {
        runs.add(Series.of(Files.readString(folder.resolve("round-" + round).resolve(run + ".json"))));
      }
      rounds.add(runs);
    }
    System.out.print("\n| pools of data |");
    for (String title : titles.subList(1, titles.size())) {
      System.out.print(" " + title + ": of " + titles.getFirst() + " | of before (least-most) | reads a transaction |");
    }
    System.out.println("\n|---" + "|---|---|---".repeat(titles.size() - 1) + "|");
    for (int line = 0; line + 1 < FROM.length; line++) {
      double from = FROM[line];
      double to = FROM[line + 1];
      StringBuilder s = new StringBuilder(String.format(Locale.ROOT, "| %.2f to %.2f |", from, to));
      for (int run = 1; run < titles.size(); run++) {
        int n = run;
        double[][] there =
            rounds.stream()
                .map(runs -> between(runs.get(n), runs.getFirst(), from, to))
                .filter(figures -> figures.length > 0)
                .toArray(double[][]::new);
        s.append(there.length == 0 ? " | | |" : cells(there));
      }
      System.out.println(s);
    }
    System.out.println("\nRounds: " + rounds.size());
  }

  private static String cells(double[][] rounds) {
    double[][] sorted = new double[3][];
    for (int i = 0; i < sorted.length; i++) {
      int figure = i;
      sorted[i] = Stream.of(rounds).mapToDouble(figures -> figures[figure]).sorted().toArray();
    }
    double[] ofBefore = sorted[1];
    return String.format(
        Locale.ROOT,
        " %.2f | %.2f (%.2f-%.2f) | %.3f |",
        Reports.median(sorted[0]), Reports.median(ofBefore), ofBefore[0], ofBefore[ofBefore.length - 1], Reports.median(sorted[2]));
  }

  /**
   * Transactions relative to the other run, the same relative to before the crossing, and reads per transaction; empty if there
   * are too few seconds.
   */
  private static double[] between(Series run, Series beside, double from, double to) {
    double[] figures = sums(run, beside, from, to);
    double[] before = sums(run, beside, BEFORE, 1);
    return figures[2] < SECONDS_MIN
        ? new double[0]
        : new double[] {figures[0], figures[0] / before[0], figures[1]};
  }

  /** Transactions relative to the other run, reads per transaction, and the number of seconds. */
  private static double[] sums(Series run, Series beside, double from, double to) {
    double mine = 0;
    double others = 0;
    double reads = 0;
    int seconds = 0;
    for (int i = 0; i < run.seconds.length; i++) {
      double other = beside.at(run.begin + run.seconds[i]);
      if (run.pools[i] >= from && run.pools[i] < to && !Double.isNaN(other)) {
        mine += run.operations[i];
        reads += run.reads[i];
        others += other;
        seconds++;
      }
    }
    return new double[] {mine / others, reads / mine, seconds};
  }
}
