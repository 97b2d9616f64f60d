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
 * Reads what an {@link ObjectWriter} has written, in the same order.
 *
 * <p>Bytes that were not written so give wrong values, or an {@link IndexOutOfBoundsException} or
 * {@link IllegalArgumentException}, and never more memory than there are bytes. One thread at a
 * time.
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

  /** The key of the record, where a component of it is the key. */
  @Nullable Object key;

  /** Where bytes may be put, from index 0 on, before {@link #load}. */
  public byte[] buffer() {
    if (bytes.length > KEEP_BYTES) {
      bytes = new byte[256];
    }
    return bytes;
  }

  /** Room for some bytes, as {@link #buffer}. */
  public byte[] buffer(int length) {
    if (bytes.length < length) {
      bytes = new byte[length];
    }
    return bytes;
  }

  /** Reads what was put into the buffer. */
  public void load(int length) {
    at = 0;
    end = Objects.checkIndex(length, bytes.length + 1);
  }

  /** Reads from an array. */
  public ObjectReader of(byte[] array) {
    bytes = array;
    at = 0;
    end = array.length;
    return this;
  }

  /** Whose key the next record has. */
  public void key(@Nullable Object of) {
    key = of;
  }

  /** Whether everything was read. */
  public boolean isAtEnd() {
    return at == end;
  }

  /** Passes over some bytes; returns where they begin. */
  int take(int n) {
    int from = at;
    if (n < 0 || n > end - from) {
      throw new IndexOutOfBoundsException(
          n + " bytes at " + from + " of an object that has " + end + ".");
    }
    at = from + n;
    return from;
  }

  /** Goes back to a place that {@link #take} returned, or on to one. */
  void seek(int place) {
    at = Objects.checkIndex(place, end + 1);
  }

  /** What it reads from. */
  byte[] array() {
    return bytes;
  }

  /** Behind its last byte. */
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

  /**
   * The number of elements of a collection.
   *
   * @return -1 for null
   */
  int getSize() {
    int n = getCount() - 1;
    if (n > end - at) { // each takes a byte at least
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
