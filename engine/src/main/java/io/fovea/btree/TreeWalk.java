package io.fovea.btree;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Reads trees without a transaction: the catalog under the schema lock, and tables while no
 * transaction is active. Not for hot paths.
 */
public final class TreeWalk {
  private TreeWalk() {}

  /** Receives the records of a tree in order. */
  public interface Visitor {
    /** Receives one record; the memory is valid during the call. */
    void visit(
        MemorySegment key, long keyOff, int keyLen, MemorySegment value, long valueOff, int len);
  }

  /**
   * Counts the records, and the bytes of their keys and values, of a tree that does not change,
   * without reading long values. Calls {@code more}, which may throw, for each leaf.
   */
  public static long[] count(BTree tree, Runnable more) {
    LeafScan scan = new LeafScan();
    MemorySegment key = Arena.ofAuto().allocate(Math.max(8, tree.maxKeySize()), 8);
    long records = 0;
    long bytes = 0;
    scan.seek(tree, key, 0, -1, true, false);
    while (scan.load()) {
      more.run();
      for (int slot = scan.from(); slot < scan.to(); slot++) {
        records++;
        bytes += scan.copyKey(slot, key, 0) + (long) scan.valueLength(slot);
      }
    }
    return new long[] {records, bytes};
  }

  /** Visits all records. Concurrently inserted or removed keys may or may not be visited. */
  public static void forEach(BTree tree, Visitor visitor) {
    forEach(tree, new Position(), visitor);
  }

  /** Visits all records, with the position of each. */
  public static void forEach(BTree tree, Position position, Visitor visitor) {
    LeafScan scan = new LeafScan();
    MemorySegment key = Arena.ofAuto().allocate(Math.max(8, tree.maxKeySize()), 8);
    MemorySegment value = Arena.ofAuto().allocate(tree.pool().pageSize(), 8);
    scan.seek(tree, key, 0, -1, true, false);
    while (scan.load()) {
      for (int slot = scan.from(); slot < scan.to(); slot++) {
        int keyLen = scan.copyKey(slot, key, 0);
        scan.position(position, slot);
        if (!scan.isOverflow(slot)) {
          visitor.visit(
              key, 0, keyLen, scan.segment(), scan.valueOffset(slot), scan.valueLength(slot));
        } else {
          value = visitLong(tree, key, keyLen, value, visitor);
        }
      }
    }
  }

  /** Visits a record with a long value; returns the memory used. */
  private static MemorySegment visitLong(
      BTree tree, MemorySegment key, int keyLen, MemorySegment memory, Visitor visitor) {
    Position p = new Position();
    MemorySegment value = memory;
    while (true) {
      tree.find(key, 0, keyLen, p);
      boolean found = p.found;
      int len = found ? tree.copyValue(p, value, 0, (int) value.byteSize()) : 0;
      if (len < 0 || !tree.valid(p)) {
        continue;
      }
      if (len > value.byteSize()) {
        value = Arena.ofAuto().allocate(len, 8);
        continue;
      }
      if (found) {
        visitor.visit(key, 0, keyLen, value, 0, len);
      }
      return value;
    }
  }
}
