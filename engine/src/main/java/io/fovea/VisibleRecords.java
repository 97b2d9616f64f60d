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
 * What a cursor of a table whose records expire does after each move of its scan: it goes on until
 * it stands on a record that the transaction sees.
 *
 * <p>Where a device refuses to tell whether a record is hidden, the move has not happened: the next
 * one the same way looks at that record once more.
 */
final class VisibleRecords {
  private final Transaction tx;
  private final TableCore table;
  private final @Nullable IndexCore index;
  private final RecordExpiry expiry;

  /** The scan is on a record of which a device has not told whether it is hidden: from a move. */
  private Unsure unsure = Unsure.NO;

  private enum Unsure {
    NO,
    ON,
    BACK
  }

  private VisibleRecords(
      Transaction tx, TableCore table, @Nullable IndexCore index, RecordExpiry expiry) {
    this.tx = tx;
    this.table = table;
    this.index = index;
    this.expiry = expiry;
  }

  /** Those of a table, or of an index; null where records don't expire, and a move is done. */
  static @Nullable VisibleRecords of(Transaction tx, TableCore table, @Nullable IndexCore index) {
    RecordExpiry expiry = table.expiry();
    return expiry == null ? null : new VisibleRecords(tx, table, index, expiry);
  }

  /** Whether the scan stands already where a step leads. */
  boolean again(boolean back) {
    return unsure == (back ? Unsure.BACK : Unsure.ON);
  }

  /** A move begins. */
  void leave() {
    unsure = Unsure.NO;
  }

  /**
   * Ends a move, within an operation.
   *
   * @param s null of a scan in which nothing can be
   * @param moved whether the scan stands on a record
   * @param back which way to go on
   * @return whether it stands on one that the transaction sees
   */
  boolean arrive(@Nullable TxScan s, boolean moved, boolean back) {
    boolean found = moved;
    unsure = back ? Unsure.BACK : Unsure.ON;
    while (found && s != null && isHidden(s)) {
      unsure = Unsure.NO; // for this one is done with
      found = back ? s.previous() : s.next();
      unsure = back ? Unsure.BACK : Unsure.ON;
    }
    unsure = Unsure.NO;
    return found;
  }

  /**
   * Whether the record has expired. In a scan of an index it is read for that; one that is not
   * there, or has a wrong size, is for whoever reads it to speak of.
   */
  private boolean isHidden(TxScan s) {
    StatementContext statementContext = tx.statementContext();
    Tx t = tx.context();
    if (index == null) {
      return expiry.hides(
          statementContext, t, table, s.valueLength(), s.valueSegment(), s.valueOffset());
    }
    int length = EntryReads.keyLength(table, index, s);
    MemorySegment pk = statementContext.keyStage(table.keyBytesMax + index.hints.bytes());
    Mem.copy(s.valueSegment(), s.valueOffset(), pk, 0, length);
    return RecordExpiry.isHidden(statementContext, t, table, pk, 0, length);
  }
}
