package io.fovea;

import io.fovea.error.InvalidUseException;
import io.fovea.index.IndexCore;
import io.fovea.index.TableCore;
import java.util.Objects;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;

/**
 * Rows in an order, be it that of a table's keys or that of an index: looking for the nearest one,
 * visiting a range, and reading it page by page.
 *
 * <p>Keys are those of the {@link RowTable} or {@link RowIndex} that this is. A key with fewer
 * parts than its specification has is a prefix, and all keys that begin with it lie at it: {@link
 * #ceiling} finds the first and {@link #floor} the last of them, {@link #higher} and {@link #lower}
 * pass over all of them. A primary key in {@code forEach}, {@code stream} and {@code page} is one
 * of the table, in those of an index too.
 *
 * <p>To look for the nearest record is a scan that ends at its first record. It reads that record,
 * and that nothing lies between it and the key: who inserts there, and no other, is in its way.
 *
 * <p>Operations throw the exceptions of those of a {@link RowTable}; here they throw {@link
 * InvalidUseException} for a table of byte strings too.
 *
 * @since 0.1.0
 */
public abstract sealed class OrderedRows permits RowTable, RowIndex {
  OrderedRows() {}

  private TableCore tableCore() {
    return switch (this) {
      case RowTable t -> t.core();
      case RowIndex i -> i.table().core();
    };
  }

  private @Nullable IndexCore indexCore() {
    return this instanceof RowIndex i ? i.core() : null;
  }

  /**
   * Opens a scan.
   *
   * @param tx the transaction
   * @param range which keys
   * @param order in which direction
   * @return a cursor before the first record; to be closed, and closed with the transaction at last
   */
  public abstract RowCursor scan(Transaction tx, Range range, ScanOrder order);

  // -------------------------------------------------------------------------------------- nearest

  /**
   * Reads the first record.
   *
   * @param tx the transaction
   * @param out where the record goes; void if there is none
   * @return whether there is one
   */
  public boolean first(Transaction tx, Row out) {
    return nearest(tx, Range.all(), ScanOrder.ASCENDING, out);
  }

  /**
   * Reads the last record.
   *
   * @param tx the transaction
   * @param out where the record goes; void if there is none
   * @return whether there is one
   */
  public boolean last(Transaction tx, Row out) {
    return nearest(tx, Range.all(), ScanOrder.DESCENDING, out);
  }

  /**
   * Reads the record with the largest key that is not above a key.
   *
   * @param tx the transaction
   * @param key a key, or a prefix
   * @param out where the record goes, which {@linkplain Row#key knows its key}; void if there is
   *     none
   * @return whether there is one
   */
  public boolean floor(Transaction tx, Key key, Row out) {
    return nearest(tx, Range.atMost(key), ScanOrder.DESCENDING, out);
  }

  /**
   * Reads the record with the smallest key that is not below a key.
   *
   * @param tx the transaction
   * @param key a key, or a prefix
   * @param out where the record goes, which {@linkplain Row#key knows its key}; void if there is
   *     none
   * @return whether there is one
   */
  public boolean ceiling(Transaction tx, Key key, Row out) {
    return nearest(tx, Range.atLeast(key), ScanOrder.ASCENDING, out);
  }

  /**
   * Reads the record with the largest key below a key.
   *
   * @param tx the transaction
   * @param key a key, or a prefix
   * @param out where the record goes, which {@linkplain Row#key knows its key}; void if there is
   *     none
   * @return whether there is one
   */
  public boolean lower(Transaction tx, Key key, Row out) {
    return nearest(tx, Range.lessThan(key), ScanOrder.DESCENDING, out);
  }

  /**
   * Reads the record with the smallest key above a key.
   *
   * @param tx the transaction
   * @param key a key, or a prefix
   * @param out where the record goes, which {@linkplain Row#key knows its key}; void if there is
   *     none
   * @return whether there is one
   */
  public boolean higher(Transaction tx, Key key, Row out) {
    return nearest(tx, Range.greaterThan(key), ScanOrder.ASCENDING, out);
  }

  private boolean nearest(Transaction tx, Range range, ScanOrder order, Row out) {
    Objects.requireNonNull(out, "out");
    try (RowCursor c = scan(tx, range, order)) {
      boolean found = c.next();
      if (found) {
        c.read(out);
      } else {
        out.invalidate();
      }
      return found;
    }
  }

  // --------------------------------------------------------------------------------------- ranges

