package io.fovea.object;

import io.fovea.error.InvalidUseException;
import io.fovea.schema.Shape;
import io.fovea.schema.Shape.Composite;
import io.fovea.schema.Shape.Scalar;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Parts of keys: byte sequences whose unsigned order is the order of the values. None is a prefix
 * of another.
 *
 * <pre>
 *   integers, dates, times   big-endian, the sign bit flipped
 *   boolean                  0 or 1
 *   floating point           big-endian; all bits flipped if negative, otherwise the sign bit:
 *                            -0.0 sorts before 0.0, NaN last
 *   TEXT, BYTES              each 0x00 as 0x00 0xFF, then 0x00 0x01, as in Tuple
 *   UUID                     its 16 bytes; {@link UUID#compareTo} has another order
 *   INSTANT, DURATION        seconds (8) as integers, nanoseconds (4)
 *   enum                     the number of the constant (2)
 * </pre>
 */
final class KeyParts {
  private static final VarHandle SHORT =
      MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.BIG_ENDIAN);
  private static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

  private static final byte ESCAPED = (byte) 0xFF;
  private static final byte END = 0x01;

  private KeyParts() {}

  static <T> T requireNonNull(@Nullable T value) {
    if (value == null) {
      throw new InvalidUseException("No part of a key can be null.");
    }
    return value;
  }

  static void putBoolean(ObjectWriter out, boolean value) {
    out.putBoolean(value);
  }

  static boolean getBoolean(ObjectReader in) {
    return in.getBoolean();
  }

  static void putByte(ObjectWriter out, byte value) {
    out.putByte((byte) (value ^ Byte.MIN_VALUE));
  }

  static byte getByte(ObjectReader in) {
    return (byte) (in.getByte() ^ Byte.MIN_VALUE);
  }

  static void putShort(ObjectWriter out, short value) {
    putUnsigned(out, (short) (value ^ Short.MIN_VALUE));
  }

  static short getShort(ObjectReader in) {
    return (short) (getUnsigned(in) ^ Short.MIN_VALUE);
  }

  static void putChar(ObjectWriter out, char value) {
    putUnsigned(out, (short) value);
  }

  static char getChar(ObjectReader in) {
    return (char) getUnsigned(in);
  }

  private static void putUnsigned(ObjectWriter out, short value) {
    int to = out.reserve(Short.BYTES);
    SHORT.set(out.array(), to, value);
  }

  private static short getUnsigned(ObjectReader in) {
    int from = in.take(Short.BYTES);
    return (short) SHORT.get(in.array(), from);
  }

  static void putInt(ObjectWriter out, int value) {
    int to = out.reserve(Integer.BYTES);
    INT.set(out.array(), to, value ^ Integer.MIN_VALUE);
  }

  static int getInt(ObjectReader in) {
    int from = in.take(Integer.BYTES);
    return (int) INT.get(in.array(), from) ^ Integer.MIN_VALUE;
  }

  static void putLong(ObjectWriter out, long value) {
    int to = out.reserve(Long.BYTES);
    LONG.set(out.array(), to, value ^ Long.MIN_VALUE);
  }

  static long getLong(ObjectReader in) {
    int from = in.take(Long.BYTES);
    return (long) LONG.get(in.array(), from) ^ Long.MIN_VALUE;
  }

  static long getLong(byte[] part, int at) {
    return (long) LONG.get(part, at) ^ Long.MIN_VALUE;
  }

  static int getInt(byte[] part, int at) {
    return (int) INT.get(part, at) ^ Integer.MIN_VALUE;
  }

  static void putFloat(ObjectWriter out, float value) {
    int bits = Float.floatToIntBits(value);
    putInt(out, bits < 0 ? bits ^ Integer.MAX_VALUE : bits);
  }

  static float getFloat(ObjectReader in) {
    int bits = getInt(in);
    return Float.intBitsToFloat(bits < 0 ? bits ^ Integer.MAX_VALUE : bits);
  }

  static void putDouble(ObjectWriter out, double value) {
    long bits = Double.doubleToLongBits(value);
    putLong(out, bits < 0 ? bits ^ Long.MAX_VALUE : bits);
  }

  static double getDouble(ObjectReader in) {
    long bits = getLong(in);
    return Double.longBitsToDouble(bits < 0 ? bits ^ Long.MAX_VALUE : bits);
  }

  /** Returns the length of the terminator of a key's last part, which only text and bytes have. */
  static int endBytes(Shape key) {
    Shape last = key;
    while (last instanceof Composite c) {
      last = c.components().getLast().shape();
    }
    return last == Scalar.TEXT || last == Scalar.BYTES ? 2 : 0;
  }

  static void putText(ObjectWriter out, @Nullable String value) {
    putBytes(out, ObjectWriter.utf8(requireNonNull(value)));
  }

  static String getText(ObjectReader in) {
    return new String(getBytes(in), StandardCharsets.UTF_8);
  }

  static void putBytes(ObjectWriter out, byte @Nullable [] value) {
    byte[] bytes = requireNonNull(value);
    putBytes(out, bytes, 0, bytes.length);
  }

  static void putBytes(ObjectWriter out, byte[] bytes, int from, int length) {
    int zeros = 0;
    for (int i = 0; i < length; i++) {
      zeros += bytes[from + i] == 0 ? 1 : 0;
    }
    int to = out.reserve(length + zeros + 2);
    byte[] array = out.array();
    for (int i = 0; i < length; i++) {
      byte b = bytes[from + i];
      array[to++] = b;
      if (b == 0) {
        array[to++] = ESCAPED;
      }
    }
    array[to] = 0;
    array[to + 1] = END;
  }

  static byte[] getBytes(ObjectReader in) {
    byte[] array = in.array();
    int from = in.take(0);
    int zeros = 0;
    int at = from;
    while (true) {
      if (at + 1 >= in.end()) {
        throw new IndexOutOfBoundsException("A part of a key that does not end, at " + from + ".");
      }
      if (array[at] != 0) {
        at++;
      } else if (array[at + 1] == END) {
        break;
      } else {
        zeros++;
        at += 2;
      }
    }
    byte[] value = new byte[at - from - zeros];
    int n = 0;
    for (int i = from; i < at; i++) {
      byte b = array[i];
      value[n++] = b;
      i += b == 0 ? 1 : 0;
    }
    in.seek(at + 2);
    return value;
  }

  static void putUuid(ObjectWriter out, @Nullable UUID value) {
    UUID uuid = requireNonNull(value);
    putLong(out, uuid.getMostSignificantBits() ^ Long.MIN_VALUE);
    putLong(out, uuid.getLeastSignificantBits() ^ Long.MIN_VALUE);
  }

  static UUID getUuid(ObjectReader in) {
    return new UUID(getLong(in) ^ Long.MIN_VALUE, getLong(in) ^ Long.MIN_VALUE);
  }

  static void putInstant(ObjectWriter out, @Nullable Instant value) {
    Instant instant = requireNonNull(value);
    putLong(out, instant.getEpochSecond());
    putInt(out, instant.getNano());
  }

  static Instant getInstant(ObjectReader in) {
    try {
      return Instant.ofEpochSecond(getLong(in), getInt(in));
    } catch (DateTimeException | ArithmeticException e) {
      throw new IllegalArgumentException("No point of time.", e);
    }
  }

  static void putDuration(ObjectWriter out, @Nullable Duration value) {
    Duration duration = requireNonNull(value);
    putLong(out, duration.getSeconds());
    putInt(out, duration.getNano());
  }

  static Duration getDuration(ObjectReader in) {
    return Duration.ofSeconds(getLong(in), getInt(in));
  }

  static void putDate(ObjectWriter out, @Nullable LocalDate value) {
    putLong(out, requireNonNull(value).toEpochDay());
  }

  static LocalDate getDate(ObjectReader in) {
    return LocalDate.ofEpochDay(getLong(in));
  }

  static void putTime(ObjectWriter out, @Nullable LocalTime value) {
    putLong(out, requireNonNull(value).toNanoOfDay());
  }

  static LocalTime getTime(ObjectReader in) {
    return LocalTime.ofNanoOfDay(getLong(in));
  }

  static void putDateTime(ObjectWriter out, @Nullable LocalDateTime value) {
    LocalDateTime time = requireNonNull(value);
    putDate(out, time.toLocalDate());
    putTime(out, time.toLocalTime());
  }

  static LocalDateTime getDateTime(ObjectReader in) {
    return LocalDateTime.of(getDate(in), getTime(in));
  }

  static void putEnum(ObjectWriter out, @Nullable Enum<?> value) {
    putUnsigned(out, (short) requireNonNull(value).ordinal());
  }

  static <E> E getEnum(E[] constants, ObjectReader in) {
    int ordinal = Short.toUnsignedInt(getUnsigned(in));
    if (ordinal >= constants.length) {
      throw new IllegalArgumentException("No constant has the number " + ordinal + ".");
    }
    return constants[ordinal];
  }
}
