package io.fovea.encoding;

import io.fovea.memory.Mem;
import io.fovea.schema.Field;
import java.lang.foreign.MemorySegment;

/** Formats rows for messages and debuggers: {@code Row[name="text", size=17, ...]}. */
public final class RowText {
  private RowText() {}

  /**
   * Returns a row as text.
   *
   * @param fields the fields of its layout
   * @param limit the number of bytes available; for a projection, the fields within that limit are
   *     shown
   */
  public static String of(Field[] fields, MemorySegment row, long base, int limit) {
    StringBuilder b = new StringBuilder("Row[");
    for (Field f : fields) {
      if (f.end() > limit) {
        return b.append(", ...]").toString();
      }
      b.append(b.length() > 4 ? ", " : "").append(f.name()).append('=');
      if (f.nullable() && Mem.getByte(row, base + f.start()) == 0) {
        b.append("null");
      } else {
        append(b, f, row, base + f.offset());
      }
    }
    return b.append(']').toString();
  }

  private static void append(StringBuilder b, Field f, MemorySegment row, long at) {
    switch (f.type()) {
      case INT32 -> b.append(Mem.getInt(row, at));
      case INT64 -> b.append(Mem.getLong(row, at));
      case TEXT -> b.append('"').append(Utf8.get(row, at + 2, stored(f, row, at))).append('"');
      case BYTES -> b.append(stored(f, row, at)).append(" bytes");
      case BOOLEAN -> b.append(Mem.getByte(row, at) != 0);
      case FLOAT64 -> b.append(Double.longBitsToDouble(Mem.getLong(row, at)));
      case UUID -> b.append(Tuple.getUuid(row, at));
      case INSTANT -> b.append(Times.getRow(row, at));
      case DECIMAL -> b.append(Decimals.getRow(row, at, f.width(), f.scale()).toPlainString());
    }
  }

  private static int stored(Field f, MemorySegment row, long at) {
    return Math.min(Mem.getUnsignedShort(row, at), f.width());
  }
}
