package io.fovea;

import io.fovea.error.InvalidUseException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.index.IndexCore;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A scan of a table in the order of an index: it stands before the first record, then on one after
 * the other.
 *
 * <p>Moves as a {@link RowCursor} does, and throws what that throws, and what codecs and
 * constructors of the records throw. Belongs to its transaction and to its thread. Close it when it
 * is no longer needed; the transaction's end closes it at last.
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
   * @throws TransactionAbortedException when the transaction can't go on
   * @throws InvalidUseException if the cursor or its transaction has ended, or belongs to another
   *     thread
   * @throws io.fovea.error.DatabaseClosedException if the database was closed
   */
  public boolean next() {
    return scan.next();
  }

  /**
   * Moves to the record before: back along the scan's order. Behind the last record, to the last
   * one.
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
   * Moves to the first record of the interval, in the scan's order.
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
   * Moves to the last record of the interval, in the scan's order.
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
   * Moves to the first record of the interval that lies at a key of the index or, in the scan's
   * order, behind it: as {@link RowCursor#seek}. All entries that begin with the key lie at it.
   *
   * @param key where to, before or behind where it stands
   * @return false if there is none
   * @throws TransactionAbortedException as {@link #next}
   * @throws InvalidUseException if the key is another index's, or as {@link #next}
   * @throws io.fovea.error.KeyTooLargeException if no key of that length can be in the index
   * @throws io.fovea.error.DatabaseClosedException as {@link #next}
   */
  public boolean seek(I key) {
    IndexKeys.Encoded to = keys.encode(Objects.requireNonNull(key, "key"));
    if (order == ScanOrder.ASCENDING || to.exact()) {
      return to.bytes().length == 0 ? scan.first() : scan.seekTo(to.bytes());
    }
    byte[] behind = to.behind();
    return behind == null ? scan.first() : scan.seekBehind(behind);
  }

  /**
   * The key of the index at which it stands, of an index of byte strings: what the extractor
   * computed, which is not asked for it. The components by which an index of objects is declared
   * are those of {@link #value}.
   *
   * @return the key, which belongs to the cursor and changes when it is asked for after a move
   * @throws InvalidUseException if it stands on no record, if the index is one of objects, or as
   *     {@link #next}
   */
  public Key indexKey() {
    if (core.objects != null) {
      throw new InvalidUseException(
          "Index " + core.shown() + " is one of objects: its key is in the object.");
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
   * The key of the record that it stands on, in the table. The record is not read for it.
   *
   * @return an object, which may be the same one until the next move
   * @throws InvalidUseException if it stands on no record, or as {@link #next}
   */
  public K key() {
    return scan.key();
  }

  /**
   * The value of the record that it stands on, which is read when this is called.
   *
   * @return a new object
   * @throws TransactionAbortedException when the transaction can't go on
   * @throws InvalidUseException if it stands on no record, if the transaction has deleted the
   *     record since the move, or as {@link #next}
   */
  public V value() {
    return scan.value();
  }

  /**
   * Ends the scan. A second call does nothing, as does one after the transaction's end.
   *
   * @throws InvalidUseException if it belongs to another thread
   */
  @Override
  public void close() {
    scan.close();
  }
}