  /**
   * Visits all records in ascending order.
   *
   * @param tx the transaction
   * @param visitor as in {@link #forEach(Transaction, Range, BiConsumer)}
   */
  public void forEach(Transaction tx, BiConsumer<? super Key, ? super Row> visitor) {
    forEach(tx, Range.all(), visitor);
  }

  /**
   * Visits the records of a range in ascending order.
   *
   * @param tx the transaction
   * @param range which keys
   * @param visitor gets the primary key and the row, which are the cursor's: they change with the
   *     next record. It may update and delete that record
   */
  public void forEach(Transaction tx, Range range, BiConsumer<? super Key, ? super Row> visitor) {
    Objects.requireNonNull(visitor, "visitor");
    try (RowCursor c = scan(tx, range, ScanOrder.ASCENDING)) {
      while (c.next()) {
        visitor.accept(c.key(), c.row());
      }
    }
  }

  /**
   * Returns all records as a stream, in ascending order: as {@link #stream(Transaction, Range,
   * ScanOrder, BiFunction)}.
   *
   * @param <T> what a record is turned into
   * @param tx the transaction
   * @param mapper as there
   * @return a new stream
   */
  public <T> Stream<T> stream(
      Transaction tx, BiFunction<? super Key, ? super Row, ? extends T> mapper) {
    return stream(tx, Range.all(), ScanOrder.ASCENDING, mapper);
  }

  /**
   * The records of a range as a stream, which reads them as it is asked for them. It lives no
   * longer than the transaction: a step after the transaction's end throws {@link
   * InvalidUseException}, as does one in another thread, so it must not be made parallel. Closing
   * it ends the scan, as does reading it to its end.
   *
   * @param <T> what a record is turned into
   * @param tx the transaction
   * @param range which keys
   * @param order in which direction
   * @param mapper turns primary key and row into an element, before the next record is read: key
   *     and row are the cursor's and change then
   * @return a new stream
   */
  public <T> Stream<T> stream(
      Transaction tx,
      Range range,
      ScanOrder order,
      BiFunction<? super Key, ? super Row, ? extends T> mapper) {
    Objects.requireNonNull(mapper, "mapper");
    RowCursor c = scan(tx, range, order);
    return streamOf(c::next, () -> mapper.apply(c.key(), c.row()), c::close);
  }

  /**
   * A scan as a stream: every step is one of the cursor's, and is refused as that is.
   *
   * @param next moves on
   * @param current makes the element
   * @param close ends the scan: when there is no more, or when the stream is closed
   */
  static <T> Stream<T> streamOf(
      BooleanSupplier next, Supplier<? extends T> current, Runnable close) {
    Spliterator<T> steps =
        new Spliterators.AbstractSpliterator<>(Long.MAX_VALUE, Spliterator.ORDERED) {
          private boolean ended;

          @Override
          public boolean tryAdvance(Consumer<? super T> action) {
            if (ended) {
              return false;
            }
            if (!next.getAsBoolean()) {
              ended = true;
              close.run();
              return false;
            }
            action.accept(current.get());
            return true;
          }
        };
    return StreamSupport.stream(steps, false).onClose(close);
  }

  /**
   * Reads a range page by page: the records of the range that lie behind those of the page before,
   * in the order that is asked for. {@link Page} says what its tokens promise.
   *
   * @param <T> what a record is turned into
   * @param tx the transaction; each page may be read in one of its own
   * @param range which keys; decides what can be read, whatever the token says
   * @param order in which direction
   * @param after {@link Page#next} of the page before; null for the first page
   * @param limit how many records the page has at most
   * @param mapper turns primary key and row into an item: key and row are the cursor's and change
   *     with the next record
   * @return the page
   * @throws IllegalArgumentException if the limit is not positive
   * @throws InvalidUseException if the token is damaged, or was made by another table or index, or
   *     in the other order
   */
  public <T> Page<T> page(
      Transaction tx,
      Range range,
      ScanOrder order,
      @Nullable String after,
      int limit,
      BiFunction<? super Key, ? super Row, ? extends T> mapper) {
    Objects.requireNonNull(mapper, "mapper");
    Page.Token.checkLimit(limit);
    try (RowCursor c = scan(tx, range, order)) {
      return Page.read(
          limit,
          after == null
              ? c.next()
              : c.seekBehind(Page.Token.key(tableCore(), indexCore(), order, after)),
          () -> mapper.apply(c.key(), c.row()),
          () -> Page.Token.of(tableCore(), indexCore(), order, c.position()),
          c::next);
    }
  }
}
