package io.fovea.tpcc.plot;

import java.util.ArrayList;
import java.util.List;

/**
 * Groups of bars side by side. One thread.
 *
 * @since 0.1.0
 */
public final class BarPanel {
  final String title;
  final String label;
  final List<String> groups;
  final List<Bars> series = new ArrayList<>();

  record Bars(String name, double[] values, Look.Hue hue) {}

  /**
   * Creates a panel without bars.
   *
   * @param title the title
   * @param groups the labels below the groups; all different
   * @param label the label of the y axis, with a unit
   */
  public BarPanel(String title, List<String> groups, String label) {
    this.title = title;
    this.groups = List.copyOf(groups);
    this.label = label;
  }

  /**
   * Adds a bar to each group.
   *
   * @param name the name in the legend
   * @param values by group; NaN for no bar
   * @param hue the color
   * @return this
   * @throws IllegalArgumentException if the number of values is not that of the groups
   */
  public BarPanel bars(String name, double[] values, Look.Hue hue) {
    if (values.length != groups.size()) {
      throw new IllegalArgumentException(groups.size() + " groups, " + values.length + " values");
    }
    series.add(new Bars(name, values.clone(), hue));
    return this;
  }
}
