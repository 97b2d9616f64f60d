package io.fovea;

import io.fovea.encoding.Decimals;
import io.fovea.encoding.RowText;
import io.fovea.encoding.Times;
import io.fovea.encoding.Tuple;
import io.fovea.encoding.Utf8;
import io.fovea.error.InvalidUseException;
import io.fovea.error.ValueTooLargeException;
import io.fovea.index.LegacyRowReader;
import io.fovea.index.RecordBuffer;
import io.fovea.index.RowFields;
import io.fovea.index.RowRefusal;
import io.fovea.index.TableCore;
import io.fovea.memory.Mem;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.Layout;
import io.fovea.schema.RowReader;
import io.fovea.txn.Tx;
import java.lang.foreign.MemorySegment;
import java.math.BigDecimal;
import java.time.Instant;
import java.util.Objects;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A row: caller-owned, reusable, in memory outside the Java heap.
 *
 * <pre>
 *              clear()                       get(tx, key, row)
 *   +-------+ ───────► +-------+ ◄───────── +------+ ◄─────────
 *   | void  |          | fresh |            | read |   valid until its transaction ends
 *   +-------+ ◄─────── +-------+ ─────────► +------+
 *              a get that found nothing
 * </pre>
 *
 * <p>A <i>fresh</i> row belongs to no record. Until they are set, nullable fields are null, and
 * other fields are zero, empty, false, the nil UUID or 1970-01-01T00:00Z. The row may be inserted
 * repeatedly. A <i>read</i> row is a copy of a record. It knows its key and which of its fields
 * were set, so that {@link RowTable#update} needs neither a key nor a search and writes only the
 * differences. Its contents are valid until the transaction ends; {@link #clear()} or another read
 * makes the row usable again. Nothing is written to the table before {@link RowTable#insert},
 * {@link RowTable#put} or {@link RowTable#update}.
 *
 * <p>A read row belongs to its transaction's thread. Setters throw {@link InvalidUseException} if
 * the field belongs to another layout, has another type or was not read, if they are called on
 * another thread, or if the transaction that read the row has ended. Numbers and bytes are read and
 * set without allocation; fields in {@code static final} variables have constant offsets.
 *
 * @since 0.1.0
 */
public final class Row implements RowReader {
  private static final int VOID = RowRefusal.VOID;

  private final Layout layout;
  private final Field[] fields;

  /** The fields that are not nullable; nullable ones take a slower path. */
  private final @Nullable Field[] plain;

  private final int size;
  private Object owner;
  private MemorySegment segment;
  private final long base;

  /** The part of the record to clear as a whole, created when needed. */
  private @Nullable MemorySegment record;

  /** How many bytes from the start are valid; {@link #VOID} if none. */
  private int limit;

  /** The transaction that read the row; null for a fresh row. */
  private @Nullable Transaction reader;

  private final RecordBuffer buffer;

  Row(Layout layout, RowFields fields, int size, Object owner, int keyBytesMax) {
    this(layout, fields, size, owner, RecordBuffer.memory(size, keyBytesMax), 0);
  }

  /**
   * Creates a row in the caller's scratch memory of {@link RecordBuffer#bytes} bytes.
   *
   * @param fields the fields of the layout, shared by its rows
   * @param size the bytes of a record: the layout's bytes plus the table's trailing bytes
   */
  Row(Layout layout, RowFields fields, int size, Object owner, MemorySegment segment, long base) {
    this.layout = layout;
    this.fields = fields.all();
    this.plain = fields.plain();
    this.size = size;
    this.owner = owner;
    this.segment = segment;
    this.base = base;
    this.buffer = new RecordBuffer(fields, size, segment, base);
    this.limit = size;
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

  int size() {
    return size;
  }

  RecordBuffer buffer() {
    return buffer;
  }

  void invalidate() {
    limit = VOID;
    reader = null;
    if (buffer.changed()) {
      buffer.unchanged();
    }
  }

  /** Makes the row unusable: its memory returns to the cursor's transaction. */
  void end() {
    invalidate();
    owner = Row.class;
    segment = buffer.end();
    record = null;
  }

  /**
   * Completes the read of a record of {@code n} bytes in the tree into {@link #segment}, up to
   * {@code bytes}: unpacks a record of variable length, and rereads one of an older layout. Returns
   * false, with this row void, if the record has expired.
   */
  boolean read(
      Transaction tx,
      Tx t,
      TableCore core,
      MemorySegment key,
      long keyOff,
      int keyLen,
      int n,
      int bytes) {
    int form = LegacyRowReader.AS_IT_IS;
    if (n != core.plainBytes) {
      if (core.hides(tx.statementContext(), t, key, keyOff, keyLen, n, segment, base, bytes)) {
        return false;
      }
      form =
          LegacyRowReader.settle(
              tx.statementContext(), t, core, key, keyOff, keyLen, n, segment, base, bytes);
    }
    read(tx, key, keyOff, keyLen, t.lastRead(), bytes, form);
    return true;
  }

  /**
   * Completes the read of a record in {@link #segment}; {@code form} is of {@link LegacyRowReader}.
   */
  void read(
      Transaction tx, MemorySegment key, long keyOff, int keyLen, int handle, int bytes, int form) {
    buffer.read(key, keyOff, keyLen, handle);
    if (form != LegacyRowReader.AS_IT_IS) {
      buffer.form(form);
    }
    this.reader = tx;
    this.limit = bytes;
  }

  /** Makes this a fresh row whose bytes the engine has filled in. */
  void filled() {
    limit = size;
    reader = null;
  }

  @Override
  public Layout layout() {
    return layout;
  }

  /**
   * Makes this a fresh row: numbers are 0, text and byte strings are empty, and nullable fields are
   * null.
   *
   * @return this
   */
  public Row clear() {
    invalidate();
    MemorySegment r = record;
    if (r == null) {
      r = buffer.toClear();
      record = r; // kept, because a slice per call would allocate
    }
    r.fill((byte) 0);
    buffer.clearRest();
    limit = size;
    return this;
  }

  // -------------------------------------------------------------------------------------- reading

  /**
   * Copies the primary key of the record that was read.
   *
   * @param out receives the key; a key of the same table
   * @return out
   * @throws InvalidUseException if the key belongs to another table, if no record was read into the
   *     row, or if the transaction that read it has ended or belongs to another thread
   */
  public Key key(Key out) {
    if (out.owner() != owner) {
      throw new InvalidUseException(
          "The key belongs to another table or to an index: it is one of " + out.spec() + ".");
    }
    Transaction tx = reader;
    if (tx == null || !tx.isOwnedByCurrentThread()) {
      throw tx == null && limit >= 0 ? RowRefusal.noKey() : refusal(null, null);
    }
    out.load(segment, buffer.keyBase(), buffer.keyLength());
    return out;
  }

  @Override
  public int getInt(Field field) {
    return Mem.getInt(segment, at(field, FieldType.INT32));
  }

  @Override
  public long getLong(Field field) {
    return Mem.getLong(segment, at(field, FieldType.INT64));
  }

  @Override
  public boolean getBoolean(Field field) {
    return Mem.getByte(segment, at(field, FieldType.BOOLEAN)) != 0;
  }

  @Override
  public double getDouble(Field field) {
    return Double.longBitsToDouble(Mem.getLong(segment, at(field, FieldType.FLOAT64)));
  }

  @Override
  public UUID getUuid(Field field) {
    return Tuple.getUuid(segment, at(field, FieldType.UUID));
  }

  @Override
  public Instant getInstant(Field field) {
    return Times.getRow(segment, at(field, FieldType.INSTANT));
  }

  @Override
  public BigDecimal getDecimal(Field field) {
    long at = at(field, FieldType.DECIMAL);
    return Decimals.getRow(segment, at, field.width(), field.scale());
  }

  @Override
  public boolean isNull(Field field) {
    require(field, field.type());
    return field.nullable() && Mem.getByte(segment, base + field.start()) == 0;
  }

  @Override
  public String getText(Field field) {
    long at = at(field, FieldType.TEXT);
    return Utf8.get(segment, at + 2, RecordBuffer.storedBytes(field, segment, at));
  }

  @Override
  public boolean textEquals(Field field, CharSequence value) {
    Objects.requireNonNull(value, "value");
    long at = at(field, FieldType.TEXT);
    return Utf8.equal(segment, at + 2, RecordBuffer.storedBytes(field, segment, at), value);
  }

  @Override
  public int length(Field field) {
    return RecordBuffer.storedBytes(field, segment, at(field, variable(field)));
  }

  @Override
  public int getBytes(Field field, byte[] out) {
    return getBytes(field, out, 0);
  }

  @Override
  public int getBytes(Field field, byte[] out, int offset) {
    Objects.requireNonNull(out, "out");
    Objects.checkFromToIndex(offset, out.length, out.length);
    long at = at(field, variable(field));
    int len = RecordBuffer.storedBytes(field, segment, at);
    Mem.getBytes(segment, at + 2, out, offset, Math.min(len, out.length - offset));
    return len;
  }

  @Override
  public int getBytes(Field field, MemorySegment out, long offset) {
    Objects.checkFromToIndex(offset, out.byteSize(), out.byteSize());
    long at = at(field, variable(field));
    int len = RecordBuffer.storedBytes(field, segment, at);
    MemorySegment.copy(segment, at + 2, out, offset, Math.min(len, out.byteSize() - offset));
    return len;
  }

  @Override
  public byte[] getBytes(Field field) {
    byte[] out = new byte[length(field)];
    getBytes(field, out, 0);
    return out;
  }

  // -------------------------------------------------------------------------------------- setting

  /**
   * Sets a 4-byte integer.
   *
   * @param field a field of the layout
   * @param value its value
   * @return this
   */
  public Row setInt(Field field, int value) {
    long at = offset(field, FieldType.INT32, 0);
    if (Mem.getInt(segment, at) != value) {
      Mem.putInt(segment, at, value);
      mark(field);
    }
    return this;
  }

  /**
   * Sets an 8-byte integer.
   *
   * @param field a field of the layout
   * @param value its value
   * @return this
   */
  public Row setLong(Field field, long value) {
    long at = offset(field, FieldType.INT64, 0);
    if (Mem.getLong(segment, at) != value) {
      Mem.putLong(segment, at, value);
      mark(field);
    }
    return this;
  }

  /**
   * Sets a text field.
   *
   * @param field a field of the layout
   * @param value its value
   * @return this
   * @throws InvalidUseException if the text contains an unpaired surrogate
   * @throws ValueTooLargeException if its UTF-8 is longer than the field; the row is unchanged
   */
  public Row setText(Field field, CharSequence value) {
    Objects.requireNonNull(value, "value");
    // Checked as a whole before anything is written, so that a refused value changes nothing.
    int bytes = Utf8.length(value);
    long at = offset(field, FieldType.TEXT, bytes);
    int width = field.width();
    if (bytes > width) {
      throw tooLong(field, bytes);
    }
    Utf8.put(value, segment, at + 2, width);
    Mem.putShort(segment, at, (short) bytes);
    mark(field);
    return this;
  }

  /**
   * Sets a byte string, or a text field from its UTF-8 bytes.
   *
   * @param field a field of the layout
   * @param value contains its value
   * @param offset the index of its first byte
   * @param len its length in bytes
   * @return this
   * @throws ValueTooLargeException if it is longer than the field
   * @throws IndexOutOfBoundsException if the array has fewer bytes
   */
  public Row setBytes(Field field, byte[] value, int offset, int len) {
    Objects.requireNonNull(value, "value");
    Objects.checkFromIndexSize(offset, len, value.length);
    long at = offset(field, variable(field), len);
    if (len > field.width()) {
      throw tooLong(field, len);
    }
    Mem.putShort(segment, at, (short) len);
    Mem.putBytes(segment, at + 2, value, offset, len);
    mark(field);
    return this;
  }

  /**
   * Sets a byte string, or a text field from its UTF-8 bytes.
   *
   * @param field a field of the layout
   * @param value contains its value, in any memory
   * @param offset the offset of its first byte
   * @param len its length in bytes
   * @return this
   * @throws ValueTooLargeException if it is longer than the field
   * @throws IndexOutOfBoundsException if the segment has fewer bytes
   */
  public Row setBytes(Field field, MemorySegment value, long offset, int len) {
    Objects.checkFromIndexSize(offset, len, value.byteSize());
    long at = offset(field, variable(field), len);
    if (len > field.width()) {
      throw tooLong(field, len);
    }
    Mem.putShort(segment, at, (short) len);
    MemorySegment.copy(value, offset, segment, at + 2, len);
    mark(field);
    return this;
  }

  /**
   * Sets a byte string, or a text field from its UTF-8 bytes.
   *
   * @param field a field of the layout
   * @param value its value
   * @return this
   * @throws ValueTooLargeException if it is longer than the field
   */
  public Row setBytes(Field field, byte[] value) {
    Objects.requireNonNull(value, "value");
    return setBytes(field, value, 0, value.length);
  }

  /**
   * Sets a boolean.
   *
   * @param field a field of the layout
   * @param value its value
   * @return this
   */
  public Row setBoolean(Field field, boolean value) {
    long at = offset(field, FieldType.BOOLEAN, 0);
    byte b = (byte) (value ? 1 : 0);
    if (Mem.getByte(segment, at) != b) {
      Mem.putByte(segment, at, b);
      mark(field);
    }
    return this;
  }

  /**
   * Sets a {@code double}. Each NaN becomes {@link Double#NaN}; -0.0 is preserved.
   *
   * @param field a field of the layout
   * @param value its value
   * @return this
   */
  public Row setDouble(Field field, double value) {
    long at = offset(field, FieldType.FLOAT64, 0);
    long bits = Double.doubleToLongBits(value);
    if (Mem.getLong(segment, at) != bits) {
      Mem.putLong(segment, at, bits);
      mark(field);
    }
    return this;
  }

  /**
   * Sets a UUID.
   *
   * @param field a field of the layout
   * @param value its value
   * @return this
   */
  public Row setUuid(Field field, UUID value) {
    Objects.requireNonNull(value, "value");
    long at = offset(field, FieldType.UUID, 0);
    long high = value.getMostSignificantBits();
    long low = value.getLeastSignificantBits();
    if (Mem.getLongBE(segment, at) != high || Mem.getLongBE(segment, at + 8) != low) {
      Mem.putLongBE(segment, at, high);
      Mem.putLongBE(segment, at + 8, low);
      mark(field);
    }
    return this;
  }

  /**
   * Sets an instant, to the nanosecond.
   *
   * @param field a field of the layout
   * @param value its value
   * @return this
   */
  public Row setInstant(Field field, Instant value) {
    Objects.requireNonNull(value, "value");
    if (Times.putRow(segment, offset(field, FieldType.INSTANT, 0), value)) {
      mark(field);
    }
    return this;
  }

  /**
   * Sets a decimal. It takes the scale of the field, without rounding.
   *
   * @param field a field of the layout
   * @param value its value
   * @return this
   * @throws InvalidUseException if the digits don't fit the field; the row is unchanged
   */
  public Row setDecimal(Field field, BigDecimal value) {
    Objects.requireNonNull(value, "value");
    require(field, FieldType.DECIMAL);
    BigDecimal fits = Decimals.fit(value, field.precision(), field.scale(), "field " + field);
    long at = offset(field, FieldType.DECIMAL, 0);
    if (Decimals.putRow(segment, at, field.width(), fits)) {
      mark(field);
    }
    return this;
  }

  /**
   * Sets a nullable field to null.
   *
   * @param field a nullable field of the layout, of any type
   * @return this
   * @throws InvalidUseException if the field is not nullable
   */
  public Row setNull(Field field) {
    if (!isNull(field)) {
      if (!field.nullable()) {
        throw RowRefusal.notNullable(field);
      }
      // Zero the whole field: text then has length 0, and an expiry time is 0, which never expires.
      Mem.zero(segment, base + field.start(), field.rowBytes());
      mark(field);
    }
    return this;
  }

  /**
   * Copies all fields of another row of the same layout.
   *
   * @param other the row to copy
   * @return this
   * @throws InvalidUseException if it has another layout, if not all of it was read, or if either
   *     row belongs to another thread or to a transaction that has ended
   */
  public Row set(Row other) {
    Objects.requireNonNull(other, "other");
    if (other.size != size || !other.layout.equals(layout)) {
      throw new InvalidUseException(
          "Expected a row of " + layout + ", but got one of " + other.layout + ".");
    }
    other.requireWhole();
    requireWhole();
    buffer.set(other.buffer, reader != null);
    return this;
  }

  private void mark(Field field) {
    if (reader != null) {
      buffer.mark(field.ordinal());
    }
  }

  private long at(Field field, FieldType type) {
    return isPlain(field, type) ? base + field.offset() : nullableAt(field, type);
  }

  private long offset(Field field, FieldType type, int bytes) {
    return isPlain(field, type) ? base + field.offset() : nullableOffset(field, type, bytes);
  }

  /** Returns whether a field is usable and not nullable: the fast path. */
  private boolean isPlain(Field field, FieldType type) {
    int i = field.ordinal();
    Transaction tx = reader;
    return i < plain.length
        && plain[i] == field
        && field.type() == type
        && field.end() <= limit
        && (tx == null || tx.isOwnedByCurrentThread());
  }

  private long nullableAt(Field field, FieldType type) {
    require(field, type);
    if (Mem.getByte(segment, base + field.start()) == 0) {
      throw RowRefusal.isNull(field);
    }
    return base + field.offset();
  }

  private long nullableOffset(Field field, FieldType type, int bytes) {
    require(field, type);
    if (!field.type().isFixed() && bytes > field.width()) {
      throw tooLong(field, bytes);
    }
    if (Mem.getByte(segment, base + field.start()) == 0) {
      Mem.putByte(segment, base + field.start(), (byte) 1);
      mark(field);
    }
    return base + field.offset();
  }

  /** Throws unless a field, nullable or not, is usable now. */
  private void require(Field field, FieldType type) {
    int i = field.ordinal();
    if (i >= fields.length
        || fields[i] != field
        || field.type() != type
        || field.end() > limit
        || reader != null && !reader.isOwnedByCurrentThread()) {
      throw refusal(field, type);
    }
  }

  private static FieldType variable(Field field) {
    return field.type() == FieldType.TEXT ? FieldType.TEXT : FieldType.BYTES;
  }

  /** Throws unless the whole row is readable now. */
  void requireWhole() {
    if (limit != size || reader != null && !reader.isOwnedByCurrentThread()) {
      throw refusal(null, null);
    }
  }

  /** Throws unless the row was read in this transaction. */
  void requireReadIn(Transaction tx) {
    if (reader != tx) {
      throw reader == null ? RowRefusal.notRead(limit) : refusal(null, null);
    }
  }

  private static ValueTooLargeException tooLong(Field field, int bytes) {
    return new ValueTooLargeException("field " + field.name(), bytes, field.width());
  }

  private InvalidUseException refusal(@Nullable Field field, @Nullable FieldType type) {
    InvalidUseException wrong =
        field == null || type == null ? null : RowRefusal.ofField(layout, field, type);
    if (wrong == null && reader != null) {
      reader.requireOwner("The row can't be used outside the transaction that read it");
    }
    return wrong != null ? wrong : RowRefusal.ofContents(field, limit, size);
  }

  /** Returns a readable form of the fields, for messages and debuggers. */
  @Override
  public String toString() {
    if (limit < 0 || reader != null && !reader.isOwnedByCurrentThread()) {
      return "Row[void]";
    }
    return RowText.of(fields, segment, base, limit);
  }
}
