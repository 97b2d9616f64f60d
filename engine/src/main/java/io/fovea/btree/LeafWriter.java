package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.error.CorruptionException;
import io.fovea.error.FoveaException;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import io.fovea.wal.RecordType;
import java.lang.foreign.MemorySegment;

/**
 * Changes of records: each latches one leaf, for as long as the change of its bytes takes.
 *
 * <pre>
 *   find the leaf without a latch -&gt; upgrade the version to the latch, or begin again
 *     same length                 overwrite in place
 *     there is room               insert, or remove and insert
 *     there is none               give the latch back, split (TreeShaper), begin again
 *   after the latch was given back: free the old value's chain, merge an underfull leaf
 * </pre>
 *
 * <p>The upgrade succeeds only if the leaf is what was searched, so nothing is searched again under
 * the latch. Where the leaf is so busy that the upgrade fails again and again, the latch is waited
 * for and the fences are asked whether the leaf is still the right one.
 *
 * <p>With a log the change is in a record already, whose place the session knows; the leaf gets the
 * two positions before it is given back. That record says which chains come and go, so here none is
 * made or freed then.
 */
final class LeafWriter {
  /** How far the release of an exclusive latch moves the version (see the pool's latch word). */
  static final long VERSION_STEP = 1L << 9;

  /** Failed upgrades before the latch is waited for. */
  private static final int UPGRADES = 3;

  /**
   * Splits for one record. One is enough, unless others fill the room that it makes; each time
   * again is their progress, and so often is nobody's.
   */
  private static final int SPLITS_MAX = 4096;

  private final BTree tree;
  private final BufferPool pool;
  private final MemorySegment pages;
  private final int pageSize;
  private final TreeShaper shaper;

  LeafWriter(BTree tree, TreeShaper shaper) {
    this.tree = tree;
    this.pool = tree.pool();
    this.pages = pool.pages();
    this.pageSize = pool.pageSize();
    this.shaper = shaper;
  }

  /**
   * Latches the leaf of a key exclusively.
   *
   * @param p in: a hint; out: the leaf and the slot; its version is the one before the latch, or
   *     RESTART where that is not known
   * @return the frame
   */
  private int latch(MemorySegment key, long off, int len, Position p) {
    for (int i = 0; ; i++) {
      tree.locate(key, off, len, p);
      if (pool.tryUpgrade(p.frame, p.version)) {
        return p.frame;
      }
      if (i >= UPGRADES && latchBusy(key, off, len, p)) {
        return p.frame;
      }
      Pause.after(i);
    }
  }

  private boolean latchBusy(MemorySegment key, long off, int len, Position p) {
    MemorySegment s = pages;
    long pid = p.pid;
    int frame = pool.fixExclusive(pid);
    long base = pool.base(frame);
    if (!BTreeNode.isLeaf(s, base)
        || PageHeader.treeId(s, base) != tree.treeId()
        || !BTreeNode.covers(s, base, pageSize, key, off, len, false)) {
      pool.releaseExclusiveUnchanged(frame);
      return false;
    }
    try {
      int found = BTreeNode.searchLeaf(s, base, pageSize, key, off, len);
      p.set(frame, BufferPool.RESTART, pid, found >>> 1, (found & 1) != 0);
      return true;
    } catch (IndexOutOfBoundsException e) {
      throw damaged(frame, pid, e);
    }
  }

  /** An offset that leads out of the pool under the latch: the page is damaged, not torn. */
  private CorruptionException damaged(int frame, long pid, IndexOutOfBoundsException e) {
    // Not marked dirty: what was changed before this showed shall not be written.
    pool.releaseExclusive(frame);
    return BTree.damagedOffsets(pool, pid, e);
  }

  /** Gives a changed leaf back. The position keeps up with the version that the release makes. */
  private void release(int frame, Position p, LogSession log) {
    assert located(log) : "a change of a record that is in no log record";
    pool.markDirty(frame, log.recLsn(), log.pageLsn());
    pool.releaseExclusive(frame);
    if (p.version != BufferPool.RESTART) {
      p.version += VERSION_STEP;
    }
  }

  private static boolean located(LogSession log) {
    return !log.logging() || log.recLsn() > 0 && log.pageLsn() > log.recLsn();
  }

  /** Says no to what needs its chains in the record that the caller has written already. */
  private static void requireNoLog(LogSession log) {
    if (log.logging()) {
      throw new IllegalStateException(
          "A long value comes or goes, and the log record of the change has to say so: "
              + "use writeChain and chain, then upsertChain, upsertInline or remove.");
    }
  }

  // -------------------------------------------------------------------------------------- upsert

  boolean upsert(
      MemorySegment key,
      long off,
      int len,
      MemorySegment value,
      long vOff,
      int vLen,
      Position p,
      LogSession log) {
    return vLen > BTreeNode.inlineMax(pageSize)
        ? upsertLong(key, off, len, value, vOff, vLen, p, log)
        : upsertInline(key, off, len, value, vOff, vLen, false, p, log);
  }

