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
 * Steps that one database omits, to check that tests detect it, and a probe that can interrupt
 * transactions at stages.
 *
 * <p>Woven code ({@link io.fovea.faults.FaultPoints}) uses the object that was in force ({@link
 * #during}) on the thread that created the database, the engine or the log. Other databases of the
 * JVM are not affected.
 *
 * @param without the omitted steps, as bits
 * @param everyLeaf whether all read-only transactions scan by leaves and use single reads, not only
 *     those that a caller may repeat; omits nothing
 * @param wrongFrames whether all frame hints in inner pages are wrong; omits nothing
 * @param probe called by scans and commits at their stages
 */
public record FaultInjection(int without, boolean everyLeaf, boolean wrongFrames, Probe probe) {

  /** Steps that can be omitted. */
  public enum Step {
    /** A commit validates its reads. */
    VALIDATION,
    /** Scans read the item above the keys that they saw, besides those of these keys. */
    NEXT_KEY,
    /** A commit checks a successor again when it has locked it. */
    SUCCESSOR_RECHECK,
    /** A commit that uses versions for that check uses the leaf where the gap begins. */
    GAP_LEAF,
    /** A commit that holds a gap checks that the next key is below the gap's end. */
    GAP_END,
    /** A key that was written without being read is locked by its own item's slot. */
    BLIND_WRITE_ITEM,
    /** Reads wait for an item that a commit has locked. */
    FOREIGN_LOCKS,
    /** A commit checks whether a snapshot began meanwhile. */
    QUIESCENT_POINT,
    /** A descending scan reads the item above each batch a second time. */
    UPPER_ITEM_RECHECK,
    /** A lookup by a unique index checks that the record named by an entry still has its key. */
    RECORD_KEY,
    /** A lookup by a unique index registers a missing entry as a read. */
    MISSING_ENTRY_READ,
    /** A commit takes a timestamp above the scan timestamps. */
    SCAN_TIMESTAMP,
    /** A scan by leaves waits for commits that may have missed its scan timestamp. */
    COMMITS_IN_GATE,
    /** A scan by leaves validates its leaves. */
    LEAF_VERSIONS,
    /** A single read is added to the read set when another read follows. */
    SINGLE_READ_ENTRY,
    /** A scan omits leaf versions only if it read the words before the copies. */
    WORDS_BEFORE_COPIES,
    /** A page is written only when the log is durable up to its last change. */
    LOG_BEFORE_PAGE,
    /** The durable position passes a group only when all before it are durable. */
    GROUPS_IN_ORDER
  }

  /** The stages of a transaction; all but the first are of a commit. */
  public enum Stage {
    /** A scan has copied the keys of a batch, and is about to read their items. */
    KEYS_COPIED,
    /** An item is not reserved, and about to be locked for writing. */
    UNRESERVED,
    /** The successor of a key that appears or disappears is known, and not yet locked. */
    SUCCESSOR_FOUND,
    /** The commit timestamp is chosen and all reads are validated; nothing is appended. */
    VALIDATED,
    /** One or more changes of one leaf are applied to their tree, or retried. */
    INSTALLING,
    /** All changes are in the trees; the timestamps are unchanged, and locked. */
    INSTALLED
  }

  /**
   * Called by scans and commits, on their threads. It may wait, with a commit's items locked, and
   * may throw what a tree would.
   */
  @FunctionalInterface
  public interface Probe {
    /**
     * Called at a stage of a transaction.
     *
     * @param locked what the transaction has locked: slots of {@link Timestamps}
     */
    void at(Stage stage, SlotSet locked);
  }

  /** Omits nothing, and has an empty probe. */
  public static final FaultInjection NONE =
      new FaultInjection(0, false, false, (stage, locked) -> {});

  /** A separate class: if only hints are woven in, contexts have no such field. */
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
          "The engine is not woven. Run tests that inject faults in a JVM started with"
              + " -Djdk.attach.allowAttachSelf=true, by the JUnit Platform launcher.",
          e);
    }
  }

  /** Omits one step. */
  public static FaultInjection without(Step step) {
    return new FaultInjection(1 << step.ordinal(), false, false, NONE.probe);
  }

  public FaultInjection with(Probe other) {
    return new FaultInjection(without, everyLeaf, wrongFrames, other);
  }

  /** Makes all read-only transactions scan by leaves and use single reads. */
  public FaultInjection byLeaves() {
    return new FaultInjection(without, true, wrongFrames, probe);
  }

  /** Creates a pool, or what has one, with wrong frame hints in inner pages. */
  public static <R> R wrongFrameHints(Supplier<R> making) {
    return new FaultInjection(0, false, true, NONE.probe).making(making);
  }

  /** Returns whether any step is omitted: then transactions may see anything. */
  public boolean broken() {
    return without != 0;
  }

  /** Creates a database, an engine or a log with these faults. */
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

  /** Returns the faults for an object under construction. */
  public static @Nullable FaultInjection opening() {
    return OPENING.get();
  }

  /** Returns whether a step is omitted. */
  public static boolean omits(@Nullable FaultInjection of, Step step) {
    return of != null && (of.without & 1 << step.ordinal()) != 0;
  }

  /** Returns the result of a check, or true if the check is omitted. */
  public static boolean orOmitted(boolean holds, @Nullable FaultInjection of, Step step) {
    return holds || omits(of, step);
  }

  /** Returns the result of a check, or false if the check is omitted. */
  public static boolean unlessOmitted(boolean found, @Nullable FaultInjection of, Step step) {
    return found && !omits(of, step);
  }

  /** Returns the item to lock for a pinned one: a wrong one if that step is omitted. */
  public static long itemToPin(long item, @Nullable FaultInjection of) {
    return omits(of, Step.BLIND_WRITE_ITEM) ? ~item : item;
  }

  /** Returns the item that a descending scan's next batch reads again; 0: none. */
  public static long upperItem(long item, @Nullable FaultInjection of) {
    return omits(of, Step.UPPER_ITEM_RECHECK) ? 0 : item;
  }

  /** Calls the probe at a stage of a transaction. */
  public static void at(@Nullable FaultInjection of, Stage stage, SlotSet locked) {
    if (of != null) {
      of.probe.at(stage, locked);
    }
  }

  /** Called when a transaction has begun. */
  static void started(Tx tx, @Nullable FaultInjection of) {
    if (of != null && of.everyLeaf) {
      tx.declareRetry();
    }
  }

  /** Replaces {@link Tx#get}; with the step omitted, an absent key leaves no read. */
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
    return omits((FaultInjection) Contexts.FAULTS.get(tx), Step.MISSING_ENTRY_READ)
            && tx.peek(tree, key, keyOffset, keyLength, out, outOffset, cap, near) < 0
        ? -1
        : tx.get(tree, key, keyOffset, keyLength, out, outOffset, cap, near);
  }
}
