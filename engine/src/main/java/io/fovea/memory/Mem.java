package io.fovea.memory;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import io.fovea.bindings.NativeAccess;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Reads and writes native memory.
 *
 * <pre>
 *   access        order            alignment   for
 *   get, put      plain, native    none        page contents, validated afterwards by a version
 *   getLongBE     plain, big       none        key bytes: unsigned compare = memcmp order
 *   ...Opaque     opaque           8 or 4      counters, usage bytes: eventually visible, not torn
 *   ...Acquire    acquire          8 or 4      version words: earlier stores are visible
 *   ...Release    release          8 or 4      the partner of acquire
 *   ...Volatile   sequential       8 or 4      a store must not pass a later load
 *   cas, getAnd   sequential       8 or 4      latches, locks, tickets
 * </pre>
 *
 * <p><b>Design.</b> Every VarHandle is a static final constant, invoked with exactly its own types,
 * so a call folds to one instruction after a bounds check: an access through a VarHandle or a
 * layout in an instance field costs 5 ns instead of 0.7. The bounds check stays because an
 * optimistic reader may follow a torn offset: that must become an {@link IndexOutOfBoundsException}
 * inside the engine and never a crash of the JVM.
 *
 * <p><b>Rule.</b> Pass native segments only. A call site that meets both heap and native segments
 * costs 11 to 13 ns, and the whole JVM shares the profile of these methods. This is not checked
 * here; user data is staged in native memory first.
 *
 * <p>The atomic accesses need an aligned address (segment base + offset); they throw {@link
 * IllegalArgumentException} otherwise. All other accesses take any offset.
 *
 * <p>All methods are small enough to be inlined (below 325 bytecodes each, most below 35).
 *
 * @since 0.1.0
 */