  /**
   * Gives a key a value that fits into the leaf.
   *
   * @param keep whether the chain of the old value is somebody else's business
   */
  boolean upsertInline(
      MemorySegment key,
      long off,
      int len,
      MemorySegment value,
      long vOff,
      int vLen,
      boolean keep,
      Position p,
      LogSession log) {
    for (int i = 0; ; i++) {
      int frame = latch(key, off, len, p);
      long base = pool.base(frame);
      boolean absent = !p.found;
      long chain = 0;
      long at;
      try {
        at = absent ? -1 : inPlace(base, p.slot, vLen);
        if (at < 0) {
          chain = absent || keep ? 0 : chainToFree(frame, base, p.slot, log);
          at = place(key, off, len, vLen, base, p);
        }
        if (at >= 0) {
          Mem.copy(value, vOff, pages, at, vLen);
        }
      } catch (IndexOutOfBoundsException e) {
        throw damaged(frame, p.pid, e);
      }
      if (at >= 0) {
        release(frame, p, log);
        OverflowChain.free(tree, chain);
        return absent;
      }
      pool.releaseExclusiveUnchanged(frame);
      split(i, p, key, off, len, vLen, log);
    }
  }

  /** Where the value of a slot is, if it has a length and is in the leaf; else -1. */
  private long inPlace(long base, int slot, int length) {
    long entry = BTreeNode.leafSlot(pages, base, slot);
    return BTreeNode.field(pages, base, pageSize, entry) == length
        ? inside(base, BTreeNode.valueAt(base, pageSize, entry), length)
        : -1;
  }

  /** A value must end in its page: what is behind it is another one's. */
  private long inside(long base, long at, int length) {
    if (at + length > base + pageSize) {
      throw new NodeCheck.Damage("end of a value in a leaf", pageSize, at + length - base);
    }
    return at;
  }

  /** Splits the leaf that a position names, unless that has been tried too often. */
  private void split(
      int tried, Position p, MemorySegment key, long off, int len, int inlineBytes, LogSession log) {
    if (tried == SPLITS_MAX) {
      throw OverflowChain.damaged(pool, p.pid, "splits that made no room in a leaf", 1, tried);
    }
    shaper.splitLeaf(p.pid, key, off, len, inlineBytes, log);
  }

  private boolean upsertLong(
      MemorySegment key,
      long off,
      int len,
      MemorySegment value,
      long vOff,
      int vLen,
      Position p,
      LogSession log) {
    requireNoLog(log);
    long first = OverflowChain.write(tree, value, vOff, vLen, RecordType.CHAIN, log)[0];
    long old;
    try {
      old = putStub(key, off, len, first, vLen, p, log);
    } catch (RuntimeException e) {
      // Not published: only a split can fail, and then nothing is latched.
      OverflowChain.free(tree, first);
      throw e;
    }
    OverflowChain.free(tree, Math.max(0, old));
    return old < 0;
  }

  /**
   * Gives a key a value that is in a chain.
   *
   * @return the first page of the value that it had, 0 if that was in the leaf, -1 if there was
   *     none
   */
  long putStub(
      MemorySegment key, long off, int len, long first, int length, Position p, LogSession log) {
    for (int i = 0; ; i++) {
      int frame = latch(key, off, len, p);
      long base = pool.base(frame);
      long old;
      long at;
      try {
        old = p.found ? chainAt(base, p.slot) : -1;
        at = place(key, off, len, BTreeNode.OVERFLOW, base, p);
        if (at >= 0) {
          Mem.putLong(pages, at, first);
          Mem.putLong(pages, at + 8, length);
        }
      } catch (IndexOutOfBoundsException e) {
        throw damaged(frame, p.pid, e);
      }
      if (at >= 0) {
        release(frame, p, log);
        return old;
      }
      pool.releaseExclusiveUnchanged(frame);
      split(i, p, key, off, len, BTreeNode.STUB_BYTES, log);
    }
  }

  /** The chain that a change of a slot is to free; with a log that is not done here. */
  private long chainToFree(int frame, long base, int slot, LogSession log) {
    long chain = chainAt(base, slot);
    if (chain != 0 && log.logging()) {
      pool.releaseExclusiveUnchanged(frame);
      requireNoLog(log);
    }
    return chain;
  }

  private long chainAt(long base, int slot) {
    long entry = BTreeNode.leafSlot(pages, base, slot);
    return BTreeNode.field(pages, base, pageSize, entry) == BTreeNode.OVERFLOW
        ? BTree.stubPid(pages, BTreeNode.valueAt(base, pageSize, entry))
        : 0;
  }

