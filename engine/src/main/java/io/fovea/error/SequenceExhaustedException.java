package io.fovea.error;

/**
 * A sequence has no more values, or not as many as were asked for in a row.
 *
 * @since 0.1.0
 */
public final class SequenceExhaustedException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /** The sequence's name. */
  private final String sequence;

  /** How many values are left. */
  private final long left;

  /**
   * Makes one.
   *
   * @param sequence its name
   * @param what which it is, in words
   * @param asked how many values were asked for
   * @param left how many are left
   */
  public SequenceExhaustedException(String sequence, String what, long asked, long left) {
    super(
        "The "
            + what
            + ", has "
            + (left == 0 ? "no more values" : "only " + left + " of " + asked + " values left")
            + ". Drop it and make one with a larger range, which begins behind it.");
    this.sequence = sequence;
    this.left = left;
  }

  /**
   * Which sequence.
   *
   * @return its name
   */
  public String sequence() {
    return sequence;
  }

  /**
   * How many values are left.
   *
   * @return their number
   */
  public long left() {
    return left;
  }
}
