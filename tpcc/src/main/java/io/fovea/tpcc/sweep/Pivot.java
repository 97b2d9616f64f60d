package io.fovea.tpcc.sweep;

import io.fovea.tpcc.sweep.Results.Point;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;

/**
 * Points in rows and columns. A point without a value on the x axis is a reference for the others
 * of its series. Immutable.
 */
final class Pivot {
  /** Appended to the name of a reference row. */
  private static final String REFERENCE = "(reference)";

  final List<String> x;
  final List<String> columns;
  final List<String> rows;

  final List<String> onAxis;

  private final Map<List<String>, Point> cells = new LinkedHashMap<>();
  private final Map<String, String> beside;

  /**
   * Arranges points.
   *
   * @param beside the options of the baseline; empty for no comparison
   * @throws IllegalArgumentException if two points share a cell
   */
  Pivot(
      List<Point> points,
      List<String> x,
      List<String> series,
      Map<String, String> names,
      Map<String, String> beside) {
    this.x = x;
    this.beside = beside;
    UnaryOperator<String> name = v -> names.getOrDefault(v, v);
    Set<String> allRows = new LinkedHashSet<>();
    Set<String> axisRows = new LinkedHashSet<>();
    Set<String> allColumns = new LinkedHashSet<>();
    for (Point p : points) {
      boolean reference = x.stream().allMatch(o -> p.get(o).equals(Matrix.NONE));
      List<String> others =
          p.options().keySet().stream().filter(o -> !x.contains(o) && !series.contains(o)).toList();
      String row = text(p, reference ? others : x, name);
      row = reference ? (row + " " + REFERENCE).strip() : row;
      String column = text(p, series, name);
      allRows.add(row);
      if (!reference) {
        axisRows.add(row);
      }
      allColumns.add(column);
      if (cells.put(List.of(row, column), p) != null) {
        throw new IllegalArgumentException(
            "two points at " + row + ", " + column + ": one of " + others + " has several values");
      }
    }
    this.rows = List.copyOf(allRows);
    this.onAxis = List.copyOf(axisRows);
    this.columns = List.copyOf(allColumns);
  }

  private static String text(Point p, List<String> options, UnaryOperator<String> name) {
    return options.stream()
        .map(p::get)
        .filter(v -> !v.equals(Matrix.NONE))
        .map(name)
        .collect(Collectors.joining(" "));
  }

  /** Returns the point of a cell, or null. */
  Point at(String row, String column) {
    return cells.get(List.of(row, column));
  }

  List<String> references() {
    return rows.stream().filter(r -> !onAxis.contains(r)).toList();
  }

  /**
   * Returns a table of goodput in thousands per second with the minimum and maximum of the rounds,
   * the share of aborted attempts, and the median of the rounds' ratios to the baseline.
   */
  String markdown() {
    StringBuilder b = new StringBuilder("| ").append(String.join(", ", x)).append(" |");
    columns.forEach(c -> b.append(' ').append(c.isEmpty() ? "(none)" : c).append(" |"));
    b.append("\n|---|").append("---|".repeat(columns.size())).append('\n');
    for (String row : rows) {
      b.append("| ").append(row).append(" |");
      for (String column : columns) {
        Point p = at(row, column);
        b.append(' ').append(p == null ? "" : text(p)).append(" |");
      }
      b.append('\n');
    }
    return b.toString();
  }

  private String text(Point p) {
    if (p.goodput().isEmpty()) {
      return "failed";
    }
    StringBuilder text = new StringBuilder(thousands(p.medianGoodput()));
    if (p.goodput().size() > 1) {
      text.append(" (").append(thousands(Collections.min(p.goodput())));
      text.append('-').append(thousands(Collections.max(p.goodput()))).append(')');
    }
    double aborts = p.medianAbortRate();
    if (!Double.isNaN(aborts)) {
      text.append(String.format(Locale.ROOT, " · %.1f %%", 100 * aborts));
    }
    if (!beside.isEmpty()) {
      text.append(ratio(p));
    }
    return text.toString();
  }

  private static String thousands(double perSecond) {
    double v = perSecond / 1e3;
    return String.format(Locale.ROOT, v < 10 ? "%.2f" : "%.1f", v);
  }

  /** Returns the ratio to the baseline; empty for the baseline and for points without one. */
  private String ratio(Point p) {
    Map<String, String> options = new LinkedHashMap<>(p.options());
    options.putAll(beside);
    Point other =
        cells.values().stream().filter(o -> o.options().equals(options)).findFirst().orElse(null);
    if (other == null || other == p || other.goodput().isEmpty()) {
      return "";
    }
    double ratio = p.medianGoodput() / other.medianGoodput();
    if (p.goodput().size() == other.goodput().size()) {
      double[] ratios = new double[p.goodput().size()];
      Arrays.setAll(ratios, i -> p.goodput().get(i) / other.goodput().get(i));
      ratio = Cell.median(ratios);
    }
    return String.format(Locale.ROOT, " · %.2f", ratio);
  }

  /** Returns the points of a column by row; null where there is none. */
  List<Point> column(String column, List<String> of) {
    List<Point> list = new ArrayList<>();
    of.forEach(row -> list.add(at(row, column)));
    return list;
  }
}
