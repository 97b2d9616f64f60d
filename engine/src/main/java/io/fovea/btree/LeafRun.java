package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import java.lang.foreign.MemorySegment;

/**
 * Makes a sequence of record changes, with one latch for consecutive changes of the same leaf.
 *
 * <pre>
 *   latch the leaf of the first change ({@link LeafWriter})
 *     does the next change belong to it?  search its own slot or gap first, then check the fences
 *       yes, and it fits   make it and continue with the next one
 *       otherwise          release the latch: the version moves once for all changes made
 *   no room: split and continue with that change;  other leaf: continue with that change
 * </pre>
 *
 * <p><b>Equivalence to single changes.</b> The position of each change is found in the leaf as the
 * previous changes left it, and its key is checked against the fences, which cannot move under the
 * latch. A change is either complete or not started; {@link #done} counts the complete ones. If an
 * exception is thrown in the middle of a run, the completed changes stay, marked dirty and with a
 * new version, and another call continues after them. A half-made change stops the pool.
 *
 * <p><b>Visibility.</b> No thread reads a record that a run changes: its item is locked until the
 * end of the commit ({@code io.fovea.txn.Commit}). Readers of other records in the leaf find it
 * latched, or its version moved, once instead of several times; each sees the state before or after
 * the whole run. A latched page is neither written nor copied, so no file and no snapshot contains
 * part of a run.
 *
 * <p><b>Starvation.</b> A run has at most {@value #CHANGES_MAX} changes. Each is a search in one
 * page and a copy of at most a quarter of it, or a compaction: together shorter than a split, which
 * holds three latches. Under the latch nothing waits, allocates or logs. Between two runs the latch
 * is free, which an optimistic reader needs only during its search. Waiters wait for the same
 * changes as they would without runs.
 *
 * <p>Deletes and changes of long values are not part of runs, since they have work to do after the
 * latch.
 *
 * <p>Owned by one thread; reusable; allocates nothing.
 */
public final class LeafRun {
  /** The maximum number of changes in a run. */
  public static final int CHANGES_MAX = 16;

  private static final int WHOLE = -1;

  /** The next change is not in this leaf. */
  private static final long OTHER_LEAF = -3;

  /** The record to patch is absent or too short. */
  private static final long REFUSED = -4;

  private final int[] keys = new int[CHANGES_MAX];
  private final int[] keyLengths = new int[CHANGES_MAX];

  /** In: the expected slot of a patched record, or -1; out: the slot of the change. */
  private final int[] slots = new int[CHANGES_MAX];

  /** The first value byte of a patch, or {@link #WHOLE}. */
  private final int[] ats = new int[CHANGES_MAX];

  private final int[] bytes = new int[CHANGES_MAX];
  private final int[] lengths = new int[CHANGES_MAX];
  private MemorySegment from = MemorySegment.NULL;
  private int size;
  private int done;
  private int firstOfLeaf;

  /** Whether a change has started and is not complete. */
  private boolean half;

  /** Creates an empty run. */
  public LeafRun() {}

  /** Starts a new run, whose keys and values are in the given native memory. */
  public void begin(MemorySegment segment) {
    from = segment;
    size = 0;
    done = 0;
    firstOfLeaf = 0;
  }

  /** Returns whether there are {@link #CHANGES_MAX} changes. */
  public boolean isFull() {
    return size == CHANGES_MAX;
  }

  /** Returns the number of changes. */
  public int size() {
    return size;
  }

  /** Returns the number of completed changes, whatever was thrown since. */
  public int done() {
    return done;
  }

  /** Returns the first change that was made in the same leaf as the last one. */
  public int firstOfLeaf() {
    return firstOfLeaf;
  }

  /** Returns the slot of a completed change, at the time of the change: a hint. */
  public int slot(int change) {
    return slots[change];
  }

  /**
   * Adds a change that sets a value of at most {@link BTree#inlineMax} bytes, without freeing the
   * old one.
   */
  public void value(int key, int keyLength, int value, int length) {
    add(key, keyLength, -1, WHOLE, value, length);
  }

  /**
   * Adds a change that overwrites value bytes starting at {@code at}; {@code slot} is the expected
   * one, or -1.
   */
  public void patch(int key, int keyLength, int slot, int at, int patch, int length) {
    add(key, keyLength, slot, at, patch, length);
  }

  private void add(int key, int keyLength, int slot, int at, int value, int length) {
    int i = size;
    keys[i] = key;
    keyLengths[i] = keyLength;
    slots[i] = slot;
    ats[i] = at;
    bytes[i] = value;
    lengths[i] = length;
    size = i + 1;
  }

