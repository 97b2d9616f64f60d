package io.fovea;

import io.fovea.encoding.KeyText;
import io.fovea.encoding.Tuple;
import io.fovea.error.CorruptionException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.ValueTooLargeException;
import io.fovea.memory.Mem;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.KeyReader;
import io.fovea.schema.KeySpec;
import io.fovea.schema.KeyWriter;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A key, or the first parts of one: caller-owned, reusable, in memory outside the Java heap.
 *
 * <p>Parts are set in order: {@code set(...)} begins a new key, {@link #int32}, {@link #int64},
 * {@link #text} and {@link #bytes(byte[])} append. A key with fewer parts than its specification
 * has is a prefix: it stands for all keys that begin with it in a {@link Range}, and is refused
 * where one record is meant.
 *
 * <p>Made by {@link Table#key} and {@link Index#key}, and good for that table or index only. Used
 * by one thread at a time. Setting and reading numbers allocates nothing.
 *
 * @since 0.1.0
 */
public final class Key implements KeyReader, KeyWriter {
  // The file has more than 600 lines because each type of a part has its setter and its getter
  // here, each with a contract. How parts become bytes in order is in the room encoding.

  // Long for its documentation: three setters and two getters for each type of a part.

  private static final int UNKNOWN = -1;

  private final KeySpec spec;
  private final Field[] parts;

  /** The most bytes of a key; what is read from a file may say more. */
  private final int bytesMax;

  /** The table or index that it belongs to. */
  private final Object owner;

  private MemorySegment segment;
  private final long base;

  /** ends[i] is where part i ends; known for the first {@link #count} parts. */
  private final int[] ends;

  private int length;

  /** How many parts are set, or UNKNOWN where they were loaded and not looked at yet. */
  private int count;

  /** Whether the last part is only the beginning of a text or byte string. */
  private boolean open;

  Key(KeySpec spec, Object owner) {
    this(spec, owner, Arena.ofAuto().allocate(Math.max(8, spec.bytesMax()), 8), 0);
  }

  /** A key in scratch memory of the caller. */
  Key(KeySpec spec, Object owner, MemorySegment segment, long base) {
    this.spec = spec;
    this.parts = spec.parts().toArray(Field[]::new);
    this.bytesMax = spec.bytesMax();
    this.owner = owner;
    this.segment = segment;
    this.base = base;
    this.ends = new int[parts.length];
  }

  // ------------------------------------------------------------------------------ for the engine

  Object owner() {
    return owner;
  }

  MemorySegment segment() {
    return segment;
  }

  long base() {
    return base;
  }

  int length() {
    return length;
  }

  /**
   * Takes over the bytes of an encoded key.
   *
   * @throws CorruptionException if they are more than a key of this kind has
   */
  void load(MemorySegment src, long off, int len) {
    if (len > bytesMax) {
      throw new CorruptionException("length of a key", -1, -1, bytesMax, len);
    }
    Mem.copy(src, off, segment, base, len);
    length = len;
    count = UNKNOWN;
    open = false;
  }

  /** Says how long the bytes are that were put into {@link #segment}. */
  void loaded(int len) {
    length = len;
    count = UNKNOWN;
    open = false;
  }

  private int count() {
    if (count == UNKNOWN) {
      count = parse();
    }
    return count;
  }

  private int parse() {
    if (spec.isRaw()) {
      ends[0] = length;
      return 1;
    }
    int at = 0;
    int n = 0;
    while (n < parts.length && at < length) {
      int end = skip(at, parts[n].type());
      if (end < 0) {
        break;
      }
      ends[n++] = end;
      at = end;
    }
    return n;
  }

  private int skip(int at, FieldType type) {
    int end = Tuple.skip(segment, (int) base + at, (int) base + length, type.code());
    return end < 0 ? end : end - (int) base;
  }

  private int start(int part) {
    return part == 0 ? 0 : ends[part - 1];
  }

  // ---------------------------------------------------------------------------------- description

  /**
   * The parts of the key.
   *
   * @return the specification
   */
  @Override
  public KeySpec spec() {
    return spec;
  }

  /**
   * How many parts are set.
   *
   * @return 0 to the number of parts of the specification; a {@link #textPrefix} does not count
   */
  @Override
  public int parts() {
    return count();
  }

  /**
   * Whether all parts are set.
   *
   * @return false for a prefix
   */
  @Override
  public boolean isComplete() {
    return count() == parts.length;
  }

  // -------------------------------------------------------------------------------------- setting

  /**
   * Removes all parts.
   *
   * @return this
   */
  @Override
  public Key clear() {
    length = 0;
    count = 0;
    open = false;
    return this;
  }

  /**
   * Makes it a key of one integer.
   *
   * @param a the first part; of either integer type
   * @return this
   * @throws InvalidUseException if the part is no integer
   */
  @Override
  public Key set(int a) {
    return clear().integer(a);
  }

  /**
   * Makes it a key of two integers.
   *
   * @param a the first part
   * @param b the second part
   * @return this
   * @throws InvalidUseException if there are fewer parts or they are no integers
   */
  @Override
  public Key set(int a, int b) {
    return clear().integer(a).integer(b);
  }

  /**
   * Makes it a key of three integers.
   *
   * @param a the first part
   * @param b the second part
   * @param c the third part
   * @return this
   * @throws InvalidUseException if there are fewer parts or they are no integers
   */
  public Key set(int a, int b, int c) {
    return clear().integer(a).integer(b).integer(c);
  }

  /**
   * Makes it a key of four integers.
   *
   * @param a the first part
   * @param b the second part
   * @param c the third part
   * @param d the fourth part
   * @return this
   * @throws InvalidUseException if there are fewer parts or they are no integers
   */
  public Key set(int a, int b, int c, int d) {
    return clear().integer(a).integer(b).integer(c).integer(d);
  }

  /**
   * Makes it a key of one integer.
   *
   * @param a the first part
   * @return this
   * @throws InvalidUseException if the part is no integer, or of 4 bytes and the value does not fit
   */
  @Override
  public Key set(long a) {
    return clear().integer(a);
  }

  /**
   * Makes it a key of two integers.
   *
   * @param a the first part
   * @param b the second part
   * @return this
   * @throws InvalidUseException if there are fewer parts, or they are no integers, or of 4 bytes
   *     and the value does not fit
   */
  @Override
  public Key set(long a, long b) {
    return clear().integer(a).integer(b);
  }

  /**
   * Makes it a key of one text.
   *
   * @param a the first part
   * @return this
   * @throws InvalidUseException if the part is no text
   * @throws ValueTooLargeException if the text is longer than the part may be
   */
  @Override
  public Key set(CharSequence a) {
    return clear().text(a);
  }

  /**
   * Takes over the parts of another key of the same specification.
   *
   * @param other what to copy
   * @return this
   * @throws InvalidUseException if it has other parts
   */
  public Key set(Key other) {
    if (!spec.equals(other.spec)) {
      throw new InvalidUseException(
          "A key of " + other.spec + " where one of " + spec + " is due.");
    }
    load(other.segment, other.base, other.length);
    open = other.open;
    return this;
  }

  /**
   * Appends an integer of 4 bytes.
   *
   * @param value its value
   * @return this
   * @throws InvalidUseException if the next part is of another type, or all parts are set
   */
  @Override
  public Key int32(int value) {
    next(FieldType.INT32);
    return put32(value);
  }

  /**
   * Appends an integer of 8 bytes.
   *
   * @param value its value
   * @return this
   * @throws InvalidUseException if the next part is of another type, or all parts are set
   */
  @Override
  public Key int64(long value) {
    next(FieldType.INT64);
    return put64(value);
  }

  /**
   * Appends a text.
   *
   * @param value its value
   * @return this
   * @throws InvalidUseException if the next part is of another type, or all parts are set, or the
   *     text holds half a surrogate pair
   * @throws ValueTooLargeException if its UTF-8 is longer than the part may be
   */
  @Override
  public Key text(CharSequence value) {
    int end = appendText(value);
    return ended(Tuple.end(segment, end));
  }

  /**
   * Appends the beginning of a text, for a range of all keys whose text begins so. Nothing can be
   * appended after it.
   *
   * @param value the beginning
   * @return this
   * @throws InvalidUseException if the next part is of another type, or all parts are set, or the
   *     text holds half a surrogate pair
   * @throws ValueTooLargeException if its UTF-8 is longer than the part may be
   */
  public Key textPrefix(CharSequence value) {
    length = appendText(value) - (int) base;
    open = true;
    return this;
  }

  private int appendText(CharSequence value) {
    Objects.requireNonNull(value, "value");
    Field part = next(FieldType.TEXT);
    int end = Tuple.escapeText(value, part.width(), segment, (int) base + length);
    if (end < 0) {
      throw tooLong(part, -1 - end);
    }
    return end;
  }

  /**
   * Appends a byte string.
   *
   * @param value its value
   * @return this
   * @throws InvalidUseException if the next part is of another type, or all parts are set
   * @throws ValueTooLargeException if it is longer than the part may be
   */
  @Override
  public Key bytes(byte[] value) {
    Objects.requireNonNull(value, "value");
    return bytes(value, 0, value.length);
  }

  /**
   * Appends a byte string.
   *
   * @param value holds its value
   * @param offset where it begins
   * @param len how many bytes it has
   * @return this
   * @throws InvalidUseException if the next part is of another type, or all parts are set
   * @throws ValueTooLargeException if it is longer than the part may be
   * @throws IndexOutOfBoundsException if there are not so many bytes
   */
  @Override
  public Key bytes(byte[] value, int offset, int len) {
    Objects.requireNonNull(value, "value");
    Objects.checkFromIndexSize(offset, len, value.length);
    Field part = next(FieldType.BYTES);
    if (len > part.width()) {
      throw tooLong(part, len);
    }
    if (spec.isRaw()) {
      Mem.putBytes(segment, base, value, offset, len);
      return ended((int) base + len);
    }
    int end = Tuple.escape(value, offset, len, segment, (int) base + length);
    return ended(Tuple.end(segment, end));
  }

  private Key integer(long value) {
    int n = count();
    FieldType type = n < parts.length ? parts[n].type() : null;
    if (type == FieldType.INT32 && value == (int) value && !open) {
      return put32((int) value);
    }
    if (type == FieldType.INT64 && !open) {
      return put64(value);
    }
    throw mismatch(type == FieldType.INT32 ? "a value of 8 bytes (" + value + ")" : "an integer");
  }

  private Key put32(int value) {
    return ended(Tuple.putInt32(segment, (int) base + length, value));
  }

  private Key put64(long value) {
    return ended(Tuple.putInt64(segment, (int) base + length, value));
  }

  private Key ended(int end) {
    length = end - (int) base;
    ends[count++] = length;
    return this;
  }

  private Field next(FieldType type) {
    int n = count();
    if (n == parts.length || parts[n].type() != type || open) {
      throw mismatch(type.toString());
    }
    return parts[n];
  }

  private static ValueTooLargeException tooLong(Field part, int bytes) {
    return new ValueTooLargeException("part " + part.name() + " of a key", bytes, part.width());
  }

  private InvalidUseException mismatch(String given) {
    int n = count();
    String due =
        open
            ? "nothing can follow the beginning of a text"
            : n == parts.length
                ? "all its parts are set"
                : "the next part is " + parts[n].name() + " " + parts[n].type();
    return new InvalidUseException(
        "Can't append " + given + " to a key of " + spec + ": " + due + ".");
  }

  // -------------------------------------------------------------------------------------- reading

  /**
   * Reads an integer of 4 bytes.
   *
   * @param part its place, from 0
   * @return its value
   * @throws InvalidUseException if there is no such part, or it is not set, or of another type
   */
  @Override
  public int getInt(int part) {
    return Tuple.getInt32(segment, (int) base + at(part, FieldType.INT32));
  }

  /**
   * Reads an integer.
   *
   * @param part its place, from 0
   * @return its value
   * @throws InvalidUseException if there is no such part, or it is not set, or is no integer
   */
  @Override
  public long getLong(int part) {
    if (part >= 0 && part < parts.length && parts[part].type() == FieldType.INT32) {
      return getInt(part);
    }
    return Tuple.getInt64(segment, (int) base + at(part, FieldType.INT64));
  }

  /**
   * Reads a text.
   *
   * @param part its place, from 0
   * @return its value
   * @throws InvalidUseException if there is no such part, or it is not set, or of another type
   */
  @Override
  public String getText(int part) {
    at(part, FieldType.TEXT);
    return new String(decode(part), StandardCharsets.UTF_8);
  }

  /**
   * Reads a byte string, or the UTF-8 of a text.
   *
   * @param part its place, from 0
   * @return a new array
   * @throws InvalidUseException if there is no such part, or it is not set, or is an integer
   */
  @Override
  public byte[] getBytes(int part) {
    boolean text = part >= 0 && part < parts.length && parts[part].type() == FieldType.TEXT;
    at(part, text ? FieldType.TEXT : FieldType.BYTES);
    return decode(part);
  }

  /**
   * Reads an integer of 4 bytes.
   *
   * @param part a part of this key's specification
   * @return its value
   * @throws InvalidUseException if it is no such part, or not set, or of another type
   */
  @Override
  public int getInt(Field part) {
    return getInt(place(part));
  }

  /**
   * Reads an integer.
   *
   * @param part a part of this key's specification
   * @return its value
   * @throws InvalidUseException if it is no such part, or not set, or is no integer
   */
  @Override
  public long getLong(Field part) {
    return getLong(place(part));
  }

  /**
   * Reads a text.
   *
   * @param part a part of this key's specification
   * @return its value
   * @throws InvalidUseException if it is no such part, or not set, or of another type
   */
  @Override
  public String getText(Field part) {
    return getText(place(part));
  }

  private int place(Field part) {
    int i = part.ordinal();
    if (i < parts.length && parts[i] == part) {
      return i;
    }
    // An index names the parts of its key after the fields that it is declared by.
    for (int k = 0; k < parts.length; k++) {
      if (parts[k].name().equals(part.name()) && parts[k].type() == part.type()) {
        return k;
      }
    }
    throw new InvalidUseException("Field " + part.name() + " is not a part of " + spec + ".");
  }

  private int at(int part, FieldType type) {
    if (part < 0 || part >= count() || parts[part].type() != type) {
      throw unreadable(part, type);
    }
    return start(part);
  }

  private InvalidUseException unreadable(int part, FieldType type) {
    String why =
        part < 0 || part >= parts.length
            ? "it has no part " + part
            : part >= count()
                ? "part " + parts[part].name() + " is not set"
                : "part " + parts[part].name() + " is " + parts[part].type();
    return new InvalidUseException(
        "Can't read " + type + " from a key of " + spec + ": " + why + ".");
  }

  private byte[] decode(int part) {
    if (spec.isRaw()) {
      byte[] out = new byte[length];
      Mem.getBytes(segment, base, out, 0, length);
      return out;
    }
    return Tuple.getBytes(segment, (int) base + start(part), (int) base + ends[part]);
  }

  /**
   * Compares two keys, or prefixes of keys, in the order of the table.
   *
   * @param other a key of the same specification
   * @return a negative number, 0 or a positive number, as this is below, equal to or above the
   *     other
   */
  public int compareTo(Key other) {
    return Mem.compare(segment, base, length, other.segment, other.base, other.length);
  }

  /** The parts in words, for messages and debuggers. */
  @Override
  public String toString() {
    return KeyText.of(spec, segment, base, length);
  }

  /** Why this can't name one record of a table, or null if it can. */
  @Nullable String unfit(Object table) {
    if (owner != table) {
      return "The key belongs to another table or index: it is one of " + spec;
    }
    if (!isComplete()) {
      return "The key is only a prefix: " + count() + " of " + parts.length + " parts of " + spec;
    }
    return null;
  }
}
