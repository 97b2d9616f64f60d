package io.fovea.catalog;

import io.fovea.btree.BTree;
import io.fovea.btree.LeafScan;
import io.fovea.btree.Position;
import io.fovea.error.CorruptionException;
import io.fovea.index.LegacyRowReader;
import io.fovea.index.PackedRows;
import io.fovea.index.TableCore;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Iterates over the records of a table, or the items of a journal, in key order. If other threads
 * change the table, each record is returned as it was at some time since the start, and every key
 * present throughout is returned. Confined to one thread.
 */
final class OldRecords implements AutoCloseable {
  private final BTree tree;
  private final @Nullable TableCore table;
  private final LeafScan scan = new LeafScan();
  private final Position position = new Position();
  private final Arena arena = Arena.ofShared();
  private final MemorySegment key;
  private Arena longArena = Arena.ofShared();
  private MemorySegment longValue = MemorySegment.NULL;
  private int keyLength;
  private MemorySegment value = MemorySegment.NULL;
  private long valueOffset;
  private int valueLength;
  private boolean more = true;

  private final boolean changing;

  /** An unpacked row in the newest layout. */
  private MemorySegment upgraded = MemorySegment.NULL;

  /** A packed row in the newest layout. */
  private MemorySegment packed = MemorySegment.NULL;

  /** Iterates over a table that does not change. */
  static OldRecords of(TableCore table) {
    return new OldRecords(table.tree, table, false);
  }

  /** Iterates over a table that may change. */
  static OldRecords ofChanging(TableCore table) {
    return new OldRecords(table.tree, table, true);
  }

  /** Iterates over the items of a journal that no longer changes. */
  static OldRecords ofJournal(BTree tree) {
    return new OldRecords(tree, null, false);
  }

  private OldRecords(BTree tree, @Nullable TableCore table, boolean changing) {
    this.tree = tree;
    this.table = table;
    this.changing = changing;
    this.key = arena.allocate(Math.max(8, tree.maxKeySize()), 8);
    scan.seek(tree, key, 0, -1, true, false);
    slot = 0;
    end = 0;
  }

  private int slot;
  private int end;

  /** Moves to the next record, which stays valid until the next call; returns false at the end. */
  boolean next() {
    while (true) {
      while (more && slot == end) {
        more = scan.load();
        slot = more ? scan.from() : 0;
        end = more ? scan.to() : 0;
      }
      if (!more) {
        return false;
      }
      if (read(slot++)) {
        return true;
      }
    }
  }

  private boolean read(int at) {
    keyLength = scan.copyKey(at, key, 0);
    if (table != null && keyLength > table.keyBytesMax) {
      throw table.longKey(scan.page(), table.keyBytesMax, keyLength);
    }
    if (scan.isOverflow(at)) {
      return readLong();
    }
    value = scan.segment();
    valueOffset = scan.valueOffset(at);
    valueLength = scan.valueLength(at);
    return true;
  }

  /** Reads a long value; returns false if the record has been deleted. */
  private boolean readLong() {
    while (true) {
      tree.find(key, 0, keyLength, position);
      boolean found = position.found;
      int n = found ? tree.copyValue(position, longValue, 0, (int) longValue.byteSize()) : 0;
      if (n < 0 || !tree.valid(position)) {
        continue;
      }
      if (!found && changing) {
        return false;
      }
      if (!found) {
        throw new CorruptionException(
            "a record that a scan finds and a search does not",
            scan.page(),
            scan.page() * tree.pool().pageSize(),
            1,
            0);
      }
      if (n > longValue.byteSize()) {
        longArena.close();
        longArena = Arena.ofShared();
        longValue = longArena.allocate(Math.max(n, 2 * longValue.byteSize()), 8);
        continue;
      }
      value = longValue;
      valueOffset = 0;
      valueLength = n;
      return true;
    }
  }

  /**
   * Converts a row to the newest layout, unpacked; leaves other records unchanged.
   *
   * @return its former form, as returned by {@link LegacyRowReader}
   */
  int upgrade(TableCore core) {
    if (core.layout == null || valueLength == core.storedBytes) {
      return LegacyRowReader.AS_IT_IS;
    }
    if (upgraded.byteSize() == 0) {
      upgraded = arena.allocate(core.recordBytes(), 8);
    }
    int form = core.old.upgrade(valueLength, value, valueOffset, upgraded, 0);
    if (form == LegacyRowReader.UNKNOWN) {
      throw core.wrongSize(-1, valueLength);
    }
    value = upgraded;
    valueOffset = 0;
    valueLength = core.recordBytes();
    return form;
  }

  /** Converts a row in an older layout to the newest layout, in the form that the tree stores. */
  void upgradeStored(TableCore core) {
    PackedRows packedRows = core.packed();
    MemorySegment was = value;
    long wasOffset = valueOffset;
    int wasLength = valueLength;
    int form = upgrade(core);
    if (form == LegacyRowReader.UNPACKED) {
      value = was;
      valueOffset = wasOffset;
      valueLength = wasLength;
    } else if (form == LegacyRowReader.UPGRADED && packedRows != null) {
      if (packed.byteSize() == 0) {
        packed = arena.allocate(packedRows.rowBytes(), 8);
      }
      valueLength = packedRows.pack(upgraded, 0, packed, 0);
      value = packed;
    }
  }

  MemorySegment key() {
    return key;
  }

  int keyLength() {
    return keyLength;
  }

  MemorySegment value() {
    return value;
  }

  long valueOffset() {
    return valueOffset;
  }

  int valueLength() {
    return valueLength;
  }

  @Override
  public void close() {
    arena.close();
    longArena.close();
  }
}
