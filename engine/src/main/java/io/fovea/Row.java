package io.fovea;

import io.fovea.encoding.Utf8;
import io.fovea.error.InvalidUseException;
import io.fovea.error.ValueTooLargeException;
import io.fovea.index.OldRows;
import io.fovea.index.RecordBuffer;
import io.fovea.index.TableCore;
import io.fovea.memory.Mem;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.Layout;
import io.fovea.schema.RowReader;
import io.fovea.txn.Tx;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A row: caller-owned, reusable, in memory outside the Java heap.
 *
 * <pre>
 *              clear()                       get(tx, key, row)
 *   +-------+ ───────► +-------+ ◄───────── +------+ ◄─────────
 *   | void  |          | fresh |            | read |   of a transaction, dies with it
 *   +-------+ ◄─────── +-------+ ─────────► +------+
 *              a get that found nothing
 * </pre>
 *
 * <p>A <i>fresh</i> row belongs to no record: its fields are zero or empty until they are set, and
 * it may be inserted again and again. A row that was <i>read</i> is a copy of the record: it knows
 * its key and which of its fields were changed since, so that {@link Table#update} needs neither
 * key nor search and writes only what is different. Its contents die with the transaction: after
 * that they can't be read, and {@link #clear()} or another read gives the row a new life. Nothing
 * is written to the table before {@link Table#insert}, {@link Table#put} or {@link Table#update}.
 *
 * <p>A row that was read belongs to its transaction's thread, which is checked. Numbers and bytes
 * are read and set without garbage; fields kept in {@code static final} variables have constant
 * offsets.
 *
 * @since 0.1.0
 */
public final class Row implements RowReader {
  private static final int VOID = -1;

  private final Layout layout;
  private final Field[] fields;
  private final int size;
  private final Object owner;
  private final MemorySegment segment;
  private final long base;

  /** The record alone, once it is needed. */
  private @Nullable MemorySegment record;

  /** Bytes from the start that hold something; {@link #VOID} while nothing does. */
  private int limit;

  /** The transaction that it was read in, null for a fresh row. */
  private @Nullable Transaction reader;

  /** The same memory, as the engine sees it. */
  private final RecordBuffer buffer;

  /** A row in memory of its own. */
  Row(Layout layout, Field[] fields, int size, Object owner, int keyBytesMax) {
    this(layout, fields, size, owner, memory(size, keyBytesMax), 0);
  }

  /**
   * A row in scratch memory of the caller, of {@link RecordBuffer#bytes}.
   *
   * @param fields those of the layout; shared by rows, and never written
   * @param size the bytes of a record: those of the layout, and what its table has behind them
   */
  Row(Layout layout, Field[] fields, int size, Object owner, MemorySegment segment, long base) {
    this.layout = layout;
    this.fields = fields;
    this.size = size;
    this.owner = owner;
    this.segment = segment;
    this.base = base;
    this.buffer = new RecordBuffer(fields, size, segment, base);
    this.limit = size;
  }

  private static MemorySegment memory(int size, int keyBytesMax) {
    return Arena.ofAuto().allocate(Math.max(8, RecordBuffer.bytes(size, keyBytesMax)), 8);
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

  @Nullable Transaction reader() {
    return reader;
  }

  boolean isVoid() {
    return limit < 0;
  }

  boolean isWhole() {
    return limit == size;
  }

  /** Before something is read into it: nothing it holds counts any more. */
  void invalidate() {
    limit = VOID;
    reader = null;
    if (buffer.changed()) {
      buffer.unchanged();
    }
  }

  /**
   * The record was read into {@link #segment}, up to {@code bytes}; or it is one of an older
   * layout, and is read again.
   *
   * @param n how many bytes it has in the tree
   * @return false if it has expired; then this is void
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
    if (n != core.plainBytes) {
      if (core.hides(tx.slot(), t, key, keyOff, keyLen, n, segment, base, bytes)) {
        return false;
      }
      OldRows.settle(tx.slot(), t, core, key, keyOff, keyLen, n, segment, base);
    }
    read(tx, key, keyOff, keyLen, t.lastRead(), bytes, n != size);
    return true;
  }

  /** The record's bytes up to {@code bytes} are in {@link #segment}. */
  void read(
      Transaction tx,
      MemorySegment key,
      long keyOff,
      int keyLen,
      int handle,
      int bytes,
      boolean old) {
    buffer.read(key, keyOff, keyLen, handle);
    if (old) {
      buffer.old();
    }
    this.reader = tx;
    this.limit = bytes;
  }

  /** As a row whose bytes were filled in by the engine, without a transaction. */
  void filled() {
    limit = size;
    reader = null;
  }

  // ---------------------------------------------------------------------------------- description

  /**
   * The fields of the row.
   *
   * @return the layout
   */
  @Override
  public Layout layout() {
    return layout;
  }

  /**
   * Makes it a fresh row: numbers 0, texts and byte strings empty.
   *
   * @return this
   */
  public Row clear() {
    invalidate();
    MemorySegment r = record;
    if (r == null) {
      r = segment.asSlice(base, size);
      record = r; // kept, for a slice a call would be garbage
    }
    r.fill((byte) 0);
    limit = size;
    return this;
  }

  // -------------------------------------------------------------------------------------- reading

  /**
   * Copies the primary key of the record that was read.
   *
   * @param out where to, a key of the same table
   * @return out
   * @throws InvalidUseException if the key is another table's, if no record was read into the row,
   *     or if the transaction that it was read in has ended or belongs to another thread
   */
  public Key key(Key out) {
    if (out.owner() != owner) {
      throw new InvalidUseException(
          "The key belongs to another table or to an index: it is one of " + out.spec() + ".");
    }
    Transaction tx = reader;
    if (tx == null || !tx.isMine()) {
      throw tx == null && limit >= 0
          ? new InvalidUseException("The row has no key: no record was read into it.")
          : refusal(null, null);
    }
    out.load(segment, buffer.keyBase(), buffer.keyLength());
    return out;
  }

  /**
   * Reads a number of 4 bytes.
   *
   * @param field a field of the layout
   * @return its value
   * @throws InvalidUseException if the field is another layout's or of another type, or was not
   *     read, or the transaction that the row was read in has ended or belongs to another thread
   */
  @Override
  public int getInt(Field field) {
    return Mem.getInt(segment, at(field, FieldType.INT32));
  }

  /**
   * Reads a number of 8 bytes.
   *
   * @param field a field of the layout
   * @return its value
   * @throws InvalidUseException as {@link #getInt}
   */
  @Override
  public long getLong(Field field) {
    return Mem.getLong(segment, at(field, FieldType.INT64));
  }

  /**
   * Reads a text.
   *
   * @param field a field of the layout
   * @return a new string
   * @throws InvalidUseException as {@link #getInt}
   */
  @Override
  public String getText(Field field) {
    long at = at(field, FieldType.TEXT);
    return Utf8.get(segment, at + 2, stored(field, at));
  }

  /**
   * Compares a text without making a string.
   *
   * @param field a field of the layout
   * @param value what to compare it with
   * @return whether they are equal
   * @throws InvalidUseException as {@link #getInt}
   */
  @Override
  public boolean textEquals(Field field, CharSequence value) {
    Objects.requireNonNull(value, "value");
    long at = at(field, FieldType.TEXT);
    return Utf8.equal(segment, at + 2, stored(field, at), value);
  }

  /**
   * The length of a text or byte string.
   *
   * @param field a field of the layout
   * @return bytes; of a text, those of its UTF-8
   * @throws InvalidUseException as {@link #getInt}
   */
  @Override
  public int length(Field field) {
    return stored(field, at(field, variable(field)));
  }

  /**
   * Reads a byte string, or the UTF-8 of a text.
   *
   * @param field a field of the layout
   * @param out where to, from index 0 on
   * @return how many bytes it has; as many as fit are copied
   * @throws InvalidUseException as {@link #getInt}
   */
  @Override
  public int getBytes(Field field, byte[] out) {
    return getBytes(field, out, 0);
  }

  /**
   * Reads a byte string, or the UTF-8 of a text.
   *
   * @param field a field of the layout
   * @param out where to
   * @param offset from which index on
   * @return how many bytes it has; as many as fit are copied
   * @throws InvalidUseException as {@link #getInt}
   * @throws IndexOutOfBoundsException if the offset lies outside the array
   */
  @Override
  public int getBytes(Field field, byte[] out, int offset) {
    Objects.requireNonNull(out, "out");
    Objects.checkFromToIndex(offset, out.length, out.length);
    long at = at(field, variable(field));
    int len = stored(field, at);
    Mem.getBytes(segment, at + 2, out, offset, Math.min(len, out.length - offset));
    return len;
  }

  /**
   * Reads a byte string, or the UTF-8 of a text.
   *
   * @param field a field of the layout
   * @return a new array
   * @throws InvalidUseException as {@link #getInt}
   */
  @Override
  public byte[] getBytes(Field field) {
    byte[] out = new byte[length(field)];
    getBytes(field, out, 0);
    return out;
  }

  // -------------------------------------------------------------------------------------- setting

  /**
   * Sets a number of 4 bytes.
   *
   * @param field a field of the layout
   * @param value its value
   * @return this
   * @throws InvalidUseException as {@link #getInt}
   */
  public Row setInt(Field field, int value) {
    long at = at(field, FieldType.INT32);
    if (Mem.getInt(segment, at) != value) {
      Mem.putInt(segment, at, value);
      mark(field);
    }
    return this;
  }

  /**
   * Sets a number of 8 bytes.
   *
   * @param field a field of the layout
   * @param value its value
   * @return this
   * @throws InvalidUseException as {@link #getInt}
   */
  public Row setLong(Field field, long value) {
    long at = at(field, FieldType.INT64);
    if (Mem.getLong(segment, at) != value) {
      Mem.putLong(segment, at, value);
      mark(field);
    }
    return this;
  }

  /**
   * Sets a text.
   *
   * @param field a field of the layout
   * @param value its value
   * @return this
   * @throws InvalidUseException as {@link #getInt}, and if the text holds half a surrogate pair
   * @throws ValueTooLargeException if its UTF-8 is longer than the field; the row stays as it was
   */
  public Row setText(Field field, CharSequence value) {
    Objects.requireNonNull(value, "value");
    long at = at(field, FieldType.TEXT);
    int width = field.width();
    // Looked at as a whole before anything is written, so that a refused text changes nothing.
    int bytes = Utf8.length(value);
    if (bytes > width) {
      throw tooLong(field, bytes);
    }
    Utf8.put(value, segment, at + 2, width);
    Mem.putShort(segment, at, (short) bytes);
    mark(field);
    return this;
  }

  /**
   * Sets a byte string, or a text by its UTF-8.
   *
   * @param field a field of the layout
   * @param value holds its value
   * @param offset where it begins
   * @param len how many bytes it has
   * @return this
   * @throws InvalidUseException as {@link #getInt}
   * @throws ValueTooLargeException if it is longer than the field
   * @throws IndexOutOfBoundsException if there are not so many bytes
   */
  public Row setBytes(Field field, byte[] value, int offset, int len) {
    Objects.requireNonNull(value, "value");
    Objects.checkFromIndexSize(offset, len, value.length);
    long at = at(field, variable(field));
    if (len > field.width()) {
      throw tooLong(field, len);
    }
    Mem.putShort(segment, at, (short) len);
    Mem.putBytes(segment, at + 2, value, offset, len);
    mark(field);
    return this;
  }

  /**
   * Sets a byte string, or a text by its UTF-8.
   *
   * @param field a field of the layout
   * @param value its value
   * @return this
   * @throws InvalidUseException as {@link #getInt}
   * @throws ValueTooLargeException if it is longer than the field
   */
  public Row setBytes(Field field, byte[] value) {
    Objects.requireNonNull(value, "value");
    return setBytes(field, value, 0, value.length);
  }

  /**
   * Sets all fields to those of another row of the same layout.
   *
   * @param other what to copy
   * @return this
   * @throws InvalidUseException if it has another layout, or not all of it was read, or one of the
   *     two can't be used here and now
   */
  public Row set(Row other) {
    Objects.requireNonNull(other, "other");
    if (other.size != size || !other.layout.equals(layout)) {
      throw new InvalidUseException(
          "A row of " + other.layout + " where one of " + layout + " is due.");
    }
    other.requireWhole();
    requireWhole();
    for (int i = 0; i < fields.length; i++) {
      int from = fields[i].offset();
      int end = other.buffer.end(i);
      if (end != buffer.end(i)
          || !Mem.equal(
              segment, base + from, end - from, other.segment, other.base + from, end - from)) {
        Mem.copy(other.segment, other.base + from, segment, base + from, end - from);
        mark(fields[i]);
      }
    }
    return this;
  }

  // -------------------------------------------------------------------------------------- checks

  private void mark(Field field) {
    if (reader != null) {
      buffer.mark(field.ordinal());
    }
  }

  /** Where a field lies in {@link #segment}, if it can be read and set here and now. */
  private long at(Field field, FieldType type) {
    int i = field.ordinal();
    Transaction tx = reader;
    if (i >= fields.length
        || fields[i] != field
        || field.type() != type
        || field.offset() + field.rowBytes() > limit
        || tx != null && !tx.isMine()) {
      throw refusal(field, type);
    }
    return base + field.offset();
  }

  private int stored(Field field, long at) {
    return RecordBuffer.storedBytes(field, segment, at);
  }

  private static FieldType variable(Field field) {
    return field.type() == FieldType.TEXT ? FieldType.TEXT : FieldType.BYTES;
  }

  /** Throws unless all of it can be read here and now. */
  void requireWhole() {
    if (limit != size || reader != null && !reader.isMine()) {
      throw refusal(null, null);
    }
  }

  /** Throws unless it was read in this transaction. */
  void requireReadIn(Transaction tx) {
    if (reader != tx) {
      throw reader == null
          ? new InvalidUseException(
              limit < 0
                  ? "The row holds nothing: no record was read into it."
                  : "The row was not read in a transaction: use put or insert with its key.")
          : refusal(null, null);
    }
  }

  private static ValueTooLargeException tooLong(Field field, int bytes) {
    return new ValueTooLargeException("field " + field.name(), bytes, field.width());
  }

  private InvalidUseException refusal(@Nullable Field field, @Nullable FieldType type) {
    if (field != null && type != null) {
      int i = field.ordinal();
      if (i >= fields.length || fields[i] != field) {
        return new InvalidUseException(
            "Field "
                + field.name()
                + (field.key() ? " is a part of the key, not a field of the row; " : " ")
                + "is not one of "
                + layout
                + ".");
      }
      if (field.type() != type) {
        return new InvalidUseException(
            "Field " + field.name() + " is " + field.type() + ", not " + type + ".");
      }
    }
    Transaction tx = reader;
    if (tx != null) {
      tx.requireMine("The row's contents died with the transaction that it was read in");
    }
    if (limit < 0) {
      return new InvalidUseException(
          "The row holds nothing: no record was read into it, or its cursor has moved on or was"
              + " closed. Use clear() to fill it anew.");
    }
    if (field != null && field.offset() + field.rowBytes() > limit) {
      return new InvalidUseException(
          "Field " + field.name() + " was not read: it lies outside of the projection.");
    }
    return new InvalidUseException(
        limit < size
            ? "The row was read with a projection, not as a whole."
            : "The row was read in another transaction.");
  }

  /** The fields in words, for messages and debuggers. */
  @Override
  public String toString() {
    if (limit < 0 || reader != null && !reader.isMine()) {
      return "Row[void]";
    }
    StringBuilder b = new StringBuilder("Row[");
    for (Field f : fields) {
      if (f.offset() + f.rowBytes() > limit) {
        return b.append(", ...]").toString();
      }
      b.append(b.length() > 4 ? ", " : "").append(f.name()).append('=');
      switch (f.type()) {
        case INT32 -> b.append(getInt(f));
        case INT64 -> b.append(getLong(f));
        case TEXT -> b.append('"').append(getText(f)).append('"');
        case BYTES -> b.append(length(f)).append(" bytes");
      }
    }
    return b.append(']').toString();
  }
}
