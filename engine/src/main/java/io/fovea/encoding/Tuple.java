package io.fovea.encoding;

import io.fovea.error.InvalidUseException;
import io.fovea.memory.Mem;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import java.lang.foreign.MemorySegment;
import java.math.BigDecimal;
import java.time.Instant;
import java.util.UUID;

/**
 * The encoding of keys: a byte string whose unsigned order is the order of the values.
 *
 * <pre>
 *   INT32, INT64   big-endian, sign bit flipped                        4 or 8 bytes
 *   TEXT, BYTES    the bytes, each 0x00 as 0x00 0xFF, then 0x00 0x01   at most 2 n + 2 bytes
 *   BOOLEAN        0x00 or 0x01                                        1 byte
 *   FLOAT64        IEEE 754, big-endian; sign bit flipped, all bits for negative numbers   8 bytes
 *   UUID           its bytes                                           16 bytes
 *   INSTANT        seconds since 1970 as INT64, nanoseconds of the second big-endian      12 bytes
 *   DECIMAL        unscaled, big-endian, sign bit flipped              1 to 16 bytes
 *   nullable       0x00 for null, without a value; otherwise 0x01, and the value
 * </pre>
 *
 * <p>Doubles have the order of {@link Double#compare}: the bits of a positive number grow with the
 * number, but the bits of a negative number grow with its distance from 0, so they are inverted.
 * Every NaN is stored as the same value, which is above infinity.
 *
 * <p><b>Why the end mark has two bytes.</b> With a single 0x00, the value {@code a} followed by a
 * part that begins with 0xFF would equal {@code a, 0x00}. The second byte of the mark, 0x01, is
 * below the second byte of an escaped zero, so a string comes before every longer string that
 * begins with it. No encoded part is a proper prefix of another value of the same part: encoded
 * tuples are prefix-free, and a tuple of fewer parts is a prefix of exactly those tuples that begin
 * with its values.
 *
 * <p>Nothing here allocates, except for exceptions and for reading objects.
 */
public final class Tuple {
  /** An integer of 4 bytes. */
  public static final int INT32 = 1;

  /** An integer of 8 bytes. */
  public static final int INT64 = 2;

  /** UTF-8 of any length. */
  public static final int TEXT = 3;

  /** Bytes of any length. */
  public static final int BYTES = 4;

  /** False or true. */
  public static final int BOOLEAN = 5;

  /** A double. */
  public static final int FLOAT64 = 6;

  public static final int UUID = 7;

  /** A point in time. */
  public static final int INSTANT = 8;

  /** A decimal number of a fixed precision. */
  public static final int DECIMAL = 9;

  /** Added to one of the codes above if the value may be null. */
  public static final int NULLABLE = 0x80;

  private static final int CODE = 0x7F;

  /** The shift of a decimal's width within a form. */
  private static final int WIDTH_SHIFT = 8;

  private static final int ESCAPE = 0x00;
  private static final int ZERO = 0xFF;
  private static final int END = 0x01;

  /** The size of the mark that ends text or a byte string. */
  public static final int END_BYTES = 2;

  private Tuple() {}

  /**
   * Returns the form of a part, from which its end can be found: one of {@link #INT32} and so on,
   * with {@link #NULLABLE} and the width of a decimal.
   *
   * @return for a part that is neither a decimal nor nullable, the code of its type
   */
  public static int form(Field part) {
    FieldType type = part.type();
    return type.code()
        | (part.nullable() ? NULLABLE : 0)
        | (type == FieldType.DECIMAL ? part.width() << WIDTH_SHIFT : 0);
  }

  /** Returns the type of a form. */
  public static int code(int form) {
    return form & CODE;
  }

  /** Returns the maximum size of a part. */
  public static int maxBytes(int form, int width) {
    int code = code(form);
    int bytes = code == TEXT || code == BYTES ? 2 * width + 2 : width;
    return (form & NULLABLE) == 0 ? bytes : bytes + 1;
  }

  /** Writes an integer of 4 bytes; returns the offset after it. */
  public static int putInt32(MemorySegment seg, int off, int value) {
    Mem.putIntBE(seg, off, value ^ Integer.MIN_VALUE);
    return off + 4;
  }

