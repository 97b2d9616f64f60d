package io.fovea.index;

import io.fovea.memory.Blocks;
import io.fovea.memory.Mem;
import io.fovea.schema.Field;
import io.fovea.schema.Layout;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * A record in native memory: its fields, its key, and which fields have changed since it was read.
 *
 * <pre>
 *   base                  keyBase (a multiple of 8 after base)
 *   | fields, as Layout    | key, encoded           |
 * </pre>
 *
 * <p>This is the form in which the lower layers see a row of the API. The layers above check
 * ownership and permitted use. Used by one thread at a time.
 */
public final class RecordBuffer {
  /** Means that no field has changed, as in a row of a scan. Never written. */
  private static final long[] NEVER = {};

  private final Field[] fields;
  private final int[] starts;
  private final Field[] variable;
  private final int size;
  private MemorySegment segment;
  private final long base;

  private int keyLength;

  /** The handle of the record in the read set, or negative. */
  private int handle;

  /** One bit per field that has changed since the read. Allocated at the first change. */
  private long[] dirty = NEVER;

  /** The form of the record in the tree, a constant of {@link LegacyRowReader}. */
  private int form;

  private boolean changed;

  /**
   * Creates a buffer in {@link #bytes} bytes of the caller's memory.
   *
   * @param size the length of a record: {@link Layout#size}, and the bytes the table appends
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

  public static int bytes(int size, int keyBytesMax) {
    return align(size) + keyBytesMax;
  }

  public static MemorySegment memory(int size, int keyBytesMax) {
    return Arena.ofAuto().allocate(Math.max(8, bytes(size, keyBytesMax)), 8);
  }

  /** Detaches the buffer from its memory, which may be reused; returns an empty segment. */
  public MemorySegment end() {
    segment = Blocks.NONE;
    return segment;
  }

  private static int align(int bytes) {
    return (bytes + 7) & ~7;
  }

  // ------------------------------------------------------------------------------------ its memory

  public MemorySegment segment() {
    return segment;
  }

  public long base() {
    return base;
  }

  public int size() {
    return size;
  }

  /** Returns the offset in {@link #segment} of the key of the record that was read. */
  public long keyBase() {
    return base + align(size);
  }

  public int keyLength() {
    return keyLength;
  }

  public int handle() {
    return handle;
  }

  public void read(MemorySegment key, long keyOff, int keyLen, int newHandle) {
    Mem.copy(key, keyOff, segment, keyBase(), keyLen);
    keyLength = keyLen;
    handle = newHandle;
    form = LegacyRowReader.AS_IT_IS;
  }

  /** Sets the form of the record in the tree, a constant of {@link LegacyRowReader}. */
  public void form(int of) {
    form = of;
  }

  public int form() {
    return form;
  }

  /** Returns whether every field can be changed in place. */
  public boolean isPlain() {
    return form == LegacyRowReader.AS_IT_IS;
  }

  /**
   * Returns the bytes before the first field of variable length, which are cleared as a block; the
   * space of the other fields may be large.
   *
   * @throws io.fovea.error.InvalidUseException if the buffer is detached from its memory
   */
  public MemorySegment toClear() {
    if (segment == Blocks.NONE) {
      throw RowRefusal.ofContents(null, RowRefusal.VOID, size);
    }
    return segment.asSlice(base, variable.length == 0 ? size : variable[0].start());
  }

  public void clearRest() {
    for (int i = 0; i < variable.length; i++) {
      Field f = variable[i];
      Mem.zero(segment, base + f.start(), f.offset() + 2 - f.start());
      int end = i + 1 < variable.length ? variable[i + 1].start() : size;
      Mem.zero(segment, base + f.end(), end - f.end());
    }
  }

  // --------------------------------------------------------------------------------------- changes

  public void mark(int ordinal) {
    if (dirty.length == 0) {
      dirty = new long[(fields.length + 63) >>> 6];
    }
    dirty[ordinal >>> 6] |= 1L << ordinal;
    changed = true;
  }

  /** Copies the fields of another record of the layout; marks those that differ if requested. */
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

  public void unchanged() {
    for (int i = 0; i < dirty.length; i++) {
      dirty[i] = 0;
    }
    changed = false;
  }

  public boolean changed() {
    return changed;
  }

  /** Returns the first changed field at or after {@code from}, or -1. */
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

  /** Returns whether one of the fields in a bit set was changed. */
  public boolean changed(long[] of) {
    for (int i = 0; i < Math.min(of.length, dirty.length); i++) {
      if ((of[i] & dirty[i]) != 0) {
        return true;
      }
    }
    return false;
  }

  /** Returns the start of a field in the record, including its null byte. */
  public int start(int field) {
    return starts[field];
  }

  /** Returns the end of a field's value; text and bytes have their current length. */
  public int end(int field) {
    Field f = fields[field];
    return f.type().isFixed()
        ? f.offset() + f.width()
        : f.offset() + 2 + storedBytes(f, segment, base + f.offset());
  }

  /** Returns the stored length of a value, at most the width of the field in case of damage. */
  public static int storedBytes(Field field, MemorySegment segment, long at) {
    return Math.min(Mem.getUnsignedShort(segment, at), field.width());
  }
}
