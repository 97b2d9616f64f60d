package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import java.lang.foreign.MemorySegment;

/**
 * Changes of records that are believed to be of one leaf: as many as are, are made under one latch.
 *
 * <pre>
 *   latch the leaf of the first change ({@link LeafWriter})
 *     is the next change of this leaf?  search it there: its own slot or gap first, else the fences
 *       there is room   make it, and go on with the next
 *     no, or no room    give the latch back: the version moves, once for all that was made
 *   no room: split, and begin again with that change;  another leaf: begin again with that change
 * </pre>
 *
 * <p><b>What is the same as one by one.</b> Each change is searched in the leaf as the changes
 * before it have left it, and the fences say whether the leaf is its own: nothing can move them
 * while the latch is held. A change is whole or has not begun ({@link #done} says how many are
 * whole), also where something is thrown in the middle of a run: what was made before it stays,
 * marked and with a version of its own, and who calls again goes on behind it. A half change stops
 * the pool, as ever.
 *
 * <p><b>What others see.</b> Nobody reads a record that a run changes: its item is locked until the
 * commit is over ({@code io.fovea.txn.Commit}). Who reads another record of the leaf, or its
 * version, meets the latch or a version that moved, once where it were several: each of these
 * readers may begin after the whole run or before it, and sees one state or the other. A page that
 * is latched is not written and not copied, so no file and no snapshot has a part of a run.
 *
 * <p><b>Nobody starves.</b> A run has at most {@value #CHANGES_MAX} changes, each a search in one
 * page and a copy of at most a quarter of it, or a compaction of the page: a few microseconds, less
 * than a split holds three latches. Under the latch nothing is waited for and nothing is allocated,
 * and nothing is logged. Between two runs the latch is free, and a reader without a latch needs it
 * to be free for no longer than its own search. What waits for the latch waits for the same changes
 * as before, which were made under as many latches.
 *
 * <p>Deletes and long values are no part of a run: they have something to do when the latch is
 * back.
 *
 * <p>Owned by one thread, used again and again; allocates nothing.
 *
 * @since 0.1.0
 */
public final class LeafRun {
  /** How many changes a run may have. */
  public static final int CHANGES_MAX = 16;

  private static final int WHOLE = -1;

  /** There is no next change in this leaf. */
  private static final long OTHER_LEAF = -3;

  /** A record is too short to be patched, or is not there. */
  private static final long REFUSED = -4;

  private final int[] keys = new int[CHANGES_MAX];
  private final int[] keyLengths = new int[CHANGES_MAX];

  /** In: where a patched record is believed to be, or -1; out: where the change was. */
  private final int[] slots = new int[CHANGES_MAX];

  /** From which byte of the value on a patch is; or {@link #WHOLE}. */
  private final int[] ats = new int[CHANGES_MAX];

  private final int[] bytes = new int[CHANGES_MAX];
  private final int[] lengths = new int[CHANGES_MAX];
  private MemorySegment from = MemorySegment.NULL;
  private int size;
  private int done;
  private int firstOfLeaf;

  /** Whether a change has begun and is not over. */
  private boolean half;

  /** Makes an empty run. */
  public LeafRun() {}

  /**
   * Begins a run, and forgets the last one.
   *
   * @param segment where keys and values of all its changes are; native memory
   */
  public void begin(MemorySegment segment) {
    from = segment;
    size = 0;
    done = 0;
    firstOfLeaf = 0;
  }

  /**
   * Whether there is no room for another change.
   *
   * @return true from {@link #CHANGES_MAX} changes on
   */
  public boolean full() {
    return size == CHANGES_MAX;
  }

  /**
   * How many changes there are.
   *
   * @return that number
   */
  public int size() {
    return size;
  }

  /**
   * How many changes have been made, whatever was thrown since.
   *
   * @return that number
   */
  public int done() {
    return done;
  }

  /**
   * From which change on all were made in the leaf where the last one was made.
   *
   * @return the number of a change
   */
  public int firstOfLeaf() {
    return firstOfLeaf;
  }

  /**
   * Where a change was made, in the leaf as it was then: a hint.
   *
   * @param change the number of a change that is done
   * @return the slot
   */
  public int slot(int change) {
    return slots[change];
  }

  /**
   * Adds: a key gets a value that fits into the leaf. Of the old value nothing is freed.
   *
   * @param key where the key begins
   * @param keyLength how long it is
   * @param value where the value begins
   * @param length how long it is: {@link BTree#inlineMax} at most
   */
  public void value(int key, int keyLength, int value, int length) {
    add(key, keyLength, -1, WHOLE, value, length);
  }

  /**
   * Adds: a part of a value is overwritten.
   *
   * @param key where the key begins
   * @param keyLength how long it is
   * @param slot where the record is believed to be, or -1
   * @param at from which byte of the value on
   * @param patch where the new bytes begin
   * @param length how many they are
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
   * Makes the changes that are not done, in their order.
   *
   * @param tree the tree
   * @param p in: a hint for the first of them, as in {@link BTree#locate}; out: where the last one
   *     was made
   * @param log where they are logged
   * @return false if a patch does not fit its record, or that is not in the leaf; the changes
   *     before it are made
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
      long why = oneLeaf(tree, writer, p, log);
      if (why == REFUSED) {
        return false;
      }
      tried = done == i ? tried + 1 : 0;
      if (why == LeafWriter.NO_SCRATCH) {
        writer.stock();
      } else if (why == LeafWriter.NO_ROOM) {
        i = done;
        writer.split(tried, p, s, keys[i], keyLengths[i], lengths[i], log);
      } else if (why == OTHER_LEAF) {
        p.clear();
      }
    }
    return true;
  }

  /**
   * Latches the leaf of the next change, and makes as many changes in it as are its own.
   *
   * @param p in: a hint; out: the place of the last change
   * @return why it ends
   */
  private long oneLeaf(BTree tree, LeafWriter writer, Position p, LogSession log) {
    BufferPool pool = tree.pool();
    int first = done;
    long why = 0;
    firstOfLeaf = first;
    // Nothing is called between the latch and what gives it back.
    int frame = writer.latch(from, keys[first], keyLengths[first], p);
    try {
      long base = pool.base(frame);
      do {
        why = done == first || here(tree, base, p) ? change(tree, writer, base, p) : OTHER_LEAF;
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

  /** Whether the next change is one of a record of this leaf; then the position is its place. */
  private boolean here(BTree tree, long base, Position p) {
    int i = done;
    int key = keys[i];
    if (key == keys[i - 1] && keyLengths[i] == keyLengths[i - 1]) {
      return true; // another patch of the same record
    }
    BufferPool pool = tree.pool();
    // What comes behind the last insert is found by the leaf's own note of that.
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
      at = writer.place(from, keys[i], keyLengths[i], length, base, p, scratch);
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

  /** The last step of each change. */
  private void copy(BTree tree, int value, long at, int length, Position p) {
    half = true;
    Mem.copy(from, value, tree.pool().pages(), at, length);
    slots[done] = p.slot;
    done++;
    half = false;
  }

  /**
   * Gives the leaf back after something was thrown: with a half change it can't be used any more
   * ({@link LatchErrorGuard}); whole ones stay, and are as if the run had ended behind them.
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
      throw LatchErrorGuard.one(pool, frame, p.pid, spoilt, t);
    }
    try {
      writer.release(frame, p, log);
    } catch (Throwable again) {
      throw LatchErrorGuard.one(pool, frame, p.pid, true, again);
    }
    throw LatchErrorGuard.meaning(pool, p.pid, t);
  }
}
