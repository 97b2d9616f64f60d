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
   * A panel without bars.
   *
   * @param title what it shows
   * @param groups what stands below the groups; all different
   * @param label of the y axis, with its unit
   */
  public BarPanel(String title, List<String> groups, String label) {
    this.title = title;
    this.groups = List.copyOf(groups);
    this.label = label;
  }

  /**
   * Adds a bar to each group.
   *
   * @param name what the legend says
   * @param values by group; no bar where one is NaN
   * @param hue their colour
   * @return this
   * @throws IllegalArgumentException if there are not as many values as groups
   */
  public BarPanel bars(String name, double[] values, Look.Hue hue) {
    if (values.length != groups.size()) {
      throw new IllegalArgumentException(groups.size() + " groups, " + values.length + " values");
    }
    series.add(new Bars(name, values.clone(), hue));
    return this;
  }
}
