package io.fovea.tpcc;

import io.fovea.tpcc.bench.Sampler;
import io.fovea.tpcc.bench.Series;
import io.fovea.tpcc.plot.Axis;
import io.fovea.tpcc.plot.Figure;
import io.fovea.tpcc.plot.Look;
import io.fovea.tpcc.plot.Look.Dash;
import io.fovea.tpcc.plot.Look.Hue;
import io.fovea.tpcc.plot.Panel;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.HdrHistogram.Histogram;

/**
 * The figure of one run, or of two overlaid: the second is dashed, or has another color where a run
 * has only one line. The first extra column of a series gets a second y axis next to the
 * throughput, further ones get separate panels.
 */
final class RunFigure {
  private static final Axis TIME = Axis.linear("time (s)");
  private static final Axis LATENCY = Axis.log("latency (µs)");
  private static final double NANOS_PER_MICRO = 1e3;

  /** Distance between two points of a percentile curve, in nines. */
  private static final double CURVE_STEP = 0.02;

  /** Warm-ups that end within this many seconds count as ending together. */
  private static final double SAME_SECONDS = 0.5;

  private static final List<Hue> TYPES =
      List.of(Hue.BLUE, Hue.VERMILION, Hue.GREEN, Hue.PURPLE, Hue.ORANGE, Hue.SKY);

  private final List<RunFile> runs;
  private final List<String> names;

  private final List<String> extras;

  private RunFigure(List<RunFile> runs) {
    this.runs = runs;
    this.names = names(runs);
    this.extras =
        runs.stream()
            .flatMap(r -> r.series().names().stream())
            .filter(n -> !Series.STANDARD.contains(n))
            .distinct()
            .toList();
  }

  /**
   * Draws the figure.
   *
   * @param title the title, or null for the names of the runs
   */
  static Figure of(List<RunFile> runs, String title) {
    RunFigure f = new RunFigure(runs);
    List<String> subtitles = new ArrayList<>();
    for (int i = 0; i < runs.size(); i++) {
      String description = runs.get(i).description();
      if (!description.isEmpty()) {
        subtitles.add(f.prefix(i) + description);
      }
    }
    Figure figure = new Figure(title == null ? String.join(" and ", f.names) : title, subtitles);
    figure.add(f.throughput()).add(f.latencies());
    if (runs.stream().anyMatch(r -> r.series().has(Series.READS))) {
      figure.add(f.device());
    }
    f.extras.stream().skip(1).map(f::extraAlone).forEach(figure::add);
    if (runs.stream().anyMatch(r -> !r.latencies().isEmpty())) {
      figure.add(f.curve());
    }
    return figure;
  }

  private static List<String> names(List<RunFile> runs) {
    List<String> names = new ArrayList<>(runs.stream().map(RunFile::name).toList());
    if (names.size() > 1 && names.get(0).equals(names.get(1))) {
      names.set(0, names.get(0) + " (1)");
      names.set(1, names.get(1) + " (2)");
    }
    return names;
  }

  private String prefix(int run) {
    return runs.size() == 1 ? "" : names.get(run) + ": ";
  }

  private static Dash dash(int run) {
    return run == 0 ? Dash.SOLID : Dash.DASHED;
  }

  private Panel throughput() {
    boolean alike = runs.stream().map(RunFile::operation).distinct().count() == 1;
    String operation = alike ? runs.get(0).operation() : "operations";
    Panel panel = new Panel("Throughput", TIME, Axis.linear(operation + " per second"));
    for (int i = 0; i < runs.size(); i++) {
      Series s = runs.get(i).series();
      panel.line(
          runs.size() == 1 ? operation : names.get(i),
          middles(s),
          s.column(Series.OPERATIONS),
          Look.solid(i == 0 ? Hue.BLUE : Hue.VERMILION));
    }
    if (!extras.isEmpty()) {
      extraPanel(panel, extras.get(0));
    }
    return annotated(panel, true);
  }

  private void extraPanel(Panel panel, String column) {
    for (int i = 0; i < runs.size(); i++) {
      Series s = runs.get(i).series();
      if (s.has(column)) {
        panel.rightLine(
            Axis.linear(words(column)),
            prefix(i) + words(column),
            s.column(Series.SECOND),
            s.column(column),
            new Look(Hue.GRAY, i == 0 ? Dash.DASHED : Dash.DOTTED));
      }
    }
  }

  private Panel extraAlone(String column) {
    Panel panel = new Panel(sentence(column), TIME, Axis.linear(words(column)));
    for (int i = 0; i < runs.size(); i++) {
      Series s = runs.get(i).series();
      if (s.has(column)) {
        panel.line(
            prefix(i) + words(column),
            s.column(Series.SECOND),
            s.column(column),
            new Look(Hue.BLUE, dash(i)));
      }
    }
    return annotated(panel, false);
  }

