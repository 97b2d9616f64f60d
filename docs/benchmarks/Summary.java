import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Prints the results of run.sh as Markdown tables. A TPC-C figure is the median of the rounds. A JMH figure is JMH's average
 * over forks and iterations or, for rounds in separate files (NAME-rROUND.jmh.json), the median of the rounds' averages.
 *
 * <p>Usage: {@code java Summary.java FOLDER [SINCE]}. With a file SINCE, prints only results that are not older than it, and
 * omits the machine.
 */
public final class Summary {
  /** tpcc-1w1t-2.tpcc.json is the second round of tpcc-1w1t. */
  private static final Pattern ROUND = Pattern.compile("(.*)-(\\d+)\\.tpcc\\.json");

  private static final Pattern JMH = Pattern.compile("(.*?)(-r\\d+)?\\.jmh\\.json");

  private static final Pattern LOOKUPS = Pattern.compile("(.*)-(\\d+)\\.lookups\\.json");

  private Summary() {}

  public static void main(String[] args) throws IOException {
    Path folder = Path.of(args[0]);
    Map<String, List<String>> driver = new TreeMap<>();
    Map<String, List<String>> jmh = new TreeMap<>();
    Path since = args.length > 1 ? Path.of(args[1]) : null;
    FileTime first = since == null ? FileTime.fromMillis(0) : Files.getLastModifiedTime(since);
    Map<String, String> recoveries = new TreeMap<>();
    Map<String, Map<String, String>> lookups = new TreeMap<>();
    try (Stream<Path> files = Files.list(folder)) {
      for (Path file : files.sorted().toList()) {
        if (Files.getLastModifiedTime(file).compareTo(first) < 0) {
          continue;
        }
        String name = file.getFileName().toString();
        Matcher m = ROUND.matcher(name);
        Matcher j = JMH.matcher(name);
        round(LOOKUPS, file, lookups);
        if (m.matches()) {
          driver.computeIfAbsent(m.group(1), k -> new ArrayList<>()).add(Files.readString(file));
        } else if (j.matches()) {
          jmh.computeIfAbsent(j.group(1), k -> new ArrayList<>()).add(Files.readString(file));
        } else if (name.endsWith(".recovery.json")) {
          recoveries.put(name.replace(".recovery.json", ""), Files.readString(file));
        }
      }
    }
    Path machine = folder.resolve("machine.txt");
    if (since == null && Files.exists(machine)) {
      System.out.println("```\n" + Files.readString(machine).strip() + "\n```\n");
    }
    if (!driver.isEmpty()) {
      driver(driver);
    }
    if (!recoveries.isEmpty()) {
      recoveries(recoveries);
    }
    if (!lookups.isEmpty()) {
      lookups(lookups);
    }
    jmh.forEach(Summary::jmh);
    Path inlining = folder.resolve("inlining.txt");
    if (Files.exists(inlining) && Files.getLastModifiedTime(inlining).compareTo(first) >= 0) {
      String text = Files.readString(inlining);
      System.out.println("## Inlining\n\n```");
      System.out.println(text.substring(Math.max(0, text.indexOf("Calls of hot"))).strip());
      System.out.println("```");
    }
  }

