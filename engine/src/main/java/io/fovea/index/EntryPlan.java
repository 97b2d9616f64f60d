package io.fovea.index;

import io.fovea.encoding.Tuple;
import io.fovea.error.CorruptionException;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.stream.IntStream;

/**
 * Builds the key of an index entry from a record: the fields, their order, and their sources.
 *
 * <pre>
 *   entry of a unique index      key: the fields                                value: primary key
 *   entry of any other index     key: the fields, then those parts of the       value: primary key
 *                                     primary key that are not among them
 * </pre>
 *
 * <p>A null field is encoded as the single byte 0, so it sorts first. A unique index has no entry
 * for a record with a null field: as in SQL, null does not equal null.
 *
 * <p>The rest of the primary key makes entries with equal fields distinct and orders them. The
 * value is the whole primary key nevertheless: a lookup needs it in one piece, and reassembling it
 * would cost more than its few bytes.
 *
 * <p>Records have the memory form of {@code Layout}: numbers are in native byte order, and text and
 * bytes follow a 2-byte length. Immutable.
 */
public final class EntryPlan {
  private final int[] types;
  private final int[] widths;
  private final boolean[] fromKey;
  private final int[] offsets; // in the record or, if fixed, in the primary key; otherwise -1
  private final int[] parts; // of the primary key
  private final int[] keyTypes;
  private final int sizeMax;

  /**
   * The offsets in a record at which a zero byte means no entry; empty unless the index is unique.
   */
  private final int[] needed;

  /**
   * Creates a plan for the fields, followed by the rest of the primary key.
   *
   * @param types in the form of {@link Tuple#form}
   * @param widths the maximum lengths
   * @param offsets in the record or in the primary key; -1 if variable
   * @param parts their positions in the primary key
   */
  public EntryPlan(
      int[] types,
      int[] widths,
      boolean[] fromKey,
      int[] offsets,
      int[] parts,
      int[] keyTypes,
      boolean unique) {
    this.types = types.clone();
    this.widths = widths.clone();
    this.fromKey = fromKey.clone();
    this.offsets = offsets.clone();
    this.parts = parts.clone();
    this.keyTypes = keyTypes.clone();
    int n = 0;
    for (int i = 0; i < types.length; i++) {
      n += Tuple.maxBytes(types[i], widths[i]);
    }
    this.sizeMax = n;
    this.needed =
        IntStream.range(0, unique ? types.length : 0)
            .filter(i -> isNullable(types[i]))
            .map(i -> offsets[i] - 1)
            .toArray();
  }

  private static boolean isNullable(int type) {
    return (type & Tuple.NULLABLE) != 0;
  }

  public int sizeMax() {
    return sizeMax;
  }

  /**
   * Builds the key of a record's entry in {@code out}, at most {@link #sizeMax} bytes; returns its
   * length, or -1 if the record has no entry.
   */
  public int build(
      MemorySegment key,
      int keyOff,
      int keyLen,
      MemorySegment record,
      long recordOff,
      MemorySegment out,
      int outOff) {
    for (int present : needed) {
      if (Mem.getByte(record, recordOff + present) == 0) {
        return -1;
      }
    }
    int at = outOff;
    for (int i = 0; i < types.length; i++) {
      if (fromKey[i]) {
        int from = offsets[i] >= 0 ? keyOff + offsets[i] : seek(key, keyOff, keyLen, parts[i]);
        int end = from < 0 ? -1 : Tuple.skip(key, from, keyOff + keyLen, types[i]);
        if (end < 0 || end - from > Tuple.maxBytes(types[i], widths[i])) {
          throw new CorruptionException("parts of a primary key", -1, -1, parts[i] + 1, parts[i]);
        }
        Mem.copy(key, from, out, at, end - from);
        at += end - from;
      } else {
        at = field(types[i], i, record, recordOff + offsets[i], out, at);
      }
    }
    return at - outOff;
  }

  private int field(
      int type, int i, MemorySegment record, long off, MemorySegment out, int outOff) {
    return switch (type) {
      case Tuple.INT32 -> Tuple.putInt32(out, outOff, Mem.getInt(record, off));
      case Tuple.INT64 -> Tuple.putInt64(out, outOff, Mem.getLong(record, off));
      case Tuple.TEXT, Tuple.BYTES -> {
        int len = Mem.getUnsignedShort(record, off);
        if (len > widths[i]) {
          // Possible only in a damaged page; the entry would not fit.
          throw new CorruptionException("length of a field", -1, -1, widths[i], len);
        }
        yield Tuple.end(out, Tuple.escape(record, off + 2, len, out, outOff));
      }
      default -> other(type, i, record, off, out, outOff);
    };
  }

  /** A separate method, so that the common path stays small. */
  private int other(
      int type, int i, MemorySegment record, long off, MemorySegment out, int outOff) {
    if (isNullable(type)) {
      boolean present = Mem.getByte(record, off - 1) != 0;
      int at = Tuple.putPresence(out, outOff, present);
      return present ? field(type & ~Tuple.NULLABLE, i, record, off, out, at) : at;
    }
    return switch (Tuple.code(type)) {
      case Tuple.BOOLEAN -> Tuple.putBoolean(out, outOff, Mem.getByte(record, off) != 0);
      case Tuple.FLOAT64 ->
          Tuple.putFloat64(out, outOff, Double.longBitsToDouble(Mem.getLong(record, off)));
      case Tuple.INSTANT ->
          Tuple.putInstant(out, outOff, Mem.getLong(record, off), Mem.getInt(record, off + 8));
      case Tuple.DECIMAL -> Tuple.copyDecimal(record, off, out, outOff, widths[i]);
      default -> {
        Mem.copy(record, off, out, outOff, widths[i]); // a UUID
        yield outOff + widths[i];
      }
    };
  }

  private int seek(MemorySegment key, int keyOff, int keyLen, int part) {
    int at = keyOff;
    for (int i = 0; i < part && at >= 0; i++) {
      at = Tuple.skip(key, at, keyOff + keyLen, keyTypes[i]);
    }
    return at;
  }
}