  /** Writes an integer of 8 bytes; returns the offset after it. */
  public static int putInt64(MemorySegment seg, int off, long value) {
    Mem.putLongBE(seg, off, value ^ Long.MIN_VALUE);
    return off + 8;
  }

  /** Reads an integer of 4 bytes. */
  public static int getInt32(MemorySegment seg, int off) {
    return Mem.getIntBE(seg, off) ^ Integer.MIN_VALUE;
  }

  /** Reads an integer of 8 bytes. */
  public static long getInt64(MemorySegment seg, int off) {
    return Mem.getLongBE(seg, off) ^ Long.MIN_VALUE;
  }

  /** Writes whether a nullable part has a value; returns the offset after it. */
  public static int putPresence(MemorySegment seg, int off, boolean present) {
    return putBoolean(seg, off, present);
  }

  /** Writes a boolean; returns the offset after it. */
  public static int putBoolean(MemorySegment seg, int off, boolean value) {
    Mem.putByte(seg, off, (byte) (value ? 1 : 0));
    return off + 1;
  }

  public static boolean getBoolean(MemorySegment seg, int off) {
    return Mem.getByte(seg, off) != 0;
  }

  /** Writes a double; returns the offset after it. */
  public static int putFloat64(MemorySegment seg, int off, double value) {
    long bits = Double.doubleToLongBits(value);
    Mem.putLongBE(seg, off, bits ^ (bits >> 63 | Long.MIN_VALUE));
    return off + 8;
  }

  public static double getFloat64(MemorySegment seg, int off) {
    long bits = Mem.getLongBE(seg, off);
    return Double.longBitsToDouble(bits ^ (~bits >> 63 | Long.MIN_VALUE));
  }

  /** Writes a UUID; returns the offset after it. */
  public static int putUuid(MemorySegment seg, int off, UUID value) {
    Mem.putLongBE(seg, off, value.getMostSignificantBits());
    Mem.putLongBE(seg, off + 8, value.getLeastSignificantBits());
    return off + 16;
  }

  public static UUID getUuid(MemorySegment seg, long off) {
    return new UUID(Mem.getLongBE(seg, off), Mem.getLongBE(seg, off + 8));
  }

  /** Writes an instant; returns the offset after it. */
  public static int putInstant(MemorySegment seg, int off, long seconds, int nanos) {
    putInt64(seg, off, seconds);
    Mem.putIntBE(seg, off + 8, nanos);
    return off + Times.BYTES;
  }

  public static Instant getInstant(MemorySegment seg, int off) {
    return Times.of(getInt64(seg, off), Mem.getIntBE(seg, off + 8));
  }

  /**
   * Writes a decimal; returns the offset after it.
   *
   * @param width the width of its field
   * @param value a value that has the scale of its field and fits it
   */
  public static int putDecimal(MemorySegment seg, int off, int width, BigDecimal value) {
    Decimals.put(seg, off, width, value);
    return flipped(seg, off, width);
  }

  /** Writes a decimal from its form in a row; returns the offset after it. */
  public static int copyDecimal(
      MemorySegment row, long rowOff, MemorySegment seg, int off, int width) {
    Mem.copy(row, rowOff, seg, off, width);
    return flipped(seg, off, width);
  }

  private static int flipped(MemorySegment seg, int off, int width) {
    Mem.putByte(seg, off, (byte) (Mem.getByte(seg, off) ^ 0x80));
    return off + width;
  }

  public static BigDecimal getDecimal(MemorySegment seg, int off, int width, int scale) {
    return Decimals.get(seg, off, width, scale, true);
  }

  /**
   * Escapes bytes, without the end mark.
   *
   * @return the offset after them
   */
  public static int escape(MemorySegment src, long srcOff, int len, MemorySegment dst, int dstOff) {
    int at = dstOff;
    for (int i = 0; i < len; i++) {
      byte b = Mem.getByte(src, srcOff + i);
      Mem.putByte(dst, at++, b);
      if (b == ESCAPE) {
        Mem.putByte(dst, at++, (byte) ZERO);
      }
    }
    return at;
  }

  /** Escapes bytes on the heap, without the end mark; returns the offset after them. */
  public static int escape(byte[] src, int srcOff, int len, MemorySegment dst, int dstOff) {
    int at = dstOff;
    for (int i = 0; i < len; i++) {
      byte b = src[srcOff + i];
      Mem.putByte(dst, at++, b);
      if (b == ESCAPE) {
        Mem.putByte(dst, at++, (byte) ZERO);
      }
    }
    return at;
  }

