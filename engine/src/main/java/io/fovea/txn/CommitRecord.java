package io.fovea.txn;

import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * The bytes of a commit in the log.
 *
 * <pre>
 *  COMMIT
 *   0            8        12        16         20       24
 *   +------------+--------+---------+----------+--------+-----+--------------+---------------+--------+
 *   | commit id  | ops    | adopted | released | counts | ops | adopted pids | released pids | counts |
 *   +------------+--------+---------+----------+--------+-----+--------------+---------------+--------+
 *  COMMIT_PART
 *   0            8        12     16
 *   +------------+--------+------+-----+        commit id: where the first part begins; 0 in the
 *   | commit id  | ops    | zero | ops |        first part itself, and in a commit without parts
 *   +------------+--------+------+-----+
 *  an operation
 *   0      1      2         4        8
 *   +------+------+---------+--------+-----+------------------------------------------+------+
 *   | kind | leaf | key len | tree id| key | PUT    value len (4), value              | leaf |
 *   +------+------+---------+--------+-----+ PATCH  at (4), len (4), bytes            +------+
 *                                          | DELETE nothing                           |
 *                                          | CHAIN  first page (8), length (8)        |
 *                                          | TABLE  what became of the table (4)      |
 *                                          | FROM   LSN (8)                           |
 *                                          | MOVED  first page (8), length (8)        |
 *                                          | ADOPT, RELEASE  pids (4), page ids       |
 *                                          +------------------------------------------+
 * </pre>
 *
 * All numbers are little-endian, nothing is aligned. <i>Adopted</i> pages belong to long values
 * that this commit publishes, <i>released</i> pages to long values that it drops; they are freed
 * next. <i>Counts</i> is the size of the counts in bytes; see {@link CommitCounts}. A PATCH applies
 * to a value in its leaf. A MOVED is a CHAIN whose first page changed but whose value did not;
 * change subscribers ignore it.
 *
 * <p>If its page ids would make a COMMIT too long, they are in separate parts, each with one ADOPT
 * or RELEASE without a key or tree. They take effect with the COMMIT.
 *
 * <p>The leaf is a hint for recovery, see {@link LeafCode}. The methods of this class write no
 * leaf.
 *
 * <p>Two operations are for change subscribers and change nothing. A TABLE, in catalog changes,
 * says that the tree is a table, whose name in UTF-8 is the key, or no longer is one. A FROM,
 * without a key or tree, gives the LSN from which the log contains the images of the adopted pages.
 *
 * <p>Each method writes one element and returns the offset after it. The caller has made room, as
 * computed by {@code ...Bytes}. {@link CommitCursor} reads the record.
 */
public final class CommitRecord {
  /** Sets the record's value, which is in its leaf. */
  public static final int PUT = 1;

  /** Changes some bytes of the value. */
  public static final int PATCH = 2;

  /** Removes the key. */
  public static final int DELETE = 3;

  /** Sets the record's value, which is in a chain of pages. */
  public static final int CHAIN = 4;

  /** Names a tree as a table, or no longer as one. */
  public static final int TABLE = 5;

  /** Gives the LSN from which the log contains the images of the adopted pages. */
  public static final int FROM = 6;

  /** Replaces the first page of the value's chain. */
  public static final int MOVED = 7;

  /** Lists adopted pages: the only operation of its part. */
  public static final int ADOPT = 8;

  /** Lists released pages: the only operation of its part. */
  public static final int RELEASE = 9;

  /** In a TABLE: the tree is a table with that name. */
  public static final int IS = 1;

  /** In a TABLE: the tree is a table with that name, and contains records that are in no commit. */
  public static final int LOADED = 2;

  /** In a TABLE: the tree is no longer a table. */
  public static final int DROPPED = 3;

  /** The number of bytes before the operations of a COMMIT. */
  public static final int HEADER = 24;

  /** The number of bytes before the operations of a COMMIT_PART. */
  public static final int PART_HEADER = 16;

  static final int OP_HEADER = 8;
  static final int OPS = 8;
  static final int ADOPTED = 12;
  static final int RELEASED = 16;
  static final int COUNTS = 20;

  private CommitRecord() {}

  /** Returns the name of a kind of operation. */
  public static String name(int kind) {
    return switch (kind) {
      case PUT -> "PUT";
      case PATCH -> "PATCH";
      case DELETE -> "DELETE";
      case CHAIN -> "CHAIN";
      case TABLE -> "TABLE";
      case FROM -> "FROM";
      case MOVED -> "MOVED";
      case ADOPT -> "ADOPT";
      case RELEASE -> "RELEASE";
      default -> "kind " + kind;
    };
  }

  // ---------------------------------------------------------------- sizes

  /** Returns the size of a PUT. */
  public static int putBytes(int keyLength, int valueLength) {
    return OP_HEADER + 4 + keyLength + valueLength;
  }

  /** Returns the size of a PATCH. */
  public static int patchBytes(int keyLength, int length) {
    return OP_HEADER + 8 + keyLength + length;
  }

