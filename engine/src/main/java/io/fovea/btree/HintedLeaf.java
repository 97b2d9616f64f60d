package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * Looks up a key by a hint stored outside the tree, in an entry of a secondary index, and repairs
 * such hints.
 *
 * <pre>
 *   hint      check                                        if wrong
 *   frame     legal number, holds that page                translation of the page id
 *   page      resident (never read); a leaf; of this       descent from the root
 *             tree; key within the fences
 *   slot      exists; its key is the key                   search in the leaf
 *   line      none                                         reported
 * </pre>
 *
 * <p><b>A hint may be any number.</b> The frame is checked against the number of frames. The page
 * id is passed only to {@code predict}, {@code optimistic} and {@code resident}, which accept any
 * number and read no page. The slot is checked against the clamped count. All bytes are read under
 * a version that is validated before a result counts. If the page is a leaf of the tree and its
 * fences bracket the key <i>at that version</i>, the key is there or nowhere, even if the page was
 * freed and reused: tree ids are never reused.
 *
 * <p><b>Lines.</b> In a cold page the header must arrive before the prefix is found, and the slot
 * before the record: dependent loads. So a hint also says in which 256th of the page the record
 * begins; those lines and the last one, with the prefix, are loaded up front. A wrong line costs a
 * useless load.
 *
 * <p>Source: Otaki et al., PVLDB 18 (11), 2025, section 4.2. Tombstones are not needed: a free page
 * is recognized by its type.
 */
public final class HintedLeaf {
  /** There is no hint. */
  public static final int UNSET = 1;

  /** The frame holds another page or does not exist. */
  public static final int FRAME = 1 << 1;

  /** The slot has another key or does not exist. */
  public static final int SLOT = 1 << 2;

  /** The page is not resident, latched, or being loaded. */
  public static final int NOT_RESIDENT = 1 << 3;

  /** The page is free. */
  public static final int FREED = 1 << 4;

  /** The page is not a leaf of this tree. */
  public static final int OTHER_TREE = 1 << 5;

  /** The page is a leaf of the tree for other keys. */
  public static final int FENCES = 1 << 6;

  /** The page changed during the lookup. */
  public static final int DISTURBED = 1 << 7;

  /** The record begins in another line: affects only prefetching. */
  public static final int LINE = 1 << 8;

  /** The page did not help: a descent is needed. */
  public static final int NO_PAGE = UNSET | NOT_RESIDENT | FREED | OTHER_TREE | FENCES | DISTURBED;

  /** The number of bits without {@link #LINE}. */
  public static final int BITS = 8;

  private static final int LINE_BYTES = 64;

  /**
   * For longer records the first line is enough: the processor prefetches the rest during the copy.
   */
  private static final int LOADED_MAX = 4 * LINE_BYTES;

  private HintedLeaf() {}

  /**
   * Looks for a key in the page that a position names.
   *
   * @param p in, all unchecked: page id (0: unset), frame (-1: none), slot (if {@code found} is
   *     set), line (0: unknown); out: as {@link BTree#find} if the page was right, and the line
   * @param bytes the approximate length of the record
   * @return 0 if the hint was right, else bits for its wrong parts. With a bit of {@link #NO_PAGE}
   *     the position is meaningless
   */
  public static int locate(
      BTree tree, MemorySegment key, long off, int len, Position p, int bytes) {
    long pid = p.pid;
    if (pid == 0) {
      return UNSET;
    }
    BufferPool pool = tree.pool();
    int frame = p.frame;
    int stale = 0;
    long version = BufferPool.RESTART;
    if (frame >= 0 && frame < pool.frames()) {
      version = pool.optimistic(frame, pid);
    }
    if (version == BufferPool.RESTART) {
      stale = frame == -1 ? 0 : FRAME;
      frame = pool.predict(pid);
      version = pool.optimistic(frame, pid);
      if (version == BufferPool.RESTART) {
        frame = pool.resident(pid);
        version = frame < 0 ? BufferPool.RESTART : pool.optimistic(frame, pid);
        if (version == BufferPool.RESTART) {
          return stale | NOT_RESIDENT;
        }
      }
    }
    // Nearly always resident, so the processor speculates past the checks above.
    load(pool, frame, bytes, p);
    return stale | search(tree, pool, key, off, len, p, frame, version, pid);
  }

