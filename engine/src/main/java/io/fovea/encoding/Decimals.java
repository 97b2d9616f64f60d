package io.fovea.encoding;

import io.fovea.error.InvalidUseException;
import io.fovea.memory.Mem;
import io.fovea.schema.Field;
import java.lang.foreign.MemorySegment;
import java.math.BigDecimal;
import java.math.BigInteger;

/**
 * Decimals in native memory: the number without its point, in two's complement, the highest byte
 * first, in as many bytes as the precision needs ({@link Field#decimalBytes}). In a key the sign
 * bit is flipped, which makes the order of the bytes that of the numbers.
 *
 * <p><b>Nothing is rounded.</b> A value that has more digits behind the point than its field is
 * refused: what is read is equal to what was written, by {@link BigDecimal#compareTo}. It has the
 * field's scale, whatever that of the value was.
 */
public final class Decimals {
  /** Up to so many bytes a number is a {@code long} on the way. */
  private static final int LONG_BYTES = 8;

  /** The most digits of a value that a message shows. */
  private static final int SHOWN_DIGITS = 60;

  private Decimals() {}

  /**
   * A value as a field holds it.
   *
   * @param what the field in a message, as in {@code field price DECIMAL(10, 2)}
   * @return an equal number, of that scale
   * @throws InvalidUseException if the field has no room for it
   */
  public static BigDecimal fit(BigDecimal value, int precision, int scale, String what) {
    if (value.signum() == 0) {
      return BigDecimal.valueOf(0, scale);
    }
    // A scale may be any int: no power of ten is made before it is known to be a small one.
    long whole = (long) value.precision() - value.scale();
    if (whole > precision - scale) {
      throw new InvalidUseException(
          shown(value)
              + " does not fit "
              + what
              + ": it has "
              + whole
              + " digits before the point, and there is room for "
              + (precision - scale)
              + ".");
    }
    long more = (long) value.scale() - scale;
    if (more <= 0) {
      return value.setScale(scale);
    }
    // With no more digits than are to go, not all of these are zero.
    BigDecimal fits = more < value.precision() ? value.stripTrailingZeros() : value;
    if (fits.scale() > scale) {
      throw new InvalidUseException(
          shown(value)
              + " has more digits behind the point than "
              + what
              + " has room for, which is "
              + scale
              + ": round it before, with BigDecimal.setScale.");
    }
    return fits.setScale(scale);
  }

  private static String shown(BigDecimal value) {
    return value.precision() <= SHOWN_DIGITS
        ? value.toString()
        : "A number of " + value.precision() + " digits";
  }

  /** Writes a number of a field's scale. */
  static void put(MemorySegment seg, long off, int width, BigDecimal value) {
    BigInteger n = value.unscaledValue();
    if (width <= LONG_BYTES) {
      long v = n.longValue();
      for (int i = width - 1; i >= 0; i--) {
        Mem.putByte(seg, off + i, (byte) v);
        v >>= 8;
      }
      return;
    }
    byte[] bytes = n.toByteArray();
    int lead = width - bytes.length;
    for (int i = 0; i < lead; i++) {
      Mem.putByte(seg, off + i, n.signum() < 0 ? (byte) -1 : 0);
    }
    Mem.putBytes(seg, off + lead, bytes, 0, bytes.length);
  }

  /** Writes a number of a field's scale into a row. Says whether another one was there. */
  public static boolean putRow(MemorySegment seg, long off, int width, BigDecimal value) {
    if (get(seg, off, width, value.scale(), false).equals(value)) {
      return false;
    }
    put(seg, off, width, value);
    return true;
  }

  /** Reads a number of a row. */
  public static BigDecimal getRow(MemorySegment seg, long off, int width, int scale) {
    return get(seg, off, width, scale, false);
  }

  static BigDecimal get(MemorySegment seg, long off, int width, int scale, boolean flipped) {
    int flip = flipped ? 0x80 : 0;
    if (width <= LONG_BYTES) {
      long v = (byte) (Mem.getByte(seg, off) ^ flip);
      for (int i = 1; i < width; i++) {
        v = v << 8 | Mem.getUnsignedByte(seg, off + i);
      }
      return BigDecimal.valueOf(v, scale);
    }
    byte[] bytes = new byte[width];
    Mem.getBytes(seg, off, bytes, 0, width);
    bytes[0] ^= (byte) flip;
    return new BigDecimal(new BigInteger(bytes), scale);
  }

  /**
   * Makes a number of a row from one of a field with no more digits before the point and behind.
   *
   * @param digits how many digits more the new one has behind the point
   */
  public static void widen(
      MemorySegment from, long off, int width, MemorySegment to, long at, int toWidth, int digits) {
    int lead = toWidth - width;
    byte sign = (byte) (Mem.getByte(from, off) >> 7);
    for (int i = 0; i < lead; i++) {
      Mem.putByte(to, at + i, sign);
    }
    Mem.copy(from, off, to, at + lead, width);
    // Two's complement can be multiplied as if it had no sign, where the result has room.
    for (int d = 0; d < digits; d++) {
      int carry = 0;
      for (int i = toWidth - 1; i >= 0; i--) {
        int n = 10 * Mem.getUnsignedByte(to, at + i) + carry;
        Mem.putByte(to, at + i, (byte) n);
        carry = n >>> 8;
      }
    }
  }
}
