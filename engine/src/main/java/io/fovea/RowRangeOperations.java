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
 * Operations on the rows of a table or an index in key order: nearest-key lookups, range scans and
 * paging.
 *
 * <p>Keys are those of this {@link RowTable} or {@link RowIndex}. A key with fewer parts than its
 * specification is a prefix, and compares as equal to all keys that begin with it: {@link #ceiling}
 * finds the first and {@link #floor} the last of them; {@link #higher} and {@link #lower} skip all
 * of them. {@code forEach}, {@code stream} and {@code page} pass the table's primary key.
 *
 * <p>A nearest-key lookup is a one-record scan. It conflicts only with inserts between the key and
 * that record, and with changes of that record.
 *
 * <p>Operations throw {@link RowTable}'s exceptions, and {@link InvalidUseException} for a table of
 * byte strings.
 *
 * @since 0.1.0
 */
public abstract sealed class RowRangeOperations permits RowTable, RowIndex {
  RowRangeOperations() {}

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
   * {@return a cursor before a range's first record, closed with the transaction at the latest}
   *
   * @param tx the transaction
   * @param range the range of keys
   * @param order the direction
   */
  public abstract RowCursor scan(Transaction tx, Range range, ScanOrder order);

  /**
   * Reads the first record.
   *
   * @param tx the transaction
   * @param out receives the record; void if there is none
   * @return whether there is one
   */
  public boolean first(Transaction tx, Row out) {
    return nearest(tx, Range.all(), ScanOrder.ASCENDING, out);
  }

  /**
   * Reads the last record.
   *
   * @param tx the transaction
   * @param out receives the record; void if there is none
   * @return whether there is one
   */
  public boolean last(Transaction tx, Row out) {
    return nearest(tx, Range.all(), ScanOrder.DESCENDING, out);
  }

  /**
   * Reads the record with the greatest key less than or equal to a key.
   *
   * @param tx the transaction
   * @param key a key, or a prefix
   * @param out receives the record and its {@linkplain Row#key key}; void if there is none
   * @return whether there is one
   */
  public boolean floor(Transaction tx, Key key, Row out) {
    return nearest(tx, Range.atMost(key), ScanOrder.DESCENDING, out);
  }

  /**
   * Reads the record with the least key greater than or equal to a key.
   *
   * @param tx the transaction
   * @param key a key, or a prefix
   * @param out receives the record and its {@linkplain Row#key key}; void if there is none
   * @return whether there is one
   */
  public boolean ceiling(Transaction tx, Key key, Row out) {
    return nearest(tx, Range.atLeast(key), ScanOrder.ASCENDING, out);
  }

  /**
   * Reads the record with the greatest key less than a key.
   *
   * @param tx the transaction
   * @param key a key, or a prefix
   * @param out receives the record and its {@linkplain Row#key key}; void if there is none
   * @return whether there is one
   */
  public boolean lower(Transaction tx, Key key, Row out) {
    return nearest(tx, Range.lessThan(key), ScanOrder.DESCENDING, out);
  }

  /**
   * Reads the record with the least key greater than a key.
   *
   * @param tx the transaction
   * @param key a key, or a prefix
   * @param out receives the record and its {@linkplain Row#key key}; void if there is none
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
   * @param range the range of keys
   * @param visitor receives the primary key and the row, both owned by the cursor and reused for
   *     the next record; may update and delete that record
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
   * {@return a new stream of all records in ascending order}
   *
   * @param <T> the type of the elements
   * @param tx the transaction
   * @param mapper as for {@link #stream(Transaction, Range, ScanOrder, BiFunction)}
   */
  public <T> Stream<T> stream(
      Transaction tx, BiFunction<? super Key, ? super Row, ? extends T> mapper) {
    return stream(tx, Range.all(), ScanOrder.ASCENDING, mapper);
  }

  /**
   * Streams the records of a range, read on demand. A step after the end of the transaction, or in
   * another thread, throws {@link InvalidUseException}; the stream must not be made parallel.
   * Closing it, or reading it to its end, ends the scan.
   *
   * @param <T> the type of the elements
   * @param tx the transaction
   * @param range the range of keys
   * @param order the direction
   * @param mapper converts the primary key and the row, which the cursor reuses for the next record
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

  /** Returns a scan as a stream; {@code close} runs after the last record or when it is closed. */
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
   * Reads the next page of a range: see {@link Page} for the guarantees of its tokens.
   *
   * @param <T> the type of the items
   * @param tx the transaction; each page may be read in a different one
   * @param range the range of keys, enforced whatever the token contains
   * @param order the direction
   * @param after {@link Page#next} of the previous page; null for the first page
   * @param limit the maximum number of records in the page
   * @param mapper converts the primary key and the row, which the cursor reuses for the next record
   * @return the page
   * @throws IllegalArgumentException if the limit is not positive
   * @throws InvalidUseException if the token is damaged, or belongs to another table, index or
   *     order
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
              : c.seekAfter(Page.Token.key(tableCore(), indexCore(), order, after)),
          () -> mapper.apply(c.key(), c.row()),
          () -> Page.Token.of(tableCore(), indexCore(), order, c.position()),
          c::next);
    }
  }
}
