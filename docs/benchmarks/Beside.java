import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Prints a table of TPC-C runs that took turns by slices.sh: the folder has a title a line in titles.txt, and the
 * report of the n-th as n.json. What a run says of itself is by the clock, which went on while the others had
 * their turns: with N runs, N times as much is what it does. Ratios are to the first.
 *
 * <p>Usage: {@code java Beside.java FOLDER}
 */
final class Beside {
  private Beside() {}

  public static void main(String[] args) throws IOException {
    Path folder = Path.of(args[0]);
    List<String> titles = Files.readAllLines(folder.resolve("titles.txt"));
    System.out.println(
        "| | transactions/s | of the first | reads a transaction | writes a transaction | aborts per"
            + " 1,000 commits | consistent |");
    System.out.println("|---|---|---|---|---|---|---|");
    double first = Double.NaN;
    for (int i = 0; i < titles.size(); i++) {
      Path file = folder.resolve(i + 1 + ".json");
      if (!Files.exists(file)) {
        System.out.println("| " + titles.get(i) + " | no report | - | - | - | - | - |");
        continue;
      }
      String report = Files.readString(file);
      double perSecond = number(report, "transactionsPerSecond") * titles.size();
      first = i == 0 ? perSecond : first;
      double commits = Math.max(1, number(report, "commits"));
      String engine = after(report, "\"engine\"");
      String aborts = after(report, "\"aborts\"");
      System.out.printf(
          Locale.ROOT,
          "| %s | %,.0f | %.3f | %.3f | %.3f | %.2f | %s |%n",
          titles.get(i),
          perSecond,
          perSecond / first,
          number(engine, "reads") / commits,
          number(engine, "writes") / commits,
          1000
              * (number(aborts, "validation") + number(aborts, "lock") + number(aborts, "phantom"))
              / commits,
          report.contains("\"consistent\": true") ? "yes" : "NO");
    }
  }

  private static String after(String json, String mark) {
    int at = json.indexOf(mark);
    return at < 0 ? "" : json.substring(at + mark.length());
  }

  private static double number(String json, String field) {
    Matcher m = Pattern.compile('"' + field + "\"\\s*:\\s*(-?[\\d.eE+-]+)").matcher(json);
    return m.find() ? Double.parseDouble(m.group(1)) : Double.NaN;
  }
}
