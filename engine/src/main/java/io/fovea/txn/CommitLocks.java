package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.btree.KeyBuffer;
import io.fovea.btree.Position;
import io.fovea.error.AbortCause;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/** Locks the items of a commit, (a) and (b) of {@link Commit}, and determines which keys exist. */
final class CommitLocks {
  private static final long INDEX_MASK = TxConfig.ENTRIES_MAX - 1;

  /** The maximum number of items whose cache lines are loaded ahead of their pins. */
  private static final int LOADED_MAX = 32;

  private final TxLife life;
  private final Workspace work;
  private final ReadSet reads;
  private final WriteSet writes;
  private final ConcurrencyControl concurrencyControl;
  private final KeyBuffer successor;
  private boolean hasSuccessor;
  private long[] order = new long[64];

  /** Keeps the loads from being optimized away; the value has no meaning. */
  private long seen;

  CommitLocks(TxLife life, Workspace work, ConcurrencyControl concurrencyControl) {
    TxShared shared = life.shared;
    this.life = life;
    this.work = work;
    this.reads = work.reads;
    this.writes = work.writes;
    this.concurrencyControl = concurrencyControl;
    this.successor = new KeyBuffer(shared.pageSize, shared.memory);
  }

  /** Sorts the entries that write anything, as (high bits of the item's hash, index). */
  int order() {
    int size = writes.size();
    if (size == 0) {
      return 0;
    }
    if (order.length < size) {
      order = new long[Math.max(size, order.length * 2)];
    }
    int n = 0;
    for (int e = 0; e < size; e++) {
      if (writes.kind(e) != WriteSet.NONE) {
        order[n++] = (writes.item(e) & ~INDEX_MASK) | e;
      }
    }
    Arrays.sort(order, 0, n);
    return n;
  }

  private int entry(int i) {
    return (int) (order[i] & INDEX_MASK);
  }

  // ---------------------------------------------------------------- the items of writes

  /** Pins the items of keys that were not read, before any lock, because a pin may wait. */
  void pinWrites(int n) {
    if (!writes.pinsLater()) {
      return;
    }
    for (int from = 0; from < n; from += LOADED_MAX) {
      int to = Math.min(n, from + LOADED_MAX);
      for (int i = from; i < to; i++) {
        int e = entry(i);
        if (writes.slot(e) == ConcurrencyControl.LATER) {
          seen += concurrencyControl.timestamps.load(writes.item(e));
        }
      }
      for (int i = from; i < to; i++) {
        int e = entry(i);
        if (writes.slot(e) == ConcurrencyControl.LATER) {
          writes.slot(e, concurrencyControl.pinToLock(writes.item(e)));
        }
      }
    }
  }

  void lockWrites(int n) {
    concurrencyControl.beginLocking();
    for (int i = 0; i < n; i++) {
      int e = entry(i);
      int slot = writes.slot(e);
      concurrencyControl.lockWrite(writes.item(e), slot);
      // Abort early: a stale read can't be saved, and others would wait for these locks.
      if (isStale(writes.handle(e), slot)) {
        throw life.abort(AbortCause.VALIDATION, "a key that was read and written has changed");
      }
    }
  }

  private boolean isStale(int handle, int slot) {
    return concurrencyControl.plain
        && !concurrencyControl.pessimistic.isOn()
        && handle >= 0
        && TidWord.wts(concurrencyControl.timestamps.word(slot)) != TidWord.wts(reads.word(handle));
  }

  // ---------------------------------------------------------------- their successors

  /** Locks successors in the order of the writes: ascending keys often share one. */
  void lockSuccessors() {
    int last = -1;
    int before = -1;
    for (int e = 0, n = writes.size(); e < n; e++) {
      if (writes.kind(e) == WriteSet.NONE) {
        continue;
      }
      if (writes.kind(e) == WriteSet.MOVE) {
        continue;
      }
      boolean exists = writes.kind(e) != WriteSet.DELETE;
      byte existed = writes.existed(e);
      if (exists && existed == WriteSet.PRESENT) {
        continue;
      }
      boolean covered = last >= 0 && inGapAbove(last, e);
      if (existed == WriteSet.UNKNOWN) {
        existed = covered ? decideAbsence(e) : decideExistence(e);
      }
      if (exists != (existed == WriteSet.PRESENT)) {
        if (!covered) {
          lockSuccessor(e);
          last = e;
          before = e;
        } else if (work.keepsLocations) {
          writes.follow(e, before);
          before = e;
        }
      } else if (!exists) {
        writes.discard(e, WriteSet.NONE); // deletes an absent key
      }
    }
  }

