package io.fovea.tpcc.plot;

import java.util.ArrayList;
import java.util.List;

/**
 * Lines over one x axis, on one y axis or two. One thread.
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
   * A panel without lines.
   *
   * @param title what it shows
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
   * @param name what the legend says
   * @param xs where its points are, ascending
   * @param ys their values; the line has a gap where one is NaN
   * @param look how it is drawn
   * @return this
   * @throws IllegalArgumentException if there are not as many of these as of those
   */
  public Panel line(String name, double[] xs, double[] ys, Look look) {
    lines.add(new Line(name, xs, requireAsMany(xs, ys), look));
    return this;
  }

  /**
   * Adds a line to the second y axis, which is on the right; the axis of the last such line is the
   * one that is drawn.
   *
   * @param axis the second y axis
   * @param name what the legend says
   * @param xs where its points are, ascending
   * @param ys their values; the line has a gap where one is NaN
   * @param look how it is drawn
   * @return this
   * @throws IllegalArgumentException if there are not as many of these as of those
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
   * Says how far the x axis goes at least.
   *
   * @param end the place
   * @return this
   */
  public Panel until(double end) {
    until = Math.max(until, end);
    return this;
  }

  /**
   * Sets a part of the x axis apart.
   *
   * @param from where it begins
   * @param to where it ends
   * @param text what it is
   * @return this
   */
  public Panel shade(double from, double to, String text) {
    shades.add(new Shade(from, to, text));
    return this;
  }

  /**
   * Marks a place on the x axis.
   *
   * @param at the place
   * @param text what is there
   * @return this
   */
  public Panel mark(double at, String text) {
    marks.add(new Mark(at, text));
    return this;
  }
}
