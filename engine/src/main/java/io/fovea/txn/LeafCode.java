package io.fovea.txn;

import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;

/**
 * The leaf of an operation in the log, in as few bytes as it takes.
 *
 * <pre>
 *   operation   0      1      2                          end
 *               +------+------+----- ... ----------------+-------------+
 *               | kind | code |                          | 0 to 5 bytes|
 *               +------+------+----- ... ----------------+-------------+
 *   code        7 .. 3               2 .. 0
 *               highest bits of n    1 + how many bytes of n follow the operation, the lowest first
 *   n           2d, or -2d - 1 where d is negative
 *   d           page id of the leaf, less that of the last operation of the record that says one
 *   code 0      nothing is said
 * </pre>
 *
 * <p>So the leaf of the operation before takes nothing, one that is less than 16 pages away
 * neither, one within 4,096 pages a byte and one within a million two: the byte of the code was
 * there anyway, and zero.
 *
 * <p>What is said is a hint. Whoever reads it looks whether the page is that leaf.
 */
final class LeafCode {
  /** How many bytes follow an operation at most: with them there is room for 45 bits. */
  static final int BYTES_MAX = 5;

  /** Where the code is in an operation. */
  private static final int AT = 1;

  private static final int COUNT_BITS = 3;
  private static final int HIGH_BITS = 8 - COUNT_BITS;

  /** A page id has no more bits. */
  private static final int PID_BITS = 38;

  private LeafCode() {}

  /** A leaf that can be said; 0 for what is none. */
  static long known(long leaf) {
    return leaf >>> PID_BITS == 0 ? leaf : 0;
  }

  /**
   * How many bytes follow the operation.
   *
   * @param leaf its page id, 0 where it is not known
   * @param before that of the last operation before it that says one, 0 for none
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
   * Completes an operation that was put.
   *
   * @param op where it begins
   * @param end where it ends without this
   * @param leaf as in {@link #bytes}
   * @param before likewise
   * @return where what follows goes
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

  /**
   * How many bytes follow an operation with a code.
   *
   * @return -1 for what is no code
   */
  static int following(int code) {
    int bytes = (code & (1 << COUNT_BITS) - 1) - 1;
    return code == 0 ? 0 : bytes > BYTES_MAX ? -1 : bytes;
  }

  /**
   * The leaf that a code says.
   *
   * @param code other than 0
   * @param at where the bytes are that follow the operation
   * @param before the leaf of the last operation before it that says one, 0 for none
   * @return any number
   */
  static long read(MemorySegment s, long at, int code, long before) {
    long n = code >>> COUNT_BITS;
    for (int i = following(code) - 1; i >= 0; i--) {
      n = n << 8 | Mem.getUnsignedByte(s, at + i);
    }
    return before + (n >>> 1 ^ -(n & 1));
  }
}
