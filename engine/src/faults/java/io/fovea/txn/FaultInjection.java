package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.btree.Position;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What a test has one database leave out, to see that its checks notice, and where it stops a
 * transaction, to put others in between.
 *
 * <p>Code that is woven into the engine ({@link io.fovea.faults.FaultPoints}) asks the object that
 * was in force ({@link #during}) on the thread that made the database, the engine or the log. So
 * databases of other tests in the same JVM are as they are.
 *
 * @param without the steps that are left out, as bits
 * @param everyLeaf all read-only transactions scan by leaves and may read alone, and not only those
 *     that a caller repeats; nothing is left out by that
 * @param wrongFrames all frame hints in inner pages are made up; nothing is left out by that
 * @param probe is called by scans and commits on their way
 */
public record FaultInjection(int without, boolean everyLeaf, boolean wrongFrames, Probe probe) {

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
    WORDS_BEFORE_COPIES,
    /** A page is written when the log is durable up to its last change. */
    LOG_BEFORE_PAGE,
    /** The durable position passes a group when all before it are durable. */
    GROUPS_IN_ORDER
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

  /** Nothing is left out, and the probe does nothing. */
  public static final FaultInjection NONE =
      new FaultInjection(0, false, false, (stage, locked) -> {});

  /** Kept apart: where only hints are woven in, contexts have no field. */
  private static final class Contexts {
    /** The field that weaving adds to a context. */
    static final VarHandle FAULTS = field(Tx.class);
  }

  private static final ThreadLocal<@Nullable FaultInjection> OPENING = new ThreadLocal<>();

  private static VarHandle field(Class<?> woven) {
    try {
      return MethodHandles.lookup().findVarHandle(woven, "faults", FaultInjection.class);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(
          "The engine is not woven. Tests that inject faults run in a JVM that was started with"
              + " -Djdk.attach.allowAttachSelf=true, under a launcher of JUnit's platform.",
          e);
    }
  }

  /** One step is left out, and the probe does nothing. */
  public static FaultInjection without(Step step) {
    return new FaultInjection(1 << step.ordinal(), false, false, NONE.probe);
  }

  /** The same with another probe. */
  public FaultInjection with(Probe other) {
    return new FaultInjection(without, everyLeaf, wrongFrames, other);
  }

  /** The same, and all read-only transactions scan by leaves and may read alone. */
  public FaultInjection byLeaves() {
    return new FaultInjection(without, true, wrongFrames, probe);
  }

  /** Makes a pool, or what has one, in which all frame hints in inner pages are made up. */
  public static <R> R wrongFrameHints(Supplier<R> making) {
    return new FaultInjection(0, false, true, NONE.probe).making(making);
  }

  /** Whether any step is left out: what a transaction sees then may be anything. */
  public boolean broken() {
    return without != 0;
  }

  /** Makes a database, an engine or a log of which this is true from then on. */
  public <R> R during(Supplier<R> making) {
    Objects.requireNonNull(Contexts.FAULTS);
    return making(making);
  }

  private <R> R making(Supplier<R> making) {
    FaultInjection before = OPENING.get();
    OPENING.set(this);
    try {
      return making.get();
    } finally {
      OPENING.set(before);
    }
  }

  // ------------------------------------------------------------------------- called by woven code

  /** What an object that is being made has. */
  public static @Nullable FaultInjection opening() {
    return OPENING.get();
  }

  /** Whether a step is left out. */
  public static boolean omits(@Nullable FaultInjection of, Step step) {
    return of != null && (of.without & 1 << step.ordinal()) != 0;
  }

  /** What a check says; true where it is left out. */
  public static boolean orOmitted(boolean holds, @Nullable FaultInjection of, Step step) {
    return holds || omits(of, step);
  }

  /** What a check says; false where it is left out. */
  public static boolean unlessOmitted(boolean found, @Nullable FaultInjection of, Step step) {
    return found && !omits(of, step);
  }

  /** The item that is pinned to be locked: another one where that is broken. */
  public static long itemToPin(long item, @Nullable FaultInjection of) {
    return omits(of, Step.ITEM_OF_A_BLIND_WRITE) ? ~item : item;
  }

  /** The item that the next batch of a descending scan reads once more; 0 for none. */
  public static long upperItem(long item, @Nullable FaultInjection of) {
    return omits(of, Step.UPPER_LOOK) ? 0 : item;
  }

  /** A transaction has come to a stage. */
  public static void at(@Nullable FaultInjection of, Stage stage, SlotSet locked) {
    if (of != null) {
      of.probe.at(stage, locked);
    }
  }

  /** A transaction has begun. */
  static void started(Tx tx, @Nullable FaultInjection of) {
    if (of != null && of.everyLeaf) {
      tx.repeated();
    }
  }

  /** In place of {@link Tx#get}: a key that is absent leaves no read where that is left out. */
  public static int get(
      Tx tx,
      BTree tree,
      MemorySegment key,
      long keyOffset,
      int keyLength,
      MemorySegment out,
      long outOffset,
      int cap,
      Position near) {
    return omits((FaultInjection) Contexts.FAULTS.get(tx), Step.READ_OF_NO_ENTRY)
            && tx.peek(tree, key, keyOffset, keyLength, out, outOffset, cap, near) < 0
        ? -1
        : tx.get(tree, key, keyOffset, keyLength, out, outOffset, cap, near);
  }
}
