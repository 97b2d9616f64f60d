package io.fovea;

import io.fovea.error.InvalidUseException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.index.IndexCore;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A cursor over a table in the order of an index. It starts before the first record.
 *
 * <p>It moves as a {@link RowCursor} does, and throws the same exceptions, as well as those of
 * codecs and record constructors. A cursor is confined to its transaction and to the transaction's
 * thread. Close it when it is no longer needed; otherwise the end of the transaction closes it.
 *
 * @param <I> the class of the index's keys
 * @param <K> the class of the table's keys
 * @param <V> the class of the values
 * @since 0.1.0
 */
public final class IndexCursor<I, K, V> implements AutoCloseable {
  private final EntryScan<K, V> scan;
  private final IndexCore core;
  private final IndexKeys<I> keys;
  private final ScanOrder order;
  private @Nullable Key indexKey;

  IndexCursor(EntryScan<K, V> scan, IndexCore core, IndexKeys<I> keys, ScanOrder order) {
    this.scan = scan;
    this.core = core;
    this.keys = keys;
    this.order = order;
  }

  /**
   * Moves to the next record.
   *
   * @return false if there is none
   * @throws TransactionAbortedException when the transaction can't continue
   * @throws InvalidUseException if the cursor or its transaction has ended, or belongs to another
   *     thread
   * @throws io.fovea.error.DatabaseClosedException if the database was closed
   */
  public boolean next() {
    return scan.next();
  }

  /**
   * Moves to the previous record, against the scan order. If the cursor is after the last record,
   * moves to the last record.
   *
   * @return false if there is none
   * @throws TransactionAbortedException as {@link #next}
   * @throws InvalidUseException as {@link #next}
   * @throws io.fovea.error.DatabaseClosedException as {@link #next}
   */
  public boolean previous() {
    return scan.previous();
  }

  /**
   * Moves to the first record of the interval, in scan order.
   *
   * @return false if there is none
   * @throws TransactionAbortedException as {@link #next}
   * @throws InvalidUseException as {@link #next}
   * @throws io.fovea.error.DatabaseClosedException as {@link #next}
   */
  public boolean first() {
    return scan.first();
  }

  /**
   * Moves to the last record of the interval, in scan order.
   *
   * @return false if there is none
   * @throws TransactionAbortedException as {@link #next}
   * @throws InvalidUseException as {@link #next}
   * @throws io.fovea.error.DatabaseClosedException as {@link #next}
   */
  public boolean last() {
    return scan.last();
  }

  /**
   * Moves to the first record of the interval at a key of the index or after it, in scan order, as
   * {@link RowCursor#seek} does. A prefix stands for all entries that begin with it.
   *
   * @param key the key, before or after the current record
   * @return false if there is none
   * @throws TransactionAbortedException as {@link #next}
   * @throws InvalidUseException if the key belongs to another index, or as {@link #next}
   * @throws io.fovea.error.KeyTooLargeException if the key exceeds the maximum length for the index
   * @throws io.fovea.error.DatabaseClosedException as {@link #next}
   */
  public boolean seek(I key) {
    IndexKeys.Encoded to = keys.encode(Objects.requireNonNull(key, "key"));
    if (order == ScanOrder.ASCENDING || to.exact()) {
      return to.bytes().length == 0 ? scan.first() : scan.seekTo(to.bytes());
    }
    byte[] after = to.after();
    return after == null ? scan.first() : scan.seekAfter(after);
  }

  /**
   * Returns the key of the current entry in an index of byte strings, as stored; the extractor is
   * not called. For an index of objects, use the components of {@link #value}.
   *
   * @return the key, which belongs to the cursor and is overwritten by the next call after a move
   * @throws InvalidUseException if there is no current record, if this is an index of objects, or
   *     as {@link #next}
   */
  public Key indexKey() {
    if (core.objects != null) {
      throw new InvalidUseException(
          "Index "
              + core.displayName()
              + " is an index of objects: get its key from the components of value().");
    }
    Key k = indexKey;
    if (k == null) {
      k = new Key(core.key, core);
      indexKey = k;
    }
    scan.indexKey(core, k);
    return k;
  }

  /**
   * Returns the primary key of the current record, without reading the record.
   *
   * @return the key; calls before the next move may return the same object
   * @throws InvalidUseException if there is no current record, or as {@link #next}
   */
  public K key() {
    return scan.key();
  }

  /**
   * Reads and returns the value of the current record.
   *
   * @return a new object
   * @throws TransactionAbortedException when the transaction can't continue
   * @throws InvalidUseException if there is no current record, if the transaction has deleted the
   *     record since the move, or as {@link #next}
   */
  public V value() {
    return scan.value();
  }

  /**
   * Closes the cursor. A second call does nothing, nor does a call after the end of the
   * transaction.
   *
   * @throws InvalidUseException if the cursor belongs to another thread
   */
  @Override
  public void close() {
    scan.close();
  }
}
