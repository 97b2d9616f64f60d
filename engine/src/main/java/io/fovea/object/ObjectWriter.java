package io.fovea.object;

import io.fovea.error.InvalidUseException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.Arrays;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Writes the parts of an object in sequence into its own memory.
 *
 * <pre>
 *   integers, floating point    little-endian, in full width
 *   boolean                     1 byte
 *   TEXT, BYTES, INTEGER        count (number of bytes + 1; 0: null) · UTF-8, bytes, or
 *                               big-endian two's complement
 *   DECIMAL                     presence (1) · scale (4) · as INTEGER
 *   UUID                        presence (1) · most significant (8) · least significant (8)
 *   INSTANT, DURATION           presence (1) · seconds (8) · nanoseconds (4)
 *   DATE, TIME, DATETIME        presence (1) · days (8), nanoseconds of the day (8), or both
 *   count                       7 bits per byte, low bits first; bit 7 is set in all but the last
 * </pre>
 *
 * <p>Used by one thread at a time.
 */
public final class ObjectWriter {
  private static final VarHandle SHORT =
      MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  /** The maximum size of the memory kept for the next object. */
  private static final int KEEP_BYTES = 64 << 10;

  private static final int SIZE_MAX = Integer.MAX_VALUE - 16;

  private byte[] bytes = new byte[256];
  private int at;

  public void clear() {
    at = 0;
    if (bytes.length > KEEP_BYTES) {
      bytes = new byte[256];
    }
  }

  public int length() {
    return at;
  }

  /** Returns the bytes written, from index 0; invalidated by the next write. */
  public byte[] array() {
    return bytes;
  }

  /** Returns whether two writers have written the same bytes. */
  public boolean equalTo(ObjectWriter other) {
    return Arrays.equals(bytes, 0, at, other.bytes, 0, other.at);
  }

  public byte[] toArray() {
    return Arrays.copyOf(bytes, at);
  }

  /** Reserves bytes; returns their offset. */
  int reserve(int n) {
    int from = at;
    if (n > bytes.length - from) {
      if (n > SIZE_MAX - from) {
        throw new InvalidUseException("The object takes more than " + SIZE_MAX + " bytes.");
      }
      bytes = Arrays.copyOf(bytes, (int) Math.min(SIZE_MAX, Math.max(from + n, 2L * from)));
    }
    at = from + n;
    return from;
  }

  // --------------------------------------------------------------------------------- without null

  void putBoolean(boolean value) {
    int to = reserve(1); // may replace the array
    bytes[to] = (byte) (value ? 1 : 0);
  }

  public void putByte(byte value) {
    int to = reserve(1);
    bytes[to] = value;
  }

  /** Writes bytes without a count. */
  void put(byte[] value) {
    int to = reserve(value.length);
    System.arraycopy(value, 0, bytes, to, value.length);
  }

  void put(byte[] value, int from, int length) {
    int to = reserve(length);
    System.arraycopy(value, from, bytes, to, length);
  }

  void putShort(short value) {
    int to = reserve(Short.BYTES);
    SHORT.set(bytes, to, value);
  }

  void putChar(char value) {
    putShort((short) value);
  }

  public void putInt(int value) {
    int to = reserve(Integer.BYTES);
    INT.set(bytes, to, value);
  }

  void putLong(long value) {
    int to = reserve(Long.BYTES);
    LONG.set(bytes, to, value);
  }

  void putFloat(float value) {
    putInt(Float.floatToRawIntBits(value));
  }

  void putDouble(double value) {
    putLong(Double.doubleToRawLongBits(value));
  }

  void putCount(int value) {
    int rest = value;
    while (rest >>> 7 != 0) {
      putByte((byte) (rest | 0x80));
      rest >>>= 7;
    }
    putByte((byte) rest);
  }

  /** Writes the presence byte of a value. */
  void putPresence(@Nullable Object value) {
    putBoolean(value != null);
  }

  // ------------------------------------------------------------------------------------ with null

