package io.fovea.index;

import io.fovea.encoding.Decimals;
import io.fovea.encoding.Times;
import io.fovea.memory.Mem;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.Layout;
import io.fovea.txn.Tx;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Makes rows of the newest layout of a table from those of older ones ({@link RowHistory}).
 *
 * <pre>
 *   old row, known by its length                 new row, zero at first
 *   | number 0 | number 1     | number 2 |       | number 2 | number 0 (wider) | number 7 |
 *                  dropped                         as it is    longer            default
 * </pre>
 *
 * <p>Whoever reads a row compares its length with {@link TableCore#recordBytes}, and comes here
 * where that differs: so a table that never had another layout pays nothing, nor does a row that
 * was written since. Nothing is allocated. Immutable; any thread.
 */
public final class OldRows {
  private final RowHistory history;
  private final int size;
  private final Recipe[] recipes;

  /**
   * How rows of one length are made new: one of each for each field of the new layout.
   *
   * @param parts what it is in the old row; null where it is not there
   * @param from where its value lies in the old row, behind what says if it is null
   * @param values what is in its place in the new row where it is not there, from its start on
   */
  private record Recipe(
      int length, RowHistory.@Nullable Part[] parts, int[] from, Field[] to, byte[][] values) {}

  OldRows(RowHistory history, Layout layout) {
    this.history = history;
    this.size = history.length();
    this.recipes =
        history.old().stream().map(s -> recipe(s, layout, history.fields())).toArray(Recipe[]::new);
  }

  private static Recipe recipe(RowHistory.Shape shape, Layout layout, List<RowHistory.Origin> ids) {
    int n = layout.fields().size();
    Recipe r =
        new Recipe(shape.length(), new RowHistory.Part[n], new int[n], new Field[n], new byte[n][]);
    for (Field f : layout.fields()) {
      int i = f.ordinal();
      RowHistory.Origin origin = ids.get(i);
      r.to[i] = f;
      r.values[i] = DefaultValue.inRow(f, origin.value());
      int at = 0;
      for (RowHistory.Part p : shape.fields()) {
        if (p.id() == origin.id()) {
          r.parts[i] = p;
          r.from[i] = p.nullable() ? at + 1 : at;
        }
        at += p.rowBytes();
      }
    }
    return r;
  }

  private @Nullable Recipe recipe(int length) {
    for (Recipe r : recipes) {
      if (r.length == length) {
        return r;
      }
    }
    return null;
  }

  RowHistory history() {
    return history;
  }

  /**
   * Makes a new row.
   *
   * @param length the bytes of the old one
   * @param to where to, as many bytes as a row of the table has
   * @return false if no older layout has rows of that length
   */
  public boolean renew(int length, MemorySegment from, long off, MemorySegment to, long toOff) {
    Recipe r = recipe(length);
    if (r == null) {
      return false;
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
    return true;
  }

  /**
   * The time that a row of an older layout has, by which it expires.
   *
   * @param length the bytes of the row
   * @param field its place in the newest layout
   * @return milliseconds since 1970; 0 if no older layout has rows of that length
   */
  public long millis(int length, MemorySegment row, long off, int field) {
    Recipe r = recipe(length);
    if (r == null) {
      return 0;
    }
    RowHistory.Part p = r.parts[field];
    if (p == null) {
      return DefaultValue.millis(r.to[field], history.fields().get(field).value());
    }
    // One that is null is all zero, which is no time.
    return switch (p.type()) {
      case INT32 -> Mem.getInt(row, off + r.from[field]);
      case INSTANT -> Times.millis(row, off + r.from[field]);
      default -> Mem.getLong(row, off + r.from[field]);
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
      // No more than the field had, whatever a damaged page says.
      int length = Math.min(Mem.getUnsignedShort(from, off), p.width());
      Mem.putShort(to, at, (short) length);
      Mem.copy(from, off + 2, to, at + 2, length);
    }
  }

  // ------------------------------------------------------------------------------- of transactions

  /**
   * Makes a record that was read the newest, where it is not: what was read of it was of no use. It
   * is read again, as a whole. That finds the same record, for the transaction knows it: one that
   * was changed meanwhile aborts it.
   *
   * @param n what {@link Tx#get} has said of its length
   * @param out where the record goes; has room for one of the table
   * @return whether it was an old one
   * @throws io.fovea.error.CorruptionException if no layout of the table has records of that length
   */
  public static boolean settle(
      Slot slot,
      Tx t,
      TableCore core,
      MemorySegment key,
      long keyOff,
      int keyLen,
      int n,
      MemorySegment out,
      long outOff) {
    if (n == core.recordBytes()) {
      return false;
    }
    OldRows old = core.old;
    if (old.recipe(n) == null) {
      throw core.wrongSize(t.page(), n);
    }
    MemorySegment stage = slot.valueStage(n);
    int again = t.get(core.tree, key, keyOff, keyLen, stage, 0, n);
    if (again != n) {
      t.requireReadsValid();
      throw core.wrongSize(t.page(), again);
    }
    old.renew(n, stage, 0, out, outOff);
    return true;
  }

  /** Whether a record of some length is one of an older layout. */
  public boolean knows(int length) {
    return recipe(length) != null;
  }
}
