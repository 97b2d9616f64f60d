import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Prints the results of {@code run.sh features} as the table of features.md: medians, minimum and
 * maximum of the rounds, and whether the aim was reached.
 *
 * <p>Usage: {@code java Features.java FOLDER}
 */
public final class Features {
  private Features() {}

  /** The key of a line: all but its values. */
  private record Line(String row, String what, String unit, String aim) {}

  public static void main(String[] args) throws IOException {
    Path folder = Path.of(args[0]);
    Map<Line, List<Double>> lines = new LinkedHashMap<>();
    for (String s : lines(folder.resolve("features.tsv"))) {
      String[] p = s.split("\t", -1);
      Line line = new Line(p[0], p[1], p[2], p[3]);
      lines.computeIfAbsent(line, k -> new ArrayList<>()).add(Double.parseDouble(p[4]));
    }
    for (String s : lines(folder.resolve("machine.txt"))) {
      if (s.matches("(commit|date|kernel|processor|memory|java|load before).*")) {
        System.out.println("- " + s);
      }
    }
    System.out.println("\n| row | what | aim | median | least | most | rounds | reached |");
    System.out.println("|---|---|---|---|---|---|---|---|");
    lines.forEach(
        (line, values) -> {
          double[] sorted = values.stream().mapToDouble(Double::doubleValue).sorted().toArray();
          int n = sorted.length;
          double median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
          System.out.printf(
              "| %s | %s | %s | %s | %s | %s | %d | %s |%n",
              line.row,
              line.what + (line.unit.isEmpty() ? "" : ", " + line.unit),
              line.aim,
              text(median),
              text(sorted[0]),
              text(sorted[n - 1]),
              n,
              reached(line.aim, median));
        });
    for (String s : lines(folder.resolve("features-failed.txt"))) {
      System.out.println("\n**Not measured:** " + s.replace("\t", ": "));
    }
  }

  private static List<String> lines(Path file) throws IOException {
    return Files.exists(file) ? Files.readAllLines(file) : List.of();
  }

  /** An aim is such as {@code <= 50}, and may have a comment after a comma. */
  private static String reached(String aim, double value) {
    if (aim.isEmpty()) {
      return "";
    }
    String[] p = aim.replaceFirst(",.*", "").split(" ");
    double bound = Double.parseDouble(p[1]);
    boolean is =
        switch (p[0]) {
          case "<=" -> value <= bound;
          case "<" -> value < bound;
          case ">=" -> value >= bound;
          default -> throw new IllegalArgumentException(aim);
        };
    return is ? "yes" : "no";
  }

  private static String text(double v) {
    double size = Math.abs(v);
    String format = size >= 1000 ? "%,.0f" : size >= 100 ? "%.0f" : size >= 10 ? "%.1f" : "%.3f";
    return String.format(Locale.ROOT, format, v);
  }
}
