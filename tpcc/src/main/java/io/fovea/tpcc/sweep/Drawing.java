package io.fovea.tpcc.sweep;

import io.fovea.tpcc.plot.Axis;
import io.fovea.tpcc.plot.BarPanel;
import io.fovea.tpcc.plot.Figure;
import io.fovea.tpcc.plot.Look;
import io.fovea.tpcc.plot.Panel;
import io.fovea.tpcc.sweep.Results.Point;
import java.util.Arrays;
import java.util.List;
import java.util.function.ToDoubleFunction;

/**
 * Draws a pivot as lines over one option, or as groups of bars over several: goodput and abort
 * rate.
 */
final class Drawing {
  /** If the largest value exceeds the smallest by this factor, the axis is logarithmic. */
  private static final double DECADES = 16;

  private static final List<Look.Hue> HUES =
      List.of(
          Look.Hue.BLUE,
          Look.Hue.VERMILION,
          Look.Hue.GREEN,
          Look.Hue.PURPLE,
          Look.Hue.ORANGE,
          Look.Hue.SKY,
          Look.Hue.GRAY,
          Look.Hue.BLACK);

  private Drawing() {}

  static Figure of(Pivot pivot, String title, String subtitle) {
    Figure figure = new Figure(title, subtitle.isEmpty() ? List.of() : List.of(subtitle));
    boolean lines =
        pivot.x.size() == 1 && pivot.onAxis.stream().allMatch(v -> !Double.isNaN(number(v)));
    for (boolean aborts : new boolean[] {false, true}) {
      String name = aborts ? "Abort rate" : "Goodput";
      String label = aborts ? "% of the attempts" : "thousand transactions per second";
      ToDoubleFunction<Point> value =
          p ->
              p == null ? Double.NaN : aborts ? 100 * p.medianAbortRate() : p.medianGoodput() / 1e3;
      if (lines) {
        figure.add(lines(pivot, name, label, value));
      } else {
        figure.add(bars(pivot, name, label, value));
      }
    }
    return figure;
  }

  private static BarPanel bars(
      Pivot pivot, String name, String label, ToDoubleFunction<Point> value) {
    BarPanel panel = new BarPanel(name, pivot.rows, label);
    for (int i = 0; i < pivot.columns.size(); i++) {
      String column = pivot.columns.get(i);
      panel.bars(
          column.isEmpty() ? "(none)" : column,
          pivot.column(column, pivot.rows).stream().mapToDouble(value).toArray(),
          HUES.get(i % HUES.size()));
    }
    return panel;
  }

  private static Panel lines(
      Pivot pivot, String name, String label, ToDoubleFunction<Point> value) {
    List<String> rows =
        pivot.onAxis.stream().sorted((a, b) -> Double.compare(number(a), number(b))).toList();
    double[] xs = rows.stream().mapToDouble(Drawing::number).toArray();
    boolean wide = xs.length > 0 && xs[0] > 0 && xs[xs.length - 1] >= DECADES * xs[0];
    String option = pivot.x.getFirst();
    Panel panel =
        new Panel(name, wide ? Axis.log(option) : Axis.linear(option), Axis.linear(label));
    for (int i = 0; i < pivot.columns.size(); i++) {
      String column = pivot.columns.get(i);
      Look.Hue hue = HUES.get(i % HUES.size());
      double[] ys = pivot.column(column, rows).stream().mapToDouble(value).toArray();
      panel.line(column, xs, ys, Look.solid(hue));
      for (String reference : pivot.references()) {
        Point p = pivot.at(reference, column);
        if (p != null && xs.length > 0) {
          double[] flat = new double[2];
          Arrays.fill(flat, value.applyAsDouble(p));
          panel.line(
              (column + " " + reference).strip(),
              new double[] {xs[0], xs[xs.length - 1]},
              flat,
              Look.dashed(hue));
        }
      }
    }
    return panel;
  }

  /** Parses 64, 0.5, 32k or 10 %; NaN for anything else. */
  static double number(String value) {
    if (!value.matches("\\d+(\\.\\d+)?[kmg%]?")) {
      return Double.NaN;
    }
    String digits = value.replaceFirst("[kmg%]$", "");
    double factor =
        switch (value.charAt(value.length() - 1)) {
          case 'k' -> 1 << 10;
          case 'm' -> 1 << 20;
          case 'g' -> 1 << 30;
          default -> 1;
        };
    return factor * Double.parseDouble(digits);
  }
}
