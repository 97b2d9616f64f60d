package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.btree.KeyBuffer;
import io.fovea.btree.Position;
import io.fovea.error.AbortCause;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * What a commit locks: the items of what it writes, (a) in {@link Commit}, and those of the keys
 * above keys that appear or disappear, (b). It finds out on the way which keys are there.
 *
 * <p>In the order of hashes first, and then in that of the writes; why, and why there are two looks
 * at a successor, stands there.
 */
final class CommitLocks {
  private static final long INDEX_MASK = TxConfig.ENTRIES_MAX - 1;

  /** So many items are loaded ahead at a time. */
  private static final int LOADED_MAX = 32;

  private final TxLife life;
  private final Workspace work;
  private final ReadSet reads;
  private final WriteSet writes;
  private final ConcurrencyControl concurrencyControl;
  private final KeyBuffer successor;
  private boolean hasSuccessor;
  private long[] order = new long[64];

  /** What was loaded ahead means nothing. */
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

  /** The entries that write anything, as (high bits of the item's hash, index), in order. */
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

  /**
   * Pins the items of keys that were written and not read, before anything is locked: a pin may
   * wait for a moment. The lines of the next few are loaded ahead of their pins.
   */
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
      // A read that is stale already can't be saved; find that out before others wait for us.
      if (isStale(writes.handle(e), slot)) {
        throw life.abort(AbortCause.VALIDATION, "a key that was read and written has changed");
      }
    }
  }

  private boolean isStale(int handle, int slot) {
    return concurrencyControl.plain
        && !concurrencyControl.pessimistic.on()
        && handle >= 0
        && TidWord.wts(concurrencyControl.timestamps.word(slot)) != TidWord.wts(reads.word(handle));
  }

  // ---------------------------------------------------------------- their successors

  /** In the order of the writes, not of the hashes: keys that ascend share their successor. */
  void lockSuccessors() {
    int last = -1;
    int before = -1;
    for (int e = 0, n = writes.size(); e < n; e++) {
      if (writes.kind(e) == WriteSet.NONE) {
        continue;
      }
      if (writes.kind(e) == WriteSet.MOVE) {
        continue; // no key appears or disappears
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
        } else if (work.placed) {
          writes.follow(e, before);
          before = e;
        }
      } else if (!exists) {
        writes.discard(e, WriteSet.NONE); // deletes what is not there
      }
    }
  }

  /**
   * Whether a key lies between one whose successor we hold and that successor. There was no
   * installed key in that gap when the lock was taken and none can have come since, for it would
   * need the same lock: so this key has the same successor, and is not there itself. Nothing is to
   * be looked for: neither the key nor, when it is installed, its leaf, which is that of the entry
   * before or the next one ({@link WriteSet#follow}).
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

  /** A key in a gap that is empty, and stays so: we hold the item of its upper end. */
  private byte decideAbsence(int e) {
    writes.before(e, WriteSet.ABSENT);
    return WriteSet.ABSENT;
  }

  /** Under the item's lock: nobody else can make the key appear or disappear. */
  private byte decideExistence(int e) {
    BTree tree = writes.tree(e);
    MemorySegment s = writes.scratch.segment();
    Position p = work.position;
    work.place(e, p);
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
    writes.place(e, p);
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
        return; // held since before the look: keys that follow each other share their successor
      }
      held = item; // one that we hold too much is published like the rest: a dummy write
      if (staysSuccessor(tree)) {
        break;
      }
    }
    if (concurrencyControl.versioned && hasSuccessor) {
      stageSuccessor(tree, Items.of(tree, successor.segment(), 0, successor.length()));
    }
  }

  /**
   * The second look, where versions stand for it: the leaf in which the gap begins, and that of the
   * key above, have not changed since the first look, and there is none between them. So that key
   * is the successor still, now that its item is held, and nobody can come between: who does
   * changes one of the two leaves. That of the key alone would not do: the gap reaches into the
   * leaf before.
   */
  private boolean staysSuccessor(BTree tree) {
    Position p = work.position;
    return p.gapFrame >= 0 && tree.valid(p) && tree.pool().validate(p.gapFrame, p.gapVersion);
  }

  /**
   * Whether an item is that of the next entry, which is locked since (a). It is so for each key of
   * a range that is deleted but the last: to find the item's place once more was a fifth of the
   * time.
   */
  private boolean isNextWrite(int e, long item) {
    int next = e + 1;
    return next < writes.size()
        && writes.item(next) == item
        && writes.kind(next) != WriteSet.NONE
        && concurrencyControl.locksWrites();
  }

  // ---------------------------------------------------------------- versions

  /** What the written records are now, for those who must go on seeing it. */
  void stageVersions() {
    MemorySegment s = writes.scratch.segment();
    Position p = work.position;
    for (int e = 0, n = writes.size(); e < n; e++) {
      if (concurrencyControl.locked.contains(writes.slot(e))) {
        BTree tree = writes.tree(e);
        int key = writes.keyOffset(e);
        int length = writes.keyLength(e);
        work.place(e, p);
        tree.locate(s, key, length, p);
        concurrencyControl.mvto.stage(tree, writes.item(e), writes.slot(e), s, key, length, p);
      }
    }
  }

  /** The record stays as it is, but its item gets new timestamps, for the gap below it. */
  private void stageSuccessor(BTree tree, long item) {
    Position p = work.position;
    MemorySegment s = successor.segment();
    int length = successor.length();
    tree.find(s, 0, length, p);
    concurrencyControl.mvto.stage(tree, item, concurrencyControl.pin(item), s, 0, length, p);
  }

  private long successor(BTree tree, int e) {
    Position p = work.position;
    work.place(e, p);
    hasSuccessor =
        tree.successor(
            writes.scratch.segment(), writes.keyOffset(e), writes.keyLength(e), p, successor);
    return hasSuccessor
        ? Items.of(tree, successor.segment(), 0, successor.length())
        : Items.atEnd(tree);
  }
}
