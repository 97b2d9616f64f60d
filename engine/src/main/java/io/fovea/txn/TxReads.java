package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.btree.KeyLocationCache;
import io.fovea.btree.Position;
import io.fovea.error.AbortCause;
import io.fovea.error.CorruptionException;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The point reads of a transaction.
 *
 * <pre>
 *   get ─► own writes? ─► tree: leaf version → content ─► item word, unlocked ─► leaf version again
 *                                                              │
 *                           read set: item → (word seen, location in the leaf)
 * </pre>
 *
 * <b>One read of the word is enough.</b> A writer holds the item's lock from before it changes the
 * leaf until it publishes, and a change of the leaf changes its version. Let the word be read,
 * unlocked, at t1 between the equal versions at t0 and t2. No install touched the leaf in [t0, t2],
 * so the content is that of t1; at t1 the item was unlocked, so every install with a wts up to the
 * one seen had happened and none above it had begun. So content and wts belong together. The read
 * of the word may move freely within [t0, t2], so it needs no fence.
 */
final class TxReads {
  static final int ABSENT = -1;

  private final TxLife life;
  private final Workspace work;
  private final ReadSet reads;
  private final WriteSet writes;
  private final Position position;
  private final ConcurrencyControl concurrencyControl;

  /** Whether what is read must be durable before it is returned. */
  private final boolean waits;

  private final boolean keepsLocations;

  private final SingleReadFastPath singleRead;
  private int lastRead = -1;

  TxReads(TxLife life, Workspace work, ConcurrencyControl concurrencyControl) {
    this.life = life;
    this.work = work;
    this.reads = work.reads;
    this.writes = work.writes;
    this.position = work.position;
    this.concurrencyControl = concurrencyControl;
    this.waits = life.shared.waits;
    this.keepsLocations = work.keepsLocations;
    this.singleRead = new SingleReadFastPath(life, work, concurrencyControl);
    life.before(singleRead::enter);
  }

  void begin() {
    lastRead = -1;
    singleRead.begin();
  }

  void declareRetry() {
    singleRead.allow();
  }

  int getAlone(
      BTree tree,
      MemorySegment key,
      long keyOffset,
      int keyLength,
      MemorySegment out,
      long outOffset,
      int cap) {
    life.operation();
    long item = tree.keyHash(key, keyOffset, keyLength);
    if (singleRead.allowed && singleRead.take()) {
      int n = singleRead.read(tree, item, key, keyOffset, keyLength, out, outOffset, cap);
      return n == SingleReadFastPath.NOT_ALONE
          ? readAt(tree, item, key, keyOffset, keyLength, out, outOffset, cap, -1, -1)
          : n;
    }
    return get(tree, item, key, keyOffset, keyLength, out, outOffset, cap, null);
  }

  int get(
      BTree tree,
      MemorySegment key,
      long keyOffset,
      int keyLength,
      MemorySegment out,
      long outOffset,
      int cap,
      @Nullable Position near) {
    life.operation();
    long item = tree.keyHash(key, keyOffset, keyLength);
    return get(tree, item, key, keyOffset, keyLength, out, outOffset, cap, near);
  }

  private int get(
      BTree tree,
      long item,
      MemorySegment key,
      long keyOffset,
      int keyLength,
      MemorySegment out,
      long outOffset,
      int cap,
      @Nullable Position near) {
    int w = writes.find(tree, item, key, keyOffset, keyLength);
    return w >= 0
        ? getOwn(w, item, key, keyOffset, out, outOffset, cap)
        : read(tree, item, key, keyOffset, keyLength, out, outOffset, cap, near);
  }

  boolean wrote(BTree tree, MemorySegment key, long keyOffset, int keyLength) {
    return writes.find(tree, tree.keyHash(key, keyOffset, keyLength), key, keyOffset, keyLength)
        >= 0;
  }

  int getOwn(
      int w,
      long item,
      MemorySegment key,
      long keyOffset,
      MemorySegment out,
      long outOffset,
      int cap) {
    switch (writes.kind(w)) {
      case WriteSet.INSERT, WriteSet.PUT -> {
        int length = writes.valueLength(w);
        Mem.copy(
            writes.scratch.segment(), writes.valueOffset(w), out, outOffset, Math.min(length, cap));
        lastRead = writes.handle(w);
        return length;
      }
      case WriteSet.PATCH -> {
        BTree tree = writes.tree(w);
        int length =
            read(tree, item, key, keyOffset, writes.keyLength(w), out, outOffset, cap, null);
        writes.applyPatches(w, out, outOffset, Math.min(length, cap));
        return length;
      }
      default -> {
        lastRead = writes.handle(w);
        return ABSENT;
      }
    }
  }

  int read(
      BTree tree,
      long item,
      MemorySegment key,
      long keyOffset,
      int keyLength,
      MemorySegment out,
      long outOffset,
      int cap,
      @Nullable Position hint) {
    Position p = position;
    int handle = reads.find(item);
    int slot = -1;
    if (handle >= 0) {
      slot = reads.slot(handle);
    }
    if (handle >= 0 && keepsLocations) {
      reads.locate(handle, p);
      tree.locate(key, keyOffset, keyLength, p);
    } else if (hint != null) {
      p.copyFrom(hint);
      tree.locate(key, keyOffset, keyLength, p);
    } else {
      KeyLocationCache locations = tree.keyLocations();
      if (locations != null) {
        return readAtLocation(
            locations, tree, item, key, keyOffset, keyLength, out, outOffset, cap, handle, slot);
      }
      tree.find(key, keyOffset, keyLength, p);
    }
    return readAt(tree, item, key, keyOffset, keyLength, out, outOffset, cap, handle, slot);
  }

