package io.fovea.tpcc.plot;

import io.fovea.tpcc.plot.Axis.Scale;
import io.fovea.tpcc.plot.Panel.Line;
import io.fovea.tpcc.plot.Panel.Mark;
import io.fovea.tpcc.plot.Panel.Shade;
import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.awt.Graphics2D;
import java.awt.geom.Line2D;
import java.awt.geom.Rectangle2D;
import java.text.NumberFormat;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.DoubleStream;
import org.jfree.chart.axis.NumberAxis;
import org.jfree.chart.axis.ValueAxis;
import org.jfree.chart.plot.IntervalMarker;
import org.jfree.chart.plot.Marker;
import org.jfree.chart.plot.PlotOrientation;
import org.jfree.chart.plot.ValueMarker;
import org.jfree.chart.plot.XYPlot;
import org.jfree.chart.renderer.xy.XYLineAndShapeRenderer;
import org.jfree.chart.ui.Layer;
import org.jfree.chart.ui.LengthAdjustmentType;
import org.jfree.chart.ui.RectangleAnchor;
import org.jfree.chart.ui.RectangleInsets;
import org.jfree.chart.ui.TextAnchor;
import org.jfree.data.xy.DefaultXYDataset;

/** Renders one panel of lines with JFreeChart. One thread. */
final class PanelChart {
  private static final double RIGHT_SPACE = 84;

  private static final double PLOT_HEIGHT = 210;

  private static final int LEGEND_LINE = 26;
  private static final int MARK_TEXT_SIZE = 11;
  private static final int MARK_ROWS = 4;
  private static final int MARK_ROW_HEIGHT = 14;
  private static final Color MINOR_GRID = new Color(0xF1F1F1);
  private static final Color SHADE = new Color(0xEFEFEF);
  private static final Color MARK_LINE = new Color(0x888888);
  private static final BasicStroke MARK_STROKE =
      new BasicStroke(1, BasicStroke.CAP_BUTT, BasicStroke.JOIN_MITER, 10, new float[] {3, 3}, 0);

  private final Panel panel;
  private final Rectangle2D area;
  private final double rightSpace;

  /** The rows of labels above the lines. */
  private int textRows;

  /**
   * Creates a chart.
   *
   * @param rightSpaced whether to reserve space for a second y axis, even if there is none
   */
  PanelChart(Panel panel, Rectangle2D area, boolean rightSpaced) {
    this.panel = panel;
    this.area = area;
    this.rightSpace = rightSpaced ? RIGHT_SPACE : ChartFrame.RIGHT_MARGIN;
  }

  void draw(Graphics2D g) {
    XYPlot plot = new XYPlot();
    NumberAxis x = xAxis();
    plot.setDomainAxis(x);
    shades(plot);
    marks(plot, g, x);
    add(plot, 0, panel.left, panel.lines);
    if (panel.right != null) {
      add(plot, 1, panel.right, panel.rightLines);
    }
    plot.setOrientation(PlotOrientation.VERTICAL);
    ChartFrame.look(plot);
    plot.setAxisOffset(RectangleInsets.ZERO_INSETS);
    plot.setDomainGridlinePaint(ChartFrame.GRID);
    plot.setDomainGridlineStroke(ChartFrame.HAIR);
    plot.setRangeGridlinePaint(ChartFrame.GRID);
    plot.setRangeGridlineStroke(ChartFrame.HAIR);
    plot.setDomainMinorGridlinesVisible(panel.x.scale() == Scale.LOG);
    plot.setDomainMinorGridlinePaint(MINOR_GRID);
    plot.setDomainMinorGridlineStroke(ChartFrame.HAIR);
    plot.setRangeMinorGridlinesVisible(panel.left.scale() == Scale.LOG);
    plot.setRangeMinorGridlinePaint(MINOR_GRID);
    plot.setRangeMinorGridlineStroke(ChartFrame.HAIR);
    plot.setFixedRangeAxisSpace(ChartFrame.space(rightSpace));
    ChartFrame.draw(plot, panel.title, g, area);
  }

  private void add(XYPlot plot, int index, Axis axis, List<Line> lines) {
    DefaultXYDataset data = new DefaultXYDataset();
    XYLineAndShapeRenderer renderer = new XYLineAndShapeRenderer(true, false);
    renderer.setDrawSeriesLineAsPath(true);
    renderer.setLegendLine(new Line2D.Double(0, 0, LEGEND_LINE, 0));
    for (int i = 0; i < lines.size(); i++) {
      Line line = lines.get(i);
      data.addSeries(new Name(i, line.name()), drawable(axis, line));
      renderer.setSeriesPaint(i, line.look().hue().color);
      renderer.setSeriesStroke(i, line.look().dash().stroke);
    }
    NumberAxis y = yAxis(axis, lines);
    plot.setRangeAxis(index, y);
    plot.setDataset(index, data);
    plot.setRenderer(index, renderer);
    plot.mapDatasetToRangeAxis(index, index);
  }

  /** A name that another line may share. */
  private record Name(int index, String name) implements Comparable<Name> {
    @Override
    public int compareTo(Name o) {
      return Integer.compare(index, o.index);
    }

    @Override
    public String toString() {
      return name;
    }
  }

  private double[][] drawable(Axis axis, Line line) {
    return new double[][] {placed(panel.x, line.xs()), placed(axis, line.ys())};
  }

  /** Returns the positions of values on an axis; NaN for values that it cannot show. */
  private static double[] placed(Axis axis, double[] values) {
    return Arrays.stream(values).map(v -> placed(axis.scale(), v)).toArray();
  }

