package io.fovea.index;

import io.fovea.encoding.Times;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * Converts the default of an added field from its form in the catalog to its form in a row, for
 * rows that were written before the field was added.
 *
 * <pre>
 *   INT32, INT64   8 bytes, big-endian                  BOOLEAN   1 byte
 *   FLOAT64        {@link Double#doubleToLongBits}, 8 bytes, big-endian
 *   UUID           16 bytes                             INSTANT   seconds (8), nanoseconds (4)
 *   DECIMAL        scale (4), unscaled value in two's complement, big-endian
 *   TEXT, BYTES    the bytes
 *   nullable       the byte 1, then one of the above; empty for null
 * </pre>
 *
 * <p>A decimal includes its scale, so that it keeps its value when the precision of its field
 * grows.
 */
public final class DefaultValue {
  private static final byte[] ZERO = {};

  private DefaultValue() {}

  /** Returns whether bytes from the catalog are a valid default of a field. */
  public static boolean fits(Field f, byte[] value) {
    if (value.length == 0) {
      return true;
    }
    if (f.nullable() && value[0] != 1) {
      return false;
    }
    byte[] v = withoutPresence(f, value);
    if (v.length == 0) {
      return true;
    }
    return switch (f.type()) {
      case INT32, INT64, FLOAT64 -> v.length == Long.BYTES;
      case BOOLEAN, UUID, INSTANT -> v.length == f.width();
      case TEXT, BYTES -> v.length <= f.width();
      case DECIMAL -> v.length > Integer.BYTES && decimalFits(f, v);
    };
  }

  private static boolean decimalFits(Field f, byte[] v) {
    int scale = ByteBuffer.wrap(v).getInt();
    if (scale < 0 || scale > f.scale() || v.length - Integer.BYTES > f.width()) {
      return false;
    }
    return decimal(v).setScale(f.scale()).precision() <= f.precision();
  }

  private static BigDecimal decimal(byte[] v) {
    byte[] number = Arrays.copyOfRange(v, Integer.BYTES, v.length);
    return new BigDecimal(new BigInteger(number), ByteBuffer.wrap(v).getInt());
  }

  private static byte[] withoutPresence(Field f, byte[] value) {
    return f.nullable() ? Arrays.copyOfRange(value, 1, value.length) : value;
  }

  /**
   * Returns the bytes that a row contains for a field, from its start; omitted trailing bytes are
   * 0.
   */
  static byte[] inRow(Field f, byte[] value) {
    if (value.length == 0) {
      return ZERO;
    }
    byte[] v = withoutPresence(f, value);
    ByteBuffer out = ByteBuffer.allocate(f.rowBytes()).order(ByteOrder.nativeOrder());
    if (f.nullable()) {
      out.put((byte) 1);
    }
    if (v.length == 0) {
      return out.array();
    }
    ByteBuffer in = ByteBuffer.wrap(v);
    switch (f.type()) {
      case INT32 -> out.putInt((int) in.getLong());
      case INT64, FLOAT64 -> out.putLong(in.getLong());
      case INSTANT -> out.putLong(in.getLong()).putInt(in.getInt());
      case BOOLEAN, UUID -> out.put(v);
      case TEXT, BYTES -> out.putShort((short) v.length).put(v);
      case DECIMAL -> {
        byte[] n = decimal(v).setScale(f.scale()).unscaledValue().toByteArray();
        for (int i = n.length; i < f.width(); i++) {
          out.put((byte) (n[0] >> 7));
        }
        out.put(n);
      }
    }
    return out.array();
  }

  /** Returns the time of a default in milliseconds since 1970; 0 for none. */
  static long millis(Field f, byte[] value) {
    byte[] v = value.length == 0 ? value : withoutPresence(f, value);
    if (v.length == 0) {
      return 0;
    }
    ByteBuffer in = ByteBuffer.wrap(v);
    return f.type() == FieldType.INSTANT ? Times.millis(in.getLong(), in.getInt()) : in.getLong();
  }
}