  private Panel latencies() {
    Panel panel = new Panel("Latency", TIME, LATENCY);
    for (int i = 0; i < runs.size(); i++) {
      latency(panel, i, Series.P50_MICROS, "median", Hue.BLUE);
      latency(panel, i, Series.P99_MICROS, "99 %", Hue.GREEN);
      latency(panel, i, Series.P999_MICROS, "99.9 %", Hue.VERMILION);
      if (runs.size() == 1) {
        Series s = runs.get(i).series();
        panel.line(
            "maximum", middles(s), s.column(Series.MAX_MICROS), new Look(Hue.BLACK, Dash.THIN));
      }
    }
    return annotated(panel, false);
  }

  private void latency(Panel panel, int run, String column, String name, Hue hue) {
    Series s = runs.get(run).series();
    panel.line(prefix(run) + name, middles(s), s.column(column), new Look(hue, dash(run)));
  }

  private Panel device() {
    Panel panel = new Panel("Data file", TIME, Axis.linear("operations per second"));
    for (int i = 0; i < runs.size(); i++) {
      Series s = runs.get(i).series();
      if (s.has(Series.READS)) {
        panel.line(
            prefix(i) + "reads", middles(s), s.column(Series.READS), new Look(Hue.BLUE, dash(i)));
        panel.line(
            prefix(i) + "writes",
            middles(s),
            s.column(Series.WRITES),
            new Look(Hue.VERMILION, dash(i)));
      }
    }
    return annotated(panel, false);
  }

  /** Draws a curve per type for one run, or of all types together for two. */
  private Panel curve() {
    Panel panel =
        new Panel("Latency by percentile", new Axis("percentile", Axis.Scale.NINES), LATENCY);
    for (int i = 0; i < runs.size(); i++) {
      Map<String, Histogram> latencies = runs.get(i).latencies();
      if (runs.size() == 1) {
        int n = 0;
        for (Map.Entry<String, Histogram> e : latencies.entrySet()) {
          curve(panel, words(e.getKey()), e.getValue(), Look.solid(TYPES.get(n++ % TYPES.size())));
        }
      }
      if (latencies.size() > 1 || runs.size() > 1) {
        Histogram all = new Histogram(3);
        latencies.values().forEach(all::add);
        curve(
            panel,
            runs.size() == 1 ? "all" : names.get(i),
            all,
            runs.size() == 1
                ? Look.dashed(Hue.BLACK)
                : Look.solid(i == 0 ? Hue.BLUE : Hue.VERMILION));
      }
    }
    return panel;
  }

  /** Adds a curve up to the percentile above which there is one value, the maximum. */
  private static void curve(Panel panel, String name, Histogram h, Look look) {
    if (h.getTotalCount() == 0) {
      return;
    }
    double end = Math.log10(Math.max(10, h.getTotalCount()));
    int points = 1 + (int) Math.ceil(end / CURVE_STEP);
    double[] xs = new double[points];
    double[] ys = new double[points];
    for (int i = 0; i < points; i++) {
      xs[i] = 100 * (1 - Math.pow(10, -Math.min(i * CURVE_STEP, end)));
      ys[i] = (i == points - 1 ? h.getMaxValue() : h.getValueAtPercentile(xs[i])) / NANOS_PER_MICRO;
    }
    panel.line(name, xs, ys, look);
  }

  /** Returns the x positions of rates, which cover the interval before {@link Series#SECOND}. */
  private static double[] middles(Series series) {
    double[] ends = series.column(Series.SECOND);
    double[] middles = new double[ends.length];
    for (int i = 0; i < ends.length; i++) {
      middles[i] = ((i == 0 ? 0 : ends[i - 1]) + ends[i]) / 2;
    }
    return middles;
  }

  /** Adds warm-ups and marks, labelled in one panel only. */
  private Panel annotated(Panel panel, boolean texts) {
    double[] warmups = runs.stream().mapToDouble(r -> r.series().warmupSeconds()).toArray();
    double least = Arrays.stream(warmups).min().orElse(0);
    double most = Arrays.stream(warmups).max().orElse(0);
    boolean same = most - least < SAME_SECONDS;
    if (same && most > 0) {
      panel.shade(0, most, texts ? "warm-up" : "");
    }
    for (int i = 0; i < runs.size(); i++) {
      panel.until(Arrays.stream(runs.get(i).series().column(Series.SECOND)).max().orElse(0));
      for (Series.Mark mark : runs.get(i).series().marks()) {
        if (!same || !mark.text().equals(Sampler.WARMUP_ENDS)) {
          panel.mark(mark.second(), texts ? prefix(i) + mark.text() : "");
        }
      }
    }
    return panel;
  }

  private static String words(String name) {
    return name.replaceAll("(?<=[a-z0-9])(?=[A-Z])", " ").toLowerCase(Locale.ROOT);
  }

  private static String sentence(String name) {
    String words = words(name);
    return words.substring(0, 1).toUpperCase(Locale.ROOT) + words.substring(1);
  }
}
