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
 * @param upperOnce a descending scan does not look again at the item above each batch
 * @param entryBelieved a lookup by a unique index takes the record that an entry names, whatever
 *     key that record has by now
 * @param absentUnread a lookup by a unique index that meets no entry says so without a read that
 *     counts
 * @param unmarked a commit takes a timestamp that does not look at scans by leaves
 * @param unawaited a scan by leaves does not wait for commits that may have missed its mark
 * @param leavesBelieved a scan by leaves does not look at its leaves again
 * @param everyLeaf nothing is left out: all read-only transactions scan by leaves, and not only
 *     those that somebody repeats
 * @param probe is called by commits on their way
 */
public record TxSwitches(
    boolean noValidation,
    boolean noNextKey,
    boolean oneLook,
    boolean readLocked,
    boolean noMoment,
    boolean upperOnce,
    boolean entryBelieved,
    boolean absentUnread,
    boolean unmarked,
    boolean unawaited,
    boolean leavesBelieved,
    boolean everyLeaf,
    Probe probe) {

  /** What can be left out: one for each of the switches. */
  public enum Step {
    /** {@link TxSwitches#noValidation}. */
    VALIDATION,
    /** {@link TxSwitches#noNextKey}. */
    NEXT_KEY,
    /** {@link TxSwitches#oneLook}. */
    SECOND_LOOK,
    /** {@link TxSwitches#readLocked}. */
    LOCKS_OF_OTHERS,
    /** {@link TxSwitches#noMoment}. */
    MOMENT,
    /** {@link TxSwitches#upperOnce}. */
    UPPER_LOOK,
    /** {@link TxSwitches#entryBelieved}. */
    KEY_OF_THE_RECORD,
    /** {@link TxSwitches#absentUnread}. */
    READ_OF_NO_ENTRY,
    /** {@link TxSwitches#unmarked}. */
    MARK_OF_SCANS,
    /** {@link TxSwitches#unawaited}. */
    COMMITS_INSIDE,
    /** {@link TxSwitches#leavesBelieved}. */
    VERSIONS_OF_LEAVES
  }

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
      new TxSwitches(
          false,
          false,
          false,
          false,
          false,
          false,
          false,
          false,
          false,
          false,
          false,
          false,
          (stage, locked) -> {});

  /** One step is left out, and nobody looks. */
  public static TxSwitches without(Step step) {
    return new TxSwitches(
        step == Step.VALIDATION,
        step == Step.NEXT_KEY,
        step == Step.SECOND_LOOK,
        step == Step.LOCKS_OF_OTHERS,
        step == Step.MOMENT,
        step == Step.UPPER_LOOK,
        step == Step.KEY_OF_THE_RECORD,
        step == Step.READ_OF_NO_ENTRY,
        step == Step.MARK_OF_SCANS,
        step == Step.COMMITS_INSIDE,
        step == Step.VERSIONS_OF_LEAVES,
        false,
        NONE.probe);
  }

  /** The same with another probe. */
  public TxSwitches with(Probe other) {
    return with(everyLeaf, other);
  }

  /** The same, and all read-only transactions scan by leaves. */
  public TxSwitches byLeaves() {
    return with(true, probe);
  }

  private TxSwitches with(boolean leaves, Probe other) {
    return new TxSwitches(
        noValidation,
        noNextKey,
        oneLook,
        readLocked,
        noMoment,
        upperOnce,
        entryBelieved,
        absentUnread,
        unmarked,
        unawaited,
        leavesBelieved,
        leaves,
        other);
  }

  /** Whether a step is left out: what a transaction sees then may be anything. */
  public boolean broken() {
    return noValidation
        || noNextKey
        || oneLook
        || readLocked
        || noMoment
        || upperOnce
        || entryBelieved
        || absentUnread
        || unmarked
        || unawaited
        || leavesBelieved;
  }
}