  void putBoxedBoolean(@Nullable Boolean value) {
    putPresence(value);
    if (value != null) {
      putBoolean(value);
    }
  }

  void putBoxedByte(@Nullable Byte value) {
    putPresence(value);
    if (value != null) {
      putByte(value);
    }
  }

  void putBoxedShort(@Nullable Short value) {
    putPresence(value);
    if (value != null) {
      putShort(value);
    }
  }

  void putBoxedChar(@Nullable Character value) {
    putPresence(value);
    if (value != null) {
      putChar(value);
    }
  }

  void putBoxedInt(@Nullable Integer value) {
    putPresence(value);
    if (value != null) {
      putInt(value);
    }
  }

  void putBoxedLong(@Nullable Long value) {
    putPresence(value);
    if (value != null) {
      putLong(value);
    }
  }

  void putBoxedFloat(@Nullable Float value) {
    putPresence(value);
    if (value != null) {
      putFloat(value);
    }
  }

  void putBoxedDouble(@Nullable Double value) {
    putPresence(value);
    if (value != null) {
      putDouble(value);
    }
  }

  void putText(@Nullable String value) {
    if (value == null) {
      putByte((byte) 0);
      return;
    }
    int n = value.length();
    if (n < 0x7F) {
      // Most text is short ASCII: its encoded length is known in advance and takes one byte.
      int from = reserve(1 + n);
      byte[] to = bytes;
      int i = 0;
      for (; i < n; i++) {
        char c = value.charAt(i);
        if (c >= 0x80) {
          break;
        }
        to[from + 1 + i] = (byte) c;
      }
      if (i == n) {
        to[from] = (byte) (n + 1);
        return;
      }
      at = from;
    }
    putBytes(utf8(value));
  }

  /** Encodes UTF-8; rejects unpaired surrogates. */
  static byte[] utf8(String value) {
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      if (Character.isSurrogate(c)) {
        if (i + 1 < value.length() && Character.isSurrogatePair(c, value.charAt(i + 1))) {
          i++;
        } else {
          throw new InvalidUseException(
              "The text contains an unpaired surrogate at index "
                  + i
                  + ", which UTF-8 can't encode.");
        }
      }
    }
    return value.getBytes(StandardCharsets.UTF_8);
  }

  void putBytes(byte @Nullable [] value) {
    if (value == null) {
      putByte((byte) 0);
      return;
    }
    putCount(Math.addExact(value.length, 1));
    int to = reserve(value.length);
    System.arraycopy(value, 0, bytes, to, value.length);
  }

  void putInteger(@Nullable BigInteger value) {
    putBytes(value == null ? null : value.toByteArray());
  }

  void putDecimal(@Nullable BigDecimal value) {
    putPresence(value);
    if (value != null) {
      putInt(value.scale());
      putInteger(value.unscaledValue());
    }
  }

  void putUuid(@Nullable UUID value) {
    putPresence(value);
    if (value != null) {
      putLong(value.getMostSignificantBits());
      putLong(value.getLeastSignificantBits());
    }
  }

  void putInstant(@Nullable Instant value) {
    putPresence(value);
    if (value != null) {
      putLong(value.getEpochSecond());
      putInt(value.getNano());
    }
  }

  void putDuration(@Nullable Duration value) {
    putPresence(value);
    if (value != null) {
      putLong(value.getSeconds());
      putInt(value.getNano());
    }
  }

  void putDate(@Nullable LocalDate value) {
    putPresence(value);
    if (value != null) {
      putLong(value.toEpochDay());
    }
  }

  void putTime(@Nullable LocalTime value) {
    putPresence(value);
    if (value != null) {
      putLong(value.toNanoOfDay());
    }
  }

  void putDateTime(@Nullable LocalDateTime value) {
    putPresence(value);
    if (value != null) {
      putLong(value.toLocalDate().toEpochDay());
      putLong(value.toLocalTime().toNanoOfDay());
    }
  }
}
