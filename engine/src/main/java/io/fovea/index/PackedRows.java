package io.fovea.index;

import io.fovea.memory.Mem;
import io.fovea.schema.Field;
import io.fovea.schema.Layout;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Rows of variable length: how a row in memory, where each field has its place, becomes one in the
 * tree, which has no more bytes than it needs.
 *
 * <pre>
 *   in memory    | count | there | length | note, room for 200 ......... | flag |
 *   in the tree  | count | there | length | note | flag | zeros | layout |
 *                  ^ the same places up to the first field of variable length: the prefix
 *
 *   there    of a nullable field; of one that is null it is 0, and nothing follows of it
 *   zeros    as many as it takes for a length that no older layout of one length has
 *   layout   the number of the row's layout in the table's history, from 0: its last byte
 * </pre>
 *
 * <p><b>Places are constant in memory</b>, so getters, setters, entries of indexes and codecs know
 * nothing of variable lengths. A row is unpacked where {@link LegacyRowReader} would renew one of
 * an older layout, which is a way that rows of tables without such fields do not go. It is unpacked
 * in the memory that it was read into: no field has an earlier place there than in the tree.
 *
 * <p><b>Fields of the prefix are patched</b> in place (but for a row that is in a chain of pages of
 * its own, which is written anew as every long value), whatever the lengths behind them are by
 * then. A change of another field puts the whole row: another row object of the same transaction
 * may have changed the lengths before it.
 *
 * <p><b>The layout is the last byte</b>, so that the prefix begins where the row does. No length of
 * a row says a layout then; but a table that had rows of one length before has such rows still, and
 * those must be told apart. That is what the zeros are for.
 *
 * <p>Immutable; any thread. Nothing is allocated.
 */
public final class PackedRows {
  /** Those of variable length, in their order. */
  private final Field[] variable;

  private final int layoutBytes;
  private final int prefix;
  private final int firstOrdinal;
  private final int rowBytes;
  private final byte number;

  /** The lengths of rows of layouts before the first that has such a field. */
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

  /** Those of a table; null where its rows have one length. */
  static @Nullable PackedRows of(RowHistory history, Layout layout) {
    return history.isPacked(layout) ? new PackedRows(history, layout) : null;
  }

  /**
   * How many bytes a row may have in the tree more than in memory.
   *
   * @param fixed how many layouts there were before the first with such a field
   */
  public static int bytesMore(int fixed) {
    return fixed + 1;
  }

  /** The most bytes of a row in the tree, and those of one in memory. */
  public int rowBytes() {
    return rowBytes;
  }

  /** How many bytes a row has before its first field of variable length. */
  int prefix() {
    return prefix;
  }

  /** The place of the first field that can't be patched. */
  int firstOrdinal() {
    return firstOrdinal;
  }

  /** Whether rows of some length are those of a layout of one length. */
  boolean isFixed(int length) {
    for (int of : fixed) {
      if (of == length) {
        return true;
      }
    }
    return false;
  }

  /** The number of the layout of a row that is not {@link #isFixed}. */
  static int number(MemorySegment row, long off, int length) {
    return Mem.getByte(row, off + length - 1) & 0xFF;
  }

  /** Whether a row in the tree, of which all is there, has the newest layout. */
  boolean isNewest(MemorySegment row, long off, int length) {
    return length > 0 && !isFixed(length) && Mem.getByte(row, off + length - 1) == number;
  }

  // -------------------------------------------------------------------------------------- packing

  /**
   * Makes a row as the tree has it.
   *
   * @param row one in memory
   * @param out where to, room for {@link #rowBytes}; not where the row is
   * @return its length
   */
  public int pack(MemorySegment row, long off, MemorySegment out, long outOff) {
    long at = outOff;
    int from = 0;
    for (Field f : variable) {
      int start = f.start();
      int end = f.offset();
      boolean there = !f.nullable() || Mem.getByte(row, off + start) != 0;
      if (there) {
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

  /**
   * Makes a row as memory has it.
   *
   * @param row one of the newest layout, as the tree has it
   * @param out where to, room for {@link #rowBytes}; not where the row is
   * @return false if it is damaged
   */
  boolean unpack(MemorySegment row, long off, int length, MemorySegment out, long outOff) {
    if (length < prefix) {
      return false;
    }
    Mem.copy(row, off, out, outOff, prefix);
    int n = scatter(row, off + prefix, length - prefix, out, outOff, rowBytes);
    return n >= 0 && ends(prefix + n, length);
  }

  /**
   * The same where the row is.
   *
   * <p>What follows the prefix goes to the end of the memory first, and then each field from there
   * to its place. None is written over before it is read: what is not read yet takes no more room
   * in the tree than in memory, and lies at the end.
   *
   * @param off where the row is in memory of {@link #rowBytes}
   * @param length the bytes that it has in the tree
   * @param bytes how many were read of it, and how many are wanted of the row in memory
   * @return false if it is damaged
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

  /** Whether a row with so many bytes of fields has the length that it should. */
  private boolean ends(int bytes, int length) {
    int n = bytes + 1;
    while (isFixed(n)) {
      n++;
    }
    return n == length;
  }

  /**
   * Takes the fields behind the prefix to their places.
   *
   * @param bytes how many there are
   * @param limit where the last field ends that is wanted
   * @return how many bytes the fields have had; -1 if they are more than there are
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
