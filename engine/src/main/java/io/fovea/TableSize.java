package io.fovea;

import io.fovea.btree.TreeCounts;
import io.fovea.index.IndexCore;
import io.fovea.index.TableCore;

/**
 * The size of a table at one point in time, as {@link Database#tableSizes} returns it.
 *
 * @param records as {@link RowTable#count}; -1 if the file does not store it and no caller has
 *     requested it
 * @param bytes as {@link RowTable#dataBytes}; -1 in the same case
 * @param indexEntries the sum over all its indexes, as {@link RowIndex#count}; -1 if any of them is
 *     unknown
 * @param indexBytes the sum of {@link RowIndex#dataBytes}; -1 in the same case
 * @since 0.1.0
 */
public record TableSize(long records, long bytes, long indexEntries, long indexBytes) {
  static TableSize of(TableCore table) {
    long entries = 0;
    long entryBytes = 0;
    for (IndexCore index : table.readable()) {
      TreeCounts counts = index.tree.counts();
      boolean known = counts.isKnown() && entries >= 0;
      entries = known ? entries + counts.records() : -1;
      entryBytes = known ? entryBytes + counts.bytes() : -1;
    }
    TreeCounts own = table.tree.counts();
    boolean known = own.isKnown();
    return new TableSize(known ? own.records() : -1, known ? own.bytes() : -1, entries, entryBytes);
  }
}
