package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.error.FoveaException;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import io.fovea.wal.RecordType;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Changes of records: each latches one leaf, for as long as the change of its bytes takes. {@link
 * LeafRun} makes several of them under one latch.
 *
 * <pre>
 *   find the leaf without a latch -&gt; upgrade the version to the latch, or begin again
 *     same length                 overwrite in place
 *     there is room               insert, or remove and insert
 *     there is none               give the latch back, split ({@link Splitter}), begin again
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

  /** What a latched leaf lacks: room, or memory to make it by. */
  static final long NO_ROOM = -1;

  static final long NO_SCRATCH = -2;

  static final long COMPACT = 1;

  /** Why bytes of a value can't be overwritten in the leaf: {@link #patched}. */
  static final long TOO_SHORT = -1;

  static final long IN_CHAIN = -2;

  private final PointReads reads;
  private final LongValues longs;
  private final TreeScratch.Stock scratches;
  private final BufferPool pool;
  private final MemorySegment pages;
  private final int pageSize;
  private final int treeId;
  private final Descent descent;
  private final Splitter splitter;
  private final Merger merger;

  LeafWriter(Descent descent, PointReads reads, LongValues longs, TreeScratch.Stock scratches) {
    this.descent = descent;
    this.reads = reads;
    this.longs = longs;
    this.scratches = scratches;
    this.pool = descent.pool();
    this.pages = pool.pages();
    this.pageSize = pool.pageSize();
    this.treeId = descent.treeId();
    StructureChange change = new StructureChange(descent, scratches);
    this.splitter = new Splitter(change);
    this.merger = new Merger(change);
  }

  /**
   * Latches the leaf of a key exclusively.
   *
   * @param p in: a hint; out: the leaf and the slot; its version is the one before the latch
   * @return the frame
   */
  int latch(MemorySegment key, long off, int len, Position p) {
    for (int i = 0; ; i++) {
      reads.locate(key, off, len, p);
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
    boolean right;
    try {
      long base = pool.base(frame);
      right =
          BTreeNode.isLeaf(s, base)
              && PageHeader.treeId(s, base) == treeId
              && NodeSearch.covers(s, base, pageSize, key, off, len, false);
      if (right) {
        int found = NodeSearch.searchLeaf(s, base, pageSize, key, off, len);
        p.set(frame, pool.heldVersion(frame), pid, found >>> 1, (found & 1) != 0);
      }
    } catch (Throwable t) {
      throw LatchErrorGuard.one(pool, frame, pid, false, t);
    }
    if (!right) {
      pool.releaseExclusiveUnchanged(frame);
    }
    return right;
  }

  /** Takes a scratch to compact a leaf by, where {@link #plan} has said that it takes one. */
  @Nullable TreeScratch scratch(long plan) {
    return plan == COMPACT ? scratches.tryTake() : null;
  }

  /** Gives a changed leaf back. The position keeps up with the version that the release makes. */
  void release(int frame, Position p, LogSession log) {
    assert located(log) : "a change of a record that is in no log record";
    pool.markDirty(frame, log.recLsn(), log.pageLsn());
    pool.releaseExclusive(frame);
    p.version += VERSION_STEP;
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
      boolean absent = !p.found;
      long chain = 0;
      long at;
      boolean changed = false;
      try {
        long base = pool.base(frame);
        at = absent ? -1 : inPlace(base, p.slot, vLen);
        if (at < 0) {
          chain = absent || keep ? 0 : chainToFree(base, p.slot, log);
          at = plan(len, vLen, base, p);
          TreeScratch scratch = scratch(at);
          at = at == COMPACT && scratch == null ? NO_SCRATCH : at;
          if (at >= 0) {
            changed = true;
            at = place(key, off, len, vLen, base, p, scratch);
          }
        }
        if (at >= 0) {
          changed = true;
          Mem.copy(value, vOff, pages, at, vLen);
          release(frame, p, log);
        }
      } catch (Throwable t) {
        throw LatchErrorGuard.one(pool, frame, p.pid, changed, t);
      }
      if (at >= 0) {
        longs.free(chain);
        return absent;
      }
      pool.releaseExclusiveUnchanged(frame);
      if (at == NO_SCRATCH) {
        stock();
      } else {
        split(i, p, key, off, len, vLen, log);
      }
    }
  }

  /** Where the value of a slot is, if it has a length and is in the leaf; else -1. */
  long inPlace(long base, int slot, int length) {
    long entry = BTreeNode.leafSlot(pages, base, slot);
    return BTreeNode.field(pages, base, pageSize, entry) == length
        ? inside(base, BTreeNode.valueAt(base, pageSize, entry), length)
        : -1;
  }

  /** A value must end in its page: what is behind it is another one's. */
  private long inside(long base, long at, int length) {
    if (at + length > base + pageSize) {
      throw new NodeDamage("end of a value in a leaf", pageSize, at + length - base);
    }
    return at;
  }

  /** Splits the leaf that a position names, unless that has been tried too often. */
  void split(
      int tried,
      Position p,
      MemorySegment key,
      long off,
      int len,
      int inlineBytes,
      LogSession log) {
    if (tried == SPLITS_MAX) {
      throw TreeDamage.of(pool, p.pid, "splits that made no room in a leaf", 1, tried);
    }
    splitter.splitLeaf(p.pid, key, off, len, inlineBytes, log);
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
    long first = longs.write(value, vOff, vLen, RecordType.CHAIN, log)[0];
    long old;
    try {
      old = putStub(key, off, len, first, vLen, p, log);
    } catch (RuntimeException | Error e) {
      // Not published, for nothing is thrown after that; and nothing is latched.
      longs.free(first);
      throw e;
    }
    longs.free(Math.max(0, old));
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
      long old;
      long at;
      boolean changed = false;
      try {
        long base = pool.base(frame);
        old = p.found ? chainAt(base, p.slot) : -1;
        at = plan(len, BTreeNode.OVERFLOW, base, p);
        TreeScratch scratch = scratch(at);
        at = at == COMPACT && scratch == null ? NO_SCRATCH : at;
        if (at >= 0) {
          changed = true;
          at = place(key, off, len, BTreeNode.OVERFLOW, base, p, scratch);
          Mem.putLong(pages, at, first);
          Mem.putLong(pages, at + 8, length);
          release(frame, p, log);
        }
      } catch (Throwable t) {
        throw LatchErrorGuard.one(pool, frame, p.pid, changed, t);
      }
      if (at >= 0) {
        return old;
      }
      pool.releaseExclusiveUnchanged(frame);
      if (at == NO_SCRATCH) {
        stock();
      } else {
        split(i, p, key, off, len, BTreeNode.STUB_BYTES, log);
      }
    }
  }

  /** The chain that a change of a slot is to free; with a log that is not done here. */
  private long chainToFree(long base, int slot, LogSession log) {
    long chain = chainAt(base, slot);
    if (chain != 0) {
      requireNoLog(log);
    }
    return chain;
  }

  private long chainAt(long base, int slot) {
    long entry = BTreeNode.leafSlot(pages, base, slot);
    return BTreeNode.field(pages, base, pageSize, entry) == BTreeNode.OVERFLOW
        ? OverflowChain.stubPid(pages, BTreeNode.valueAt(base, pageSize, entry))
        : 0;
  }

  /**
   * Looks whether a record has room in a latched leaf, in place of the one that its key has.
   * Changes nothing.
   *
   * @param field the length of the value, or {@link BTreeNode#OVERFLOW}
   * @return 0: it has; {@link #COMPACT}: it has when the leaf is compacted; or {@link #NO_ROOM}
   */
  long plan(int len, int field, long base, Position p) {
    MemorySegment s = pages;
    BTreeNode.checkSane(s, base, pageSize, true);
    if (BTreeNode.prefix(s, base) > len) {
      throw new NodeDamage("prefix of a leaf, longer than a key", len, BTreeNode.prefix(s, base));
    }
    int bytes = entryBytes(len, field, base);
    int more = bytes;
    if (p.found) {
      checkLast(base);
      long slot = BTreeNode.leafSlot(s, base, p.slot);
      more -= BTreeNode.LEAF_STRIDE + BTreeNode.recordBytes(s, base, pageSize, true, slot);
    }
    if (!NodeEditor.fits(s, base, pageSize, true, more)) {
      return NO_ROOM;
    }
    // Before the old record goes, which may make room for the new one: then it is not needed.
    if (bytes <= BTreeNode.gap(s, base, pageSize, true)) {
      return 0;
    }
    NodeCheck.entries(s, base, pageSize, true);
    return COMPACT;
  }

  /**
   * Checks a leaf whose only entry is about to go, and with it what the heap still has: where the
   * count is wrong, that would be records, and nothing would be left to tell.
   */
  private void checkLast(long base) {
    if (BTreeNode.count(pages, base) == 1) {
      NodeCheck.entries(pages, base, pageSize, true);
    }
  }

  private int entryBytes(int len, int field, long base) {
    return NodeEditor.leafEntryBytes(
        BTreeNode.prefix(pages, base), len, BTreeNode.inlineBytes(field));
  }

  /**
   * Makes a record for a key, in place of the one it has, as {@link #plan} has found possible.
   *
   * @param scratch to compact the leaf by, or null where that is not needed; given back
   * @return where the value goes
   */
  long place(
      MemorySegment key,
      long off,
      int len,
      int field,
      long base,
      Position p,
      @Nullable TreeScratch scratch) {
    MemorySegment s = pages;
    int bytes = entryBytes(len, field, base);
    if (p.found) {
      NodeEditor.removeLeaf(s, base, pageSize, p.slot);
    } else {
      NodeEditor.noteInsert(s, base, p.slot);
    }
    if (scratch != null) {
      if (bytes > BTreeNode.gap(s, base, pageSize, true)) {
        NodeEditor.compact(s, base, pageSize, true, scratch.page);
      }
      scratches.give(scratch);
    }
    p.found = true;
    return NodeEditor.insertLeaf(s, base, pageSize, p.slot, key, off, len, field);
  }

  /** Sees to it, with nothing latched, that there is memory to compact a leaf by. */
  void stock() {
    scratches.give(scratches.take());
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
    long pid = p.pid;
    long chain;
    boolean underfull;
    boolean changed = false;
    try {
      long base = pool.base(frame);
      BTreeNode.checkSane(s, base, pageSize, true);
      checkLast(base);
      chain = keep ? 0 : chainToFree(base, p.slot, log);
      changed = true;
      NodeEditor.noteRemove(s, base, p.slot);
      NodeEditor.removeLeaf(s, base, pageSize, p.slot);
      underfull = Merger.underfull(s, base, pageSize, true);
      p.found = false;
      release(frame, p, log);
    } catch (Throwable t) {
      throw LatchErrorGuard.one(pool, frame, pid, changed, t);
    }
    longs.free(chain);
    if (underfull && merge && pid != descent.rootPid()) {
      try {
        merger.merge(0, pid, key, off, len, log);
      } catch (FoveaException e) {
        // The key is gone, and that is what was asked for. A neighbour that cannot be read, or has
        // no
        // frame now, keeps the leaf as small as it is; a thread that needs that neighbour will be
        // told.
        return true;
      } catch (VirtualMachineError e) {
        if (pool.stopping().stopped() != null) {
          throw e;
        }
        return true; // nothing was merged
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
    long to = TOO_SHORT;
    if (p.found) {
      boolean changed = false;
      try {
        to = patched(pool.base(frame), p.slot, at, bLen);
        if (to >= 0) {
          changed = true;
          Mem.copy(bytes, bOff, pages, to, bLen);
          release(frame, p, log);
          return true;
        }
      } catch (Throwable t) {
        throw LatchErrorGuard.one(pool, frame, p.pid, changed, t);
      }
    }
    pool.releaseExclusiveUnchanged(frame);
    return to == IN_CHAIN && !log.logging() && patchLong(key, off, len, at, bytes, bOff, bLen, p);
  }

  /**
   * Where bytes of a value are that are to be overwritten.
   *
   * @param at from which byte of the value on
   * @param length how many
   * @return {@link #IN_CHAIN}, or {@link #TOO_SHORT} where the value has not so many
   */
  long patched(long base, int slot, int at, int length) {
    long entry = BTreeNode.leafSlot(pages, base, slot);
    int field = BTreeNode.field(pages, base, pageSize, entry);
    if (field == BTreeNode.OVERFLOW) {
      return IN_CHAIN;
    }
    return at >= 0 && at <= field - length
        ? inside(base, BTreeNode.valueAt(base, pageSize, entry), field) + at
        : TOO_SHORT;
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
      reads.locate(key, off, len, p);
      int length = p.found ? reads.valueLength(p) : -1;
      if (reads.valid(p)) {
        if (at < 0 || at > length - bLen) {
          return false;
        }
        MemorySegment value = pool.memory().take(length);
        try {
          if (reads.copyValue(p, value, 0, length) == length && reads.valid(p)) {
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
