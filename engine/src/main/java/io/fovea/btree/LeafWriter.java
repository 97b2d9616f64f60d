package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.error.FoveaException;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Changes single records. Each change latches one leaf while its bytes change; {@link LeafRun}
 * makes several changes under one latch.
 *
 * <pre>
 *  find the leaf without a latch -&gt; upgrade the version to the latch, or retry
 *       same length                 overwrite in place
 *       there is space              insert, or remove and insert
 *       there is no space           release the latch, split ({@link Splitter}), retry
 *  after the release: free the old value's chain, merge an underfull leaf
 * </pre>
 *
 * <p>The upgrade succeeds only if the leaf is unchanged since the search, so it needs no second
 * search. If upgrades keep failing, the writer waits for the latch and checks the fences.
 *
 * <p>With a log, the session knows the record of the change, and the leaf gets its LSNs before the
 * latch is released. That record also lists the chains, so no chain is written or freed here.
 */
final class LeafWriter {
  /** What the release of an exclusive latch adds to the version (see the pool's latch word). */
  static final long VERSION_STEP = 1L << 9;

  /** Failed upgrades before the writer waits for the latch. */
  private static final int UPGRADES = 3;

  /**
   * Splits per record. A single split is enough unless other threads use up the new space, which is
   * progress.
   */
  private static final int SPLITS_MAX = 4096;

  /** Results of {@link #plan} that need action: space, or memory to compact with. */
  static final long NO_SPACE = -1;

  static final long NO_SCRATCH = -2;

  static final long COMPACT = 1;

  private final TreeScratch.Stock scratches;
  private final BufferPool pool;
  private final MemorySegment pages;
  private final int pageSize;
  private final int treeId;
  private final Descent descent;
  private final Splitter splitter;
  private final Merger merger;

  LeafWriter(Descent descent, TreeScratch.Stock scratches) {
    this.descent = descent;
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
   * Latches the leaf of a key exclusively and returns its frame. The position is a hint, and
   * becomes that of the key, with the version before the latch.
   */
  int latch(MemorySegment key, long off, int len, Position p) {
    for (int i = 0; ; i++) {
      descent.locate(key, off, len, p);
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
      throw LatchErrorGuard.releaseAndThrow(pool, frame, pid, false, t);
    }
    if (!right) {
      pool.releaseExclusiveUnchanged(frame);
    }
    return right;
  }

  /** Takes a scratch to compact a leaf, if {@link #plan} requires one. */
  @Nullable TreeScratch scratch(long plan) {
    return plan == COMPACT ? scratches.tryTake() : null;
  }

  /** Releases a changed leaf. The position gets the version that the release creates. */
  void release(int frame, Position p, LogSession log) {
    assert located(log) : "a record change without a log record";
    pool.markDirty(frame, log.recLsn(), log.pageLsn());
    pool.releaseExclusive(frame);
    p.version += VERSION_STEP;
  }

  private static boolean located(LogSession log) {
    return !log.isLogging() || log.recLsn() > 0 && log.pageLsn() > log.recLsn();
  }

  // -------------------------------------------------------------------------------------- upsert

  /** Sets the value of a key to an inline one; the caller frees the old chain. */
  boolean upsertInline(
      MemorySegment key,
      long off,
      int len,
      MemorySegment value,
      long vOff,
      int vLen,
      Position p,
      LogSession log) {
    for (int i = 0; ; i++) {
      int frame = latch(key, off, len, p);
      boolean absent = !p.found;
      long at;
      boolean changed = false;
      try {
        long base = pool.base(frame);
        at = absent ? -1 : inPlace(base, p.slot, vLen);
        if (at < 0) {
          at = plan(len, vLen, base, p);
          TreeScratch scratch = scratch(at);
          at = at == COMPACT && scratch == null ? NO_SCRATCH : at;
          if (at >= 0) {
            changed = true;
            at = makeRecord(key, off, len, vLen, base, p, scratch);
          }
        }
        if (at >= 0) {
          changed = true;
          Mem.copy(value, vOff, pages, at, vLen);
          release(frame, p, log);
        }
      } catch (Throwable t) {
        throw LatchErrorGuard.releaseAndThrow(pool, frame, p.pid, changed, t);
      }
      if (at >= 0) {
        return absent;
      }
      pool.releaseExclusiveUnchanged(frame);
      if (at == NO_SCRATCH) {
        prepareCompaction();
      } else {
        split(i, p, key, off, len, vLen, log);
      }
    }
  }

  /** Returns the address of a slot's value if it is inline and of the given length; else -1. */
  long inPlace(long base, int slot, int length) {
    long entry = BTreeNode.leafSlot(pages, base, slot);
    return BTreeNode.field(pages, base, pageSize, entry) == length
        ? inside(base, BTreeNode.valueAt(base, pageSize, entry), length)
        : -1;
  }

  /** Checks that a value ends within its page. */
  private long inside(long base, long at, int length) {
    if (at + length > base + pageSize) {
      throw new NodeDamage("end of a value in a leaf", pageSize, at + length - base);
    }
    return at;
  }

  /** Splits the leaf at a position; fails after too many attempts. */
  void split(
      int tried,
      Position p,
      MemorySegment key,
      long off,
      int len,
      int inlineBytes,
      LogSession log) {
    if (tried == SPLITS_MAX) {
      throw TreeDamage.of(pool, p.pid, "splits needed to insert into a leaf", 1, tried);
    }
    splitter.splitLeaf(p.pid, key, off, len, inlineBytes, log);
  }

  /** Sets the value of a key to a chain; returns whether the key was absent. */
  boolean putStub(
      MemorySegment key, long off, int len, long first, int length, Position p, LogSession log) {
    for (int i = 0; ; i++) {
      int frame = latch(key, off, len, p);
      boolean absent = !p.found;
      long at;
      boolean changed = false;
      try {
        long base = pool.base(frame);
        at = plan(len, BTreeNode.OVERFLOW, base, p);
        TreeScratch scratch = scratch(at);
        at = at == COMPACT && scratch == null ? NO_SCRATCH : at;
        if (at >= 0) {
          changed = true;
          at = makeRecord(key, off, len, BTreeNode.OVERFLOW, base, p, scratch);
          Mem.putLong(pages, at, first);
          Mem.putLong(pages, at + 8, length);
          release(frame, p, log);
        }
      } catch (Throwable t) {
        throw LatchErrorGuard.releaseAndThrow(pool, frame, p.pid, changed, t);
      }
      if (at >= 0) {
        return absent;
      }
      pool.releaseExclusiveUnchanged(frame);
      if (at == NO_SCRATCH) {
        prepareCompaction();
      } else {
        split(i, p, key, off, len, BTreeNode.STUB_BYTES, log);
      }
    }
  }

  /**
   * Checks whether a latched leaf has space for a record, in place of the key's current one.
   * Changes nothing. Returns 0 if it has, {@link #COMPACT} if it has after compaction, or {@link
   * #NO_SPACE}.
   *
   * @param field the length of the value, or {@link BTreeNode#OVERFLOW}
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
      return NO_SPACE;
    }
    // Checked before the old record is removed, which may already make enough space.
    if (bytes <= BTreeNode.gap(s, base, pageSize, true)) {
      return 0;
    }
    NodeCheck.entries(s, base, pageSize, true);
    return COMPACT;
  }

  /**
   * Checks the entries before the only one is removed: a wrong count would silently lose others.
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
   * Makes a record for a key, in place of its current one, after {@link #plan} succeeded, and
   * returns the address for the value. Returns the scratch to its stock.
   */
  long makeRecord(
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
      scratches.release(scratch);
    }
    p.found = true;
    return NodeEditor.insertLeaf(s, base, pageSize, p.slot, key, off, len, field);
  }

