package io.fovea.txn;

/**
 * What a test may leave out of the protocol, to see that its checks would notice, and where it may
 * stop a commit, to put others in between.
 *
 * @param noValidation a commit does not look at its reads again
 * @param noNextKey scans read the items of the keys they saw, and not the one above
 * @param oneLook a commit takes the first successor that it finds, without looking again when it
 *     has the lock
 * @param readLocked reads take the word of an item that a commit has locked as if it were not
 * @param noMoment a commit does not care whether a snapshot began meanwhile
 * @param probe is called by commits on their way
 */
public record TxSwitches(
    boolean noValidation,
    boolean noNextKey,
    boolean oneLook,
    boolean readLocked,
    boolean noMoment,
    Probe probe) {

  /** Where a commit is. */
  public enum Stage {
    /** An item is not reserved, and about to be locked for writing. */
    UNRESERVED,
    /** The successor of a key that appears or disappears is known, and not yet locked. */
    SUCCESSOR_FOUND,
    /** The commit timestamp is chosen and all reads have been validated; nothing is appended. */
    VALIDATED,
    /** One more of the changes goes into its tree, or is tried again. */
    INSTALLING,
    /** All changes are in the trees; the timestamps are as they were, and locked. */
    INSTALLED
  }

  /**
   * Looks at commits, in the thread that commits; it may wait, with the items locked, and it may
   * throw what a tree would.
   */
  @FunctionalInterface
  public interface Probe {
    /**
     * A commit has come to a stage.
     *
     * @param stage where it is
     * @param locked what its transaction has locked: slots of {@link Timestamps}
     */
    void at(Stage stage, SlotSet locked);
  }

  /** Nothing is left out, and nobody looks. */
  public static final TxSwitches NONE =
      new TxSwitches(false, false, false, false, false, (stage, locked) -> {});

  /** The same with another probe. */
  public TxSwitches with(Probe other) {
    return new TxSwitches(noValidation, noNextKey, oneLook, readLocked, noMoment, other);
  }
}
