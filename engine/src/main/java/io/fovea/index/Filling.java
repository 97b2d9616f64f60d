package io.fovea.index;

import io.fovea.memory.Mem;
import io.fovea.txn.Tx;
import java.lang.foreign.MemorySegment;

/**
 * What is done for an index of rows or objects while it is built, in transactions: entries of
 * records that were there before, and of those that have changed meanwhile.
 *
 * <p>The thread of the transaction.
 */
public final class Filling {
  private Filling() {}

  /** Makes the entry of a record, as it is now, in an index that is being built. */
  public static void fill(
      Slot slot,
      Tx t,
      TableCore core,
      IndexCore index,
      MemorySegment key,
      long keyOff,
      int keyLen) {
    int size = core.recordBytes();
    MemorySegment record = slot.record(2L * size);
    int n = t.get(core.tree, key, keyOff, keyLen, record, 0, size);
    if (n < 0) {
      return;
    }
    OldRows.settle(slot, t, core, key, keyOff, keyLen, n, record, 0);
    RowExpiry expiry = core.expiry();
    if (expiry != null && index.unique) {
      // Two records may have one entry where one of them has expired.
      if (expiry.isExpired(expiry.hiddenUpTo(slot, t), record, 0)) {
        Maintenance.remove(slot, t, core, core.indexes(), key, keyOff, keyLen, record, 0);
        return;
      }
      IndexCore[] only = {index};
      RowExpiry.makeWay(slot, t, core, only, key, keyOff, keyLen, record, 0, false);
    }
    MemorySegment entries = slot.entries(index.entryBytesMax());
    int len = Maintenance.entry(slot, index, key, keyOff, keyLen, record, 0, entries, 0);
    if (len == Maintenance.NONE) {
      return;
    }
    if (index.unique) {
      int own = Maintenance.isOf(slot, t, index, entries, 0, len, key, keyOff, keyLen);
      if (own == 0) {
        throw Maintenance.duplicate(core, index, entries, 0, len, true);
      }
      if (own > 0) {
        return;
      }
    }
    Maintenance.add(slot, t, core, index, entries, 0, len, key, keyOff, keyLen);
  }

  /**
   * Puts an entry into an index that is being built, or takes it out, as its record says now.
   *
   * @param from where the entry and the key of the record are; native memory
   */
  public static void settle(
      Slot slot,
      Tx t,
      TableCore core,
      IndexCore index,
      MemorySegment from,
      long entryAt,
      int entryLen,
      long keyAt,
      int keyLen) {
    boolean there = t.get(index.tree, from, entryAt, entryLen, from, entryAt, 0) >= 0;
    MemorySegment key = slot.take(core.keyBytesMax);
    try {
      Mem.copy(from, keyAt, key, 0, keyLen);
      int n =
          !index.ofBytes
              ? entryNow(slot, t, core, index, key, keyLen)
              : ObjectMaintenance.entryNow(slot, t, core, index, key, keyLen);
      MemorySegment entries = slot.entries(index.entryBytesMax());
      boolean wanted = n == entryLen && Mem.equal(entries, 0, n, from, entryAt, entryLen);
      if (wanted && !there) {
        Maintenance.add(slot, t, core, index, entries, 0, n, key, 0, keyLen);
      } else if (there && !wanted) {
        t.delete(index.tree, from, entryAt, entryLen);
      }
    } finally {
      slot.give(key);
    }
  }

  /**
   * The entry of a row as it is now, into {@link Slot#entries}; {@link Maintenance#NONE} for none.
   */
  private static int entryNow(
      Slot slot, Tx t, TableCore core, IndexCore index, MemorySegment key, int keyLen) {
    int size = core.recordBytes();
    MemorySegment record = slot.record(2L * size);
    int n = t.get(core.tree, key, 0, keyLen, record, 0, size);
    if (n < 0) {
      return Maintenance.NONE;
    }
    OldRows.settle(slot, t, core, key, 0, keyLen, n, record, 0);
    MemorySegment entries = slot.entries(index.entryBytesMax());
    return Maintenance.entry(slot, index, key, 0, keyLen, record, 0, entries, 0);
  }

  /** An entry goes that may be in a tree which is being built: it is looked at again at the end. */
  static void note(
      Slot slot,
      Tx t,
      IndexCore index,
      MemorySegment entries,
      int at,
      int len,
      MemorySegment key,
      long keyOff,
      int keyLen) {
    MemorySegment value = index.hints.staged(slot, key, keyOff, keyLen);
    Mem.zero(value, keyLen, index.hints.bytes());
    t.put(index.tree, entries, at, len, value, 0, keyLen + index.hints.bytes());
  }
}
