package io.fovea.streams;

import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The rows of intervals in order: those of the table, overlaid by pending writes.
 *
 * <p>Each page of rows is read in a transaction that ends before the rows are returned. Over a
 * {@link StoreView} the contents are fixed. Over a {@link StoreState}, which a store uses within
 * one operation, later writes ahead of the iterator are visible: a page read before the table
 * changed is read again.
 *
 * <p>Not thread-safe.
 */
final class RowIterator {
  private static final int ROWS_MIN = 16;
  private static final int ROWS_MAX = 512;

  /** A page that is not read yet. */
  private static final RowSource.Page ALL = new RowSource.Page(List.of(), true);

  private final RowSource state;
  private final Iterator<ByteInterval> intervals;
  private final boolean forward;

  private @Nullable ByteInterval rest;
  private byte @Nullable [] last;
  private RowSource.Page page = ALL;
  private int at;
  private int generation;
  private int rows = ROWS_MIN;

  private byte @Nullable [] key;
  private byte @Nullable [] value;

  private RowIterator(RowSource state, Iterator<ByteInterval> intervals, boolean forward) {
    this.state = state;
    this.intervals = intervals;
    this.forward = forward;
  }

  /**
   * Iterates over intervals, one after the other.
   *
   * @param state the source; null for no rows
   */
  static RowIterator of(
      @Nullable RowSource state, Iterator<ByteInterval> intervals, boolean forward) {
    return new RowIterator(state, intervals, forward);
  }

  boolean next() {
    while (true) {
      ByteInterval in = rest;
      if (in == null) {
        if (!intervals.hasNext()) {
          return false;
        }
        in = intervals.next();
        if (in.isEmpty()) {
          continue;
        }
        rest = in;
        last = null;
        page = ALL;
        at = 0;
      }
      if (nextOf(in)) {
        return true;
      }
      rest = null;
    }
  }

  private boolean nextOf(ByteInterval in) {
    while (true) {
      Map.Entry<byte[], PendingWrites.@Nullable Version> written = null;
      Map.Entry<byte[], byte[]> row;
      int g;
      do {
        g = state.generation();
        PendingWrites pending = state.pending();
        written = pending.next(last, in, forward, state.number());
        row = stored(in, g);
      } while (g != state.generation());
      if (written == null && row == null) {
        return false;
      }
      int order = written == null ? 1 : row == null ? -1 : compare(written.getKey(), row.getKey());
      if (order >= 0) {
        at++;
      }
      if (order > 0) {
        last = row.getKey();
        key = row.getKey();
        value = row.getValue();
        return true;
      }
      last = written.getKey();
      if (written.getValue().value != null) {
        key = written.getKey();
        value = written.getValue().value;
        return true;
      }
    }
  }

  private int compare(byte[] a, byte[] b) {
    return forward ? Arrays.compareUnsigned(a, b) : Arrays.compareUnsigned(b, a);
  }

  /** Returns the next row of the table. */
  private Map.@Nullable Entry<byte[], byte[]> stored(ByteInterval in, int g) {
    if (g != generation) {
      page = ALL;
      at = 0;
      generation = g;
    }
    if (at == page.rows().size() && page.more()) {
      page = state.page(last == null ? in : in.rest(last, forward), forward, rows);
      at = 0;
      rows = Math.min(ROWS_MAX, 2 * rows);
    }
    return at < page.rows().size() ? page.rows().get(at) : null;
  }

  byte[] key() {
    return Objects.requireNonNull(key);
  }

  byte[] value() {
    return Objects.requireNonNull(value);
  }
}