  /** Prefetches what is needed if the hint is right. */
  private static void load(BufferPool pool, int frame, int bytes, Position p) {
    if (p.line == 0) {
      return;
    }
    MemorySegment s = pool.pages();
    int pageSize = pool.pageSize();
    long base = pool.base(frame);
    long from = base + (long) p.line * (pageSize >>> BTreeNode.LINE_BITS) & -LINE_BYTES;
    // Addresses after the page are in the next one, or in the guard after the last.
    long to = from + LINE_BYTES + (bytes <= LOADED_MAX ? bytes : 0);
    long seen = Mem.peekLong(s, base + pageSize - Long.BYTES);
    for (long at = from; at < to; at += LINE_BYTES) {
      seen += Mem.peekLong(s, at);
    }
    p.loaded = seen;
  }

  /** Returns the 256th of the page in which a record begins, as a hint; 0 if unknown. */
  public static int line(BTree tree, Position p) {
    BufferPool pool = tree.pool();
    int pageSize = pool.pageSize();
    if (!p.found || p.frame < 0 || p.frame >= pool.frames() || p.slot >= pageSize >>> 3) {
      return 0;
    }
    return BTreeNode.line(BTreeNode.leafSlot(pool.pages(), pool.base(p.frame), p.slot), pageSize);
  }

  private static int search(
      BTree tree,
      BufferPool pool,
      MemorySegment key,
      long off,
      int len,
      Position p,
      int frame,
      long version,
      long pid) {
    MemorySegment s = pool.pages();
    long base = pool.base(frame);
    int hint = p.found ? p.slot : -1;
    int line = p.line;
    p.pageAccesses++;
    try {
      int found =
          NodeSearch.searchHinted(s, base, pool.pageSize(), tree.treeId(), hint, key, off, len);
      if (found < 0) {
        int type = PageHeader.type(s, base);
        int owner = PageHeader.treeId(s, base);
        if (!pool.validate(frame, version)) {
          return DISTURBED;
        }
        return type == PageHeader.FREE
            ? FREED
            : owner != tree.treeId() || type != PageHeader.LEAF ? OTHER_TREE : FENCES;
      }
      p.set(frame, version, pid, found >>> 1, (found & 1) != 0);
      if (p.found) {
        p.line = BTreeNode.line(BTreeNode.leafSlot(s, base, found >>> 1), pool.pageSize());
      }
      if (!pool.validate(frame, version)) {
        return DISTURBED;
      }
      return (hint < 0 || hint == found >>> 1 ? 0 : SLOT) | (p.line == line ? 0 : LINE);
    } catch (IndexOutOfBoundsException e) {
      TreeDamage.requireTorn(pool, frame, version, pid, key, off, len, e);
      return DISTURBED;
    }
  }

  /**
   * Overwrites the end of a value with a hint of {@code bytes} bytes, if the leaf is unchanged
   * since the position was filled and its latch is free. Never waits.
   *
   * <p>The version does not move, so repairs restart no reader: a reader that validates a mixture
   * of old and new hint bytes checks that mixture like any hint. The exclusive latch is needed
   * because the address of the value is known only for that version, and because write-out copies
   * pages under the shared latch. The change is not logged: the page becomes dirty without a recLsn
   * and keeps its LSNs, so redo sees the page as it was and the redo point is not held back ({@code
   * docs/internals/btree.md}, "Repairs").
   *
   * @param keep whether to mark the page dirty, so that the hint reaches the file; the file must be
   *     marked as in use
   * @return whether it was stored
   */
  public static boolean store(
      BTree tree, Position p, MemorySegment hint, long off, int bytes, boolean keep) {
    BufferPool pool = tree.pool();
    int frame = p.frame;
    if (frame < 0
        || !p.found
        || p.version == BufferPool.RESTART
        || !pool.tryUpgrade(frame, p.version)) {
      return false;
    }
    try {
      MemorySegment s = pool.pages();
      long base = pool.base(frame);
      long slot = BTreeNode.leafSlot(s, base, p.slot);
      int length = BTreeNode.field(s, base, pool.pageSize(), slot);
      long end = BTreeNode.valueAt(base, pool.pageSize(), slot) + length;
      if (length == BTreeNode.OVERFLOW || length < bytes || end > base + pool.pageSize()) {
        return false;
      }
      Mem.copy(hint, off, s, end - bytes, bytes);
      if (keep) {
        pool.markDirty(frame);
      }
      return true;
    } finally {
      pool.releaseExclusiveUnchanged(frame);
    }
  }
}
