package io.fovea.txn;

import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * Encodes the leaf of an operation in the log compactly.
 *
 * <pre>
 *   operation   0      1      2                          end
 *               +------+------+----- ... ----------------+-------------+
 *               | kind | code |                          | 0 to 5 bytes|
 *               +------+------+----- ... ----------------+-------------+
 *   code        7 .. 3               2 .. 0
 *               highest bits of n    1 + number of bytes of n after the operation, lowest first
 *   n           2d, or -2d - 1 if d is negative
 *   d           page id of the leaf, minus that of the last operation of the record that has one
 *   code 0      no leaf
 * </pre>
 *
 * <p>Leaves fewer than 16 pages away, including the same leaf, take no bytes; leaves within 4,096
 * pages take one, and leaves within a million pages two. The leaf is a hint: a reader checks the
 * page.
 */
final class LeafCode {
  /** The maximum number of bytes after an operation: enough for 45 bits. */
  static final int BYTES_MAX = 5;

  /** The offset of the code in an operation. */
  private static final int AT = 1;

  private static final int COUNT_BITS = 3;
  private static final int HIGH_BITS = 8 - COUNT_BITS;

  /** The maximum number of bits of a page id. */
  private static final int PID_BITS = 38;

  private LeafCode() {}

  /** Returns the leaf if it can be encoded, otherwise 0. */
  static long known(long leaf) {
    return leaf >>> PID_BITS == 0 ? leaf : 0;
  }

  /**
   * Returns the number of bytes after the operation. {@code before} is the leaf of the last
   * operation before it that has one; 0 is no leaf.
   */
  static int bytes(long leaf, long before) {
    return leaf == 0 ? 0 : bytes(zigzag(leaf - before));
  }

  private static int bytes(long n) {
    return Long.SIZE - Long.numberOfLeadingZeros(n) - HIGH_BITS + 7 >> 3;
  }

  private static long zigzag(long d) {
    return d << 1 ^ d >> 63;
  }

  /**
   * Adds the leaf to an operation that is at {@code op} and ends at {@code end}; returns the new
   * end.
   */
  static long put(MemorySegment to, long op, long end, long leaf, long before) {
    if (leaf == 0) {
      return end;
    }
    long n = zigzag(leaf - before);
    int bytes = bytes(n);
    Mem.putByte(to, op + AT, (byte) (n >>> 8 * bytes << COUNT_BITS | bytes + 1));
    for (long at = end; at < end + bytes; at++) {
      Mem.putByte(to, at, (byte) n);
      n >>>= 8;
    }
    return end + bytes;
  }

  /** Returns the number of bytes after an operation with a code; -1 if it is invalid. */
  static int following(int code) {
    int bytes = (code & (1 << COUNT_BITS) - 1) - 1;
    return code == 0 ? 0 : bytes > BYTES_MAX ? -1 : bytes;
  }

  /** Returns the leaf of a code, which may be any number; its bytes are at {@code at}. */
  static long read(MemorySegment s, long at, int code, long before) {
    long n = code >>> COUNT_BITS;
    for (int i = following(code) - 1; i >= 0; i--) {
      n = n << 8 | Mem.getUnsignedByte(s, at + i);
    }
    return before + (n >>> 1 ^ -(n & 1));
  }
}
