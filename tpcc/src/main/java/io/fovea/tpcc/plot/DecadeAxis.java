package io.fovea.tpcc.plot;

import java.awt.Graphics2D;
import java.awt.geom.Rectangle2D;
import java.util.ArrayList;
import java.util.List;
import java.util.function.DoubleFunction;
import org.jfree.chart.axis.AxisState;
import org.jfree.chart.axis.NumberAxis;
import org.jfree.chart.axis.NumberTick;
import org.jfree.chart.axis.TickType;
import org.jfree.chart.ui.RectangleEdge;
import org.jfree.chart.ui.TextAnchor;

/**
 * A logarithmic axis labelled with the numbers themselves. The library's own logarithmic axis draws
 * its labels as outlines of letters.
 */
final class DecadeAxis extends NumberAxis {
  private static final long serialVersionUID = 1L;

  /** With fewer decades than this, 2 and 5 are also labelled. */
  private static final double FEW = 2.2;

  /** Tolerance for a logarithm, so that rounding does not drop a label at an end. */
  private static final double GRACE = 1e-6;

  private static final int[] STEPS = {1, 2, 5};

  private final transient DoubleFunction<String> name;
  private final boolean parts;

  /** Creates an axis. */
  DecadeAxis(String label, double lower, double upper, DoubleFunction<String> name, boolean parts) {
    super(label);
    this.name = name;
    this.parts = parts;
    setRange(lower - GRACE, upper + GRACE);
  }

  /**
   * Returns the logarithm of the largest 1, 2 or 5 times a power of ten that is at most {@code
   * number}.
   */
  static double below(double number) {
    double decade = Math.floor(Math.log10(number));
    double found = decade;
    for (int step : STEPS) {
      double log = decade + Math.log10(step);
      if (Math.pow(10, log) <= number) {
        found = log;
      }
    }
    return found;
  }

  /**
   * Returns the logarithm of the smallest 1, 2 or 5 times a power of ten that is at least {@code
   * number}.
   */
  static double above(double number) {
    double decade = Math.floor(Math.log10(number));
    for (int step : STEPS) {
      double log = decade + Math.log10(step);
      if (Math.pow(10, log) >= number) {
        return log;
      }
    }
    return decade + 1;
  }

  @Override
  public List<NumberTick> refreshTicks(
      Graphics2D g, AxisState state, Rectangle2D dataArea, RectangleEdge edge) {
    TextAnchor anchor =
        RectangleEdge.isTopOrBottom(edge)
            ? TextAnchor.TOP_CENTER
            : edge == RectangleEdge.LEFT ? TextAnchor.CENTER_RIGHT : TextAnchor.CENTER_LEFT;
    boolean few = parts && getRange().getLength() < FEW;
    List<NumberTick> ticks = new ArrayList<>();
    for (int decade = (int) Math.floor(getLowerBound() + GRACE);
        decade <= getUpperBound();
        decade++) {
      for (int i = 1; i < (parts ? 10 : 2); i++) {
        double at = decade + Math.log10(i);
        if (getRange().contains(at)) {
          boolean major = i == 1 || few && (i == 2 || i == 5);
          ticks.add(
              new NumberTick(
                  major ? TickType.MAJOR : TickType.MINOR,
                  at,
                  major ? name.apply(at) : "",
                  anchor,
                  anchor,
                  0));
        }
      }
    }
    return ticks;
  }
}