  /** Allocates memory for a compaction; nothing may be latched. */
  void prepareCompaction() {
    scratches.release(scratches.take());
  }

  // -------------------------------------------------------------------------------------- delete

  /** Removes a key; the caller frees its chain. With {@code merge}, an underfull leaf is merged. */
  boolean delete(MemorySegment key, long off, int len, boolean merge, Position p, LogSession log) {
    int frame = latch(key, off, len, p);
    if (!p.found) {
      pool.releaseExclusiveUnchanged(frame);
      return false;
    }
    MemorySegment s = pages;
    long pid = p.pid;
    boolean underfull;
    boolean changed = false;
    try {
      long base = pool.base(frame);
      BTreeNode.checkSane(s, base, pageSize, true);
      checkLast(base);
      changed = true;
      NodeEditor.noteRemove(s, base, p.slot);
      NodeEditor.removeLeaf(s, base, pageSize, p.slot);
      underfull = Merger.isUnderfull(s, base, pageSize, true);
      p.found = false;
      release(frame, p, log);
    } catch (Throwable t) {
      throw LatchErrorGuard.releaseAndThrow(pool, frame, pid, changed, t);
    }
    if (underfull && merge && pid != descent.rootPid()) {
      try {
        merger.merge(0, pid, key, off, len, log);
      } catch (FoveaException e) {
        // The key is removed, as requested. A sibling that is unreadable or has no frame only
        // prevents the merge; a thread that needs it gets the error.
        return true;
      } catch (VirtualMachineError e) {
        if (pool.poolStop().stopped() != null) {
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
    if (p.found) {
      boolean changed = false;
      try {
        long to = patched(pool.base(frame), p.slot, at, bLen);
        if (to >= 0) {
          changed = true;
          Mem.copy(bytes, bOff, pages, to, bLen);
          release(frame, p, log);
          return true;
        }
      } catch (Throwable t) {
        throw LatchErrorGuard.releaseAndThrow(pool, frame, p.pid, changed, t);
      }
    }
    pool.releaseExclusiveUnchanged(frame);
    return false;
  }

  /**
   * Returns the address of {@code length} value bytes starting at {@code at}; negative if the value
   * is too short or in a chain.
   */
  long patched(long base, int slot, int at, int length) {
    long entry = BTreeNode.leafSlot(pages, base, slot);
    int field = BTreeNode.field(pages, base, pageSize, entry);
    return field != BTreeNode.OVERFLOW && at >= 0 && at <= field - length
        ? inside(base, BTreeNode.valueAt(base, pageSize, entry), field) + at
        : -1;
  }
}