  /**
   * Makes a record for a key, in place of the one it has.
   *
   * @param field the length of the value, or {@link BTreeNode#OVERFLOW}
   * @return where the value goes, or -1: there is no room, nothing has changed
   */
  private long place(MemorySegment key, long off, int len, int field, long base, Position p) {
    MemorySegment s = pages;
    BTreeNode.checkSane(s, base, pageSize, true);
    int inline = BTreeNode.inlineBytes(field);
    if (BTreeNode.prefix(s, base) > len) {
      throw new NodeCheck.Damage("prefix of a leaf, longer than a key", len, BTreeNode.prefix(s, base));
    }
    int bytes = NodeEditor.leafEntryBytes(BTreeNode.prefix(s, base), len, inline);
    if (p.found) {
      long slot = BTreeNode.leafSlot(s, base, p.slot);
      int old = BTreeNode.LEAF_STRIDE + BTreeNode.recordBytes(s, base, pageSize, true, slot);
      if (!NodeEditor.fits(s, base, pageSize, true, bytes - old)) {
        return -1;
      }
      NodeEditor.removeLeaf(s, base, pageSize, p.slot);
    } else {
      if (!NodeEditor.fits(s, base, pageSize, true, bytes)) {
        return -1;
      }
      NodeEditor.noteInsert(s, base, p.slot);
    }
    if (bytes > BTreeNode.gap(s, base, pageSize, true)) {
      compact(base);
    }
    p.found = true;
    return NodeEditor.insertLeaf(s, base, pageSize, p.slot, key, off, len, field);
  }

  private void compact(long base) {
    NodeCheck.entries(pages, base, pageSize, true);
    TreeScratch scratch = tree.scratches().take();
    NodeEditor.compact(pages, base, pageSize, true, scratch.page);
    tree.scratches().give(scratch);
  }

  // -------------------------------------------------------------------------------------- delete

  /**
   * Removes a key.
   *
   * @param keep whether the chain of its value is somebody else's business
   * @param merge whether a leaf that gets underfull looks for a neighbour
   */
  boolean delete(
      MemorySegment key,
      long off,
      int len,
      boolean keep,
      boolean merge,
      Position p,
      LogSession log) {
    int frame = latch(key, off, len, p);
    if (!p.found) {
      pool.releaseExclusiveUnchanged(frame);
      return false;
    }
    MemorySegment s = pages;
    long base = pool.base(frame);
    long pid = p.pid;
    long chain;
    boolean underfull;
    try {
      BTreeNode.checkSane(s, base, pageSize, true);
      chain = keep ? 0 : chainToFree(frame, base, p.slot, log);
      NodeEditor.noteRemove(s, base, p.slot);
      NodeEditor.removeLeaf(s, base, pageSize, p.slot);
      underfull = TreeShaper.underfull(s, base, pageSize, true);
    } catch (IndexOutOfBoundsException e) {
      throw damaged(frame, pid, e);
    }
    p.found = false;
    release(frame, p, log);
    OverflowChain.free(tree, chain);
    if (underfull && merge && pid != tree.rootPid()) {
      try {
        shaper.merge(0, pid, key, off, len, log);
      } catch (FoveaException e) {
        // The key is gone, and that is what was asked for. A neighbour that cannot be read, or has
        // no
        // frame now, keeps the leaf as small as it is; who needs that neighbour will be told.
        return true;
      }
    }
    return true;
  }

  // --------------------------------------------------------------------------------------- patch

  boolean patch(
      MemorySegment key,
      long off,
      int len,
      int at,
      MemorySegment bytes,
      long bOff,
      int bLen,
      Position p,
      LogSession log) {
    int frame = latch(key, off, len, p);
    int field = 0;
    if (p.found) {
      long base = pool.base(frame);
      try {
        long slot = BTreeNode.leafSlot(pages, base, p.slot);
        field = BTreeNode.field(pages, base, pageSize, slot);
        if (field != BTreeNode.OVERFLOW && at >= 0 && at <= field - bLen) {
          long value = inside(base, BTreeNode.valueAt(base, pageSize, slot), field);
          Mem.copy(bytes, bOff, pages, value + at, bLen);
          release(frame, p, log);
          return true;
        }
      } catch (IndexOutOfBoundsException e) {
        throw damaged(frame, p.pid, e);
      }
    }
    pool.releaseExclusiveUnchanged(frame);
    return field == BTreeNode.OVERFLOW
        && !log.logging()
        && patchLong(key, off, len, at, bytes, bOff, bLen, p);
  }

  /**
   * A chain never changes: a new one takes its place. The caller lets nobody else write the key.
   */
  private boolean patchLong(
      MemorySegment key,
      long off,
      int len,
      int at,
      MemorySegment bytes,
      long bOff,
      int bLen,
      Position p) {
    for (int i = 0; ; i++) {
      tree.locate(key, off, len, p);
      int length = p.found ? tree.valueLength(p) : -1;
      if (tree.valid(p)) {
        if (at < 0 || at > length - bLen) {
          return false;
        }
        MemorySegment value = pool.memory().take(length);
        try {
          if (tree.copyValue(p, value, 0, length) == length && tree.valid(p)) {
            Mem.copy(bytes, bOff, value, at, bLen);
            upsert(key, off, len, value, 0, length, p, LogSession.NONE);
            return true;
          }
        } finally {
          pool.memory().give(value);
        }
      }
      Pause.after(i);
    }
  }
}
