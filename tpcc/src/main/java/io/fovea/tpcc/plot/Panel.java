package io.fovea.tpcc.plot;

import java.util.ArrayList;
import java.util.List;

/**
 * Lines over one x axis, on one or two y axes. One thread.
 *
 * @since 0.1.0
 */
public final class Panel {
  final String title;
  final Axis x;
  final Axis left;
  final List<Line> lines = new ArrayList<>();
  final List<Line> rightLines = new ArrayList<>();
  final List<Shade> shades = new ArrayList<>();
  final List<Mark> marks = new ArrayList<>();
  Axis right;
  double until;

  record Line(String name, double[] xs, double[] ys, Look look) {}

  record Shade(double from, double to, String text) {}

  record Mark(double at, String text) {}

  /**
   * Creates a panel without lines.
   *
   * @param title the title
   * @param x the x axis
   * @param left the y axis
   */
  public Panel(String title, Axis x, Axis left) {
    this.title = title;
    this.x = x;
    this.left = left;
  }

  /**
   * Adds a line.
   *
   * @param name the name in the legend
   * @param xs the x values, ascending
   * @param ys the y values; NaN makes a gap
   * @param look the style
   * @return this
   * @throws IllegalArgumentException if the arrays differ in length
   */
  public Panel line(String name, double[] xs, double[] ys, Look look) {
    lines.add(new Line(name, xs, requireAsMany(xs, ys), look));
    return this;
  }

  /**
   * Adds a line to the second y axis, on the right. The axis of the last such line is drawn.
   *
   * @param axis the second y axis
   * @param name the name in the legend
   * @param xs the x values, ascending
   * @param ys the y values; NaN makes a gap
   * @param look the style
   * @return this
   * @throws IllegalArgumentException if the arrays differ in length
   */
  public Panel rightLine(Axis axis, String name, double[] xs, double[] ys, Look look) {
    right = axis;
    rightLines.add(new Line(name, xs, requireAsMany(xs, ys), look));
    return this;
  }

  private static double[] requireAsMany(double[] xs, double[] ys) {
    if (xs.length != ys.length) {
      throw new IllegalArgumentException(xs.length + " points with " + ys.length + " values");
    }
    return ys;
  }

  /**
   * Sets the least upper end of the x axis.
   *
   * @param end the x value
   * @return this
   */
  public Panel until(double end) {
    until = Math.max(until, end);
    return this;
  }

  /**
   * Shades a part of the x axis.
   *
   * @param from its start
   * @param to its end
   * @param text its label
   * @return this
   */
  public Panel shade(double from, double to, String text) {
    shades.add(new Shade(from, to, text));
    return this;
  }

  /**
   * Marks a point on the x axis.
   *
   * @param at the x value
   * @param text its label
   * @return this
   */
  public Panel mark(double at, String text) {
    marks.add(new Mark(at, text));
    return this;
  }
}
