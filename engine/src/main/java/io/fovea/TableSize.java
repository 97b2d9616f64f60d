package io.fovea;

import io.fovea.btree.TreeCounts;
import io.fovea.index.IndexCore;
import io.fovea.index.TableCore;

/**
 * How much a table has, at a moment: what {@link Database#tableSizes} says of each.
 *
 * @param records as {@link RowTable#count}; -1 where it is not known, since nobody has asked for it
 *     in a file that does not say it
 * @param bytes as {@link RowTable#dataBytes}; -1 likewise
 * @param indexEntries of all its indexes together, as {@link RowIndex#count}; -1 where that of one
 *     is not known
 * @param indexBytes as {@link RowIndex#dataBytes}; -1 likewise
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
