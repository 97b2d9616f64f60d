package io.fovea.index;

import io.fovea.memory.Mem;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.Layout;
import io.fovea.txn.Tx;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
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

  /** How rows of one length are made new: a row of numbers for each field of the new layout. */
  private record Recipe(int length, int[] from, int[] widths, Field[] to, byte[][] values) {}

  OldRows(RowHistory history, Layout layout) {
    this.history = history;
    this.size = history.length();
    this.recipes =
        history.old().stream().map(s -> recipe(s, layout, history.fields())).toArray(Recipe[]::new);
  }

  private static Recipe recipe(RowHistory.Shape shape, Layout layout, List<RowHistory.Origin> ids) {
    int n = layout.fields().size();
    Recipe r = new Recipe(shape.length(), new int[n], new int[n], new Field[n], new byte[n][]);
    for (Field f : layout.fields()) {
      int i = f.ordinal();
      RowHistory.Origin origin = ids.get(i);
      r.to[i] = f;
      r.values[i] = origin.value();
      r.from[i] = -1;
      int at = 0;
      for (RowHistory.Part p : shape.fields()) {
        if (p.id() == origin.id()) {
          r.from[i] = at;
          r.widths[i] = p.width();
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
      long at = toOff + f.offset();
      if (r.from[i] < 0) {
        put(f, r.values[i], to, at);
      } else {
        copy(f, r.widths[i], from, off + r.from[i], to, at);
      }
    }
    return true;
  }

  /**
   * What an integer of 8 bytes is in a row of an older layout, as the newest one has it.
   *
   * @param length the bytes of the row
   * @param field its place in the newest layout
   * @return 0 if no older layout has rows of that length
   */
  public long int64(int length, MemorySegment row, long off, int field) {
    Recipe r = recipe(length);
    if (r == null) {
      return 0;
    }
    int from = r.from[field];
    if (from < 0) {
      return r.values[field].length == 0 ? 0 : number(r.values[field]);
    }
    return r.widths[field] == Integer.BYTES
        ? Mem.getInt(row, off + from)
        : Mem.getLong(row, off + from);
  }

  private static void copy(
      Field f, int width, MemorySegment from, long off, MemorySegment to, long at) {
    if (f.type() == FieldType.INT64 && width == Integer.BYTES) {
      Mem.putLong(to, at, Mem.getInt(from, off));
    } else if (f.type().isFixed()) {
      Mem.copy(from, off, to, at, width);
    } else {
      // No more than the field had, whatever a damaged page says.
      int length = Math.min(Mem.getUnsignedShort(from, off), width);
      Mem.putShort(to, at, (short) length);
      Mem.copy(from, off + 2, to, at + 2, length);
    }
  }

  private static void put(Field f, byte[] value, MemorySegment to, long at) {
    if (value.length == 0) {
      return;
    }
    switch (f.type()) {
      case INT32 -> Mem.putInt(to, at, (int) number(value));
      case INT64 -> Mem.putLong(to, at, number(value));
      default -> {
        Mem.putShort(to, at, (short) value.length);
        Mem.putBytes(to, at + 2, value, 0, value.length);
      }
    }
  }

  private static long number(byte[] value) {
    return ByteBuffer.wrap(value).getLong();
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
