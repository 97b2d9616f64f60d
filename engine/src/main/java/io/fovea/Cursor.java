package io.fovea;

import io.fovea.error.InvalidUseException;
import io.fovea.error.TransactionAbortedException;

/**
 * A scan of a table under way: it stands before the first record, then on one after the other.
 *
 * <p>Moves as a {@link RowCursor} does, and throws what that throws, and what codecs and
 * constructors of the records throw. Belongs to its transaction and to its thread. Close it when it
 * is no longer needed; the transaction's end closes it at last.
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
   * @throws TransactionAbortedException when the transaction can't go on
   * @throws InvalidUseException if the cursor or its transaction has ended, or belongs to another
   *     thread
   * @throws io.fovea.error.DatabaseClosedException if the database was closed
   */
  public abstract boolean next();

  /**
   * Moves to the record before: back along the scan's order. Behind the last record, to the last
   * one.
   *
   * @return false if there is none
   * @throws TransactionAbortedException as {@link #next}
   * @throws InvalidUseException as {@link #next}
   * @throws io.fovea.error.DatabaseClosedException as {@link #next}
   */
  public abstract boolean previous();

  /**
   * Moves to the first record of the interval, in the scan's order.
   *
   * @return false if there is none
   * @throws TransactionAbortedException as {@link #next}
   * @throws InvalidUseException as {@link #next}
   * @throws io.fovea.error.DatabaseClosedException as {@link #next}
   */
  public abstract boolean first();

  /**
   * Moves to the last record of the interval, in the scan's order.
   *
   * @return false if there is none
   * @throws TransactionAbortedException as {@link #next}
   * @throws InvalidUseException as {@link #next}
   * @throws io.fovea.error.DatabaseClosedException as {@link #next}
   */
  public abstract boolean last();

  /**
   * Moves to the first record of the interval that lies at a key or, in the scan's order, behind
   * it: as {@link RowCursor#seek}.
   *
   * @param to where to, before or behind where it stands
   * @return false if there is none
   * @throws TransactionAbortedException as {@link #next}
   * @throws InvalidUseException as {@link #next}
   * @throws io.fovea.error.KeyTooLargeException if no key of that length can be in the table
   * @throws io.fovea.error.DatabaseClosedException as {@link #next}
   */
  public abstract boolean seek(K to);

  /** Moves to the first record behind a {@link #position}. */
  abstract boolean seekBehind(byte[] position);

  /** The key of the record that it stands on, as it is stored; in an index, that of its entry. */
  abstract byte[] position();

  /**
   * The key of the record that it stands on.
   *
   * @return an object, which may be the same one until the next move
   * @throws InvalidUseException if it stands on no record, or as {@link #next}
   */
  public abstract K key();

  /**
   * The value of the record that it stands on.
   *
   * @return a new object
   * @throws InvalidUseException if it stands on no record, if the transaction has deleted it, or as
   *     {@link #next}
   */
  public abstract V value();

  /**
   * Ends the scan. A second call does nothing, as does one after the transaction's end.
   *
   * @throws InvalidUseException if it belongs to another thread
   */
  @Override
  public abstract void close();
}
