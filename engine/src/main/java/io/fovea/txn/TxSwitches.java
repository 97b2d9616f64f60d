package io.fovea.txn;

/**
 * What a test may leave out of the protocol, to see that its checks would notice, and where it may
 * stop a transaction, to put others in between.
 *
 * @param without the steps that are left out, as bits
 * @param everyLeaf nothing is left out: all read-only transactions scan by leaves and may read
 *     alone, and not only those that somebody repeats
 * @param probe is called by scans and commits on their way
 */
public record TxSwitches(int without, boolean everyLeaf, Probe probe) {

  /** What can be left out. */
  public enum Step {
    /** A commit looks at its reads again. */
    VALIDATION,
    /** Scans read the item above the keys that they saw, and not only those of these keys. */
    NEXT_KEY,
    /** A commit looks for a successor again when it has its lock. */
    SECOND_LOOK,
    /** A commit that takes versions for that second look asks the leaf where the gap begins. */
    LEAF_OF_THE_GAP,
    /** A commit that holds a gap asks of the next key whether it is below the gap's end. */
    END_OF_THE_GAP,
    /** A key that was written without being read is locked by the slot of its own item. */
    ITEM_OF_A_BLIND_WRITE,
    /** Reads wait for an item that a commit has locked. */
    LOCKS_OF_OTHERS,
    /** A commit cares whether a snapshot began meanwhile. */
    MOMENT,
    /** A descending scan looks again at the item above each batch. */
    UPPER_LOOK,
    /**
     * A lookup by a unique index looks whether the record that an entry names has its key still.
     */
    KEY_OF_THE_RECORD,
    /** A lookup by a unique index that meets no entry makes that a read that counts. */
    READ_OF_NO_ENTRY,
    /** A commit takes a timestamp above those of scans by leaves. */
    MARK_OF_SCANS,
    /** A scan by leaves waits for commits that may have missed its mark. */
    COMMITS_INSIDE,
    /** A scan by leaves looks at its leaves again. */
    VERSIONS_OF_LEAVES,
    /** A read that was alone is entered into the read set when another one comes. */
    ENTRY_OF_A_LONE_READ,
    /** A scan does without versions of leaves only if it knew its words before the copies. */
    WORDS_BEFORE_COPIES
  }

  /** Where a transaction is: a commit, but for the first. */
  public enum Stage {
    /** A scan has copied the keys of a batch, and is about to read their items. */
    KEYS_COPIED,
    /** An item is not reserved, and about to be locked for writing. */
    UNRESERVED,
    /** The successor of a key that appears or disappears is known, and not yet locked. */
    SUCCESSOR_FOUND,
    /** The commit timestamp is chosen and all reads have been validated; nothing is appended. */
    VALIDATED,
    /** One more change, or several of one leaf, go into their tree, or are tried again. */
    INSTALLING,
    /** All changes are in the trees; the timestamps are as they were, and locked. */
    INSTALLED
  }

  /**
   * Looks at scans and commits, in their threads; it may wait, with a commit's items locked, and it
   * may throw what a tree would.
   */
  @FunctionalInterface
  public interface Probe {
    /**
     * A transaction has come to a stage.
     *
     * @param stage where it is
     * @param locked what its transaction has locked: slots of {@link Timestamps}
     */
    void at(Stage stage, SlotSet locked);
  }

  /** Nothing is left out, and nobody looks. */
  public static final TxSwitches NONE = new TxSwitches(0, false, (stage, locked) -> {});

  /** One step is left out, and nobody looks. */
  public static TxSwitches without(Step step) {
    return new TxSwitches(1 << step.ordinal(), false, NONE.probe);
  }

  /** The same with another probe. */
  public TxSwitches with(Probe other) {
    return new TxSwitches(without, everyLeaf, other);
  }

  /** The same, and all read-only transactions scan by leaves and may read alone. */
  public TxSwitches byLeaves() {
    return new TxSwitches(without, true, probe);
  }

  /** Whether a step is left out. */
  public boolean lacks(Step step) {
    return (without & 1 << step.ordinal()) != 0;
  }

  /** Whether any step is left out: what a transaction sees then may be anything. */
  public boolean broken() {
    return without != 0;
  }
}
