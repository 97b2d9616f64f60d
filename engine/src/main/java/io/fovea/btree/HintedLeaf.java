package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * Looks for a key where something outside of the tree remembers that it was: an entry of a
 * secondary index; and puts such a memory right.
 *
 * <pre>
 *   hint      asked                                        where it is wrong
 *   frame     legal number, holds that page                translation of the page id
 *   page      in some frame (never read); a leaf;          descent from the root
 *             of this tree; key within the fences
 *   slot      there is one; its key is the key             search in the leaf
 *   line      nothing                                      nothing, but it is reported
 * </pre>
 *
 * <p><b>Any hint may be anything.</b> The frame is compared with the number of frames before it is
 * used. The page id goes to {@code predict}, {@code optimistic} and {@code resident} only, which
 * take any number and read nothing. The slot is compared with the count, which is clamped to the
 * page. All that is read from the page is read under a version that is validated before anything of
 * it counts, as in every optimistic read; and what the checks ask is asked of the page itself: if
 * the page is a leaf of the tree and the key is between its fences <i>at the moment of that
 * version</i>, then the key is there or nowhere, however the page came by these contents: freed and
 * used again, by this tree or by one whose id is another, for no two trees of a file ever have the
 * same.
 *
 * <p><b>Lines.</b> In a page that is in no cache its header has to come before it is known where
 * the prefix is, and the slot before it is known where the record is: loads that wait for memory
 * one after the other, where all could be under way at once. So a hint says also in which 256th of
 * the page the record begins, and the lines from there on, and the page's last one, which has the
 * prefix, are loaded before anything is looked at. A wrong line loads what nobody needs.
 *
 * <p>Source: Otaki et al., PVLDB 18 (11), 2025, section 4.2; a tombstone is not needed, for a page
 * that is free says so by its type.
 */
public final class HintedLeaf {
  /** There is no hint to begin with. */
  public static final int UNSET = 1;

  /** The frame holds another page, or is none. */
  public static final int FRAME = 1 << 1;

  /** The slot has another key, or there is none. */
  public static final int SLOT = 1 << 2;

  /** The page is in no frame, or is latched or on its way just now. */
  public static final int NOT_RESIDENT = 1 << 3;

  /** The page belongs to nobody. */
  public static final int FREED = 1 << 4;

  /** The page is one of another tree, or no leaf of this one. */
  public static final int OTHER_TREE = 1 << 5;

  /** The page is a leaf of the tree, of other keys. */
  public static final int FENCES = 1 << 6;

  /** The page was changed while it was looked at. */
  public static final int DISTURBED = 1 << 7;

  /**
   * The record begins elsewhere in the page than was hinted: not a part that anything is found by.
   */
  public static final int LINE = 1 << 8;

  /** The page did not help: the key has to be looked for from the root. */
  public static final int NO_PAGE = UNSET | NOT_RESIDENT | FREED | OTHER_TREE | FENCES | DISTURBED;

  /** How many bits there are beside {@link #LINE}. */
  public static final int BITS = 8;

  private static final int LINE_BYTES = 64;

  /** Of longer records the first line is enough: while they are copied the processor runs ahead. */
  private static final int LOADED_MAX = 4 * LINE_BYTES;

  private HintedLeaf() {}

  /**
   * Looks for a key in the page that a position names.
   *
   * @param tree the tree that the key belongs to
   * @param key native memory with the key
   * @param off its offset
   * @param len its length
   * @param p in: page id (0: unset), frame (-1: none), slot (where {@code found} is set), line (0:
   *     unknown), all unchecked; out: as {@link BTree#find}, where the page was right, and the line
   * @param bytes how long the record is, about
   * @return 0 where all that was hinted was right; else bits of what was not. With one of {@link
   *     #NO_PAGE} the position means nothing
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
    // The processor does not wait for what optimistic asks: nearly always the page is there.
    load(pool, frame, bytes, p);
    return stale | search(tree, pool, key, off, len, p, frame, version, pid);
  }

  /** Begins to load what will be looked at if the hint is right, wherever that is. */
  private static void load(BufferPool pool, int frame, int bytes, Position p) {
    if (p.line == 0) {
      return;
    }
    MemorySegment s = pool.pages();
    int pageSize = pool.pageSize();
    long base = pool.base(frame);
    long from = base + (long) p.line * (pageSize >>> BTreeNode.LINE_BITS) & -LINE_BYTES;
    // What lies beyond the page is another one, or the guard behind the last.
    long to = from + LINE_BYTES + (bytes <= LOADED_MAX ? bytes : 0);
    long seen = Mem.peekLong(s, base + pageSize - Long.BYTES);
    for (long at = from; at < to; at += LINE_BYTES) {
      seen += Mem.peekLong(s, at);
    }
    p.loaded = seen;
  }

  /**
   * In which 256th of its page a record begins.
   *
   * @param tree the record's tree
   * @param p where it was found, some time: the answer is a hint like that
   * @return 0 where nothing is known
   */
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
   * Overwrites the end of a value with a hint, if the leaf is what it was when the position was
   * filled and its latch is to be had at once. Waits for nothing.
   *
   * <p><b>Why the leaf's version stays.</b> A reader without a latch may meet the old bytes, the
   * new ones or a mixture, and its version is good. Any of these is a hint, which is checked before
   * it is used; to the tree, to logs and timestamps and to who compares contents the bytes are
   * none. So no reader begins again and no scan seeks again because of a hint; and the hints of
   * several entries that were read under one version can be stored one after the other.
   *
   * <p><b>Why the latch.</b> Where the value lies is known under that version alone: without the
   * latch another thread's split could put somebody's key there between the look and the store. It
   * is exclusive, for a copy that is being written out holds the shared one, and its checksum is
   * taken of the copy.
   *
   * <p><b>Why no log record.</b> Nothing is lost with a hint. The page gets dirty without a recLsn,
   * so that it does not hold back the redo point; a recLsn that it has stays. Its pageLsn stays:
   * redo sees the same page as without the hint. It is written like every dirty page, through the
   * double-write area, so that a torn write can't damage what lies beside the hint.
   *
   * @param tree the tree of the value
   * @param p the value's place, as a read left it
   * @param hint where the hint is; native memory
   * @param off its offset
   * @param bytes how long it is: the end of the value is overwritten with it
   * @param keep whether it is worth being written to the file: marks the page as dirty. The file
   *     must be marked as in use
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
