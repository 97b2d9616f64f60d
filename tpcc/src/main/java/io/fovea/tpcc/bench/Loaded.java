package io.fovea.tpcc.bench;

/**
 * What a load has done.
 *
 * @param rows how many rows it has made
 * @param seconds how long that took
 */
public record Loaded(long rows, double seconds) {
  /** What it means for the user that a signal has stopped a load. */
  public static final String INCOMPLETE =
      "the load is not complete, and is done again the next time";
}
