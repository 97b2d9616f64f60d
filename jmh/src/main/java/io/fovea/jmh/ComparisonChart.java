package io.fovea.jmh;

import io.fovea.jmh.StoreAdapter.Engine;
import io.fovea.jmh.StoreComparison.Figures;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.DoubleStream;

/**
 * Draws the figures of {@link StoreComparison} as horizontal bars in SVG, 800 pixels wide.
 * Workloads differ by factors of a hundred, so each has its own linear scale, on which the longest
 * bar spans the width. Every bar is labelled with its figure.
 *
 * <p>The background is transparent. A page may be light or dark, whatever the reader's system
 * prefers, so instead of a media query, text and bars have colors that are readable on both, and a
 * spread is a dark line with a light border. Color-blind people can distinguish the bars (Okabe and
 * Ito).
 *
 * <pre>
 *   workload
 *   engine  |==========================| 1,230,000
 *   engine  |==========|                  480,000
 * </pre>
 */
final class ComparisonChart {
  private static final int WIDTH = 800;
  private static final int MARGIN = 16;
  private static final int LEFT = 100;
  private static final int BAR = 12;
  private static final int STEP = 16;
  private static final int HEAD = 23;
  private static final int GAP = 10;
  private static final int TOP = 56;
  private static final int FIGURE = 110;

  private static final String[] COLOURS = {
    "#2f81f7", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9"
  };

  private ComparisonChart() {}

  static String draw(List<Engine> engines, List<Figures> figures) {
    int group = HEAD + engines.size() * STEP + GAP;
    int height = TOP + figures.size() * group + MARGIN;
    StringBuilder s = new StringBuilder();
    s.append(
        """
        <svg xmlns="http://www.w3.org/2000/svg" width="%1$d" height="%2$d" viewBox="0 0 %1$d %2$d" role="img" \
        aria-label="Transactions a second of embedded engines">
        <style>
          text { font: 12.5px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #6e7781 }
          .title { font-size: 15px; font-weight: 600 }
          .head { font-weight: 600 }
          .border { stroke: #ffffff; stroke-width: 4 }
          .spread { stroke: #24292f; stroke-width: 1.5 }
        </style>
        """
            .formatted(WIDTH, height));
    text(
        s,
        MARGIN,
        24,
        "title",
        "Transactions per second of embedded engines: longer bars are better");
    text(
        s,
        MARGIN,
        44,
        "note",
        "Each workload has its own scale. Bars and figures are medians; lines span the slowest to"
            + " the fastest round.");
    int y = TOP;
    for (Figures f : figures) {
      group(s, y, engines, f);
      y += group;
    }
    return s.append("</svg>\n").toString();
  }

  private static void group(StringBuilder s, int top, List<Engine> engines, Figures f) {
    text(s, MARGIN, top + 16, "head", f.line().title());
    double most = engines.stream().flatMapToDouble(e -> range(f, e)).max().orElseThrow();
    double scale = (WIDTH - MARGIN - LEFT - FIGURE) / most;
    int y = top + HEAD;
    for (Engine e : engines) {
      double[] range = range(f, e).sorted().toArray();
      double median = f.median(e);
      text(s, MARGIN, y + 10, "engine", e.title);
      line(
          s,
          "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" rx=\"2\" fill=\"%s\"/>",
          LEFT,
          y,
          Math.max(1, median * scale),
          BAR,
          COLOURS[e.ordinal()]);
      double middle = y + BAR / 2.0;
      double from = LEFT + range[0] * scale;
      double to = LEFT + range[range.length - 1] * scale;
      for (String style : new String[] {"border", "spread"}) {
        line(
            s,
            "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>",
            style,
            from,
            middle,
            to,
            middle);
      }
      text(s, to + 8, y + 10, "figure", StoreComparison.number(median));
      y += STEP;
    }
  }

  private static DoubleStream range(Figures f, Engine e) {
    return Arrays.stream(f.rounds().get(e));
  }

  private static void text(StringBuilder s, double x, double y, String style, String text) {
    line(s, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>", style, x, y, text);
  }

  private static void line(StringBuilder s, String format, Object... args) {
    s.append(String.format(Locale.ROOT, format, args)).append('\n');
  }
}
