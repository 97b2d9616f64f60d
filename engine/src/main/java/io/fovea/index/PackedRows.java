package io.fovea.index;

import io.fovea.memory.Mem;
import io.fovea.schema.Field;
import io.fovea.schema.Layout;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Rows of variable length. In memory each field has a fixed offset; in the tree a row has no more
 * bytes than it needs.
 *
 * <pre>
 *   in memory    | count | present | length | note, 200 bytes reserved ... | flag |
 *   in the tree  | count | present | length | note | flag | zeros | layout |
 *                  ^ the same offsets up to the first field of variable length: the prefix
 *   present  of a nullable field; 0 for null, and then nothing follows
 *   zeros    as many as needed for a length that no older fixed-length layout has
 *   layout   the number of the row's layout in the table's history, from 0: its last byte
 * </pre>
 *
 * <p><b>Offsets are constant in memory</b>, so getters, setters, index entries and codecs are
 * independent of variable lengths. A row is unpacked at the point at which {@link LegacyRowReader}
 * would convert an older layout, a path that other tables do not take. It is unpacked in the memory
 * into which it was read: no field has a lower offset there than in the tree.
 *
 * <p><b>Fields of the prefix are patched</b> in place, whatever the lengths after them, except in a
 * row with overflow pages, which is rewritten like every long value. A change to any other field
 * writes the whole row, since another row object of the same transaction may have changed the
 * lengths before it.
 *
 * <p><b>The layout is the last byte</b>, so that the prefix begins at the start of the row. The
 * length of a row then does not identify a layout; but a table with earlier fixed-length layouts
 * still has such rows, and the zeros keep the two apart.
 *
 * <p>Immutable. Nothing is allocated.
 */
public final class PackedRows {
  /** The fields of variable length, in order. */
  private final Field[] variable;

  private final int layoutBytes;
  private final int prefix;
  private final int firstOrdinal;
  private final int rowBytes;
  private final byte number;

  /** The row lengths of the layouts that precede the first layout with such a field. */
  private final int[] fixed;

  private PackedRows(RowHistory history, Layout layout) {
    this.variable = layout.fields().stream().filter(Field::variable).toArray(Field[]::new);
    this.layoutBytes = layout.size();
    this.prefix = variable.length == 0 ? layoutBytes : variable[0].start();
    this.firstOrdinal = variable.length == 0 ? layout.fields().size() : variable[0].ordinal();
    this.rowBytes = history.length();
    this.number = (byte) history.old().size();
    this.fixed =
        history.old().stream().limit(history.fixed()).mapToInt(RowHistory.Shape::length).toArray();
  }

  /** Returns the format of a table's rows; null if they have a fixed length. */
  static @Nullable PackedRows of(RowHistory history, Layout layout) {
    return history.isPacked(layout) ? new PackedRows(history, layout) : null;
  }

  /** Returns the number of bytes by which a row may be longer in the tree than in memory. */
  public static int bytesMore(int fixed) {
    return fixed + 1;
  }

  /** Returns the maximum length of a row in the tree, and its length in memory. */
  public int rowBytes() {
    return rowBytes;
  }

  int prefix() {
    return prefix;
  }

  /** Returns the position of the first field that can't be patched. */
  int firstOrdinal() {
    return firstOrdinal;
  }

  /** Returns whether rows of the given length have a fixed-length layout. */
  boolean isFixed(int length) {
    for (int of : fixed) {
      if (of == length) {
        return true;
      }
    }
    return false;
  }

  /** Returns the layout number of a row that is not {@link #isFixed}. */
  static int number(MemorySegment row, long off, int length) {
    return Mem.getByte(row, off + length - 1) & 0xFF;
  }

  /** Returns whether a complete row in the tree has the newest layout. */
  boolean isNewest(MemorySegment row, long off, int length) {
    return length > 0 && !isFixed(length) && Mem.getByte(row, off + length - 1) == number;
  }

