package io.fovea;

import io.fovea.error.InvalidUseException;
import io.fovea.error.TransactionAbortedException;

/**
 * A scan of a table in progress. It starts before the first record and moves like a {@link
 * RowCursor}. It belongs to its transaction and the transaction's thread. Close it when it is no
 * longer needed; the end of the transaction closes it too.
 *
 * <p>Every method except {@link #close} throws {@link TransactionAbortedException} if the
 * transaction can't continue, {@link InvalidUseException} if the cursor or its transaction has
 * ended or belongs to another thread, {@link io.fovea.error.DatabaseClosedException} if the
 * database is closed, and the exceptions of {@link RowCursor} and of the codecs and constructors of
 * records.
 *
 * @param <K> the class of the table's keys
 * @param <V> the class of the values
 * @since 0.1.0
 */
public abstract sealed class Cursor<K, V> implements AutoCloseable
    permits EntryScan, CodedRows.Scan {
  Cursor() {}

  /**
   * Moves to the next record.
   *
   * @return false if there is none
   */
  public abstract boolean next();

  /**
   * Moves to the previous record in the scan's order. If the cursor is after the last record, moves
   * to the last record.
   *
   * @return false if there is none
   */
  public abstract boolean previous();

  /**
   * Moves to the first record of the interval, in the scan's order.
   *
   * @return false if there is none
   */
  public abstract boolean first();

  /**
   * Moves to the last record of the interval, in the scan's order.
   *
   * @return false if there is none
   */
  public abstract boolean last();

  /**
   * Moves to the first record of the interval at or, in the scan's order, after a key, as {@link
   * RowCursor#seek}.
   *
   * @param to the key, before or after the current position
   * @return false if there is none
   * @throws io.fovea.error.KeyTooLargeException if the table can't contain a key of that length
   */
  public abstract boolean seek(K to);

  /** Moves to the first record after a {@link #position}. */
  abstract boolean seekAfter(byte[] position);

  /** Returns the stored key of the current record; in an index, that of its entry. */
  abstract byte[] position();

  /**
   * {@return the key of the current record, in an object that the next move may reuse}
   *
   * @throws InvalidUseException if there is no current record
   */
  public abstract K key();

  /**
   * {@return the value of the current record, a new object}
   *
   * @throws InvalidUseException if there is no current record, or the transaction has deleted it
   */
  public abstract V value();

  /**
   * Ends the scan. Does nothing if it or its transaction has already ended.
   *
   * @throws InvalidUseException if it belongs to another thread
   */
  @Override
  public abstract void close();
}
