package io.fovea.tpcc.plot;

/**
 * An axis.
 *
 * @param label what is on it, with its unit
 * @param scale how values are laid out
 * @since 0.1.0
 */
public record Axis(String label, Scale scale) {

  /**
   * How values are laid out.
   *
   * @since 0.1.0
   */
  public enum Scale {
    /** In proportion, from 0 on. */
    LINEAR,
    /** A decade takes as much room as any other. Values that are not positive are left out. */
    LOG,
    /**
     * Percentiles as nines: 0, 90, 99, 99.9 % and so on at equal distances, as HdrHistogram's plots
     * have them. Values are percentiles below 100; for x axes.
     */
    NINES
  }

  /**
   * An axis from 0 on.
   *
   * @param label what is on it, with its unit
   * @return the axis
   */
  public static Axis linear(String label) {
    return new Axis(label, Scale.LINEAR);
  }

  /**
   * An axis of decades.
   *
   * @param label what is on it, with its unit
   * @return the axis
   */
  public static Axis log(String label) {
    return new Axis(label, Scale.LOG);
  }
}
