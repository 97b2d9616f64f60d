package io.fovea.error;

/**
 * Thrown when a sequence has no more values, or fewer consecutive values than requested.
 *
 * @since 0.1.0
 */
public final class SequenceExhaustedException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /** The name of the sequence. */
  private final String sequence;

  /** The number of values left. */
  private final long remaining;

  /**
   * Creates the exception.
   *
   * @param sequence the name of the sequence
   * @param what a description of the sequence
   * @param asked the number of values requested
   * @param left the number of values left
   */
  public SequenceExhaustedException(String sequence, String what, long asked, long left) {
    super(
        "The "
            + what
            + ", has "
            + (left == 0 ? "no more values" : "only " + left + " of " + asked + " values left")
            + ". Call Database.alterSequence with a range that begins after this one.");
    this.sequence = sequence;
    this.remaining = left;
  }

  /**
   * Returns the sequence.
   *
   * @return its name
   */
  public String sequence() {
    return sequence;
  }

  /**
   * Returns the number of values left.
   *
   * @return the number
   */
  public long remaining() {
    return remaining;
  }
}
