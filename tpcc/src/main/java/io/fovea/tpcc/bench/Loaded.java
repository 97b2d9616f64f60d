package io.fovea.tpcc.bench;

/**
 * The result of a load.
 *
 * @param rows the number of rows inserted
 * @param seconds the duration
 */
public record Loaded(long rows, double seconds) {
  /** The consequence of a signal during a load, for the user. */
  public static final String INCOMPLETE = "the load is not complete; it starts over next time";
}