  /**
   * Makes the remaining changes, in order. The position is a hint for the first one, and becomes
   * that of the last one. Returns false if a patch does not fit its record, or the record is absent
   * or long; the changes before it are made.
   */
  public boolean install(BTree tree, Position p, LogSession log) {
    LeafWriter writer = tree.writer();
    MemorySegment s = from;
    for (int i = done; i < size; i++) {
      tree.check(s, keys[i], keyLengths[i], s, bytes[i], lengths[i]);
    }
    int tried = 0;
    while (done < size) {
      int i = done;
      long why = changeLeaf(tree, writer, p, log);
      if (why == REFUSED) {
        return false;
      }
      tried = done == i ? tried + 1 : 0;
      if (why == LeafWriter.NO_SCRATCH) {
        writer.prepareCompaction();
      } else if (why == LeafWriter.NO_SPACE) {
        i = done;
        writer.split(tried, p, s, keys[i], keyLengths[i], lengths[i], log);
      } else if (why == OTHER_LEAF) {
        p.clear();
      }
    }
    return true;
  }

  /**
   * Latches the leaf of the next change, and makes as many changes in it as belong there. Returns
   * the reason why it stopped.
   */
  private long changeLeaf(BTree tree, LeafWriter writer, Position p, LogSession log) {
    BufferPool pool = tree.pool();
    int first = done;
    long why = 0;
    firstOfLeaf = first;
    // No call may come between the latch and the try block that releases it.
    int frame = writer.latch(from, keys[first], keyLengths[first], p);
    try {
      long base = pool.base(frame);
      do {
        why =
            done == first || belongsHere(tree, base, p)
                ? change(tree, writer, base, p)
                : OTHER_LEAF;
      } while (why >= 0 && done < size);
      if (done > first) {
        writer.release(frame, p, log);
      }
    } catch (Throwable t) {
      throw brokenOff(pool, writer, frame, first, p, log, t);
    }
    if (done == first) {
      pool.releaseExclusiveUnchanged(frame);
    }
    return why;
  }

  /** Returns whether the next change belongs to this leaf; sets the position if so. */
  private boolean belongsHere(BTree tree, long base, Position p) {
    int i = done;
    int key = keys[i];
    if (key == keys[i - 1] && keyLengths[i] == keyLengths[i - 1]) {
      return true; // another patch of the same record
    }
    BufferPool pool = tree.pool();
    // Inserts after the last one are found by the leaf's last insert position.
    int found =
        NodeSearch.searchHinted(
            pool.pages(), base, pool.pageSize(), tree.treeId(), slots[i], from, key, keyLengths[i]);
    if (found < 0) {
      return false;
    }
    p.slot = found >>> 1;
    p.found = (found & 1) != 0;
    return true;
  }

  private long change(BTree tree, LeafWriter writer, long base, Position p) {
    return ats[done] == WHOLE ? put(tree, writer, base, p) : overwrite(tree, writer, base, p);
  }

  private long put(BTree tree, LeafWriter writer, long base, Position p) {
    int i = done;
    int length = lengths[i];
    long at = p.found ? writer.inPlace(base, p.slot, length) : -1;
    if (at < 0) {
      long plan = writer.plan(keyLengths[i], length, base, p);
      TreeScratch scratch = writer.scratch(plan);
      if (plan < 0) {
        return plan;
      }
      if (plan > 0 && scratch == null) {
        return LeafWriter.NO_SCRATCH;
      }
      half = true;
      at = writer.makeRecord(from, keys[i], keyLengths[i], length, base, p, scratch);
    }
    copy(tree, bytes[i], at, length, p);
    return 0;
  }

  private long overwrite(BTree tree, LeafWriter writer, long base, Position p) {
    int i = done;
    int length = lengths[i];
    if (!p.found) {
      return REFUSED;
    }
    long at = writer.patched(base, p.slot, ats[i], length);
    if (at < 0) {
      return REFUSED;
    }
    copy(tree, bytes[i], at, length, p);
    return 0;
  }

  private void copy(BTree tree, int value, long at, int length, Position p) {
    half = true;
    Mem.copy(from, value, tree.pool().pages(), at, length);
    slots[done] = p.slot;
    done++;
    half = false;
  }

  /**
   * Releases the leaf after an exception. A half-made change makes it unusable ({@link
   * LatchErrorGuard}); complete changes stay, as if the run had ended after them.
   */
  private RuntimeException brokenOff(
      BufferPool pool,
      LeafWriter writer,
      int frame,
      int first,
      Position p,
      LogSession log,
      Throwable t) {
    if (half || done == first) {
      boolean spoilt = half;
      half = false;
      throw LatchErrorGuard.releaseAndThrow(pool, frame, p.pid, spoilt, t);
    }
    try {
      writer.release(frame, p, log);
    } catch (Throwable again) {
      throw LatchErrorGuard.releaseAndThrow(pool, frame, p.pid, true, again);
    }
    throw LatchErrorGuard.rethrow(pool, p.pid, t);
  }
}