  /**
   * Escapes text as UTF-8, without the end mark.
   *
   * @param maxBytes the maximum length of its UTF-8, before escaping
   * @return the offset after it, or -1 - (length of its UTF-8) if that exceeds {@code maxBytes}
   * @throws InvalidUseException if the text has an unpaired surrogate
   */
  public static int escapeText(CharSequence text, int maxBytes, MemorySegment dst, int dstOff) {
    int at = dstOff;
    int n = text.length();
    int zeros = 0;
    if (n > maxBytes) {
      return -1 - Utf8.length(text);
    }
    for (int i = 0; i < n; i++) {
      char c = text.charAt(i);
      if (c == 0) {
        Mem.putShortBE(dst, at, (short) ZERO);
        at += 2;
        zeros++;
      } else if (c < 0x80) {
        Mem.putByte(dst, at++, (byte) c);
      } else {
        if (at - dstOff - zeros + 4 > maxBytes && Utf8.length(text) > maxBytes) {
          return -1 - Utf8.length(text);
        }
        int point = Utf8.codePoint(text, i);
        at = Utf8.put(point, dst, at);
        i += point >= 0x10000 ? 1 : 0;
      }
    }
    int bytes = at - dstOff - zeros;
    return bytes <= maxBytes ? at : -1 - bytes;
  }

  /** Ends text or a byte string; returns the offset after the mark. */
  public static int end(MemorySegment seg, int off) {
    Mem.putShortBE(seg, off, (short) END);
    return off + END_BYTES;
  }

  /**
   * Returns the offset after an encoded part.
   *
   * @param type {@link #INT32} and so on, or another {@link #form}
   * @param off the start of the part
   * @param limit the end of the key
   * @return an offset up to {@code limit}, or -1 if the part is incomplete
   */
  public static int skip(MemorySegment seg, int off, int limit, int type) {
    if (type == INT32 || type == INT64) {
      int end = off + (type == INT32 ? 4 : 8);
      return end <= limit ? end : -1;
    }
    if (type > BYTES) {
      return skipOther(seg, off, limit, type);
    }
    int at = off;
    while (at + 1 < limit) {
      if (Mem.getByte(seg, at) != ESCAPE) {
        at++;
      } else if (Mem.getUnsignedByte(seg, at + 1) == END) {
        return at + 2;
      } else {
        at += 2;
      }
    }
    return -1;
  }

  private static int skipOther(MemorySegment seg, int off, int limit, int form) {
    int at = off;
    if ((form & NULLABLE) != 0) {
      if (at >= limit) {
        return -1;
      }
      if (Mem.getByte(seg, at++) == 0) {
        return at;
      }
    }
    int code = code(form);
    if (code <= BYTES) {
      return skip(seg, at, limit, code);
    }
    int end =
        at
            + switch (code) {
              case BOOLEAN -> 1;
              case FLOAT64 -> 8;
              case UUID -> 16;
              case INSTANT -> Times.BYTES;
              default -> form >>> WIDTH_SHIFT;
            };
    return end <= limit ? end : -1;
  }

  /**
   * Decodes text or a byte string.
   *
   * @param off the start of the part
   * @param end the end of the part, after its mark
   * @return a new array
   */
  public static byte[] getBytes(MemorySegment seg, int off, int end) {
    byte[] out = new byte[end - 2 - off];
    int n = 0;
    for (int at = off; at < end - 2; at++) {
      byte b = Mem.getByte(seg, at);
      out[n++] = b;
      if (b == ESCAPE) {
        at++;
      }
    }
    return n == out.length ? out : java.util.Arrays.copyOf(out, n);
  }

  /**
   * Turns a key into the smallest byte string above all byte strings that begin with the key.
   *
   * @param seg the memory with the key, which is changed
   * @return the new length; 0 if there is no such string, because all bytes are 0xFF
   */
  public static int successorOfPrefix(MemorySegment seg, int off, int len) {
    for (int n = len; n > 0; n--) {
      int b = Mem.getUnsignedByte(seg, off + n - 1);
      if (b != 0xFF) {
        Mem.putByte(seg, off + n - 1, (byte) (b + 1));
        return n;
      }
    }
    return 0;
  }
}