  /**
   * Returns whether a key is in the gap between {@code lower} and its locked successor. The gap was
   * empty when the lock was taken, and an insert needs the lock. So the key is absent and has the
   * same successor, and its leaf is that of the previous entry or the next one.
   */
  private boolean inGapAbove(int lower, int e) {
    MemorySegment s = writes.scratch.segment();
    return writes.tree(e) == writes.tree(lower)
        && Mem.compare(
                s,
                writes.keyOffset(e),
                writes.keyLength(e),
                s,
                writes.keyOffset(lower),
                writes.keyLength(lower))
            > 0
        && (!hasSuccessor || isBelowGapEnd(e));
  }

  private boolean isBelowGapEnd(int e) {
    return Mem.compare(
            writes.scratch.segment(),
            writes.keyOffset(e),
            writes.keyLength(e),
            successor.segment(),
            0,
            successor.length())
        < 0;
  }

  private byte decideAbsence(int e) {
    writes.before(e, WriteSet.ABSENT);
    return WriteSet.ABSENT;
  }

  /** Reads under the item's lock whether the key exists. */
  private byte decideExistence(int e) {
    BTree tree = writes.tree(e);
    MemorySegment s = writes.scratch.segment();
    Position p = work.position;
    work.locationOf(e, p);
    int attempt = 0;
    int length;
    while (true) {
      tree.locate(s, writes.keyOffset(e), writes.keyLength(e), p);
      length = p.found ? tree.valueLength(p) : WriteSet.ABSENT;
      if (tree.valid(p)) {
        break;
      }
      p.clear();
      life.pause(attempt++);
    }
    writes.before(e, length);
    writes.putLocation(e, p);
    return writes.existed(e);
  }

  private void lockSuccessor(int e) {
    BTree tree = writes.tree(e);
    for (long held = 0; ; ) {
      long item = successor(tree, e);
      if (item == held) {
        break;
      }
      if (isNextWrite(e, item) || !concurrencyControl.lockGap(item)) {
        return; // held since before the search: consecutive keys share their successor
      }
      held = item; // a surplus lock is published like the others: a dummy write
      if (isStillSuccessor(tree)) {
        break;
      }
    }
    if (concurrencyControl.versioned && hasSuccessor) {
      stageSuccessor(tree, tree.keyHash(successor.segment(), 0, successor.length()));
    }
  }

  /**
   * The second check, by versions: the leaf in which the gap begins and the leaf of the key above
   * are unchanged, and no leaf lies between them. So the key still is the successor now that its
   * item is held; an insert into the gap would change one of the two. The leaf of the key alone is
   * not enough, because the gap reaches into the previous leaf.
   */
  private boolean isStillSuccessor(BTree tree) {
    Position p = work.position;
    return p.gapFrame >= 0 && tree.valid(p) && tree.pool().validate(p.gapFrame, p.gapVersion);
  }

  /** Returns whether the item is the next entry's, locked in (a), as in a deleted range. */
  private boolean isNextWrite(int e, long item) {
    int next = e + 1;
    return next < writes.size()
        && writes.item(next) == item
        && writes.kind(next) != WriteSet.NONE
        && concurrencyControl.locksWrites();
  }

  // ---------------------------------------------------------------- versions

  void stageVersions() {
    MemorySegment s = writes.scratch.segment();
    Position p = work.position;
    for (int e = 0, n = writes.size(); e < n; e++) {
      if (concurrencyControl.locked.contains(writes.slot(e))) {
        BTree tree = writes.tree(e);
        int key = writes.keyOffset(e);
        int length = writes.keyLength(e);
        work.locationOf(e, p);
        tree.locate(s, key, length, p);
        concurrencyControl.mvto.stage(tree, writes.item(e), writes.slot(e), s, key, length, p);
      }
    }
  }

  /** Saves the successor's record: it does not change, but its item gets new timestamps. */
  private void stageSuccessor(BTree tree, long item) {
    Position p = work.position;
    MemorySegment s = successor.segment();
    int length = successor.length();
    tree.find(s, 0, length, p);
    concurrencyControl.mvto.stage(tree, item, concurrencyControl.pin(item), s, 0, length, p);
  }

  private long successor(BTree tree, int e) {
    Position p = work.position;
    work.locationOf(e, p);
    hasSuccessor =
        tree.successor(
            writes.scratch.segment(), writes.keyOffset(e), writes.keyLength(e), p, successor);
    return hasSuccessor ? tree.keyHash(successor.segment(), 0, successor.length()) : tree.endHash();
  }
}
