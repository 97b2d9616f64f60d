package io.fovea.txn;

import io.fovea.memory.Mem;
import io.fovea.memory.NativeRegion;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * Upper bounds of the timestamps of all items without an entry in the exact table.
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
 * above its word, so every later get of x is at or above it. Other items in the same cells can only
 * raise them.
 *
 * <p><b>Floor.</b> A put at or below the floor stores nothing, because every get is at or above the
 * floor: the bound holds for any floor that only grows ({@link #settle}). The floor covers the time
 * before all running transactions, so cells are used for recent timestamps, and releases of old
 * items store nothing.
 *
 * <p><b>Order.</b> Puts of different items race on a cell; the CAS loop makes each a maximum. A get
 * of x sees all puts of x, because both run under the lock of x's column in the exact table. It may
 * see part of other puts, which is an upper bound as well.
 *
 * <p><b>Resizing</b> is concurrent. The column is the top bits of a product, so with twice the
 * columns cell j becomes the cells 2j and 2j + 1. An item's cell is copied to both when the sketch
 * grows, their maximum to one when it shrinks.
 *
 * <pre>
 *    cells      A ──────────────► A, next B ─────────────────────────► B
 *    a put      A                 A and B                              B
 *    a get      A                 A                                    B
 *               (1) publish B     (2) wait (3) copy A into B by max    (4) publish B alone
 * </pre>
 *
 * <p><i>After (4) B bounds every put of x.</i> A put that read the cells before (1) is in A when
 * the wait (2) ends, and (3) copies it. A put that read them after (1) is in B. (3) races with such
 * puts, but both are maxima. <i>No get misses a put</i>: the cells are read under the lock of x's
 * column and change in one direction, so a get of x that reads A precedes every put of x that reads
 * the cells after (4); all others are in A. The wait returns when every put and get that had begun
 * before has ended; a second one after (4) allows A's pages to be released. Only one resize runs at
 * a time.
 *
 * <p>After the dissertation's algorithm 1; resizing is its future work.
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

  /** Odd and without structure; row r multiplies by the r-th. */
  private static final long[] FACTORS = {
    0xBF58476D1CE4E5B9L, 0x94D049BB133111EBL, 0xD6E8FEB86659FD93L, 0xA0761D6478BD642FL,
    0xE7037ED1A0B428DBL, 0x8EBC6AF09C88C6E3L, 0x589965CC75374CC3L, 0x1D8E4E27C47D124FL
  };

  static final int ROWS_MAX = FACTORS.length;
  private static final int SIZES = 31;

  /** The cells of all rows, for one number of columns. */
  static final class Cells {
    final NativeRegion region;
    final MemorySegment segment;
    final int columns;
    final int shift;

    Cells(int rows, int columns) {
      this.columns = columns;
      // One less: the shift by 1 is separate, because the sum may be 64.
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

  /** The cells that are read and written, and those that are also written during a resize. */
  record State(Cells cells, @Nullable Cells next) {}

  private final int rows;

  /** Indexed by the logarithm of the number of columns; created when first needed and kept. */
  private final @Nullable Cells[] sizes = new Cells[SIZES];

  private volatile State state;

  /** See the class comment; also a word with rts = wts. Only grows, by {@link #FLOOR}. */
  private volatile long floor;

  /** Creates an empty sketch of 1 to 8 rows and a power of two of columns. */
  public Sketch(int rows, int columns) {
    if (rows < 1 || rows > ROWS_MAX) {
      throw new IllegalArgumentException(
          "A sketch must have 1 to " + ROWS_MAX + " rows, not " + rows + ".");
    }
    check(columns);
    this.rows = rows;
    this.state = new State(empty(columns), null);
  }

  private static void check(int columns) {
    if (columns < 1 || Integer.bitCount(columns) != 1) {
      throw new IllegalArgumentException(
          "The number of columns of a sketch must be a power of two, not " + columns + ".");
    }
  }

  /** Returns unused cells: zero, because they are new or were cleared. */
  private Cells empty(int columns) {
    int at = Integer.numberOfTrailingZeros(columns);
    Cells cells = sizes[at];
    if (cells == null) {
      cells = new Cells(rows, columns);
      sizes[at] = cells;
    }
    return cells;
  }

  /** Raises the bound of an item to at least the timestamps of {@code word}, locked or not. */
  public void put(long item, long word) {
    put(state, item, word);
  }

  /** Does the same with the {@link #state} that the caller has read under the same lock. */
  void put(State s, long item, long word) {
    long put = TidWord.withoutLock(word);
    // A later get of the item follows under the same lock, and reads this floor or more.
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

  /** Returns an upper bound of all puts of an item, as an unlocked word. */
  public long get(long item) {
    return get(state, item);
  }

  /** Does the same with the {@link #state} that the caller has read under the same lock. */
  long get(State s, long item) {
    Cells c = s.cells;
    long word = Mem.peekLongOpaque(c.segment, c.offset(0, item));
    for (int row = 1; row < rows; row++) {
      word = TidWord.min(word, Mem.peekLongOpaque(c.segment, c.offset(row, item)));
    }
    return TidWord.max(word, floor);
  }

  /** Raises the floor, to a timestamp below those of running transactions' writes. */
  void settle(long timestamp) {
    for (long now = floor; now < timestamp; now = floor) {
      if (FLOOR.compareAndSet(this, now, timestamp)) {
        return;
      }
    }
  }

  State state() {
    return state;
  }

  /** Returns the current number of columns. */
  public int columns() {
    return state.cells.columns;
  }

  /**
   * Changes the number of columns concurrently. One call at a time.
   *
   * @param quiesce returns when all earlier calls of {@link #put} and {@link #get} have ended;
   *     later ones see what the caller has written
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
    from.region.clear(); // not released: a later resize uses it again
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

  /** Returns the native memory in use, that of both sizes during a resize. */
  public long bytes() {
    State s = state;
    Cells next = s.next;
    return s.cells.segment.byteSize() + (next == null ? 0 : next.segment.byteSize());
  }

  void close() {
    for (Cells c : sizes) {
      if (c != null) {
        c.region.release();
      }
    }
  }
}
