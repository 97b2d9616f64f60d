package io.fovea.tpcc.plot;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Graphics2D;
import java.awt.geom.Rectangle2D;
import java.text.DecimalFormat;
import java.text.DecimalFormatSymbols;
import java.util.Arrays;
import java.util.Locale;
import org.jfree.chart.JFreeChart;
import org.jfree.chart.axis.AxisSpace;
import org.jfree.chart.axis.CategoryAxis;
import org.jfree.chart.axis.NumberAxis;
import org.jfree.chart.block.BlockBorder;
import org.jfree.chart.plot.CategoryPlot;
import org.jfree.chart.renderer.category.BarRenderer;
import org.jfree.chart.renderer.category.StandardBarPainter;
import org.jfree.chart.title.LegendTitle;
import org.jfree.chart.title.TextTitle;
import org.jfree.chart.ui.HorizontalAlignment;
import org.jfree.chart.ui.RectangleEdge;
import org.jfree.chart.ui.RectangleInsets;
import org.jfree.data.category.DefaultCategoryDataset;

/** A panel of bars as a chart of JFreeChart's. One thread. */
final class BarChart {
  private static final double LEFT_SPACE = 84;
  private static final double RIGHT_SPACE = 20;
  private static final double HEADROOM = 1.06;
  private static final int LABEL_LINES = 2;
  private static final Color GRID = new Color(0xDDDDDD);
  private static final Color OUTLINE = new Color(0x444444);
  private static final BasicStroke HAIR = new BasicStroke(0.8f);

  private BarChart() {}

  static void draw(BarPanel panel, Graphics2D g, Rectangle2D area) {
    DefaultCategoryDataset data = new DefaultCategoryDataset();
    BarRenderer renderer = new BarRenderer();
    renderer.setBarPainter(new StandardBarPainter());
    renderer.setShadowVisible(false);
    renderer.setItemMargin(0.05);
    double max = 0;
    for (int i = 0; i < panel.series.size(); i++) {
      BarPanel.Bars bars = panel.series.get(i);
      for (int j = 0; j < panel.groups.size(); j++) {
        double value = bars.values()[j];
        data.addValue(Double.isNaN(value) ? null : value, bars.name(), panel.groups.get(j));
      }
      renderer.setSeriesPaint(i, bars.hue().color);
      max = Math.max(max, Arrays.stream(bars.values()).filter(Double::isFinite).max().orElse(0));
    }
    CategoryAxis x = new CategoryAxis();
    x.setMaximumCategoryLabelLines(LABEL_LINES);
    x.setMaximumCategoryLabelWidthRatio(2);
    x.setTickLabelFont(Fonts.plain(11));
    x.setLowerMargin(0.01);
    x.setUpperMargin(0.01);
    NumberAxis y = new NumberAxis(panel.label);
    y.setStandardTickUnits(NumberAxis.createStandardTickUnits(Locale.ROOT));
    y.setNumberFormatOverride(
        new DecimalFormat("#,##0.######", DecimalFormatSymbols.getInstance(Locale.ROOT)));
    y.setRange(0, max > 0 ? max * HEADROOM : 1);
    y.setLabelFont(Fonts.plain(12));
    y.setTickLabelFont(Fonts.plain(11));
    CategoryPlot plot = new CategoryPlot(data, x, y, renderer);
    plot.setBackgroundPaint(Color.WHITE);
    plot.setOutlinePaint(OUTLINE);
    plot.setOutlineStroke(HAIR);
    plot.setInsets(RectangleInsets.ZERO_INSETS);
    plot.setAxisOffset(RectangleInsets.ZERO_INSETS);
    plot.setRangeGridlinePaint(GRID);
    plot.setRangeGridlineStroke(HAIR);
    AxisSpace space = new AxisSpace();
    space.setLeft(LEFT_SPACE);
    space.setRight(RIGHT_SPACE);
    plot.setFixedRangeAxisSpace(space);

    JFreeChart chart = new JFreeChart(null, null, plot, false);
    chart.setBackgroundPaint(null);
    chart.setPadding(RectangleInsets.ZERO_INSETS);
    TextTitle title = new TextTitle(panel.title, Fonts.bold(13));
    title.setHorizontalAlignment(HorizontalAlignment.LEFT);
    title.setMargin(0, LEFT_SPACE, 0, 0);
    title.setPadding(RectangleInsets.ZERO_INSETS);
    chart.addSubtitle(title);
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
