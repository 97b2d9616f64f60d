package io.fovea.buffer;

import io.fovea.memory.Checksum;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * The 32 bytes at the beginning of every page.
 *
 * <pre>
 *   0         4      5      6        8                16               24       28       32
 *   +---------+------+------+--------+----------------+----------------+--------+--------+---
 *   | checksum| type |layout| level  | pid            | pageLsn        | treeId | zero   | body
 *   +---------+------+------+--------+----------------+----------------+--------+--------+---
 *
 *   field     written by                       read by
 *   checksum  write-back, in the copy          load
 *   type      allocation, free                 every reader that follows a reference to a page
 *   layout    the owner of the page's body     the same
 *   level     the B-tree: 0 = leaf             the B-tree; promotion (through the type)
 *   pid       allocation                       load: detects a page written to a wrong location
 *   pageLsn   log (max, never back)            write-back: no page is written before its log
 *   treeId    allocation, free (0)             every reader that follows a hint
 * </pre>
 *
 * <p>All numbers are in native order (little-endian on every supported machine). A page's offset in
 * the file is {@code pid * pageSize}.
 *
 * <p>The checksum is a CRC32C of everything after it, including page id and LSN. It is valid only
 * in the copy that is written, and stale in memory.
 *
 * <p>Methods take the segment and the page's base offset in it, and neither check nor order
 * anything: an optimistic reader validates afterwards.
 *
 * @since 0.1.0
 */
public final class PageHeader {
  /** The offset of the checksum. */
  public static final int CHECKSUM = 0;

  /** The offset of the type. */
  public static final int TYPE = 4;

  /** The offset of the layout. */
  public static final int LAYOUT = 5;

  /** The offset of the level. */
  public static final int LEVEL = 6;

  /** The offset of the page id. */
  public static final int PID = 8;

  /** The offset of the page's LSN. */
  public static final int PAGE_LSN = 16;

  /** The offset of the tree's id. */
  public static final int TREE_ID = 24;

  /** The offset of four bytes that must be zero. */
  public static final int RESERVED = 28;

  /** The size of the header, and the offset of a page's body. */
  public static final int BYTES = 32;

  /** A page that was never written; all its other bytes are zero too. */
  public static final int NEVER_WRITTEN = 0;

  /** One of the two superblocks; they do not pass through the pool. */
  public static final int SUPERBLOCK = 1;

  /** An inner node of a B-tree. */
  public static final int INNER = 2;

  /** A leaf of a B-tree. */
  public static final int LEAF = 3;

  /** A part of a value that is too long for a leaf. */
  public static final int OVERFLOW = 4;

  /** A free page: a link of the free list. */
  public static final int FREE = 5;

  private PageHeader() {}

  /** Returns the stored checksum, which is that of the page as written. */
  public static int checksum(MemorySegment seg, long base) {
    return Mem.getInt(seg, base + CHECKSUM);
  }

  /** Returns the type, one of the constants here if the page is whole. */
  public static int type(MemorySegment seg, long base) {
    return Mem.peekByte(seg, base + TYPE);
  }

  /** Sets the type. */
  public static void setType(MemorySegment seg, long base, int type) {
    Mem.putByte(seg, base + TYPE, (byte) type);
  }

  /** Returns the layout of the body, whose meaning is up to the page's owner. */
  public static int layout(MemorySegment seg, long base) {
    return Mem.peekByte(seg, base + LAYOUT);
  }

  /** Sets the layout. */
  public static void setLayout(MemorySegment seg, long base, int layout) {
    Mem.putByte(seg, base + LAYOUT, (byte) layout);
  }

  /** Returns the level: 0 for leaves. */
  public static int level(MemorySegment seg, long base) {
    return Mem.peekUnsignedShort(seg, base + LEVEL);
  }

  /** Sets the level. */
  public static void setLevel(MemorySegment seg, long base, int level) {
    Mem.putShort(seg, base + LEVEL, (short) level);
  }

  /** Returns the page's id. */
  public static long pid(MemorySegment seg, long base) {
    return Mem.peekLong(seg, base + PID);
  }

  /** Returns the end of the last log record whose change the page contains. */
  public static long pageLsn(MemorySegment seg, long base) {
    return Mem.getLong(seg, base + PAGE_LSN);
  }

  /** Raises the page's LSN; it never decreases. */
  public static void raisePageLsn(MemorySegment seg, long base, long lsn) {
    if (lsn > Mem.getLong(seg, base + PAGE_LSN)) {
      Mem.putLong(seg, base + PAGE_LSN, lsn);
    }
  }

  /** Returns the tree that the page belongs to; 0 for none. */
  public static int treeId(MemorySegment seg, long base) {
    return Mem.peekInt(seg, base + TREE_ID);
  }

  /** Sets the tree's id. */
  public static void setTreeId(MemorySegment seg, long base, int treeId) {
    Mem.putInt(seg, base + TREE_ID, treeId);
  }

  /** Writes a whole header; the page's LSN stays as it is. */
  static void init(MemorySegment seg, long base, int type, long pid, int treeId) {
    Mem.putInt(seg, base + CHECKSUM, 0);
    Mem.putInt(seg, base + TYPE, 0);
    Mem.putByte(seg, base + TYPE, (byte) type);
    Mem.putLong(seg, base + PID, pid);
    Mem.putInt(seg, base + TREE_ID, treeId);
    Mem.putInt(seg, base + RESERVED, 0);
  }

  /**
   * Computes the checksum of a page.
   *
   * @param seg the segment with the page
   * @param base its offset
   * @param pageSize its size
   * @return the CRC32C of everything after the checksum
   */
  public static int sum(MemorySegment seg, long base, int pageSize) {
    return Checksum.crc32c(seg, base + TYPE, pageSize - TYPE);
  }

  /** Returns whether a page is whole, and was written as the page with the given id. */
  static boolean isValid(MemorySegment seg, long base, int pageSize, long pid) {
    return checksum(seg, base) == sum(seg, base, pageSize) && pid(seg, base) == pid;
  }

  /** Sets the checksum of a page that no thread changes. */
  public static void seal(MemorySegment seg, long base, int pageSize) {
    Mem.putInt(seg, base + CHECKSUM, sum(seg, base, pageSize));
  }
}
