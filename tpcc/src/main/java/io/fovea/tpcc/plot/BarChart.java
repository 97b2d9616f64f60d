package io.fovea.tpcc.plot;

import java.awt.Graphics2D;
import java.awt.geom.Rectangle2D;
import java.util.Arrays;
import org.jfree.chart.axis.CategoryAxis;
import org.jfree.chart.axis.NumberAxis;
import org.jfree.chart.plot.CategoryPlot;
import org.jfree.chart.renderer.category.BarRenderer;
import org.jfree.chart.renderer.category.StandardBarPainter;
import org.jfree.chart.ui.RectangleInsets;
import org.jfree.data.category.DefaultCategoryDataset;

/** Renders a panel of bars with JFreeChart. One thread. */
final class BarChart {
  private static final int LABEL_LINES = 2;

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
    NumberAxis y = ChartFrame.linear(panel.label, max, ChartFrame.HEADROOM);
    ChartFrame.fonts(y);
    CategoryPlot plot = new CategoryPlot(data, x, y, renderer);
    ChartFrame.look(plot);
    plot.setAxisOffset(RectangleInsets.ZERO_INSETS);
    plot.setRangeGridlinePaint(ChartFrame.GRID);
    plot.setRangeGridlineStroke(ChartFrame.HAIR);
    plot.setFixedRangeAxisSpace(ChartFrame.space(ChartFrame.RIGHT_MARGIN));
    ChartFrame.draw(plot, panel.title, g, area);
  }
}