  private static void driver(Map<String, List<String>> runs) {
    System.out.println("## TPC-C\n");
    System.out.println(
        "| run | transactions/s | least | most | rounds | aborts per 1,000 commits"
            + " (validation, lock, phantom) | reads/s | writes/s | consistent |");
    System.out.println("|---|---|---|---|---|---|---|---|---|");
    runs.forEach(
        (name, reports) -> {
          double[] perSecond = new double[reports.size()];
          String[] causes = {"validation", "lock", "phantom"};
          double[][] aborts = new double[causes.length][reports.size()];
          double[] reads = new double[reports.size()];
          double[] writes = new double[reports.size()];
          boolean consistent = true;
          for (int i = 0; i < reports.size(); i++) {
            String report = reports.get(i);
            perSecond[i] = Reports.number(report, "transactionsPerSecond");
            double commits = Math.max(1, Reports.number(report, "commits"));
            for (int c = 0; c < causes.length; c++) {
              // The first "aborts" object is that of the whole run.
              aborts[c][i] = 1000 * Reports.number(Reports.after(report, "\"aborts\""), causes[c]) / commits;
            }
            double seconds = Reports.number(report, "measuredSeconds");
            String engine = Reports.after(report, "\"engine\"");
            reads[i] = Reports.number(engine, "reads") / seconds;
            writes[i] = Reports.number(engine, "writes") / seconds;
            consistent &= report.contains("\"consistent\": true");
          }
          System.out.printf(
              Locale.ROOT,
              "| %s | %,.0f | %,.0f | %,.0f | %d | %.2f, %.2f, %.2f | %,.0f | %,.0f | %s |%n",
              name,
              Reports.median(perSecond),
              Stream.of(box(perSecond)).min(Double::compare).orElse(0.0),
              Stream.of(box(perSecond)).max(Double::compare).orElse(0.0),
              reports.size(),
              Reports.median(aborts[0]),
              Reports.median(aborts[1]),
              Reports.median(aborts[2]),
              Reports.median(reads),
              Reports.median(writes),
              consistent ? "yes" : "NO");
        });
    System.out.println();
    ratios(runs);
    logs(runs);
    threads(runs);
    latencies(runs);
    Map<String, Map<String, String>> longRuns = new TreeMap<>();
    runs.forEach(
        (name, reports) -> {
          if (name.matches("(larger|transition).*")) {
            longRuns.put(name, Map.of("1", reports.get(0)));
          }
        });
    seconds(longRuns, "transactions");
    longRuns.keySet().removeIf(name -> !name.startsWith("transition"));
    outgrown(longRuns);
    Map<String, List<String>> cold = new TreeMap<>(runs);
    cold.keySet().removeIf(name -> !name.startsWith("warm-"));
    warmth(cold);
  }

  /**
   * Prints the warm-up time of a JVM: the end of the first second with 90 % of the steady rate, which
   * is the median of the last third of the run's seconds.
   */
  private static void warmth(Map<String, List<String>> runs) {
    if (runs.isEmpty()) {
      return;
    }
    System.out.println("From a cold JVM on:\n");
    System.out.println(
        "| run | steady, transactions/s (least-most) | 90 % after, s: median | least | most | share of the steady"
            + " rate in seconds 1, 2, 3, 5, 10 | rounds |");
    System.out.println("|---|---|---|---|---|---|---|");
    int[] shown = {1, 2, 3, 5, 10};
    runs.forEach(
        (name, reports) -> {
          int n = reports.size();
          double[] steady = new double[n];
          double[] warm = new double[n];
          double[][] shares = new double[shown.length][n];
          for (int i = 0; i < n; i++) {
            double[] all = Reports.column(Reports.after(reports.get(i), "\"series\""), "operations", 0);
            steady[i] = Reports.median(Arrays.copyOfRange(all, all.length * 2 / 3, all.length));
            int second = 0;
            while (second < all.length && all[second] < 0.9 * steady[i]) {
              second++;
            }
            warm[i] = second + 1;
            for (int s = 0; s < shown.length; s++) {
              shares[s][i] = shown[s] <= all.length ? all[shown[s] - 1] / steady[i] : Double.NaN;
            }
          }
          System.out.printf(
              Locale.ROOT,
              "| %s | %,.0f (%,.0f-%,.0f) | %.0f | %.0f | %.0f | %s | %d |%n",
              name,
              Reports.median(steady),
              least(steady),
              most(steady),
              Reports.median(warm),
              least(warm),
              most(warm),
              Stream.of(shares)
                  .map(s -> Double.isNaN(Reports.median(s)) ? "-" : figure(Reports.median(s)))
                  .collect(java.util.stream.Collectors.joining(", ")),
              n);
        });
    System.out.println();
  }

  /** Adds a report under its name and round if the file is a report. */
  private static void round(Pattern pattern, Path file, Map<String, Map<String, String>> reports)
      throws IOException {
    Matcher m = pattern.matcher(file.getFileName().toString());
    if (m.matches()) {
      reports
          .computeIfAbsent(m.group(1), k -> new TreeMap<>())
          .put(m.group(2), Files.readString(file));
    }
  }

