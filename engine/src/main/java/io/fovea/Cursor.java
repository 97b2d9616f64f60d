package io.fovea;

import io.fovea.error.InvalidUseException;
import io.fovea.error.TransactionAbortedException;

/**
 * A scan of a table in progress. It starts before the first record and moves like a {@link
 * RowCursor}.
 *
 * <p>It belongs to its transaction and the transaction's thread. Close it when it is no longer needed;
 * at the latest the end of the transaction closes it. Every method except {@link #close} throws
 *
 * <ul>
 *   <li>{@link TransactionAbortedException} if the transaction can't continue,
 *   <li>{@link InvalidUseException} if the cursor or its transaction has ended or belongs to
 *       another thread,
 *   <li>{@link io.fovea.error.DatabaseClosedException} if the database is closed,
 *   <li>the exceptions of {@link RowCursor}, and those of the codecs and constructors of records.
 * </ul>
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
   * Moves to the previous record in the scan's order; from after the last record to the last one.
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
  abstract boolean seekBehind(byte[] position);

  /** Returns the stored key of the current record; in an index, that of its entry. */
  abstract byte[] position();

  /**
   * Returns the key of the current record.
   *
   * @return an object, which may be reused by the next move
   * @throws InvalidUseException if there is no current record
   */
  public abstract K key();

  /**
   * Returns the value of the current record.
   *
   * @return a new object
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
