package io.fovea;

import io.fovea.encoding.Decimals;
import io.fovea.encoding.KeyText;
import io.fovea.encoding.Tuple;
import io.fovea.error.CorruptionException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.ValueTooLargeException;
import io.fovea.memory.Blocks;
import io.fovea.memory.Mem;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.KeyReader;
import io.fovea.schema.KeySpec;
import io.fovea.schema.KeyWriter;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;
import java.util.Objects;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A key or a key prefix: caller-owned, reusable, in memory outside the Java heap.
 *
 * <p>Parts are set in order: {@code set(...)} begins a new key; {@link #int32}, {@link #text} and
 * similar methods append. A key with fewer parts than its specification is a prefix. In a {@link
 * Range}, it stands for all keys that begin with it; where a single record is required, it is
 * rejected.
 *
 * <p>Created by {@link RowTable#key} and {@link RowIndex#key}, for that table or index only. Used
 * by one thread at a time. Setting and reading numbers allocates nothing.
 *
 * @since 0.1.0
 */
public final class Key implements KeyReader, KeyWriter {
  private static final int UNKNOWN = -1;
  private static final Field[] NO_PARTS = {};

  private final KeySpec spec;

  /** Empty if another object owns the key's memory: see {@link #end}. */
  private Field[] parts;

  /** How each part ends, if its type alone does not determine that; null for most keys. */
  private final int @Nullable [] forms;

  /** Whether parts may be null, as in indexes. */
  private final boolean nullable;

  /** The maximum size of a key; the size stored in a file may be larger. */
  private final int maxBytes;

  private Object owner;

  private MemorySegment segment;
  private final long base;

  /** ends[i] is the end of part i; valid for the first {@link #count} parts. */
  private final int[] ends;

  private int length;

  /** The number of parts set, or UNKNOWN for loaded bytes that have not been parsed yet. */
  private int count;

  /** Whether the last part is a prefix of a string or byte string. */
  private boolean open;

  /**
   * Whether appending a part needs more than a type check: the key is {@link #open} or nullable.
   */
  private boolean guarded;

  Key(KeySpec spec, Object owner) {
    this(spec, owner, Arena.ofAuto().allocate(Math.max(8, spec.maxBytes()), 8), 0);
  }

  Key(KeySpec spec, Object owner, MemorySegment segment, long base) {
    this.spec = spec;
    this.parts = spec.parts().toArray(Field[]::new);
    this.nullable = spec.hasNullable();
    this.guarded = nullable;
    this.forms = forms(parts);
    this.maxBytes = spec.maxBytes();
    this.owner = owner;
    this.segment = segment;
    this.base = base;
    this.ends = new int[parts.length];
  }

  private static int @Nullable [] forms(Field[] parts) {
    boolean other = false;
    for (Field part : parts) {
      other |= part.nullable() || part.type() == FieldType.DECIMAL;
    }
    return other ? Arrays.stream(parts).mapToInt(Tuple::form).toArray() : null;
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
   * Replaces the contents with an encoded key.
   *
   * @throws CorruptionException if the key is longer than its specification allows
   */
  void load(MemorySegment src, long off, int len) {
    if (len > maxBytes) {
      throw new CorruptionException("length of a key", -1, -1, maxBytes, len);
    }
    Mem.copy(src, off, segment, base, len);
    length = len;
    count = UNKNOWN;
    open(false);
  }

  /** Makes the key unusable: its memory returns to the cursor's transaction. */
  void end() {
    clear();
    owner = Key.class;
    parts = NO_PARTS;
    segment = Blocks.NONE;
  }

  private InvalidUseException ended() {
    return new InvalidUseException("The key belonged to a cursor that is closed: " + spec + ".");
  }

  private void open(boolean is) {
    open = is;
    guarded = is || nullable;
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
      int end = skip(at, forms == null ? parts[n].type().code() : forms[n]);
      if (end < 0) {
        break;
      }
      ends[n++] = end;
      at = end;
    }
    return n;
  }

  private int skip(int at, int form) {
    int end = Tuple.skip(segment, (int) base + at, (int) base + length, form);
    return end < 0 ? end : end - (int) base;
  }

  private int start(int part) {
    return part == 0 ? 0 : ends[part - 1];
  }

  @Override
  public KeySpec spec() {
    return spec;
  }

  @Override
  public int parts() {
    return count();
  }

  @Override
  public boolean isComplete() {
    return count() == parts.length;
  }

  // -------------------------------------------------------------------------------------- setting

  @Override
  public Key clear() {
    length = 0;
    count = 0;
    open(false);
    return this;
  }

  @Override
  public Key set(int a) {
    return clear().integer(a);
  }

  @Override
  public Key set(int a, int b) {
    return clear().integer(a).integer(b);
  }

  /**
   * {@return this key, changed to three integers}
   *
   * @param a the first part
   * @param b the second part
   * @param c the third part
   * @throws InvalidUseException if there are fewer parts or they are not integers
   */
  public Key set(int a, int b, int c) {
    return clear().integer(a).integer(b).integer(c);
  }

  /**
   * {@return this key, changed to four integers}
   *
   * @param a the first part
   * @param b the second part
   * @param c the third part
   * @param d the fourth part
   * @throws InvalidUseException if there are fewer parts or they are not integers
   */
  public Key set(int a, int b, int c, int d) {
    return clear().integer(a).integer(b).integer(c).integer(d);
  }

  @Override
  public Key set(long a) {
    return clear().integer(a);
  }

  @Override
  public Key set(long a, long b) {
    return clear().integer(a).integer(b);
  }

  @Override
  public Key set(CharSequence a) {
    return clear().text(a);
  }

  /**
   * {@return this key, after copying the parts of another key of the same specification}
   *
   * @param other the key to copy
   * @throws InvalidUseException if its specification differs
   */
  public Key set(Key other) {
    if (!spec.equals(other.spec)) {
      throw new InvalidUseException(
          "Expected a key of " + spec + ", but got one of " + other.spec + ".");
    }
    if (owner == Key.class || other.owner == Key.class) {
      throw ended();
    }
    load(other.segment, other.base, other.length);
    open(other.open);
    return this;
  }

  @Override
  public Key int32(int value) {
    next(FieldType.INT32);
    return put32(value);
  }

  @Override
  public Key int64(long value) {
    next(FieldType.INT64);
    return put64(value);
  }

  @Override
  public Key text(CharSequence value) {
    int end = appendText(value);
    return ended(Tuple.end(segment, end));
  }

  /**
   * Appends the beginning of a string, for a range of keys. No part can follow it.
   *
   * @param value the beginning
   * @return this
   * @throws InvalidUseException if the next part has another type, if there is none, or if the
   *     string contains an unpaired surrogate
   * @throws ValueTooLargeException if its UTF-8 is longer than the part may be
   */
  public Key textPrefix(CharSequence value) {
    length = appendText(value) - (int) base;
    open(true);
    return this;
  }

  /** Turns the last part, if it is text or bytes, into a prefix. */
  Key reopened() {
    int n = count();
    FieldType last = n == 0 || open || spec.isRaw() ? null : parts[n - 1].type();
    if (last == FieldType.TEXT || last == FieldType.BYTES) {
      length -= Tuple.END_BYTES;
      count = n - 1;
      open(true);
    }
    return this;
  }

  private int appendText(CharSequence value) {
    Objects.requireNonNull(value, "value");
    Field part = next(FieldType.TEXT);
    int end = Tuple.escapeText(value, part.width(), segment, valueAt(part));
    if (end < 0) {
      throw tooLong(part, -1 - end);
    }
    return end;
  }

  @Override
  public Key bytes(byte[] value) {
    Objects.requireNonNull(value, "value");
    return bytes(value, 0, value.length);
  }

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
    int end = Tuple.escape(value, offset, len, segment, valueAt(part));
    return ended(Tuple.end(segment, end));
  }

  @Override
  public Key bool(boolean value) {
    next(FieldType.BOOLEAN);
    return ended(Tuple.putBoolean(segment, (int) base + length, value));
  }

  @Override
  public Key float64(double value) {
    next(FieldType.FLOAT64);
    return ended(Tuple.putFloat64(segment, (int) base + length, value));
  }

  @Override
  public Key uuid(UUID value) {
    Objects.requireNonNull(value, "value");
    next(FieldType.UUID);
    return ended(Tuple.putUuid(segment, (int) base + length, value));
  }

  @Override
  public Key instant(Instant value) {
    Objects.requireNonNull(value, "value");
    next(FieldType.INSTANT);
    int at = (int) base + length;
    return ended(Tuple.putInstant(segment, at, value.getEpochSecond(), value.getNano()));
  }

  @Override
  public Key decimal(BigDecimal value) {
    Objects.requireNonNull(value, "value");
    Field part = requireNext(FieldType.DECIMAL);
    BigDecimal fits =
        Decimals.fit(value, part.precision(), part.scale(), "part " + part + " of a key");
    next(FieldType.DECIMAL);
    return ended(Tuple.putDecimal(segment, (int) base + length, part.width(), fits));
  }

  @Override
  public Key nullValue() {
    int n = count();
    if (n == parts.length || !parts[n].nullable() || open) {
      throw mismatch("null");
    }
    return ended(Tuple.putPresence(segment, (int) base + length, false));
  }

  private Key integer(long value) {
    int n = count();
    FieldType type = n < parts.length ? parts[n].type() : null;
    boolean fits = type == FieldType.INT32 && value == (int) value;
    if (fits && !guarded) {
      return put32((int) value);
    }
    if (type == FieldType.INT64 && !guarded) {
      return put64(value);
    }
    if (open || !fits && type != FieldType.INT64) {
      throw mismatch(type == FieldType.INT32 ? "a value of 8 bytes (" + value + ")" : "an integer");
    }
    return fits ? int32((int) value) : int64(value); // may be null
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
    if (n == parts.length || parts[n].type() != type || guarded) {
      requireNext(type);
      if (parts[n].nullable() && type.isFixed()) {
        // Nothing can fail after this point, so the value may follow its presence flag.
        Tuple.putPresence(segment, (int) base + length++, true);
      }
    }
    return parts[n];
  }

  private Field requireNext(FieldType type) {
    int n = count();
    if (n == parts.length || parts[n].type() != type || open) {
      throw mismatch(type.toString());
    }
    return parts[n];
  }

  /** Returns the offset at which the next text or bytes begin, after checking that they fit. */
  private int valueAt(Field part) {
    int at = (int) base + length;
    return part.nullable() ? Tuple.putPresence(segment, at, true) : at;
  }

  private static ValueTooLargeException tooLong(Field part, int bytes) {
    return new ValueTooLargeException("part " + part.name() + " of a key", bytes, part.width());
  }

  private InvalidUseException mismatch(String given) {
    if (owner == Key.class) {
      return ended();
    }
    int n = count();
    String due =
        open
            ? "nothing can follow a text prefix"
            : n == parts.length ? "all its parts are set" : "the next part is " + parts[n];
    return new InvalidUseException(
        "Can't append " + given + " to a key of " + spec + ": " + due + ".");
  }

  // -------------------------------------------------------------------------------------- reading

  @Override
  public int getInt(int part) {
    return Tuple.getInt32(segment, (int) base + at(part, FieldType.INT32));
  }

  @Override
  public long getLong(int part) {
    if (part >= 0 && part < parts.length && parts[part].type() == FieldType.INT32) {
      return getInt(part);
    }
    return Tuple.getInt64(segment, (int) base + at(part, FieldType.INT64));
  }

  @Override
  public String getText(int part) {
    return new String(decode(at(part, FieldType.TEXT), part), StandardCharsets.UTF_8);
  }

  @Override
  public byte[] getBytes(int part) {
    boolean text = part >= 0 && part < parts.length && parts[part].type() == FieldType.TEXT;
    return decode(at(part, text ? FieldType.TEXT : FieldType.BYTES), part);
  }

  @Override
  public boolean getBoolean(int part) {
    return Tuple.getBoolean(segment, (int) base + at(part, FieldType.BOOLEAN));
  }

  @Override
  public double getDouble(int part) {
    return Tuple.getFloat64(segment, (int) base + at(part, FieldType.FLOAT64));
  }

  @Override
  public UUID getUuid(int part) {
    return Tuple.getUuid(segment, base + at(part, FieldType.UUID));
  }

  @Override
  public Instant getInstant(int part) {
    return Tuple.getInstant(segment, (int) base + at(part, FieldType.INSTANT));
  }

  @Override
  public BigDecimal getDecimal(int part) {
    int at = (int) base + at(part, FieldType.DECIMAL);
    return Tuple.getDecimal(segment, at, parts[part].width(), parts[part].scale());
  }

  @Override
  public boolean isNull(int part) {
    if (part < 0 || part >= count()) {
      throw unreadable(part, "a part");
    }
    return parts[part].nullable() && !Tuple.getBoolean(segment, (int) base + start(part));
  }

  @Override
  public boolean getBoolean(Field part) {
    return getBoolean(offset(part));
  }

  @Override
  public double getDouble(Field part) {
    return getDouble(offset(part));
  }

  @Override
  public UUID getUuid(Field part) {
    return getUuid(offset(part));
  }

  @Override
  public Instant getInstant(Field part) {
    return getInstant(offset(part));
  }

  @Override
  public BigDecimal getDecimal(Field part) {
    return getDecimal(offset(part));
  }

  @Override
  public boolean isNull(Field part) {
    return isNull(offset(part));
  }

  @Override
  public int getInt(Field part) {
    return getInt(offset(part));
  }

  @Override
  public long getLong(Field part) {
    return getLong(offset(part));
  }

  @Override
  public String getText(Field part) {
    return getText(offset(part));
  }

  private int offset(Field part) {
    int i = part.ordinal();
    if (i < parts.length && parts[i] == part) {
      return i;
    }
    // an index names the parts of its key after the indexed fields
    for (int k = 0; k < parts.length; k++) {
      if (parts[k].name().equals(part.name()) && parts[k].type() == part.type()) {
        return k;
      }
    }
    throw new InvalidUseException("Field " + part.name() + " is not a part of " + spec + ".");
  }

  private int at(int part, FieldType type) {
    if (part < 0 || part >= count() || parts[part].type() != type) {
      throw unreadable(part, type.toString());
    }
    return nullable ? nullableAt(part) : start(part);
  }

  private int nullableAt(int part) {
    if (isNull(part)) {
      throw new InvalidUseException(
          "Part " + parts[part].name() + " of a key of " + spec + " is null: call isNull first.");
    }
    return parts[part].nullable() ? start(part) + 1 : start(part);
  }

  private InvalidUseException unreadable(int part, String what) {
    if (owner == Key.class) {
      return ended();
    }
    String why =
        part < 0 || part >= parts.length
            ? "it has no part " + part
            : part >= count()
                ? "part " + parts[part].name() + " is not set"
                : "part " + parts[part].name() + " is " + parts[part].type();
    return new InvalidUseException(
        "Can't read " + what + " from a key of " + spec + ": " + why + ".");
  }

  private byte[] decode(int at, int part) {
    if (spec.isRaw()) {
      return Mem.bytes(segment, base, length);
    }
    return Tuple.getBytes(segment, (int) base + at, (int) base + ends[part]);
  }

  /**
   * Compares two keys or prefixes in the order of the table.
   *
   * @param other a key of the same specification
   * @return a negative number, 0 or a positive number, as this key is less than, equal to or
   *     greater than the other
   */
  public int compareTo(Key other) {
    return Mem.compare(segment, base, length, other.segment, other.base, other.length);
  }

  /** Returns a readable form of the parts, for messages and debuggers. */
  @Override
  public String toString() {
    return KeyText.of(spec, segment, base, length);
  }

  /** Returns why this key can't identify a single record of a table, or null if it can. */
  @Nullable String unfit(Object table) {
    if (owner == Key.class) {
      return ended().getMessage();
    }
    if (owner != table) {
      return "The key belongs to another table or index: it is one of " + spec;
    }
    if (!isComplete()) {
      return "The key is only a prefix: " + count() + " of " + parts.length + " parts of " + spec;
    }
    return null;
  }
}