  // -------------------------------------------------------------------------------------- packing

  /** Converts a row to its form in the tree, not in place; returns its length. */
  public int pack(MemorySegment row, long off, MemorySegment out, long outOff) {
    long at = outOff;
    int from = 0;
    for (Field f : variable) {
      int start = f.start();
      int end = f.offset();
      boolean present = !f.nullable() || Mem.getByte(row, off + start) != 0;
      if (present) {
        end += 2 + RecordBuffer.storedBytes(f, row, off + f.offset());
      }
      Mem.copy(row, off + from, out, at, end - from);
      at += end - from;
      from = f.end();
    }
    Mem.copy(row, off + from, out, at, layoutBytes - from);
    at += layoutBytes - from;
    while (isFixed((int) (at - outOff) + 1)) {
      Mem.putByte(out, at++, (byte) 0);
    }
    Mem.putByte(out, at++, number);
    return (int) (at - outOff);
  }

  // ------------------------------------------------------------------------------------ unpacking

  /** Converts a row of the newest layout to its memory form; returns false if it is damaged. */
  boolean unpack(MemorySegment row, long off, int length, MemorySegment out, long outOff) {
    if (length < prefix) {
      return false;
    }
    Mem.copy(row, off, out, outOff, prefix);
    int n = scatter(row, off + prefix, length - prefix, out, outOff, rowBytes);
    return n >= 0 && ends(prefix + n, length);
  }

  /**
   * Converts a row in place, in memory of {@link #rowBytes}; returns false if it is damaged.
   *
   * <p>The bytes after the prefix are first moved to the end of the memory, then each field from
   * there to its offset. No byte is overwritten before it is read: the bytes not yet read lie at
   * the end, and need no more space in the tree than in memory.
   *
   * @param bytes the number of bytes of the row that were read, which is also the number needed in
   *     memory
   */
  boolean unpack(MemorySegment row, long off, int length, int bytes) {
    int have = Math.min(length, bytes);
    if (have <= prefix) {
      return have == bytes;
    }
    int rest = have - prefix;
    long from = off + rowBytes - rest;
    Mem.copy(row, off + prefix, row, from, rest);
    int n = scatter(row, from, rest, row, off, bytes);
    return n >= 0 && (length > bytes || bytes < layoutBytes || ends(prefix + n, length));
  }

  /** Returns whether a row with {@code bytes} bytes of fields has the expected length. */
  private boolean ends(int bytes, int length) {
    int n = bytes + 1;
    while (isFixed(n)) {
      n++;
    }
    return n == length;
  }

  /**
   * Moves {@code bytes} bytes of fields to their offsets, up to {@code limit}. Returns the number
   * of bytes used, or -1 if more are needed than are available.
   */
  private int scatter(
      MemorySegment in, long off, int bytes, MemorySegment out, long outOff, int limit) {
    int at = 0;
    int to = prefix;
    int wanted = Math.min(limit, layoutBytes);
    for (Field f : variable) {
      if (f.end() > wanted) {
        wanted = Math.min(wanted, f.start());
        break;
      }
      int run = f.offset() - to;
      if (bytes - at < run) {
        return -1;
      }
      Mem.copy(in, off + at, out, outOff + to, run);
      at += run;
      to = f.end();
      if (f.nullable() && Mem.getByte(out, outOff + f.start()) == 0) {
        Mem.putShort(out, outOff + f.offset(), (short) 0);
        continue;
      }
      int n = bytes - at < 2 ? -1 : Mem.getUnsignedShort(in, off + at);
      if (n < 0 || n > f.width() || n > bytes - at - 2) {
        return -1;
      }
      Mem.copy(in, off + at, out, outOff + f.offset(), 2 + n);
      at += 2 + n;
    }
    int run = Math.max(0, wanted - to);
    if (bytes - at < run) {
      return -1;
    }
    Mem.copy(in, off + at, out, outOff + to, run);
    return at + run;
  }
}