  private static double placed(Scale scale, double value) {
    return switch (scale) {
      case LINEAR -> value;
      case LOG -> value > 0 ? Math.log10(value) : Double.NaN;
      case NINES -> -Math.log10(1 - value / 100);
    };
  }

  private NumberAxis xAxis() {
    List<Line> all = new ArrayList<>(panel.lines);
    all.addAll(panel.rightLines);
    DoubleStream xs = all.stream().flatMapToDouble(l -> Arrays.stream(l.xs()));
    return axis(panel.x, finite(DoubleStream.concat(xs, DoubleStream.of(panel.until))), 1);
  }

  private NumberAxis yAxis(Axis axis, List<Line> lines) {
    double[] ys = finite(lines.stream().flatMapToDouble(l -> Arrays.stream(l.ys())));
    double texts = textRows * MARK_ROW_HEIGHT / PLOT_HEIGHT;
    return axis(axis, ys, ChartFrame.HEADROOM / (1 - texts));
  }

  private static double[] finite(DoubleStream values) {
    return values.filter(Double::isFinite).toArray();
  }

  private static NumberAxis axis(Axis axis, double[] values, double headroom) {
    double max = Arrays.stream(values).max().orElse(0);
    NumberFormat format = ChartFrame.numbers();
    NumberAxis a =
        switch (axis.scale()) {
          case LINEAR -> ChartFrame.linear(axis.label(), max, headroom);
          case LOG -> {
            double min = Arrays.stream(values).filter(v -> v > 0).min().orElse(1);
            double lower = DecadeAxis.below(min);
            double top = max * Math.pow(max / min, headroom - 1);
            double upper = DecadeAxis.above(Math.max(top, 1.001 * Math.pow(10, lower)));
            yield new DecadeAxis(
                axis.label(), lower, upper, log -> format.format(Math.pow(10, log)), true);
          }
          case NINES ->
              new DecadeAxis(
                  axis.label(),
                  0,
                  Math.max(1, placed(Scale.NINES, max)),
                  PanelChart::percentile,
                  false);
        };
    look(a);
    return a;
  }

  /** Formats nines as 0 %, 90 %, 99 %, 99.9 %. */
  private static String percentile(double nines) {
    int n = (int) Math.round(nines);
    return switch (n) {
      case 0 -> "0 %";
      case 1 -> "90 %";
      case 2 -> "99 %";
      default -> "99." + "9".repeat(n - 2) + " %";
    };
  }

  private static void look(ValueAxis axis) {
    ChartFrame.fonts(axis);
    axis.setLabelPaint(Color.BLACK);
    axis.setTickLabelPaint(Color.BLACK);
    axis.setAxisLineVisible(false);
    axis.setTickMarkPaint(ChartFrame.OUTLINE);
    axis.setTickMarkStroke(ChartFrame.HAIR);
    axis.setMinorTickMarksVisible(false);
  }

  private void shades(XYPlot plot) {
    for (Shade s : panel.shades) {
      IntervalMarker marker = new IntervalMarker(s.from(), s.to(), SHADE);
      marker.setAlpha(1);
      marker.setOutlinePaint(null);
      label(marker, s.text(), RectangleAnchor.TOP, TextAnchor.TOP_CENTER, 0);
      plot.addDomainMarker(marker, Layer.BACKGROUND);
    }
  }

  /**
   * Draws marks. Labels that would overlap go to different rows; if no row is free, they are
   * omitted.
   */
  private void marks(XYPlot plot, Graphics2D g, ValueAxis x) {
    Font font = Fonts.plain(MARK_TEXT_SIZE);
    double pixels =
        (area.getWidth() - ChartFrame.LEFT_SPACE - rightSpace) / x.getRange().getLength();
    double[] free = new double[MARK_ROWS];
    for (Shade s : panel.shades) {
      free[0] = Math.max(free[0], s.text().isEmpty() ? 0 : s.to() * pixels);
    }
    for (Mark m : panel.marks.stream().sorted(Comparator.comparingDouble(Mark::at)).toList()) {
      ValueMarker marker = new ValueMarker(m.at(), MARK_LINE, MARK_STROKE);
      marker.setAlpha(1);
      double at = m.at() * pixels;
      double width = font.getStringBounds(m.text(), g.getFontRenderContext()).getWidth() + 8;
      boolean left =
          m.at() > x.getUpperBound() / 2 && (x.getUpperBound() - m.at()) * pixels < width;
      for (int row = 0; row < MARK_ROWS; row++) {
        if (free[row] <= (left ? at - width : at)) {
          free[row] = left ? at : at + width;
          label(
              marker,
              m.text(),
              left ? RectangleAnchor.TOP_LEFT : RectangleAnchor.TOP_RIGHT,
              left ? TextAnchor.TOP_RIGHT : TextAnchor.TOP_LEFT,
              row);
          break;
        }
      }
      plot.addDomainMarker(marker, Layer.FOREGROUND);
    }
  }

  private void label(
      Marker marker, String text, RectangleAnchor anchor, TextAnchor textAnchor, int row) {
    if (text.isEmpty()) {
      return;
    }
    textRows = Math.max(textRows, row + 1);
    marker.setLabel(text);
    marker.setLabelFont(Fonts.plain(MARK_TEXT_SIZE));
    marker.setLabelPaint(ChartFrame.OUTLINE);
    marker.setLabelBackgroundColor(new Color(0, 0, 0, 0));
    marker.setLabelAnchor(anchor);
    marker.setLabelTextAnchor(textAnchor);
    marker.setLabelOffsetType(LengthAdjustmentType.EXPAND);
    marker.setLabelOffset(new RectangleInsets(3 + row * MARK_ROW_HEIGHT, 4, 3, 4));
  }
}
