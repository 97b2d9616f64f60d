package io.fovea;

import io.fovea.error.InvalidUseException;
import io.fovea.index.IndexCore;
import io.fovea.index.StatementContext;
import io.fovea.index.TableCore;
import io.fovea.memory.Mem;
import io.fovea.txn.Tx;
import io.fovea.txn.TxScan;
import java.lang.foreign.MemorySegment;

/** Reads records by index entries, within an operation. */
final class EntryReads {
  private EntryReads() {}

  /** Returns the length of the primary key in the current entry of a scan. */
  static int keyLength(TableCore table, IndexCore index, TxScan s) {
    return index.keyLength(table, s.page(), s.valueLength());
  }

  /** Reads the record of the current entry of a scan. */
  static byte[] value(Transaction tx, Tx t, TableCore table, IndexCore index, TxScan s) {
    int pkLen = keyLength(table, index, s);
    MemorySegment pk = tx.statementContext().keyStage(s.valueLength());
    Mem.copy(s.valueSegment(), s.valueOffset(), pk, 0, s.valueLength());
    return value(tx.statementContext(), t, table, index, pk, pkLen, s.handle());
  }

  /**
   * Reads the record of an entry.
   *
   * @param pk the value of the entry, which begins with the primary key
   * @param entry the handle of the entry's read, or negative
   */
  static byte[] value(
      StatementContext context,
      Tx t,
      TableCore table,
      IndexCore index,
      MemorySegment pk,
      int pkLen,
      int entry) {
    MemorySegment v = context.valueStage(0);
    int capacity = (int) Math.min(v.byteSize(), Integer.MAX_VALUE);
    int n =
        index.hints.get(context, t, table, index, pk, 0, pkLen, pk, pkLen, entry, v, 0, capacity);
    while (n > capacity) {
      v = context.valueStage(n);
      capacity = (int) Math.min(v.byteSize(), Integer.MAX_VALUE);
      n = t.get(table.tree, pk, 0, pkLen, v, 0, capacity);
    }
    if (n < 0) {
      t.requireReadsValid();
      if (t.wrote(table.tree, pk, 0, pkLen)) {
        throw new InvalidUseException("The transaction has deleted the record under the cursor.");
      }
      throw table.damaged(
          "record that an entry of index " + index.displayName() + " names, its size",
          t.page(),
          1,
          n);
    }
    return Mem.bytes(v, 0, n);
  }
}
