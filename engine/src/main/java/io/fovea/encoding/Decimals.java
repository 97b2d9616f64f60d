package io.fovea.encoding;

import io.fovea.error.InvalidUseException;
import io.fovea.memory.Mem;
import io.fovea.schema.Field;
import java.lang.foreign.MemorySegment;
import java.math.BigDecimal;
import java.math.BigInteger;

/**
 * Decimals in native memory: the unscaled number in two's complement, big-endian, in as many bytes
 * as the precision needs ({@link Field#decimalBytes}). In a key the sign bit is flipped, so that
 * byte order is numeric order.
 *
 * <p><b>Nothing is rounded.</b> A value with more fraction digits than its field is rejected. A
 * value that is read equals the value written, by {@link BigDecimal#compareTo}, and has the field's
 * scale.
 */
public final class Decimals {
  /** The largest width that is processed as a {@code long}. */
  private static final int LONG_BYTES = 8;

  /** The maximum number of digits of a value in a message. */
  private static final int SHOWN_DIGITS = 60;

  private Decimals() {}

  /**
   * Converts a value to the scale of a field.
   *
   * @param what the field as named in messages, as in {@code field price DECIMAL(10, 2)}
   * @return an equal number of that scale
   * @throws InvalidUseException if the value does not fit the field
   */
  public static BigDecimal fit(BigDecimal value, int precision, int scale, String what) {
    if (value.signum() == 0) {
      return BigDecimal.valueOf(0, scale);
    }
    // A scale may be any int: compute no power of ten before it is known to be small.
    long whole = (long) value.precision() - value.scale();
    if (whole > precision - scale) {
      throw new InvalidUseException(
          shown(value)
              + " does not fit "
              + what
              + ": it has "
              + whole
              + " digits before the decimal point, and the maximum is "
              + (precision - scale)
              + ".");
    }
    long more = (long) value.scale() - scale;
    if (more <= 0) {
      return value.setScale(scale);
    }
    // If the value has no more digits than must be removed, not all of them are zero.
    BigDecimal fits = more < value.precision() ? value.stripTrailingZeros() : value;
    if (fits.scale() > scale) {
      throw new InvalidUseException(
          shown(value)
              + " has more digits after the decimal point than "
              + what
              + " can hold, which is "
              + scale
              + ": round it first, with BigDecimal.setScale.");
    }
    return fits.setScale(scale);
  }

  private static String shown(BigDecimal value) {
    return value.precision() <= SHOWN_DIGITS
        ? value.toString()
        : "A number of " + value.precision() + " digits";
  }

  /** Writes a number that has the field's scale. */
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

  /** Writes a number that has the field's scale into a row. Returns whether the row changed. */
  public static boolean putRow(MemorySegment seg, long off, int width, BigDecimal value) {
    if (get(seg, off, width, value.scale(), false).equals(value)) {
      return false;
    }
    put(seg, off, width, value);
    return true;
  }

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
   * Converts a row's number to a wider field, with at least as many digits before and after the
   * point.
   *
   * @param digits the number of additional fraction digits
   */
  public static void widen(
      MemorySegment from, long off, int width, MemorySegment to, long at, int toWidth, int digits) {
    int lead = toWidth - width;
    byte sign = (byte) (Mem.getByte(from, off) >> 7);
    for (int i = 0; i < lead; i++) {
      Mem.putByte(to, at + i, sign);
    }
    Mem.copy(from, off, to, at + lead, width);
    // Two's complement can be multiplied as an unsigned number if the result fits.
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
