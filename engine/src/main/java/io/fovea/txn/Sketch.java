package io.fovea.txn;

import io.fovea.memory.Mem;
import io.fovea.memory.NativeRegion;
import java.lang.foreign.MemorySegment;

/**
 * The periphery: an upper bound of the timestamps of every item that has no exact entry.
 *
 * <pre>
 *            column = some bits of item x (an odd constant for each row)
 *  row 0   | word | word | WORD | word | ...        put: every row's word := field-wise max
 *  row 1   | word | WORD | word | word | ...        get: field-wise min over the rows
 *            unlocked words; all zero at first
 * </pre>
 *
 * <p><b>Upper bound.</b> Cells only grow, field by field. A put of x leaves all cells of x at or
 * above what was put; so does, from then on, every cell read by a get of x, and the minimum over
 * them. Other items in the same cells can only add to that.
 *
 * <p><b>Order.</b> Puts of different items race on a cell; the CAS loop makes each a maximum. A get
 * of x sees all puts of x, for both run under the lock of x's column in the exact table. It may see
 * half of the puts of others, which is an upper bound all the same.
 *
 * <p>After the dissertation's algorithm 1. A put that would change nothing stores nothing: many
 * rows stay shared in all caches.
 */
public final class Sketch {
  /** Odd, with no structure; row r multiplies by the r-th of them. */
  private static final long[] FACTORS = {
    0xBF58476D1CE4E5B9L, 0x94D049BB133111EBL, 0xD6E8FEB86659FD93L, 0xA0761D6478BD642FL,
    0xE7037ED1A0B428DBL, 0x8EBC6AF09C88C6E3L, 0x589965CC75374CC3L, 0x1D8E4E27C47D124FL
  };

  static final int ROWS_MAX = FACTORS.length;

  private final NativeRegion region;
  private final MemorySegment cells;
  private final int rows;
  private final int columns;
  private final int columnShift;

  /**
   * An empty sketch.
   *
   * @param rows 1 to 8
   * @param columns a power of two; 1 makes every item share one cell of a row
   */
  public Sketch(int rows, int columns) {
    if (rows < 1 || rows > ROWS_MAX) {
      throw new IllegalArgumentException("rows: " + rows + ", expected 1 to " + ROWS_MAX);
    }
    if (columns < 1 || Integer.bitCount(columns) != 1) {
      throw new IllegalArgumentException("columns: " + columns + ", expected a power of two");
    }
    this.rows = rows;
    this.columns = columns;
    // One less, for the other half of a shift that may be 64 in all.
    this.columnShift = 63 - Integer.numberOfTrailingZeros(columns);
    this.region = NativeRegion.reserve((long) rows * columns * Long.BYTES, false, "fovea-sketch");
    this.cells = region.segment();
  }

  /** Raises the bound of an item to at least the timestamps of {@code word}, a lock bit apart. */
  public void put(long item, long word) {
    long put = Word.withoutLock(word);
    for (int row = 0; row < rows; row++) {
      long offset = offset(row, item);
      long now = Mem.peekLongOpaque(cells, offset);
      for (long next = Word.max(now, put); next != now; next = Word.max(now, put)) {
        long witness = Mem.casExchangeLong(cells, offset, now, next);
        if (witness == now) {
          break;
        }
        now = witness;
      }
    }
  }

  /** An upper bound of all that was ever put for an item, as an unlocked word. */
  public long get(long item) {
    long word = Mem.peekLongOpaque(cells, offset(0, item));
    for (int row = 1; row < rows; row++) {
      word = Word.min(word, Mem.peekLongOpaque(cells, offset(row, item)));
    }
    return word;
  }

  /** Native memory in use. */
  public long bytes() {
    return (long) rows * columns * Long.BYTES;
  }

  /** Gives the memory back; no other call may run or follow. */
  void close() {
    region.release();
  }

  private long offset(int row, long item) {
    long mixed = (item ^ (item >>> 32)) * FACTORS[row];
    return ((long) row * columns + (mixed >>> 1 >>> columnShift)) << 3;
  }
}
