package io.fovea.index;

import io.fovea.encoding.Decimals;
import io.fovea.encoding.Times;
import io.fovea.memory.Mem;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.Layout;
import io.fovea.txn.Tx;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Converts rows of older layouts to the newest layout of a table ({@link RowHistory}).
 *
 * <pre>
 *   old row, known by its length                 new row, zero at first
 *   | number 0 | number 1     | number 2 |       | number 2 | number 0 (wider) | number 7 |
 *                  dropped                         unchanged  extended           default
 * </pre>
 *
 * <p>A reader compares the length of a row with {@link TableCore#storedBytes} and uses this class
 * only if they differ, so rows of the newest layout cost nothing extra. Rows of variable length are
 * also read here, and unpacked ({@link PackedRows}). Nothing is allocated. Immutable.
 */
public final class LegacyRowReader {
  /** The row belongs to no layout of the table. */
  public static final int UNKNOWN = -1;

  /** The row has the same form in memory and in the tree. */
  public static final int AS_IT_IS = 0;

  /** The row had the newest layout, and was unpacked. */
  public static final int UNPACKED = 1;

  /** The row had an older layout, and was converted. */
  public static final int UPGRADED = 2;

  private final RowHistory history;
  private final int size;
  private final Recipe[] recipes;

  /** The format of rows of variable length; null if all rows have the same length. */
  final @Nullable PackedRows packed;

  private final RowHistory.Part[] newest;

  /**
   * The conversion of rows of one older layout. {@code length} and {@code from} are unused for rows
   * of variable length.
   *
   * @param parts each field of the new layout in the old row; null if absent
   * @param from the offset of its value in the old row, after the null byte
   * @param values the bytes that the new row contains for each absent field, from its start
   * @param target the position of each old field in the new layout; negative if absent
   */
  private record Recipe(
      int length,
      RowHistory.@Nullable Part[] parts,
      int[] from,
      Field[] to,
      byte[][] values,
      RowHistory.Part[] old,
      int[] target) {}

  LegacyRowReader(RowHistory history, Layout layout) {
    this.history = history;
    this.size = history.length();
    this.packed = PackedRows.of(history, layout);
    this.newest = new RowHistory.Part[layout.fields().size()];
    for (int i = 0; i < newest.length; i++) {
      Field field = layout.fields().get(i);
      newest[i] = RowHistory.Part.of(field.ordinal(), field);
    }
    this.recipes = new Recipe[history.old().size()];
    for (int i = 0; i < recipes.length; i++) {
      recipes[i] = recipe(history.old().get(i), layout, history.fields());
    }
  }

  private static Recipe recipe(RowHistory.Shape shape, Layout layout, List<RowHistory.Origin> ids) {
    int n = layout.fields().size();
    RowHistory.Part[] old = shape.fields().toArray(RowHistory.Part[]::new);
    Recipe r =
        new Recipe(
            shape.length(),
            new RowHistory.Part[n],
            new int[n],
            new Field[n],
            new byte[n][],
            old,
            new int[old.length]);
    Arrays.fill(r.target, -1);
    for (Field f : layout.fields()) {
      int i = f.ordinal();
      RowHistory.Origin origin = ids.get(i);
      r.to[i] = f;
      r.values[i] = DefaultValue.inRow(f, origin.value());
      int at = 0;
      for (int j = 0; j < old.length; j++) {
        RowHistory.Part p = old[j];
        if (p.id() == origin.id()) {
          r.parts[i] = p;
          r.from[i] = p.nullable() ? at + 1 : at;
          r.target[j] = i;
        }
        at += p.rowBytes();
      }
    }
    return r;
  }

  /** Returns the conversion of rows of the given length, if the length identifies a layout. */
  private @Nullable Recipe recipe(int length) {
    int n = packed == null ? recipes.length : history.fixed();
    for (int i = 0; i < n; i++) {
      if (recipes[i].length == length) {
        return recipes[i];
      }
    }
    return null;
  }

  RowHistory history() {
    return history;
  }

  /**
   * Converts a row to the memory form of the newest layout.
   *
   * @param length the length of the stored row, other than {@link TableCore#storedBytes}
   * @return {@link #UNPACKED}, {@link #UPGRADED}, or {@link #UNKNOWN} if it is damaged
   */
  public int upgrade(int length, MemorySegment from, long off, MemorySegment to, long toOff) {
    Recipe r = recipe(length);
    if (r == null) {
      return packed == null ? UNKNOWN : unpack(packed, length, from, off, to, toOff);
    }
    Mem.zero(to, toOff, size);
    for (int i = 0; i < r.to.length; i++) {
      Field f = r.to[i];
      RowHistory.Part p = r.parts[i];
      if (p == null) {
        Mem.putBytes(to, toOff + f.start(), r.values[i], 0, r.values[i].length);
      } else if (!p.nullable() || Mem.getByte(from, off + r.from[i] - 1) != 0) {
        copy(p, from, off + r.from[i], f, to, toOff);
      }
    }
    return UPGRADED;
  }

  private int unpack(
      PackedRows by, int length, MemorySegment from, long off, MemorySegment to, long toOff) {
    if (by.isNewest(from, off, length)) {
      return by.unpack(from, off, length, to, toOff) ? UNPACKED : UNKNOWN;
    }
    Recipe r = packedRecipe(from, off, length);
    return r != null && upgradePacked(r, length, from, off, to, toOff) ? UPGRADED : UNKNOWN;
  }

  private @Nullable Recipe packedRecipe(MemorySegment row, long off, int length) {
    int n = length == 0 ? -1 : PackedRows.number(row, off, length);
    return n >= history.fixed() && n < recipes.length ? recipes[n] : null;
  }

  /** Converts a row whose field offsets depend on the lengths of earlier fields. */
  private boolean upgradePacked(
      Recipe r, int length, MemorySegment from, long off, MemorySegment to, long toOff) {
    Mem.zero(to, toOff, size);
    for (int i = 0; i < r.to.length; i++) {
      if (r.parts[i] == null) {
        Mem.putBytes(to, toOff + r.to[i].start(), r.values[i], 0, r.values[i].length);
      }
    }
    int at = 0;
    for (int j = 0; j < r.old.length; j++) {
      RowHistory.Part p = r.old[j];
      int next = next(p, from, off, at, length);
      if (next < 0) {
        return false;
      }
      int value = p.nullable() ? at + 1 : at;
      if (r.target[j] >= 0 && (!p.nullable() || Mem.getByte(from, off + at) != 0)) {
        copy(p, from, off + value, r.to[r.target[j]], to, toOff);
      }
      at = next;
    }
    return at < length;
  }

  /** Returns the end of a field at an offset of a packed row; -1 if it is outside the row. */
  private static int next(RowHistory.Part p, MemorySegment row, long off, int at, int length) {
    int end = length - 1; // the last byte is the number of the layout
    if (!p.variable()) {
      int next = at + p.rowBytes();
      return next <= end ? next : -1;
    }
    int value = at;
    if (p.nullable()) {
      if (at >= end || Mem.getByte(row, off + at) == 0) {
        return at < end ? at + 1 : -1;
      }
      value++;
    }
    int n = value + 2 > end ? p.width() + 1 : Mem.getUnsignedShort(row, off + value);
    int next = value + 2 + n;
    return n <= p.width() && next <= end ? next : -1;
  }

  /**
   * Returns the time in a complete row that determines its expiry, in milliseconds since 1970.
   * Returns 0 if the row matches no layout. {@code field} is a position in the newest layout.
   */
  public long millis(int length, MemorySegment row, long off, int field) {
    Recipe r = recipe(length);
    if (r == null && packed != null) {
      return packed.isNewest(row, off, length)
          ? millis(newest, field, length, row, off)
          : packedMillis(packedRecipe(row, off, length), field, length, row, off);
    }
    if (r == null) {
      return 0;
    }
    RowHistory.Part p = r.parts[field];
    return p == null ? added(r, field) : millis(p, row, off + r.from[field]);
  }

  private long added(Recipe r, int field) {
    return DefaultValue.millis(r.to[field], history.fields().get(field).value());
  }

  private long packedMillis(
      @Nullable Recipe r, int field, int length, MemorySegment row, long off) {
    for (int j = 0; r != null && j < r.old.length; j++) {
      if (r.target[j] == field) {
        return millis(r.old, j, length, row, off);
      }
    }
    return r == null ? 0 : added(r, field);
  }

  private static long millis(
      RowHistory.Part[] parts, int field, int length, MemorySegment row, long off) {
    int at = 0;
    for (int i = 0; i < field && at >= 0; i++) {
      at = next(parts[i], row, off, at, length);
    }
    RowHistory.Part p = parts[field];
    if (at < 0 || next(p, row, off, at, length) < 0) {
      return 0;
    }
    return millis(p, row, off + (p.nullable() ? at + 1 : at));
  }

  private static long millis(RowHistory.Part p, MemorySegment row, long at) {
    // Null is all zeros, which means no time.
    return switch (p.type()) {
      case INT32 -> Mem.getInt(row, at);
      case INSTANT -> Times.millis(row, at);
      default -> Mem.getLong(row, at);
    };
  }

  private static void copy(
      RowHistory.Part p, MemorySegment from, long off, Field f, MemorySegment to, long toOff) {
    long at = toOff + f.offset();
    if (f.nullable()) {
      Mem.putByte(to, toOff + f.start(), (byte) 1);
    }
    if (f.type() == FieldType.INT64 && p.type() == FieldType.INT32) {
      Mem.putLong(to, at, Mem.getInt(from, off));
    } else if (f.type() == FieldType.DECIMAL) {
      Decimals.widen(from, off, p.width(), to, at, f.width(), f.scale() - p.scale());
    } else if (f.type().isFixed()) {
      Mem.copy(from, off, to, at, p.width());
    } else {
      // Limited to the width of the field, in case the page is damaged.
      int length = Math.min(Mem.getUnsignedShort(from, off), p.width());
      Mem.putShort(to, at, (short) length);
      Mem.copy(from, off + 2, to, at + 2, length);
    }
  }

  // ------------------------------------------------------------------------------- of transactions

  /**
   * Converts a record that was read to the memory form of the newest layout. A record of variable
   * length is unpacked in place. A record of an older layout is read again in full; that returns
   * the same record, because it is in the read set and a change aborts the transaction.
   *
   * @param n the length that {@link Tx#get} returned
   * @param out holds the record, of which at most {@code bytes} bytes were read, and receives the
   *     result
   * @return the former form: {@link #AS_IT_IS}, {@link #UNPACKED} or {@link #UPGRADED}
   * @throws io.fovea.error.CorruptionException if no layout of the table has such records
   */
  public static int settle(
      StatementContext context,
      Tx t,
      TableCore core,
      MemorySegment key,
      long keyOff,
      int keyLen,
      int n,
      MemorySegment out,
      long outOff,
      int bytes) {
    if (n == core.storedBytes) {
      return AS_IT_IS;
    }
    LegacyRowReader old = core.old;
    PackedRows packed = old.packed;
    if (packed != null
        && (n <= bytes ? packed.isNewest(out, outOff, n) : old.recipes.length == 0)) {
      if (!packed.unpack(out, outOff, n, bytes)) {
        throw core.wrongSize(t.page(), n);
      }
      return UNPACKED;
    }
    if (!old.knows(n)) {
      throw core.wrongSize(t.page(), n);
    }
    MemorySegment stage = context.valueStage(n);
    int again = t.get(core.tree, key, keyOff, keyLen, stage, 0, n);
    if (again != n) {
      t.requireReadsValid();
      throw core.wrongSize(t.page(), again);
    }
    int form = old.upgrade(n, stage, 0, out, outOff);
    if (form == UNKNOWN) {
      throw core.wrongSize(t.page(), n);
    }
    return form;
  }

  /**
   * Returns whether rows of the given length have the fields up to {@code end} at their in-memory
   * offsets.
   */
  boolean isInPlace(int length, int end) {
    return packed == null
        ? length == size
        : recipes.length == 0 && length > end && end <= packed.prefix();
  }

  /**
   * Returns whether a record of the given length may have the packed newest layout or an older
   * layout.
   */
  public boolean knows(int length) {
    return packed != null || recipe(length) != null;
  }
}
