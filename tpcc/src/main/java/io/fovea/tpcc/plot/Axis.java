package io.fovea.tpcc.plot;

/**
 * An axis.
 *
 * @param label the label, with a unit
 * @param scale the scale
 * @since 0.1.0
 */
public record Axis(String label, Scale scale) {

  /**
   * A scale.
   *
   * @since 0.1.0
   */
  public enum Scale {
    /** Linear, from 0. */
    LINEAR,
    /** Logarithmic. Values that are not positive are omitted. */
    LOG,
    /**
     * Percentiles as nines: 0, 90, 99, 99.9 % and so on at equal distances, as in HdrHistogram's
     * plots. For x axes; values are percentiles below 100.
     */
    NINES
  }

  /**
   * Returns a linear axis from 0.
   *
   * @param label the label, with a unit
   * @return the axis
   */
  public static Axis linear(String label) {
    return new Axis(label, Scale.LINEAR);
  }

  /**
   * Returns a logarithmic axis.
   *
   * @param label the label, with a unit
   * @return the axis
   */
  public static Axis log(String label) {
    return new Axis(label, Scale.LOG);
  }
}
