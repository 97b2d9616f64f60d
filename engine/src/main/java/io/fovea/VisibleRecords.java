package io.fovea;

import io.fovea.index.IndexCore;
import io.fovea.index.RecordExpiry;
import io.fovea.index.StatementContext;
import io.fovea.index.TableCore;
import io.fovea.memory.Mem;
import io.fovea.txn.Tx;
import io.fovea.txn.TxScan;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Skips hidden records after each move of a cursor over a table with expiry.
 *
 * <p>If an I/O error prevents the check of a record, the move did not happen: the next move in that
 * direction checks the same record again.
 */
final class VisibleRecords {
  private final Transaction tx;
  private final TableCore table;
  private final @Nullable IndexCore index;
  private final RecordExpiry expiry;

  /** After an I/O error: the direction of the move that reached the unchecked record. */
  private Unchecked unchecked = Unchecked.NONE;

  private enum Unchecked {
    NONE,
    FORWARD,
    BACKWARD
  }

  private VisibleRecords(
      Transaction tx, TableCore table, @Nullable IndexCore index, RecordExpiry expiry) {
    this.tx = tx;
    this.table = table;
    this.index = index;
    this.expiry = expiry;
  }

  /** Returns an instance for a table or an index, or null if records do not expire. */
  static @Nullable VisibleRecords of(Transaction tx, TableCore table, @Nullable IndexCore index) {
    RecordExpiry expiry = table.expiry();
    return expiry == null ? null : new VisibleRecords(tx, table, index, expiry);
  }

  /** Returns whether a step must check the present record of the scan again instead of moving. */
  boolean mustRecheck(boolean back) {
    return unchecked == (back ? Unchecked.BACKWARD : Unchecked.FORWARD);
  }

  /** Begins a move. */
  void beginMove() {
    unchecked = Unchecked.NONE;
  }

  /**
   * Completes a move. Called within an operation.
   *
   * @param s the scan, or null for an empty one
   * @param moved whether the scan has a current record
   * @param back the direction in which to skip
   * @return whether the scan has a current record that is visible
   */
  boolean completeMove(@Nullable TxScan s, boolean moved, boolean back) {
    boolean found = moved;
    unchecked = back ? Unchecked.BACKWARD : Unchecked.FORWARD;
    while (found && s != null && isHidden(s)) {
      unchecked = Unchecked.NONE; // this record was checked
      found = back ? s.previous() : s.next();
      unchecked = back ? Unchecked.BACKWARD : Unchecked.FORWARD;
    }
    unchecked = Unchecked.NONE;
    return found;
  }

  /**
   * Returns whether the record has expired. A scan of an index reads the record for this check; if
   * the record is missing or has the wrong size, it is not hidden, and its reader reports it.
   */
  private boolean isHidden(TxScan s) {
    StatementContext context = tx.statementContext();
    Tx t = tx.context();
    if (index == null) {
      return expiry.hides(context, t, table, s.valueLength(), s.valueSegment(), s.valueOffset());
    }
    int length = EntryReads.keyLength(table, index, s);
    MemorySegment pk = context.keyStage(table.keyBytesMax + index.hints.bytes());
    Mem.copy(s.valueSegment(), s.valueOffset(), pk, 0, length);
    return RecordExpiry.isHidden(context, t, table, pk, 0, length);
  }
}