  /** Returns the size of a DELETE. */
  public static int deleteBytes(int keyLength) {
    return OP_HEADER + keyLength;
  }

  /** Returns the size of a CHAIN. */
  public static int chainBytes(int keyLength) {
    return OP_HEADER + 16 + keyLength;
  }

  /** Returns the size of a TABLE. */
  public static int tableBytes(int nameLength) {
    return OP_HEADER + 4 + nameLength;
  }

  static int fromBytes() {
    return OP_HEADER + 8;
  }

  static int pagesBytes(int pages) {
    return OP_HEADER + 4 + 8 * pages;
  }

  // ---------------------------------------------------------------- headers

  /** Writes the header of a COMMIT; {@code counts} is the size of its counts, in bytes. */
  public static long header(
      MemorySegment to, long at, long id, int ops, int adopted, int released, int counts) {
    Mem.putLong(to, at, id);
    Mem.putInt(to, at + OPS, ops);
    Mem.putInt(to, at + ADOPTED, adopted);
    Mem.putInt(to, at + RELEASED, released);
    Mem.putInt(to, at + COUNTS, counts);
    return at + HEADER;
  }

  static long partHeader(MemorySegment to, long at, long id, int ops) {
    Mem.putLong(to, at, id);
    Mem.putInt(to, at + OPS, ops);
    Mem.putInt(to, at + 12, 0);
    return at + PART_HEADER;
  }

  // ---------------------------------------------------------------- operations

  /** Writes a PUT. */
  public static long put(
      MemorySegment to,
      long at,
      int treeId,
      MemorySegment key,
      long keyOffset,
      int keyLength,
      MemorySegment value,
      long valueOffset,
      int valueLength) {
    long next = op(to, at, PUT, treeId, key, keyOffset, keyLength);
    Mem.putInt(to, next, valueLength);
    Mem.copy(value, valueOffset, to, next + 4, valueLength);
    return next + 4 + valueLength;
  }

  /** Writes a PATCH. */
  public static long patch(
      MemorySegment to,
      long at,
      int treeId,
      MemorySegment key,
      long keyOffset,
      int keyLength,
      int patchAt,
      MemorySegment bytes,
      long offset,
      int length) {
    long next = op(to, at, PATCH, treeId, key, keyOffset, keyLength);
    Mem.putInt(to, next, patchAt);
    Mem.putInt(to, next + 4, length);
    Mem.copy(bytes, offset, to, next + 8, length);
    return next + 8 + length;
  }

  /** Writes a DELETE. */
  public static long delete(
      MemorySegment to, long at, int treeId, MemorySegment key, long keyOffset, int keyLength) {
    return op(to, at, DELETE, treeId, key, keyOffset, keyLength);
  }

  /** Writes a CHAIN. */
  public static long chain(
      MemorySegment to,
      long at,
      int treeId,
      MemorySegment key,
      long keyOffset,
      int keyLength,
      long first,
      long length) {
    return chain(to, op(to, at, CHAIN, treeId, key, keyOffset, keyLength), first, length);
  }

  private static long chain(MemorySegment to, long next, long first, long length) {
    Mem.putLong(to, next, first);
    Mem.putLong(to, next + 8, length);
    return next + 16;
  }

  /** Writes a MOVED, of the size of a CHAIN. */
  static long moved(
      MemorySegment to,
      long at,
      int treeId,
      MemorySegment key,
      long keyOffset,
      int keyLength,
      long first,
      long length) {
    return chain(to, op(to, at, MOVED, treeId, key, keyOffset, keyLength), first, length);
  }

  /** Writes a TABLE, {@link #IS}, {@link #LOADED} or {@link #DROPPED}; the name is in UTF-8. */
  public static long table(MemorySegment to, long at, int treeId, byte[] name, int how) {
    Mem.putInt(to, at, TABLE | name.length << 16);
    Mem.putInt(to, at + 4, treeId);
    Mem.putBytes(to, at + OP_HEADER, name, 0, name.length);
    long next = at + OP_HEADER + name.length;
    Mem.putInt(to, next, how);
    return next + 4;
  }

  static long from(MemorySegment to, long at, long lsn) {
    Mem.putInt(to, at, FROM);
    Mem.putInt(to, at + 4, 0);
    Mem.putLong(to, at + OP_HEADER, lsn);
    return at + OP_HEADER + 8;
  }

  /** Writes the header of an ADOPT or RELEASE; {@code pages} page ids follow. */
  static long pages(MemorySegment to, long at, int kind, int pages) {
    Mem.putInt(to, at, kind);
    Mem.putInt(to, at + 4, 0);
    Mem.putInt(to, at + OP_HEADER, pages);
    return at + OP_HEADER + 4;
  }

  private static long op(
      MemorySegment to,
      long at,
      int kind,
      int treeId,
      MemorySegment key,
      long keyOffset,
      int keyLength) {
    Mem.putInt(to, at, kind | keyLength << 16);
    Mem.putInt(to, at + 4, treeId);
    Mem.copy(key, keyOffset, to, at + OP_HEADER, keyLength);
    return at + OP_HEADER + keyLength;
  }
}