  private static void lookups(Map<String, Map<String, String>> all) {
    Map<String, Map<String, String>> runs = new TreeMap<>(all);
    Map<String, Map<String, String>> sizes = new TreeMap<>();
    for (String name : all.keySet()) {
      if (name.startsWith("sizes")) {
        sizes.put(name, runs.remove(name));
      }
    }
    if (!runs.isEmpty()) {
      System.out.println("## Random point reads, medians\n");
      System.out.println(
          "| run | lookups/s | least | most | device reads/s | misses per lookup | CPU us per lookup |"
              + " per device read | p50, us | p99 | max | predicted | preferred | rounds |");
      System.out.println("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
      runs.forEach(Summary::lookup);
      System.out.println();
    }
    sizes.forEach(Summary::sizes);
    seconds(runs, "lookups");
  }

  private static void lookup(String name, Map<String, String> rounds) {
    double[] perSecond = values(rounds, r -> Reports.number(r, "lookupsPerSecond"));
    StringBuilder line = new StringBuilder("| " + name);
    for (double d : new double[] {Reports.median(perSecond), least(perSecond), most(perSecond)}) {
      line.append(String.format(Locale.ROOT, " | %,.0f", d));
    }
    for (String field :
        List.of(
            "deviceReadsPerSecond", "missesPerLookup", "cpuMicrosPerLookup", "cpuMicrosPerDeviceRead")) {
      line.append(" | ").append(figure(Reports.median(values(rounds, r -> Reports.number(r, field)))));
    }
    for (String percentile : List.of("p50", "p99", "max")) {
      line.append(" | ")
          .append(
              figure(Reports.median(values(rounds, r -> Reports.number(Reports.after(r, "\"latencyMicros\""), percentile)))));
    }
    line.append(" | ").append(percent(Reports.median(values(rounds, r -> Reports.number(r, "predictedShare")))));
    line.append(" | ").append(percent(Reports.median(values(rounds, r -> Reports.number(r, "preferredShare")))));
    System.out.println(line + " | " + rounds.size() + " |");
  }

  /** Prints working sets and the model's predictions; medians of the rounds. */
  private static void sizes(String name, Map<String, String> rounds) {
    System.out.println("### " + name + "\n");
    System.out.println(
        "| of the pool | lookups/s | misses per lookup | the model says | measured by model, rounds |"
            + " CPU us per lookup | predicted | preferred | bytes copied per access |");
    System.out.println("|---|---|---|---|---|---|---|---|---|");
    List<String[]> parts =
        rounds.values().stream().map(r -> Reports.after(r, "\"sizes\"").split("\"workingSet\"")).toList();
    int n = parts.stream().mapToInt(p -> p.length).min().orElse(0);
    for (int i = 1; i < n; i++) {
      int size = i;
      java.util.function.ToDoubleFunction<String> median =
          field -> Reports.median(parts.stream().mapToDouble(p -> Reports.number(p[size], field)).toArray());
      StringBuilder each = new StringBuilder();
      parts.forEach(
          p -> each.append(String.format(Locale.ROOT, " %.2f", Reports.number(p[size], "measuredByModel"))));
      System.out.printf(
          Locale.ROOT,
          "| %.2f | %,.0f | %.4f | %,.0f | **%.2f** (%s) | %s | %s | %s | %s |%n",
          median.applyAsDouble("workingSetRatio"),
          median.applyAsDouble("lookupsPerSecond"),
          median.applyAsDouble("missesPerLookup"),
          median.applyAsDouble("modelLookupsPerSecond"),
          median.applyAsDouble("measuredByModel"),
          each.toString().strip(),
          figure(median.applyAsDouble("cpuMicrosPerLookup")),
          percent(median.applyAsDouble("predictedShare")),
          percent(median.applyAsDouble("preferredShare")),
          figure(median.applyAsDouble("copiedBytesPerAccess")));
    }
    System.out.println();
  }

  /** Prints runs second by second, to show stalls. */
  private static void seconds(Map<String, Map<String, String>> runs, String what) {
    if (runs.isEmpty()) {
      return;
    }
    System.out.println("Second by second, without the warm-up:\n");
    System.out.println(
        "| run | seconds | "
            + what
            + "/s: median | slowest second | fastest | longest latency, ms | most reads/s | most"
            + " writes/s |");
    System.out.println("|---|---|---|---|---|---|---|---|");
    runs.forEach(
        (name, rounds) ->
            rounds.forEach(
                (round, report) -> {
                  String series = Reports.after(report, "\"series\"");
                  if (series.isEmpty()) {
                    return;
                  }
                  int from = Reports.warmup(series);
                  double[] perSecond = Reports.column(series, "operations", from);
                  System.out.printf(
                      Locale.ROOT,
                      "| %s | %d | %,.0f | %,.0f | %,.0f | %s | %,.0f | %,.0f |%n",
                      name,
                      perSecond.length,
                      Reports.median(perSecond),
                      least(perSecond),
                      most(perSecond),
                      figure(most(Reports.column(series, "maxMicros", from)) / 1e3),
                      most(Reports.column(series, "reads", from)),
                      most(Reports.column(series, "writes", from)));
                }));
    System.out.println();
  }

  /** Prints runs whose data outgrows the pool: before, and at the end. */
  private static void outgrown(Map<String, Map<String, String>> runs) {
    if (runs.isEmpty()) {
      return;
    }
    System.out.println("Data that outgrows the pool; medians of seconds:\n");
    System.out.println(
        "| run | first 20 s, transactions/s | data is as large as the pool after, s | last 20 s,"
            + " transactions/s | of the first run's | pools of data at the end |");
    System.out.println("|---|---|---|---|---|---|");
    double first = Double.NaN;
    for (Map.Entry<String, Map<String, String>> run : runs.entrySet()) {
      String series = Reports.after(run.getValue().get("1"), "\"series\"");
      int from = Reports.warmup(series);
      double[] perSecond = Reports.column(series, "operations", from);
      double[] ratio = Reports.column(series, "dataRatio", from);
      int few = Math.min(20, perSecond.length);
      int full = 0;
      while (full < ratio.length && ratio[full] < 1) {
        full++;
      }
      double end = Reports.median(Arrays.copyOfRange(perSecond, perSecond.length - few, perSecond.length));
      first = Double.isNaN(first) ? end : first;
      System.out.printf(
          Locale.ROOT,
          "| %s | %,.0f | %s | %,.0f | %.2f | %.2f |%n",
          run.getKey(),
          Reports.median(Arrays.copyOf(perSecond, few)),
          full < ratio.length ? Integer.toString(full) : "-",
          end,
          end / first,
          ratio.length == 0 ? Double.NaN : ratio[ratio.length - 1]);
    }
    System.out.println();
  }

  private static double[] values(
      Map<String, String> rounds, java.util.function.ToDoubleFunction<String> value) {
    return rounds.values().stream().mapToDouble(value).toArray();
  }

  private static String percent(double share) {
    return Double.isNaN(share) ? "" : String.format(Locale.ROOT, "%.1f %%", 100 * share);
  }

  private static double least(double[] values) {
    return java.util.Arrays.stream(values).min().orElse(Double.NaN);
  }

  private static double most(double[] values) {
    return java.util.Arrays.stream(values).max().orElse(Double.NaN);
  }

  /** Prints the throughput of runs with a log relative to "none", round by round. */
  private static void ratios(Map<String, List<String>> runs) {
    boolean head = true;
    for (Map.Entry<String, List<String>> run : runs.entrySet()) {
      String name = run.getKey();
      Matcher m = Pattern.compile("((?:durability|clients)-[^-]+-)(sync|async)(.*)").matcher(name);
      if (!m.matches()) {
        continue;
      }
      String beside = m.group(1) + "none" + (m.group(3).endsWith("virtual") ? m.group(3) : "");
      List<String> none = runs.getOrDefault(beside, List.of());
      int rounds = Math.min(none.size(), run.getValue().size());
      if (rounds == 0) {
        continue;
      }
      double[] ratios = new double[rounds];
      for (int i = 0; i < rounds; i++) {
        ratios[i] =
            Reports.number(run.getValue().get(i), "transactionsPerSecond")
                / Reports.number(none.get(i), "transactionsPerSecond");
      }
      if (head) {
        System.out.println("Throughput relative to that without a log in the same round:\n");
        System.out.println("| run | divided by | median | each round |");
        System.out.println("|---|---|---|---|");
        head = false;
      }
      StringBuilder line = new StringBuilder();
      for (double ratio : ratios) {
        line.append(String.format(Locale.ROOT, "%.2f ", ratio));
      }
      System.out.printf(
          Locale.ROOT, "| %s | %s | %.2f | %s |%n", name, beside, Reports.median(ratios), line);
    }
    if (!head) {
      System.out.println();
    }
  }

  /** Prints medians of the log's work, for runs with a log. */
  private static void logs(Map<String, List<String>> runs) {
    String[] figures = {
      "commitsPerSync", "meanWaitMicros", "bytesPerTransaction", "megabytesPerSecond", "syncs", "checkpoints"
    };
    boolean head = true;
    for (Map.Entry<String, List<String>> run : runs.entrySet()) {
      List<String> logs =
          run.getValue().stream()
              .map(report -> Reports.after(report, "\"log\": {"))
              .filter(log -> !log.isEmpty())
              .toList();
      if (logs.isEmpty()) {
        continue;
      }
      if (head) {
        System.out.println("The log, medians:\n");
        System.out.println(
            "| run | commits per sync | mean wait, µs | bytes per transaction | MB/s written | syncs"
                + " | checkpoints |");
        System.out.println("|---|---|---|---|---|---|---|");
        head = false;
      }
      StringBuilder line = new StringBuilder("| " + run.getKey());
      for (String figure : figures) {
        double[] values = logs.stream().mapToDouble(log -> Reports.number(log, figure)).toArray();
        line.append(" | ").append(figure(Reports.median(values)));
      }
      System.out.println(line + " |");
    }
    if (!head) {
      System.out.println();
    }
  }

  /** Prints the times of threads that had 0.5 % of a processor or more in runs of "clients". */
  private static void threads(Map<String, List<String>> runs) {
    boolean head = true;
    for (Map.Entry<String, List<String>> run : runs.entrySet()) {
      if (!run.getKey().startsWith("clients-")) {
        continue;
      }
      Map<String, List<double[]>> groups = new TreeMap<>();
      for (String report : run.getValue()) {
        double seconds = Reports.number(report, "measuredSeconds");
        double transactions = seconds * Reports.number(report, "transactionsPerSecond");
        Reports.threads(report)
            .forEach(
                t -> {
                  double processor = 100 * t.processorSeconds() / seconds;
                  double ready = 100 * t.readySeconds() / seconds;
                  groups
                      .computeIfAbsent(t.name(), k -> new ArrayList<>())
                      .add(
                          new double[] {
                            t.number(),
                            processor,
                            ready,
                            100 * t.number() - processor - ready,
                            1e6 * t.processorSeconds() / transactions
                          });
                });
      }
      if (head) {
        System.out.println("Threads, medians, percent of a processor (all threads of a name together):\n");
        System.out.println(
            "| run | threads | with a processor | waiting for one | asleep | µs of one a transaction |");
        System.out.println("|---|---|---|---|---|---|");
        head = false;
      }
      groups.forEach(
          (name, rounds) -> {
            double[] medians = new double[5];
            for (int i = 0; i < medians.length; i++) {
              int at = i;
              medians[i] = Reports.median(rounds.stream().mapToDouble(r -> r[at]).toArray());
            }
            if (medians[1] >= 0.5) {
              System.out.printf(
                  Locale.ROOT,
                  "| %s | %s (%.0f) | %.1f | %.1f | %.1f | %.1f |%n",
                  run.getKey(), name, medians[0], medians[1], medians[2], medians[3], medians[4]);
            }
          });
    }
    if (!head) {
      System.out.println();
    }
  }

  private static void recoveries(Map<String, String> reports) {
    System.out.println("## Recovery\n");
    System.out.println("| run | log replayed, MB | replay, s | MB/s | opening, s | consistent |");
    System.out.println("|---|---|---|---|---|---|");
    reports.forEach(
        (name, report) -> {
          String recovery = Reports.after(report, "\"recovery\": {");
          System.out.printf(
              Locale.ROOT,
              "| %s | %s | %s | %s | %s | %s |%n",
              name,
              figure(Reports.number(recovery, "logBytes") / 1e6),
              figure(Reports.number(recovery, "seconds")),
              figure(Reports.number(recovery, "megabytesPerSecond")),
              figure(Reports.number(recovery, "openSeconds")),
              report.contains("\"consistent\": true") ? "yes" : "NO");
        });
    System.out.println();
  }

  /** Prints latencies of the round with the median throughput (the slower of two in the middle). */
  private static void latencies(Map<String, List<String>> runs) {
    String[] types = {"newOrder", "payment", "orderStatus", "delivery", "stockLevel"};
    String[] columns = {"p50", "p95", "p99", "p99.9", "max"};
    System.out.println("Latencies in microseconds, of the round with the median throughput:\n");
    System.out.println("| run | type | " + String.join(" | ", columns) + " |");
    System.out.println("|---|---|---|---|---|---|---|");
    runs.forEach(
        (name, reports) -> {
          List<String> sorted = new ArrayList<>(reports);
          sorted.sort(Comparator.comparingDouble(r -> Reports.number(r, "transactionsPerSecond")));
          String transactions = Reports.after(sorted.get((sorted.size() - 1) / 2), "\"transactions\"");
          for (String type : types) {
            String latency = Reports.after(Reports.after(transactions, '"' + type + '"'), "\"latencyMicros\"");
            if (latency.isEmpty()) {
              continue; // not in this mix
            }
            StringBuilder line = new StringBuilder("| " + name + " | " + type);
            for (String column : columns) {
              line.append(" | ").append(figure(Reports.number(latency, column.replace(".", "\\."))));
            }
            System.out.println(line + " |");
          }
        });
    System.out.println();
  }

  /** The averages of a line, by round. */
  private record Rounds(String unit, List<Double> scores, List<Double> allocated) {}

  private static void jmh(String name, List<String> reports) {
    if (reports.size() == 1) {
      jmh(name, reports.getFirst());
      return;
    }
    Map<String, Rounds> lines = new LinkedHashMap<>();
    for (String json : reports) {
      for (String part : json.split("\"jmhVersion\"")) {
        String benchmark = text(part, "benchmark");
        if (benchmark.isEmpty()) {
          continue;
        }
        String primary = Reports.after(part, "\"primaryMetric\"");
        String line = benchmark.replaceFirst("^io\\.fovea\\.jmh\\.", "") + " | " + parameters(part);
        Rounds r =
            lines.computeIfAbsent(
                line,
                k -> new Rounds(text(primary, "scoreUnit"), new ArrayList<>(), new ArrayList<>()));
        r.scores.add(Reports.number(primary, "score"));
        r.allocated.add(Reports.number(Reports.after(part, "gc.alloc.rate.norm\""), "score"));
      }
    }
    System.out.println("## " + name + "\n");
    System.out.println(
        "| benchmark | parameters | median | least | most | of the first (least-most) | unit | B/op"
            + " | rounds |");
    System.out.println("|---|---|---|---|---|---|---|---|---|");
    double[] first = array(lines.values().iterator().next().scores);
    lines.forEach(
        (line, r) -> {
          double[] scores = array(r.scores);
          double[] ratios = new double[Math.min(scores.length, first.length)];
          for (int i = 0; i < ratios.length; i++) {
            ratios[i] = scores[i] / first[i];
          }
          System.out.printf(
              Locale.ROOT,
              "| %s | %s | %s | %s | %.3f (%.2f-%.2f) | %s | %s | %d |%n",
              line,
              figure(Reports.median(scores)),
              figure(least(scores)),
              figure(most(scores)),
              Reports.median(ratios),
              least(ratios),
              most(ratios),
              r.unit,
              figure(Reports.median(array(r.allocated))),
              scores.length);
        });
    System.out.println();
  }

  private static double[] array(List<Double> values) {
    return values.stream().mapToDouble(Double::doubleValue).toArray();
  }

  private static void jmh(String name, String json) {
    System.out.println("## " + name + "\n");
    System.out.println("| benchmark | parameters | score | ± | unit | B/op |");
    System.out.println("|---|---|---|---|---|---|");
    for (String part : json.split("\"jmhVersion\"")) {
      String benchmark = text(part, "benchmark");
      if (benchmark.isEmpty()) {
        continue;
      }
      String primary = Reports.after(part, "\"primaryMetric\"");
      String allocated = Reports.after(part, "gc.alloc.rate.norm\"");
      System.out.printf(
          Locale.ROOT,
          "| %s | %s | %s | %s | %s | %s |%n",
          benchmark.replaceFirst("^io\\.fovea\\.jmh\\.", ""),
          parameters(part),
          figure(Reports.number(primary, "score")),
          figure(Reports.number(primary, "scoreError")),
          text(primary, "scoreUnit"),
          allocated.isEmpty() ? "" : figure(Reports.number(allocated, "score")));
    }
    System.out.println();
  }

  private static String parameters(String part) {
    Matcher m = Pattern.compile("\"params\"\\s*:\\s*\\{([^}]*)}").matcher(part);
    return m.find() ? m.group(1).replaceAll("[\"\\s]", "").replace(":", "=") : "";
  }

  private static String figure(double value) {
    return Double.isNaN(value)
        ? ""
        : value >= 1000
            ? String.format(Locale.ROOT, "%,.0f", value)
            : String.format(Locale.ROOT, "%.2f", value);
  }

  private static String text(String json, String field) {
    Matcher m = Pattern.compile('"' + field + "\"\\s*:\\s*\"([^\"]*)\"").matcher(json);
    return m.find() ? m.group(1) : "";
  }

  private static Double[] box(double[] values) {
    Double[] boxed = new Double[values.length];
    for (int i = 0; i < values.length; i++) {
      boxed[i] = values[i];
    }
    return boxed;
  }
}
