package io.fovea;

import io.fovea.error.InvalidUseException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.index.IndexCore;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A scan of the records of a table of byte strings in the order of an index: it stands before the
 * first one, then on one after the other.
 *
 * <p>Belongs to its transaction and to its thread, and moves, as {@link RowCursor} does.
 *
 * @since 0.1.0
 */
public final class ByteIndexCursor implements AutoCloseable {
  private final ByteCursor cursor;
  private final IndexCore core;
  private @Nullable Key indexKey;

  ByteIndexCursor(ByteCursor cursor, IndexCore core) {
    this.cursor = cursor;
    this.core = core;
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
    return cursor.next();
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
    return cursor.previous();
  }

  /**
   * Moves to the first record of the range, in the scan's order.
   *
   * @return false if there is none
   * @throws TransactionAbortedException as {@link #next}
   * @throws InvalidUseException as {@link #next}
   * @throws io.fovea.error.DatabaseClosedException as {@link #next}
   */
  public boolean first() {
    return cursor.first();
  }

  /**
   * Moves to the last record of the range, in the scan's order.
   *
   * @return false if there is none
   * @throws TransactionAbortedException as {@link #next}
   * @throws InvalidUseException as {@link #next}
   * @throws io.fovea.error.DatabaseClosedException as {@link #next}
   */
  public boolean last() {
    return cursor.last();
  }

  /**
   * Moves to the first record of the range that lies at a key of the index or, in the scan's order,
   * behind it: as {@link RowCursor#seek}. All entries that begin with the key lie at it.
   *
   * @param key where to, before or behind where it stands
   * @return false if there is none
   * @throws TransactionAbortedException as {@link #next}
   * @throws InvalidUseException if the key is another index's, or as {@link #next}
   * @throws io.fovea.error.KeyTooLargeException if no key of that length can be in the index
   * @throws io.fovea.error.DatabaseClosedException as {@link #next}
   */
  public boolean seek(Key key) {
    return cursor.seek(Objects.requireNonNull(key, "key"), core);
  }

  /**
   * The key of the index at which it stands: what the extractor computed, which is not asked for
   * it.
   *
   * @return the key, which belongs to the cursor and changes when it is asked for after a move
   * @throws InvalidUseException if it stands on no record, or as {@link #next}
   */
  public Key indexKey() {
    Key k = indexKey;
    if (k == null) {
      k = new Key(core.key, core);
      indexKey = k;
    }
    cursor.indexKey(core, k);
    return k;
  }

  /**
   * The key of the record that it stands on, in the table. The record is not read for it.
   *
   * @return a new array
   * @throws InvalidUseException if it stands on no record, or as {@link #next}
   */
  public byte[] key() {
    return cursor.key();
  }

  /**
   * The value of the record that it stands on, which is read when this is called.
   *
   * @return a new array
   * @throws TransactionAbortedException when the transaction can't go on
   * @throws InvalidUseException if it stands on no record, if the transaction has deleted the
   *     record since the move, or as {@link #next}
   */
  public byte[] value() {
    return cursor.value();
  }

  /**
   * Ends the scan. A second call does nothing, as does one after the transaction's end.
   *
   * @throws InvalidUseException if it belongs to another thread
   */
  @Override
  public void close() {
    cursor.close();
  }
}
