package io.fovea.tpcc.plot;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Graphics2D;
import java.awt.geom.Rectangle2D;
import java.text.DecimalFormat;
import java.text.DecimalFormatSymbols;
import java.text.NumberFormat;
import java.util.Locale;
import org.jfree.chart.JFreeChart;
import org.jfree.chart.axis.Axis;
import org.jfree.chart.axis.AxisSpace;
import org.jfree.chart.axis.NumberAxis;
import org.jfree.chart.block.BlockBorder;
import org.jfree.chart.plot.Plot;
import org.jfree.chart.text.TextUtils;
import org.jfree.chart.title.LegendTitle;
import org.jfree.chart.title.TextTitle;
import org.jfree.chart.ui.HorizontalAlignment;
import org.jfree.chart.ui.RectangleEdge;
import org.jfree.chart.ui.RectangleInsets;

/** The common parts of panels: position, colors, title and legend. */
final class ChartFrame {
  static {
    // Keeps rotated text as text: the workaround would draw outlines of letters.
    TextUtils.setUseDrawRotatedStringWorkaround(false);
  }

  /** The left margin, the same for all panels so that their y axes align. */
  static final double LEFT_SPACE = 84;

  static final double RIGHT_MARGIN = 20;

  /** The highest value times this is the upper end of an axis. */
  static final double HEADROOM = 1.06;

  static final Color GRID = new Color(0xDDDDDD);
  static final Color OUTLINE = new Color(0x444444);
  static final BasicStroke HAIR = new BasicStroke(0.8f);

  private ChartFrame() {}

  static NumberFormat numbers() {
    return new DecimalFormat("#,##0.######", DecimalFormatSymbols.getInstance(Locale.ROOT));
  }

  /** Creates an axis from 0 to slightly above the highest value. */
  static NumberAxis linear(String label, double max, double headroom) {
    NumberAxis axis = new NumberAxis(label);
    axis.setStandardTickUnits(NumberAxis.createStandardTickUnits(Locale.ROOT));
    axis.setNumberFormatOverride(numbers());
    axis.setRange(0, max > 0 ? max * headroom : 1);
    return axis;
  }

  static void fonts(Axis axis) {
    axis.setLabelFont(Fonts.plain(12));
    axis.setTickLabelFont(Fonts.plain(11));
  }

  static void look(Plot plot) {
    plot.setBackgroundPaint(Color.WHITE);
    plot.setOutlinePaint(OUTLINE);
    plot.setOutlineStroke(HAIR);
    plot.setInsets(RectangleInsets.ZERO_INSETS);
  }

  static AxisSpace space(double right) {
    AxisSpace space = new AxisSpace();
    space.setLeft(LEFT_SPACE);
    space.setRight(right);
    return space;
  }

  static void draw(Plot plot, String title, Graphics2D g, Rectangle2D area) {
    JFreeChart chart = new JFreeChart(null, null, plot, false);
    chart.setBackgroundPaint(null);
    chart.setPadding(RectangleInsets.ZERO_INSETS);
    TextTitle text = new TextTitle(title, Fonts.bold(13));
    text.setHorizontalAlignment(HorizontalAlignment.LEFT);
    text.setMargin(0, LEFT_SPACE, 0, 0);
    text.setPadding(RectangleInsets.ZERO_INSETS);
    chart.addSubtitle(text);
    LegendTitle legend = new LegendTitle(plot);
    legend.setPosition(RectangleEdge.TOP);
    legend.setHorizontalAlignment(HorizontalAlignment.LEFT);
    legend.setMargin(0, LEFT_SPACE - 6, 0, 0);
    legend.setFrame(BlockBorder.NONE);
    legend.setBackgroundPaint(null);
    legend.setItemFont(Fonts.plain(12));
    chart.addSubtitle(legend);
    chart.draw(g, area);
  }
}
