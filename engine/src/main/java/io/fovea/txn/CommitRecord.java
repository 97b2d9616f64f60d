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
 * All numbers are little-endian, nothing is aligned. <i>Adopted</i> are pages of long values that
 * this commit publishes, <i>released</i> those of long values that it drops and whose pages are
 * freed next. <i>Counts</i> are so many bytes, see {@link CommitCounts}. A PATCH is of a value that
 * lies in its leaf: one of a long value is a CHAIN.
 *
 * <p>A MOVED is what a CHAIN is, of a value that stays what it was: its first page has moved. Who
 * follows changes is not told.
 *
 * <p>A commit of so many pages that a COMMIT would get too long for their ids has them in parts of
 * their own, which hold one ADOPT or one RELEASE each, without key and tree. They mean the same as
 * in the COMMIT, and count when that is there.
 *
 * <p>The leaf is that of the record, as far as the transaction knew it: a hint for recovery, see
 * {@link LeafCode}. What is put here says none.
 *
 * <p><b>For who follows changes</b> there are two more, which change nothing. A TABLE, in changes
 * of the catalog: the tree is a table, and the key is its name in UTF-8; or it is none any more. A
 * FROM, without a key or tree, where the log is kept for them: the pages of long values that this
 * commit publishes have their images in the log from there on.
 *
 * <p>The methods put one thing each and return where the next goes, so that a commit goes from the
 * write set into the log's buffer without a copy in between, and other records that hold operations
 * can put theirs. The caller has made room: {@code ...Bytes} say how much. {@link CommitCursor}
 * reads it all back.
 */
public final class CommitRecord {
  /** The record with this key gets this value, which lies in its leaf. */
  public static final int PUT = 1;

  /** Some bytes of the value change. */
  public static final int PATCH = 2;

  /** The key goes. */
  public static final int DELETE = 3;

  /** The record with this key gets a value that lies in a chain of pages. */
  public static final int CHAIN = 4;

  /** A tree is a table with the name that is the key, or is none any more. */
  public static final int TABLE = 5;

  /** Where the log begins to have what belongs to the commit. */
  public static final int FROM = 6;

  /** The value of the record is in a chain of pages as before, of which the first is another. */
  public static final int MOVED = 7;

  /** Pages of long values that the commit publishes: the only operation of its part. */
  public static final int ADOPT = 8;

  /** Pages of long values that the commit drops: the only operation of its part. */
  public static final int RELEASE = 9;

  /** Of a TABLE: it is a table, with that name. */
  public static final int IS = 1;

  /** Of a TABLE: it is a table, with that name, and has records that are in no commit. */
  public static final int LOADED = 2;

  /** Of a TABLE: it is no table any more. */
  public static final int GONE = 3;

  /** The bytes before the operations of a COMMIT. */
  public static final int HEADER = 24;

  /** The bytes before the operations of a COMMIT_PART. */
  public static final int PART_HEADER = 16;

  static final int OP_HEADER = 8;
  static final int OPS = 8;
  static final int ADOPTED = 12;
  static final int RELEASED = 16;
  static final int COUNTS = 20;

  private CommitRecord() {}

  /** The name of a kind of operation, for people. */
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

  /** The bytes of a PUT. */
  public static int putBytes(int keyLength, int valueLength) {
    return OP_HEADER + 4 + keyLength + valueLength;
  }

  /** The bytes of a PATCH. */
  public static int patchBytes(int keyLength, int length) {
    return OP_HEADER + 8 + keyLength + length;
  }

  /** The bytes of a DELETE. */
  public static int deleteBytes(int keyLength) {
    return OP_HEADER + keyLength;
  }

  /** The bytes of a CHAIN. */
  public static int chainBytes(int keyLength) {
    return OP_HEADER + 16 + keyLength;
  }

  /** The bytes of a TABLE. */
  public static int tableBytes(int nameLength) {
    return OP_HEADER + 4 + nameLength;
  }

  /** The bytes of a FROM. */
  static int fromBytes() {
    return OP_HEADER + 8;
  }

  /** The bytes of an ADOPT or RELEASE. */
  static int pagesBytes(int pages) {
    return OP_HEADER + 4 + 8 * pages;
  }

  // ---------------------------------------------------------------- headers

  /**
   * Puts what a COMMIT begins with.
   *
   * @return where the operations go
   */
  public static long header(
      MemorySegment to, long at, long id, int ops, int adopted, int released) {
    return header(to, at, id, ops, adopted, released, 0);
  }

  /**
   * Puts what a COMMIT begins with.
   *
   * @param counts how many bytes its counts take
   * @return where the operations go
   */
  static long header(
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

  /**
   * Puts a PUT.
   *
   * @return where what follows goes
   */
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

  /**
   * Puts a PATCH.
   *
   * @return where what follows goes
   */
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

  /**
   * Puts a DELETE.
   *
   * @return where what follows goes
   */
  public static long delete(
      MemorySegment to, long at, int treeId, MemorySegment key, long keyOffset, int keyLength) {
    return op(to, at, DELETE, treeId, key, keyOffset, keyLength);
  }

  /**
   * Puts a CHAIN.
   *
   * @return where what follows goes
   */
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

  /**
   * Puts a MOVED, which takes as many bytes as a CHAIN.
   *
   * @return where what follows goes
   */
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

  /**
   * Puts a TABLE.
   *
   * @param name in UTF-8
   * @param how {@link #IS}, {@link #LOADED} or {@link #GONE}
   * @return where what follows goes
   */
  public static long table(MemorySegment to, long at, int treeId, byte[] name, int how) {
    Mem.putInt(to, at, TABLE | name.length << 16);
    Mem.putInt(to, at + 4, treeId);
    Mem.putBytes(to, at + OP_HEADER, name, 0, name.length);
    long next = at + OP_HEADER + name.length;
    Mem.putInt(to, next, how);
    return next + 4;
  }

  /**
   * Puts a FROM.
   *
   * @return where what follows goes
   */
  static long from(MemorySegment to, long at, long lsn) {
    Mem.putInt(to, at, FROM);
    Mem.putInt(to, at + 4, 0);
    Mem.putLong(to, at + OP_HEADER, lsn);
    return at + OP_HEADER + 8;
  }

  /**
   * Puts the beginning of an ADOPT or RELEASE.
   *
   * @param pages how many page ids follow
   * @return where they go
   */
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