  /** Reads from the cached location of the key, which only replaces the descent. */
  private int readAtLocation(
      KeyLocationCache locations,
      BTree tree,
      long item,
      MemorySegment key,
      long keyOffset,
      int keyLength,
      MemorySegment out,
      long outOffset,
      int cap,
      int handle,
      int slot) {
    Position p = position;
    boolean right = locations.find(tree, item, key, keyOffset, keyLength, p, cap);
    int length = readAt(tree, item, key, keyOffset, keyLength, out, outOffset, cap, handle, slot);
    if (!right) {
      locations.cache(tree, item, p);
    }
    return length;
  }

  int readAt(
      BTree tree,
      long item,
      MemorySegment key,
      long keyOffset,
      int keyLength,
      MemorySegment out,
      long outOffset,
      int cap,
      int handle,
      int pinned) {
    Position p = position;
    int slot = pinned;
    for (int attempt = 0; ; attempt++) {
      int length = p.found ? tree.copyValue(p, out, outOffset, cap) : ABSENT;
      if (length >= 0 || !p.found) {
        if (slot < 0) {
          slot = concurrencyControl.pin(item);
        }
        long word = concurrencyControl.readWord(slot);
        if (!TidWord.isLocked(word)) {
          long lsn = waits ? SingleReadFastPath.pageLsn(tree, p) : 0;
          if (tree.valid(p)) {
            if (waits) {
              work.dependsOnLsn(lsn);
            }
            if (word == Mvto.OLD && concurrencyControl.versioned) {
              return readOld(tree, item, key, keyOffset, keyLength, out, outOffset, cap, slot);
            }
            enterRead(handle, item, slot, TidWord.withoutLock(word), p, length);
            return length;
          }
        } else {
          concurrencyControl.await(slot);
        }
      }
      if (attempt > 64) {
        life.pause(attempt);
      }
      tree.find(key, keyOffset, keyLength, p);
    }
  }

  /** Reads an older version of a record; its location is unknown. */
  private int readOld(
      BTree tree,
      long item,
      MemorySegment key,
      long keyOffset,
      int keyLength,
      MemorySegment out,
      long outOffset,
      int cap,
      int slot) {
    int length =
        concurrencyControl.mvto.read(tree, item, key, keyOffset, keyLength, out, outOffset, cap);
    int entry = enter(reads.find(item), item, slot, 0);
    reads.putLocation(entry, -1, 0, 0, -1, length);
    lastRead = entry;
    return length;
  }

  /** Reads a value whose item this transaction has locked, so that no other changes it. */
  void readUnderLock(int e, MemorySegment out, int length) {
    BTree tree = writes.tree(e);
    MemorySegment s = writes.scratch.segment();
    Position p = position;
    work.locationOf(e, p);
    tree.locate(s, writes.keyOffset(e), writes.keyLength(e), p);
    for (int attempt = 0; ; attempt++) {
      int found = p.found ? tree.copyValue(p, out, 0, length) : ABSENT;
      if (tree.valid(p) && (found >= 0 || !p.found)) {
        if (found != length) {
          throw new IllegalStateException(
              "A value of " + length + " bytes changed under its lock: " + found + ".");
        }
        return;
      }
      life.pause(attempt);
      tree.find(s, writes.keyOffset(e), writes.keyLength(e), p);
    }
  }

  private void enterRead(int handle, long item, int slot, long word, Position p, int length) {
    int entry = enter(handle, item, slot, word);
    reads.putLocation(entry, p.frame, p.version, p.pid, p.slot, length);
    lastRead = entry;
  }

  /** Enters an unlocked word into the read set and returns its handle; -1: a new item. */
  int enter(int handle, long item, int slot, long word) {
    if (handle < 0) {
      return reads.add(item, slot, word);
    }
    // One entry per item: a different wts means that the first read is stale. But the wts of a
    // reserved item may be raised without a change.
    if (TidWord.wts(reads.word(handle)) != TidWord.wts(word)
        && !concurrencyControl.pessimistic.isOn()) {
      throw life.abort(AbortCause.VALIDATION, "a key that was read twice has changed in between");
    }
    return handle;
  }

  /**
   * Reads without searching the write set, for a scan's record whose value is outside of the leaf.
   */
  int readScanned(
      BTree tree, MemorySegment key, long keyOffset, int keyLength, MemorySegment out, int cap) {
    int length =
        read(
            tree,
            tree.keyHash(key, keyOffset, keyLength),
            key,
            keyOffset,
            keyLength,
            out,
            0,
            cap,
            null);
    if (length < 0) {
      // Both reads have the same wts, or the second would have aborted. If they still hold, no
      // commit has deleted the record, and a retry would find the same.
      requireValid();
      throw new CorruptionException(
          "a record that a scan finds and a search does not",
          position.pid,
          position.pid * tree.pool().pageSize(),
          1,
          0);
    }
    return length;
  }

  int lastRead() {
    return lastRead;
  }

  long page() {
    return position.frame < 0 ? -1 : position.pid;
  }

  boolean valid() {
    life.requireActive();
    return life.rollbackOnly == null && concurrencyControl.readsValid() && !life.health.isHalted();
  }

  void requireValid() {
    if (!valid()) {
      throw life.abort(AbortCause.VALIDATION, "what was read has changed");
    }
  }
}
