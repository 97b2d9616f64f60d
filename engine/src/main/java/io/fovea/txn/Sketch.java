package io.fovea.txn;

import io.fovea.memory.Mem;
import io.fovea.memory.NativeRegion;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * The periphery: an upper bound of the timestamps of every item that has no entry in the exact
 * table.
 *
 * <pre>
 *            column = some bits of item x (an odd constant for each row)
 *  row 0   | word | word | WORD | word | ...        put: every row's word := field-wise max
 *  row 1   | word | WORD | word | word | ...        get: field-wise min over the rows
 *            unlocked words; all zero at first
 *  floor   one timestamp                                get: not below (floor, floor)
 * </pre>
 *
 * <p><b>Upper bound.</b> Cells only grow, field by field. A put of x leaves all cells of x at or
 * above what was put; so does, from then on, every cell read by a get of x, and the minimum over
 * them. Other items in the same cells can only add to that.
 *
 * <p><b>Floor.</b> A put at or below the floor stores nothing, for every get is at the floor or
 * above it: the upper bound holds whatever value the floor has, as long as it only grows ({@link
 * #settle}). It is for the time before all transactions that run ({@link Timestamps}). Cells are
 * left to what is more recent, and a release of an old item writes to none. What the floor adds to
 * a bound a cell adds too as soon as another one of its items is put in that time. The variant with
 * one bound for all, Focus-Counter, differs in that its bound is that of the present.
 *
 * <p><b>Order.</b> Puts of different items race on a cell; the CAS loop makes each a maximum. A get
 * of x sees all puts of x, for both run under the lock of x's column in the exact table. It may see
 * half of the puts of others, which is an upper bound all the same.
 *
 * <p><b>Another size</b> while others put and get. The column is the top bits of a product, so that
 * twice the columns have the cells 2j and 2j + 1 where there was cell j: what was an item's cell
 * goes to both when it grows, their maximum to one when it shrinks.
 *
 * <pre>
 *    cells      A ──────────────► A, next B ─────────────────────────► B
 *    a put      A                 A and B                              B
 *    a get      A                 A                                    B
 *               (1) publish B     (2) wait (3) copy A into B by max    (4) publish B alone
 * </pre>
 *
 * <p><i>After (4) B bounds every put of x from above.</i> A put that read the cells before (1) is
 * in A when the wait (2) ends, and (3) takes it over. One that read them after (1) is in B by
 * itself. (3) races with such puts, but both are maxima. <i>No get misses a put</i>: a get of x
 * that still reads A comes, in the order of x's column's lock, before every put of x that reads the
 * cells after (4), for the cells are read under that lock and change one way; and all others are in
 * A.
 *
 * <p>The wait is the caller's: when it ends, every put and get has ended that had begun before.
 * Another one after (4) lets A's pages be given back. One change at a time.
 *
 * <p>After the dissertation's algorithm 1; the other size is its future work. A put that would
 * change nothing stores nothing: many rows stay shared in all caches.
 */
public final class Sketch {
  private static final VarHandle FLOOR;

  static {
    try {
      FLOOR =
          MethodHandles.lookup()
              .findVarHandle(Sketch.class, "floor", long.class)
              .withInvokeExactBehavior();
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** Odd, with no structure; row r multiplies by the r-th of them. */
  private static final long[] FACTORS = {
    0xBF58476D1CE4E5B9L, 0x94D049BB133111EBL, 0xD6E8FEB86659FD93L, 0xA0761D6478BD642FL,
    0xE7037ED1A0B428DBL, 0x8EBC6AF09C88C6E3L, 0x589965CC75374CC3L, 0x1D8E4E27C47D124FL
  };

  static final int ROWS_MAX = FACTORS.length;
  private static final int SIZES = 31;

  /** All rows in one size. */
  static final class Cells {
    final NativeRegion region;
    final MemorySegment segment;
    final int columns;
    final int shift;

    Cells(int rows, int columns) {
      this.columns = columns;
      // One less, for the other half of a shift that may be 64 in all.
      this.shift = 63 - Integer.numberOfTrailingZeros(columns);
      this.region = NativeRegion.reserve((long) rows * columns * Long.BYTES, false, "fovea-sketch");
      this.segment = region.segment();
    }

    long offset(int row, long item) {
      long mixed = (item ^ (item >>> 32)) * FACTORS[row];
      return ((long) row * columns + (mixed >>> 1 >>> shift)) << 3;
    }

    void raise(long offset, long word) {
      long now = Mem.peekLongOpaque(segment, offset);
      for (long up = TidWord.max(now, word); up != now; up = TidWord.max(now, word)) {
        long witness = Mem.casExchangeLong(segment, offset, now, up);
        if (witness == now) {
          break;
        }
        now = witness;
      }
    }
  }

  /** What is read, and what is written as well. */
  record State(Cells cells, @Nullable Cells next) {}

  private final int rows;

  /** By the logarithm of the columns, made when first needed and kept for the next time. */
  private final @Nullable Cells[] sizes = new Cells[SIZES];

  private volatile State state;

  /** See the head; with an rts of its own value this is a word, too. Grows, by {@link #FLOOR}. */
  private volatile long floor;

  /**
   * An empty sketch.
   *
   * @param rows 1 to 8
   * @param columns a power of two; 1 makes every item share one cell of a row
   */
  public Sketch(int rows, int columns) {
    if (rows < 1 || rows > ROWS_MAX) {
      throw new IllegalArgumentException(
          "A sketch has 1 to " + ROWS_MAX + " rows, not " + rows + ".");
    }
    check(columns);
    this.rows = rows;
    this.state = new State(empty(columns), null);
  }

  private static void check(int columns) {
    if (columns < 1 || Integer.bitCount(columns) != 1) {
      throw new IllegalArgumentException(
          "A sketch has a power of two of columns, not " + columns + ".");
    }
  }

  /** Cells that nobody uses: zero, for they are new or were given back. */
  private Cells empty(int columns) {
    int at = Integer.numberOfTrailingZeros(columns);
    Cells cells = sizes[at];
    if (cells == null) {
      cells = new Cells(rows, columns);
      sizes[at] = cells;
    }
    return cells;
  }

  /** Raises the bound of an item to at least the timestamps of {@code word}, a lock bit apart. */
  public void put(long item, long word) {
    put(state, item, word);
  }

  /** With what the caller has read of {@link #state}, under the same lock. */
  void put(State s, long item, long word) {
    long put = TidWord.withoutLock(word);
    // A later get of the item comes after this under the same lock, and reads this floor or more.
    if (TidWord.rts(put) <= floor) {
      return;
    }
    put(s.cells, item, put);
    if (s.next != null) {
      put(s.next, item, put);
    }
  }

  private void put(Cells cells, long item, long word) {
    for (int row = 0; row < rows; row++) {
      cells.raise(cells.offset(row, item), word);
    }
  }

  /** An upper bound of all that was ever put for an item, as an unlocked word. */
  public long get(long item) {
    return get(state, item);
  }

  /** With what the caller has read of {@link #state}, under the same lock. */
  long get(State s, long item) {
    Cells c = s.cells;
    long word = Mem.peekLongOpaque(c.segment, c.offset(0, item));
    for (int row = 1; row < rows; row++) {
      word = TidWord.min(word, Mem.peekLongOpaque(c.segment, c.offset(row, item)));
    }
    return TidWord.max(word, floor);
  }

  /**
   * Lets a timestamp be a bound of all items from now on.
   *
   * @param timestamp best one that is below what running transactions write, lest it makes them
   *     meet conflicts; smaller ones than before change nothing
   */
  void settle(long timestamp) {
    for (long now = floor; now < timestamp; now = floor) {
      if (FLOOR.compareAndSet(this, now, timestamp)) {
        return;
      }
    }
  }

  /** The cells of this moment. */
  State state() {
    return state;
  }

  /** How many columns there are now. */
  public int columns() {
    return state.cells.columns;
  }

  /**
   * Changes the number of columns while others put and get. One call at a time.
   *
   * @param columns a power of two
   * @param quiesce returns when all calls of {@link #put} and {@link #get} have ended that had
   *     begun before it was called; later ones see what the caller has written
   */
  void resize(int columns, Runnable quiesce) {
    check(columns);
    Cells from = state.cells;
    if (columns == from.columns) {
      return;
    }
    Cells to = empty(columns);
    state = new State(from, to); // (1)
    quiesce.run(); // (2)
    copy(from, to); // (3)
    state = new State(to, null); // (4)
    quiesce.run();
    from.region.release(); // the pages; the range is kept for the next time
  }

  private void copy(Cells from, Cells to) {
    int more = Math.max(from.columns, to.columns);
    int fromShift = Integer.numberOfTrailingZeros(more / from.columns);
    int toShift = Integer.numberOfTrailingZeros(more / to.columns);
    for (int row = 0; row < rows; row++) {
      for (int j = 0; j < more; j++) {
        long word =
            Mem.peekLongOpaque(from.segment, ((long) row * from.columns + (j >>> fromShift)) << 3);
        to.raise(((long) row * to.columns + (j >>> toShift)) << 3, word);
      }
    }
  }

  /** Native memory in use; while the size changes, that of both. */
  public long bytes() {
    State s = state;
    Cells next = s.next;
    return s.cells.segment.byteSize() + (next == null ? 0 : next.segment.byteSize());
  }

  /** Gives the memory back; no other call may run or follow. */
  void close() {
    for (Cells c : sizes) {
      if (c != null) {
        c.region.release();
      }
    }
  }
}