public final class Mem {
  private static final VarHandle BYTE = JAVA_BYTE.varHandle().withInvokeExactBehavior();
  private static final VarHandle SHORT = JAVA_SHORT_UNALIGNED.varHandle().withInvokeExactBehavior();
  private static final VarHandle INT = JAVA_INT_UNALIGNED.varHandle().withInvokeExactBehavior();
  private static final VarHandle LONG = JAVA_LONG_UNALIGNED.varHandle().withInvokeExactBehavior();
  private static final VarHandle INT_BE =
      JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN).varHandle().withInvokeExactBehavior();
  private static final VarHandle LONG_BE =
      JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN).varHandle().withInvokeExactBehavior();
  private static final VarHandle SHORT_BE =
      JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN).varHandle().withInvokeExactBehavior();

  /** Atomic accesses need layouts with a declared alignment. */
  private static final VarHandle ATOMIC_INT = JAVA_INT.varHandle().withInvokeExactBehavior();

  private static final VarHandle ATOMIC_LONG = JAVA_LONG.varHandle().withInvokeExactBehavior();

  /**
   * The number of bytes from which {@link MemorySegment#mismatch}, {@code copy} and {@code fill}
   * are faster than the loops here.
   */
  private static final int LONG_BYTES;

  /**
   * All of memory. A constant, so the segment's checks fold away. Null if the JVM denies native
   * access.
   */
  private static final @Nullable MemorySegment EVERYTHING = everything();

  private static final boolean RAW = EVERYTHING != null;

  static {
    // Without that segment every string takes the slower path, on which the JDK checks bounds.
    LONG_BYTES = RAW ? 32 : 0;
  }

  private Mem() {}

  @SuppressWarnings("restricted")
  private static @Nullable MemorySegment everything() {
    try {
      return NativeAccess.granted() ? MemorySegment.NULL.reinterpret(Long.MAX_VALUE) : null;
    } catch (IllegalCallerException e) {
      return null;
    }
  }

  /**
   * Returns whether the JVM allows the engine and its bindings to use native memory and native
   * code. If not, this class still works, but is somewhat slower.
   */
  public static boolean isRaw() {
    return RAW;
  }

  /**
   * Returns the flag that grants native access to the engine and its bindings.
   *
   * @return the flag, as written on the {@code java} command line
   */
  public static String nativeAccessFlag() {
    Module engine = Mem.class.getModule();
    Module bindings = NativeAccess.class.getModule();
    return "--enable-native-access="
        + (engine.isNamed() ? bindings.getName() + "," + engine.getName() : "ALL-UNNAMED");
  }

  // ------------------------------------------------------------------------------- plain access

  public static byte getByte(MemorySegment seg, long off) {
    return (byte) BYTE.get(seg, off);
  }

  public static void putByte(MemorySegment seg, long off, byte value) {
    BYTE.set(seg, off, value);
  }

  /** Reads a byte as a number from 0 to 255. */
  public static int getUnsignedByte(MemorySegment seg, long off) {
    return (byte) BYTE.get(seg, off) & 0xFF;
  }

  /** Reads a short in native order as a number from 0 to 65535. */
  public static int getUnsignedShort(MemorySegment seg, long off) {
    return (short) SHORT.get(seg, off) & 0xFFFF;
  }

  public static void putShort(MemorySegment seg, long off, short value) {
    SHORT.set(seg, off, value);
  }

  public static int getInt(MemorySegment seg, long off) {
    return (int) INT.get(seg, off);
  }

  public static void putInt(MemorySegment seg, long off, int value) {
    INT.set(seg, off, value);
  }

  public static long getLong(MemorySegment seg, long off) {
    return (long) LONG.get(seg, off);
  }

  public static void putLong(MemorySegment seg, long off, long value) {
    LONG.set(seg, off, value);
  }

  public static void putShortBE(MemorySegment seg, long off, short value) {
    SHORT_BE.set(seg, off, value);
  }

  /** Reads a big-endian int: its unsigned order is the order of the bytes. */
  public static int getIntBE(MemorySegment seg, long off) {
    return (int) INT_BE.get(seg, off);
  }

  public static void putIntBE(MemorySegment seg, long off, int value) {
    INT_BE.set(seg, off, value);
  }

  /** Reads a big-endian long: its unsigned order is the order of the bytes. */
  public static long getLongBE(MemorySegment seg, long off) {
    return (long) LONG_BE.get(seg, off);
  }

  public static void putLongBE(MemorySegment seg, long off, long value) {
    LONG_BE.set(seg, off, value);
  }

  // ------------------------------------------------------------------------------ atomic access

  /** Reads a byte with opaque order: usage bytes, flags. */
  public static byte getByteOpaque(MemorySegment seg, long off) {
    return (byte) BYTE.getOpaque(seg, off);
  }

  public static void putByteOpaque(MemorySegment seg, long off, byte value) {
    BYTE.setOpaque(seg, off, value);
  }

  public static int getIntOpaque(MemorySegment seg, long off) {
    return (int) ATOMIC_INT.getOpaque(seg, off);
  }

  public static void putIntOpaque(MemorySegment seg, long off, int value) {
    ATOMIC_INT.setOpaque(seg, off, value);
  }

  public static void putIntRelease(MemorySegment seg, long off, int value) {
    ATOMIC_INT.setRelease(seg, off, value);
  }

  /** Replaces an aligned int if it has the expected value; returns whether it was replaced. */
  public static boolean casInt(MemorySegment seg, long off, int expect, int update) {
    return ATOMIC_INT.compareAndSet(seg, off, expect, update);
  }

  /** Adds to an aligned int; returns the previous value. */
  public static int getAndAddInt(MemorySegment seg, long off, int delta) {
    return (int) ATOMIC_INT.getAndAdd(seg, off, delta);
  }

  public static long getLongOpaque(MemorySegment seg, long off) {
    return (long) ATOMIC_LONG.getOpaque(seg, off);
  }

  public static void putLongOpaque(MemorySegment seg, long off, long value) {
    ATOMIC_LONG.setOpaque(seg, off, value);
  }

  public static long getLongAcquire(MemorySegment seg, long off) {
    return (long) ATOMIC_LONG.getAcquire(seg, off);
  }

  public static void putLongRelease(MemorySegment seg, long off, long value) {
    ATOMIC_LONG.setRelease(seg, off, value);
  }

  public static long getLongVolatile(MemorySegment seg, long off) {
    return (long) ATOMIC_LONG.getVolatile(seg, off);
  }

  public static void putLongVolatile(MemorySegment seg, long off, long value) {
    ATOMIC_LONG.setVolatile(seg, off, value);
  }

  /** Replaces an aligned long if it has the expected value; returns whether it was replaced. */
  public static boolean casLong(MemorySegment seg, long off, long expect, long update) {
    return ATOMIC_LONG.compareAndSet(seg, off, expect, update);
  }

  /** Replaces an aligned long if it has the expected value; returns the previous value. */
  public static long casExchangeLong(MemorySegment seg, long off, long expect, long update) {
    return (long) ATOMIC_LONG.compareAndExchange(seg, off, expect, update);
  }

  /** Adds to an aligned long; returns the previous value. */
  public static long getAndAddLong(MemorySegment seg, long off, long delta) {
    return (long) ATOMIC_LONG.getAndAdd(seg, off, delta);
  }

  // ---------------------------------------------------------------------------------------- peeks
  //
  // Reads of the engine's own memory without a segment's checks: bounds, liveness, alignment. The
  // checks cost a fifth of a transaction in which nearly every instruction reads a page (TPC-C, one
  // warehouse, one thread: 28.3 k/s with checks, 35.3 k/s without; manual checks cost as much).
  //
  // They are safe, and allowed, only under these conditions:
  //   1. The segment is a NativeRegion's, which is never unmapped, or scratch memory with as much
  //      slack.
  //   2. The base was computed by the engine (a frame, a table slot): never torn, always inside.
  //   3. The offset added to the base may be torn, but has 16 bits, so it stays within the guard.
  // So a torn read finds meaningless bytes, which validation discards, and never the end of the
  // mapping. Writes, and lengths to copy or compare, always use the checked methods.
  //
  // If the JVM denies native access, peeks are checked too, and anything outside the segment reads
  // as 0, which is as meaningless as the contents of a guard.

  public static byte peekByte(MemorySegment seg, long off) {
    return RAW ? (byte) BYTE.get(EVERYTHING, seg.address() + off) : nearByte(seg, off);
  }

  public static int peekUnsignedShort(MemorySegment seg, long off) {
    return RAW
        ? (short) SHORT.get(EVERYTHING, seg.address() + off) & 0xFFFF
        : nearUnsignedShort(seg, off);
  }

  public static int peekInt(MemorySegment seg, long off) {
    return RAW ? (int) INT.get(EVERYTHING, seg.address() + off) : nearInt(seg, off);
  }

  public static int peekIntBE(MemorySegment seg, long off) {
    return RAW ? (int) INT_BE.get(EVERYTHING, seg.address() + off) : nearIntBE(seg, off);
  }

  public static long peekLong(MemorySegment seg, long off) {
    return RAW ? (long) LONG.get(EVERYTHING, seg.address() + off) : nearLong(seg, off);
  }

  public static long peekLongOpaque(MemorySegment seg, long off) {
    return RAW
        ? (long) ATOMIC_LONG.getOpaque(EVERYTHING, seg.address() + off)
        : nearLongOpaque(seg, off);
  }

  public static long peekLongAcquire(MemorySegment seg, long off) {
    return RAW
        ? (long) ATOMIC_LONG.getAcquire(EVERYTHING, seg.address() + off)
        : nearLongAcquire(seg, off);
  }

  public static long peekLongVolatile(MemorySegment seg, long off) {
    return RAW
        ? (long) ATOMIC_LONG.getVolatile(EVERYTHING, seg.address() + off)
        : nearLongVolatile(seg, off);
  }

  private static boolean inside(MemorySegment seg, long off, int len) {
    return off >= 0 && off <= seg.byteSize() - len;
  }

  private static byte nearByte(MemorySegment seg, long off) {
    return inside(seg, off, 1) ? getByte(seg, off) : 0;
  }

  private static int nearUnsignedShort(MemorySegment seg, long off) {
    return inside(seg, off, 2) ? getUnsignedShort(seg, off) : 0;
  }

  private static int nearInt(MemorySegment seg, long off) {
    return inside(seg, off, 4) ? getInt(seg, off) : 0;
  }

  private static int nearIntBE(MemorySegment seg, long off) {
    return inside(seg, off, 4) ? getIntBE(seg, off) : 0;
  }

  private static long nearLong(MemorySegment seg, long off) {
    return inside(seg, off, 8) ? getLong(seg, off) : 0;
  }

  private static long nearLongOpaque(MemorySegment seg, long off) {
    return inside(seg, off, 8) ? getLongOpaque(seg, off) : 0;
  }

  private static long nearLongAcquire(MemorySegment seg, long off) {
    return inside(seg, off, 8) ? getLongAcquire(seg, off) : 0;
  }

  private static long nearLongVolatile(MemorySegment seg, long off) {
    return inside(seg, off, 8) ? getLongVolatile(seg, off) : 0;
  }

  // --------------------------------------------------------------------------------- byte strings

  // The whole string is checked once and then read like a peek: these methods run for every key and
  // value.

  /** Returns the address of a range after checking that it lies within a segment. */
  private static long range(MemorySegment seg, long off, long len) {
    Objects.checkFromIndexSize(off, len, seg.byteSize());
    return seg.address() + off;
  }

  private static long rawLong(long address) {
    return (long) LONG.get(EVERYTHING, address);
  }

  private static long rawLongBE(long address) {
    return (long) LONG_BE.get(EVERYTHING, address);
  }

  private static int rawInt(long address) {
    return (int) INT.get(EVERYTHING, address);
  }

  private static int rawByte(long address) {
    return (byte) BYTE.get(EVERYTHING, address) & 0xFF;
  }

  /**
   * Compares two byte strings as {@code memcmp} does: byte by byte, unsigned, with a prefix ordered
   * before its extensions.
   *
   * @return a negative number, 0 or a positive number
   */
  public static int compare(
      MemorySegment a, long aOff, int aLen, MemorySegment b, long bOff, int bLen) {
    int n = Math.min(aLen, bLen);
    if (n > LONG_BYTES) {
      return compareLong(a, aOff, aLen, b, bOff, bLen);
    }
    if (n <= 0) {
      return aLen - bLen; // the offset of an empty string may be out of bounds
    }
    long x = range(a, aOff, n);
    long y = range(b, bOff, n);
    if (n < 8) {
      int c = Long.compareUnsigned(prefix(x, n), prefix(y, n));
      return c != 0 ? c : aLen - bLen;
    }
    for (int i = 0; i < n - 8; i += 8) {
      long p = rawLongBE(x + i);
      long q = rawLongBE(y + i);
      if (p != q) {
        return Long.compareUnsigned(p, q);
      }
    }
    // The last eight bytes may overlap bytes already known to be equal.
    long p = rawLongBE(x + n - 8);
    long q = rawLongBE(y + n - 8);
    return p != q ? Long.compareUnsigned(p, q) : aLen - bLen;
  }

  private static int compareLong(
      MemorySegment a, long aOff, int aLen, MemorySegment b, long bOff, int bLen) {
    int n = Math.min(aLen, bLen);
    int head = n < 8 ? 0 : 8;
    if (head > 0) {
      // Most keys differ early, which saves the set-up cost of the call below.
      long x = (long) LONG_BE.get(a, aOff);
      long y = (long) LONG_BE.get(b, bOff);
      if (x != y) {
        return Long.compareUnsigned(x, y);
      }
    }
    long at = MemorySegment.mismatch(a, aOff + head, aOff + n, b, bOff + head, bOff + n);
    if (at < 0) {
      return aLen - bLen;
    }
    return getUnsignedByte(a, aOff + head + at) - getUnsignedByte(b, bOff + head + at);
  }

  /**
   * Returns up to seven bytes as a number whose unsigned order is the order of the bytes, among
   * strings of equal length: the first half of the bytes, then the last half, which may overlap it.
   */
  private static long prefix(long at, int len) {
    if (len >= 4) {
      return ((int) INT_BE.get(EVERYTHING, at) & 0xFFFF_FFFFL) << 32
          | ((int) INT_BE.get(EVERYTHING, at + len - 4) & 0xFFFF_FFFFL);
    }
    return (long) rawByte(at) << 16 | rawByte(at + (len >>> 1)) << 8 | rawByte(at + len - 1);
  }

  /** Returns whether two byte strings have the same length and the same bytes. */
  public static boolean equal(
      MemorySegment a, long aOff, int aLen, MemorySegment b, long bOff, int bLen) {
    if (aLen != bLen) {
      return false;
    }
    if (aLen > LONG_BYTES) {
      return equalLong(a, aOff, b, bOff, aLen);
    }
    if (aLen <= 0) {
      return true;
    }
    long x = range(a, aOff, aLen);
    long y = range(b, bOff, aLen);
    if (aLen < 8) {
      return prefix(x, aLen) == prefix(y, aLen);
    }
    for (int i = 0; i < aLen - 8; i += 8) {
      if (rawLong(x + i) != rawLong(y + i)) {
        return false;
      }
    }
    return rawLong(x + aLen - 8) == rawLong(y + aLen - 8);
  }

  private static boolean equalLong(
      MemorySegment a, long aOff, MemorySegment b, long bOff, int len) {
    int head = len < 8 ? 0 : 8;
    return (head == 0 || (long) LONG.get(a, aOff) == (long) LONG.get(b, bOff))
        && MemorySegment.mismatch(a, aOff + head, aOff + len, b, bOff + head, bOff + len) < 0;
  }

  /**
   * Returns the length of the common prefix of two byte strings.
   *
   * @return a number of bytes, at most the length of the shorter string
   */
  public static int commonPrefix(
      MemorySegment a, long aOff, int aLen, MemorySegment b, long bOff, int bLen) {
    int n = Math.min(aLen, bLen);
    int i = 0;
    for (; i + 8 <= n; i += 8) {
      long difference = (long) LONG_BE.get(a, aOff + i) ^ (long) LONG_BE.get(b, bOff + i);
      if (difference != 0) {
        return i + (Long.numberOfLeadingZeros(difference) >>> 3);
      }
    }
    while (i < n && (byte) BYTE.get(a, aOff + i) == (byte) BYTE.get(b, bOff + i)) {
      i++;
    }
    return i;
  }

  /**
   * Copies bytes; the two ranges may overlap. Up to 32 bytes, all are loaded before any is stored.
   */
  public static void copy(
      MemorySegment src, long srcOff, MemorySegment dst, long dstOff, long len) {
    if (len > LONG_BYTES) {
      MemorySegment.copy(src, srcOff, dst, dstOff, len);
    } else if (len >= 8) {
      copyWords(range(src, srcOff, len), range(dst, dstOff, len), len);
    } else if (len > 0) {
      copyFew(range(src, srcOff, len), range(dst, dstOff, len), len);
    }
  }

  private static void copyWords(long from, long to, long len) {
    long head = rawLong(from);
    long last = rawLong(from + len - 8);
    if (len > 16) {
      long second = rawLong(from + 8);
      long beforeLast = rawLong(from + len - 16);
      LONG.set(EVERYTHING, to + 8, second);
      LONG.set(EVERYTHING, to + len - 16, beforeLast);
    }
    LONG.set(EVERYTHING, to, head);
    LONG.set(EVERYTHING, to + len - 8, last);
  }

  private static void copyFew(long from, long to, long len) {
    if (len >= 4) {
      int head = rawInt(from);
      int last = rawInt(from + len - 4);
      INT.set(EVERYTHING, to, head);
      INT.set(EVERYTHING, to + len - 4, last);
    } else {
      int head = rawByte(from);
      int middle = rawByte(from + (len >>> 1));
      int last = rawByte(from + len - 1);
      BYTE.set(EVERYTHING, to, (byte) head);
      BYTE.set(EVERYTHING, to + (len >>> 1), (byte) middle);
      BYTE.set(EVERYTHING, to + len - 1, (byte) last);
    }
  }

  public static void zero(MemorySegment seg, long off, long len) {
    if (len > LONG_BYTES) {
      seg.asSlice(off, len).fill((byte) 0);
    } else if (len >= 8) {
      for (long i = 0; i < len - 8; i += 8) {
        LONG.set(seg, off + i, 0L);
      }
      LONG.set(seg, off + len - 8, 0L);
    } else {
      for (long i = 0; i < len; i++) {
        BYTE.set(seg, off + i, (byte) 0);
      }
    }
  }

  /** Returns whether all bytes of a range are zero, as in a page that has never been written. */
  public static boolean isZero(MemorySegment seg, long off, long len) {
    long i = 0;
    for (; i + 8 <= len; i += 8) {
      if ((long) LONG.get(seg, off + i) != 0) {
        return false;
      }
    }
    for (; i < len; i++) {
      if ((byte) BYTE.get(seg, off + i) != 0) {
        return false;
      }
    }
    return true;
  }

  // -------------------------------------------------------------------------- to and from the heap

  /** Copies from a byte array into native memory. */
  public static void putBytes(MemorySegment seg, long off, byte[] src, int srcOff, int len) {
    MemorySegment.copy(src, srcOff, seg, JAVA_BYTE, off, len);
  }

  /** Copies from native memory into a byte array. */
  public static void getBytes(MemorySegment seg, long off, byte[] dst, int dstOff, int len) {
    MemorySegment.copy(seg, JAVA_BYTE, off, dst, dstOff, len);
  }

  /** Copies from native memory into a new array. */
  public static byte[] bytes(MemorySegment seg, long off, int len) {
    byte[] out = new byte[len];
    getBytes(seg, off, out, 0, len);
    return out;
  }

  /** Copies from a byte array into new native memory. */
  public static MemorySegment copyOf(byte[] bytes, Arena arena) {
    MemorySegment s = arena.allocate(Math.max(8, bytes.length), 8);
    putBytes(s, 0, bytes, 0, bytes.length);
    return s;
  }
}
