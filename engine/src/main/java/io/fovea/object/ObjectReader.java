package io.fovea.object;

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
import java.util.Objects;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Reads the values that an {@link ObjectWriter} wrote, in the same order.
 *
 * <p>Other bytes lead to wrong values, an {@link IndexOutOfBoundsException} or an {@link
 * IllegalArgumentException}, but never to the use of more memory than there are bytes. Used by one
 * thread at a time.
 */
public final class ObjectReader {
  private static final VarHandle SHORT =
      MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private static final int KEEP_BYTES = 64 << 10;

  private byte[] bytes = new byte[256];
  private int at;
  private int end;

  /** The key of the record, if one of its components is the key. */
  @Nullable Object key;

  /** Returns the buffer to fill from index 0 before {@link #load}. */
  public byte[] buffer() {
    if (bytes.length > KEEP_BYTES) {
      bytes = new byte[256];
    }
    return bytes;
  }

  /** Returns a buffer of at least the given length, as {@link #buffer()} does. */
  public byte[] buffer(int length) {
    if (bytes.length < length) {
      bytes = new byte[length];
    }
    return bytes;
  }

  /** Starts reading the bytes in the buffer. */
  public void load(int length) {
    at = 0;
    end = Objects.checkIndex(length, bytes.length + 1);
  }

  public ObjectReader of(byte[] array) {
    bytes = array;
    at = 0;
    end = array.length;
    return this;
  }

  /** Sets the key of the next record. */
  public void key(@Nullable Object of) {
    key = of;
  }

  /** Returns whether all bytes have been read. */
  public boolean isAtEnd() {
    return at == end;
  }

  /** Skips bytes; returns their offset. */
  int take(int n) {
    int from = at;
    if (n < 0 || n > end - from) {
      throw new IndexOutOfBoundsException(
          n + " bytes at " + from + " of an object that has " + end + ".");
    }
    at = from + n;
    return from;
  }

  /** Moves to an offset that {@link #take} returned, or to a later one. */
  void seek(int offset) {
    at = Objects.checkIndex(offset, end + 1);
  }

  byte[] array() {
    return bytes;
  }

  int end() {
    return end;
  }

  // --------------------------------------------------------------------------------- without null

  boolean getBoolean() {
    return getByte() != 0;
  }

  public byte getByte() {
    return bytes[take(1)];
  }

  short getShort() {
    return (short) SHORT.get(bytes, take(Short.BYTES));
  }

  char getChar() {
    return (char) getShort();
  }

  public int getInt() {
    return (int) INT.get(bytes, take(Integer.BYTES));
  }

  long getLong() {
    return (long) LONG.get(bytes, take(Long.BYTES));
  }

  float getFloat() {
    return Float.intBitsToFloat(getInt());
  }

  double getDouble() {
    return Double.longBitsToDouble(getLong());
  }

  int getCount() {
    int value = getByte();
    if (value >= 0) {
      return value;
    }
    value &= 0x7F;
    for (int shift = 7; shift < Integer.SIZE; shift += 7) {
      int b = getByte();
      value |= (b & 0x7F) << shift;
      if (b >= 0) {
        return value;
      }
    }
    throw new IllegalArgumentException("A count of more than five bytes, at " + at + ".");
  }

  /** Reads the number of elements of a collection, or -1 for null. */
  int getSize() {
    int n = getCount() - 1;
    if (n > end - at) { // each element takes at least one byte
      throw new IndexOutOfBoundsException(n + " elements in " + (end - at) + " bytes.");
    }
    return n;
  }

  // ------------------------------------------------------------------------------------ with null

  @Nullable Boolean getBoxedBoolean() {
    return getBoolean() ? (Boolean) getBoolean() : null;
  }

  @Nullable Byte getBoxedByte() {
    return getBoolean() ? (Byte) getByte() : null;
  }

  @Nullable Short getBoxedShort() {
    return getBoolean() ? (Short) getShort() : null;
  }

  @Nullable Character getBoxedChar() {
    return getBoolean() ? (Character) getChar() : null;
  }

  @Nullable Integer getBoxedInt() {
    return getBoolean() ? (Integer) getInt() : null;
  }

  @Nullable Long getBoxedLong() {
    return getBoolean() ? (Long) getLong() : null;
  }

  @Nullable Float getBoxedFloat() {
    return getBoolean() ? (Float) getFloat() : null;
  }

  @Nullable Double getBoxedDouble() {
    return getBoolean() ? (Double) getDouble() : null;
  }

  @Nullable String getText() {
    int n = getCount() - 1;
    return n < 0 ? null : new String(bytes, take(n), n, StandardCharsets.UTF_8);
  }

  byte @Nullable [] getBytes() {
    int n = getCount() - 1;
    if (n < 0) {
      return null;
    }
    int from = take(n);
    return Arrays.copyOfRange(bytes, from, from + n);
  }

  @Nullable BigInteger getInteger() {
    byte[] value = getBytes();
    return value == null ? null : new BigInteger(value);
  }

  @Nullable BigDecimal getDecimal() {
    if (!getBoolean()) {
      return null;
    }
    int scale = getInt();
    BigInteger unscaled = getInteger();
    if (unscaled == null) {
      throw new IllegalArgumentException("A decimal number without digits, at " + at + ".");
    }
    return new BigDecimal(unscaled, scale);
  }

  @Nullable UUID getUuid() {
    return getBoolean() ? new UUID(getLong(), getLong()) : null;
  }

  @Nullable Instant getInstant() {
    return getBoolean() ? Instant.ofEpochSecond(getLong(), getInt()) : null;
  }

  @Nullable Duration getDuration() {
    return getBoolean() ? Duration.ofSeconds(getLong(), getInt()) : null;
  }

  @Nullable LocalDate getDate() {
    return getBoolean() ? LocalDate.ofEpochDay(getLong()) : null;
  }

  @Nullable LocalTime getTime() {
    return getBoolean() ? LocalTime.ofNanoOfDay(getLong()) : null;
  }

  @Nullable LocalDateTime getDateTime() {
    return getBoolean()
        ? LocalDateTime.of(LocalDate.ofEpochDay(getLong()), LocalTime.ofNanoOfDay(getLong()))
        : null;
  }
}
