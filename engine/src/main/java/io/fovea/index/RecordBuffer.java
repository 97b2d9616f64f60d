package io.fovea.index;

import io.fovea.memory.Blocks;
import io.fovea.memory.Mem;
import io.fovea.schema.Field;
import io.fovea.schema.Layout;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * A record in memory outside the Java heap: its bytes, behind them its key, and which of its fields
 * were changed since it was read.
 *
 * <pre>
 *   base                  keyBase (a multiple of 8 behind base)
 *   | fields, as Layout    | key, encoded           |
 * </pre>
 *
 * <p>What a row of the API is to the rooms below it: nothing here asks whose it is, or whether it
 * may be used. Used by one thread at a time.
 */
public final class RecordBuffer {
  /** No field was ever changed, as in a row that a scan reads. Never written. */
  private static final long[] NEVER = {};

  private final Field[] fields;
  private final int[] starts;
  private final Field[] variable;
  private final int size;
  private MemorySegment segment;
  private final long base;

  private int keyLength;

  /** What the transaction's read set calls the record, or negative. */
  private int handle;

  /** One bit per field: changed since it was read. Has room for them from the first change on. */
  private long[] dirty = NEVER;

  /** What the record that was read is in the tree, as {@link LegacyRowReader} says. */
  private int form;

  /** Whether {@link #dirty} has a bit set. */
  private boolean changed;

  /**
   * A buffer in somebody's memory.
   *
   * @param fields those of its layout
   * @param size the bytes of a record: {@link Layout#size}, and what the table has behind it
   * @param segment has {@link #bytes} bytes from {@code base} on
   * @param base a multiple of 8
   */
  public RecordBuffer(RowFields fields, int size, MemorySegment segment, long base) {
    this.fields = fields.all;
    this.starts = fields.starts;
    this.variable = fields.variable;
    this.size = size;
    this.segment = segment;
    this.base = base;
  }

  /** How many bytes a record with its key needs. */
  public static int bytes(int size, int keyBytesMax) {
    return align(size) + keyBytesMax;
  }

  /** Memory for one that belongs to who makes it. */
  public static MemorySegment memory(int size, int keyBytesMax) {
    return Arena.ofAuto().allocate(Math.max(8, bytes(size, keyBytesMax)), 8);
  }

  /** Its memory is another's from here on; returns what it has now, which is none. */
  public MemorySegment end() {
    segment = Blocks.NONE;
    return segment;
  }

  private static int align(int bytes) {
    return (bytes + 7) & ~7;
  }

  // ------------------------------------------------------------------------------------ its memory

  /** Where it lies. */
  public MemorySegment segment() {
    return segment;
  }

  /** Where in {@link #segment} the record begins. */
  public long base() {
    return base;
  }

  /** The bytes of a record. */
  public int size() {
    return size;
  }

  /** Where the key of a record that was read begins in {@link #segment}. */
  public long keyBase() {
    return base + align(size);
  }

  /** The bytes of that key. */
  public int keyLength() {
    return keyLength;
  }

  /** What the transaction's read set calls the record that was read, or negative. */
  public int handle() {
    return handle;
  }

  /** The record was read: takes over what is known of it besides its bytes. */
  public void read(MemorySegment key, long keyOff, int keyLen, int newHandle) {
    Mem.copy(key, keyOff, segment, keyBase(), keyLen);
    keyLength = keyLen;
    handle = newHandle;
    form = LegacyRowReader.AS_IT_IS;
  }

  /**
   * The record that was read is not in the tree as it is here, but in a form of {@link
   * LegacyRowReader}.
   */
  public void form(int of) {
    form = of;
  }

  /** What it is in the tree. */
  public int form() {
    return form;
  }

  /** Whether each part of it can be changed in its place. */
  public boolean isPlain() {
    return form == LegacyRowReader.AS_IT_IS;
  }

  /**
   * What is cleared as a whole where all fields are: the bytes before the first field of variable
   * length, whose room may be large.
   *
   * @throws io.fovea.error.InvalidUseException if its memory is another's
   */
  public MemorySegment toClear() {
    if (segment == Blocks.NONE) {
      throw RowRefusal.ofContents(null, RowRefusal.VOID, size);
    }
    return segment.asSlice(base, variable.length == 0 ? size : variable[0].start());
  }

  /** Clears the fields behind these. */
  public void clearRest() {
    for (int i = 0; i < variable.length; i++) {
      Field f = variable[i];
      Mem.zero(segment, base + f.start(), f.offset() + 2 - f.start());
      int end = i + 1 < variable.length ? variable[i + 1].start() : size;
      Mem.zero(segment, base + f.end(), end - f.end());
    }
  }

  // --------------------------------------------------------------------------------------- changes

  /** Notes that a field has changed. */
  public void mark(int ordinal) {
    if (dirty.length == 0) {
      dirty = new long[(fields.length + 63) >>> 6];
    }
    dirty[ordinal >>> 6] |= 1L << ordinal;
    changed = true;
  }

  /**
   * Takes over the fields of another record of the same layout.
   *
   * @param marks whether those that differ have changed
   */
  public void set(RecordBuffer other, boolean marks) {
    for (int i = 0; i < fields.length; i++) {
      int from = start(i);
      int end = other.end(i);
      long at = base + from;
      long otherAt = other.base + from;
      if (end != end(i)
          || !Mem.equal(segment, at, end - from, other.segment, otherAt, end - from)) {
        Mem.copy(other.segment, otherAt, segment, at, end - from);
        if (marks) {
          mark(i);
        }
      }
    }
  }

  /** The record is what this holds: nothing is changed any more. */
  public void unchanged() {
    for (int i = 0; i < dirty.length; i++) {
      dirty[i] = 0;
    }
    changed = false;
  }

  /** Whether any field was changed. */
  public boolean changed() {
    return changed;
  }

  /** The first changed field from one on, or -1. */
  public int nextChanged(int from) {
    int word = from >>> 6;
    if (word >= dirty.length) {
      return -1;
    }
    long bits = dirty[word] & (-1L << from);
    while (bits == 0) {
      if (++word == dirty.length) {
        return -1;
      }
      bits = dirty[word];
    }
    return (word << 6) + Long.numberOfTrailingZeros(bits);
  }

  /** Whether one of these fields was changed, a bit each. */
  public boolean changed(long[] of) {
    for (int i = 0; i < Math.min(of.length, dirty.length); i++) {
      if ((of[i] & dirty[i]) != 0) {
        return true;
      }
    }
    return false;
  }

  /** Where in the record the bytes of a field begin: of a nullable one, what says if it is null. */
  public int start(int field) {
    return starts[field];
  }

  /** Where the bytes of a field's value end: text and bytes take as many as they have. */
  public int end(int field) {
    Field f = fields[field];
    return f.type().isFixed()
        ? f.offset() + f.width()
        : f.offset() + 2 + storedBytes(f, segment, base + f.offset());
  }

  /** The bytes of a text or byte string; never more than the field, whatever the file says. */
  public static int storedBytes(Field field, MemorySegment segment, long at) {
    return Math.min(Mem.getUnsignedShort(segment, at), field.width());
  }
}
