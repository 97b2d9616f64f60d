package io.fovea;

import io.fovea.btree.Position;
import io.fovea.index.IndexCore;
import io.fovea.txn.Tx;
import java.lang.foreign.MemorySegment;

/** Compares the hints of index entries with the locations of their records. */
final class HintPlaces {
  private HintPlaces() {}

  /** Reads the hint of an entry and the location of its record. */
  static void peek(
      SecondaryStore s,
      Transaction tx,
      RowIndex index,
      Key key,
      Row row,
      Position hint,
      Position there) {
    Tx t = tx.enter(s.db);
    try {
      MemorySegment value = tx.statementContext().keyStage(64);
      IndexCore core = index.core();
      int n = t.get(core.tree, key.segment(), key.base(), key.length(), value, 0, 64);
      int pkLen = core.hints.keyLength(n);
      core.hints.codec.read(value, pkLen, hint);
      t.get(s.table.core().tree, value, 0, pkLen, row.segment(), row.base(), 0);
      t.locationOfRead(t.lastRead(), there);
    } finally {
      tx.exit();
    }
  }
}
