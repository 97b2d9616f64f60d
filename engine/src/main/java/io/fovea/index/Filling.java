package io.fovea.index;

import io.fovea.error.DuplicateKeyException;
import io.fovea.memory.Blocks;
import io.fovea.memory.Mem;
import io.fovea.txn.Tx;
import java.lang.foreign.MemorySegment;

/**
 * Adds entries, in transactions, to an index of rows or objects that is being built: entries of
 * records that existed before the build, and of records that changed during it.
 *
 * <p><b>A unique index that is being built may have a stale entry</b>: the value of its record has
 * changed, and the journal of that change has not been applied yet. So a statement that meets an
 * entry of another record reads that record. If that record still contains the value, the entry is
 * a duplicate; otherwise the entry is overwritten. docs/internals/schema.md explains why no entry
 * is lost.
 *
 * <p>Confined to the thread of the transaction.
 */
public final class Filling {
  private Filling() {}

  /** Adds the entry of a record, in its current form, to an index that is being built. */
  public static void fill(
      StatementContext context,
      Tx t,
      TableCore core,
      IndexCore index,
      MemorySegment key,
      long keyOff,
      int keyLen) {
    try {
      int n = IndexMaintenance.read(context, t, core, key, keyOff, keyLen);
      if (n >= 0) {
        fill(context, t, core, index, key, keyOff, keyLen, n);
      }
    } finally {
      context.shrinkRecord();
    }
  }

  private static void fill(
      StatementContext context,
      Tx t,
      TableCore core,
      IndexCore index,
      MemorySegment key,
      long keyOff,
      int keyLen,
      int n) {
    MemorySegment record = context.record(0);
    RecordExpiry expiry = core.expiry();
    if (expiry != null && index.unique) {
      // Two records may share an entry if one of them has expired.
      if (expiry.isExpired(context, t, record, 0, n)) {
        IndexMaintenance.remove(context, t, core, core.indexes(), key, keyOff, keyLen, record, n);
        return;
      }
      IndexCore[] only = {index};
      RecordExpiry.removeHiddenConflicts(
          context, t, core, only, key, keyOff, keyLen, record, 0, n, false);
    }
    MemorySegment entries = context.entries(index.entryBytesMax());
    int len =
        IndexMaintenance.entry(context, core, index, key, keyOff, keyLen, record, 0, n, entries, 0);
    if (len == IndexMaintenance.NONE) {
      return;
    }
    if (index.unique) {
      int own = IndexMaintenance.isOf(context, t, index, entries, 0, len, key, keyOff, keyLen);
      if (own == 0) {
        throw IndexMaintenance.duplicate(core, index, entries, 0, len, true);
      }
      if (own > 0) {
        return;
      }
    }
    IndexMaintenance.add(context, t, core, index, entries, 0, len, key, keyOff, keyLen);
  }

  /**
   * Adds an entry to an index that is being built, or removes it, as the current record requires.
   * If another record has the same entry in a unique index and either record has expired, the
   * expired record is removed.
   *
   * @param from native memory with the entry and the key of the record
   * @throws DuplicateKeyException if neither has expired
   */
  public static void settle(
      StatementContext context,
      Tx t,
      TableCore core,
      IndexCore index,
      MemorySegment from,
      long entryAt,
      int entryLen,
      long keyAt,
      int keyLen) {
    MemorySegment key = context.take(core.keyBytesMax);
    try {
      Mem.copy(from, keyAt, key, 0, keyLen);
      int n = entryNow(context, t, core, index, key, keyLen);
      MemorySegment entries = context.entries(index.entryBytesMax());
      boolean wanted = n == entryLen && Mem.equal(entries, 0, n, from, entryAt, entryLen);
      int own =
          index.unique
              ? IndexMaintenance.isOf(
                  context, t, index, from, (int) entryAt, entryLen, key, 0, keyLen)
              : t.get(index.tree, from, entryAt, entryLen, from, entryAt, 0) >= 0 ? 1 : -1;
      if (!wanted) {
        if (own > 0) {
          t.delete(index.tree, from, entryAt, entryLen);
        }
      } else if (own < 0
          || own == 0
              && overwritesStale(context, t, core, index, from, (int) entryAt, n, key, keyLen)) {
        IndexMaintenance.add(context, t, core, index, from, (int) entryAt, n, key, 0, keyLen);
      }
    } finally {
      context.releaseBlock(key);
    }
  }

  /**
   * Resolves an entry of a unique index that belongs to another record. Returns whether to
   * overwrite it for this record; returns false if this record had expired and was removed.
   *
   * @param entries not in the scratch memory of {@code context}, if the table has an expiry
   * @param keyLen negative if expired records were removed before
   * @throws DuplicateKeyException if the entry belongs to an unexpired record
   */
  private static boolean overwritesStale(
      StatementContext context,
      Tx t,
      TableCore core,
      IndexCore index,
      MemorySegment entries,
      int at,
      int len,
      MemorySegment key,
      int keyLen) {
    int capacity = core.keyBytesMax + index.hints.bytes();
    MemorySegment other = context.take(capacity);
    try {
      int n = t.get(index.tree, entries, at, len, other, 0, capacity);
      int otherLen = index.hints.keyLength(n);
      if (!has(context, t, core, index, entries, at, len, other, otherLen)) {
        return true;
      }
      if (core.expiry() != null && keyLen >= 0) {
        if (RecordExpiry.removeHidden(context, t, core, key, 0, keyLen)) {
          return false;
        }
        if (RecordExpiry.removeHidden(context, t, core, other, 0, otherLen)) {
          return true;
        }
      }
      throw IndexMaintenance.duplicate(core, index, entries, at, len, true);
    } finally {
      context.releaseBlock(other);
    }
  }

  /**
   * Checks an entry that a record is about to receive and that already exists in a unique index.
   *
   * @throws DuplicateKeyException if it belongs to a record, which is always the case unless the
   *     index is being built
   */
  static void requireStale(
      StatementContext context,
      Tx t,
      TableCore core,
      IndexCore index,
      MemorySegment entries,
      int at,
      int len) {
    if (index.exact) {
      throw IndexMaintenance.duplicate(core, index, entries, at, len, false);
    }
    overwritesStale(context, t, core, index, entries, at, len, Blocks.NONE, -1);
  }

  /**
   * Returns whether the record of a key exists and has the given entry; the record may have
   * expired.
   */
  private static boolean has(
      StatementContext context,
      Tx t,
      TableCore core,
      IndexCore index,
      MemorySegment entries,
      int at,
      int len,
      MemorySegment key,
      int keyLen) {
    if (keyLen < 0 || keyLen > core.keyBytesMax) {
      t.requireReadsValid();
      throw core.longKey(t.page(), core.keyBytesMax, keyLen);
    }
    MemorySegment record = IndexMaintenance.readApart(context, t, core, key, 0, keyLen);
    int n = context.lengthApart;
    MemorySegment entry = context.take(index.entryBytesMax());
    try {
      if (n < 0) {
        return false;
      }
      int m = IndexMaintenance.entry(context, core, index, key, 0, keyLen, record, 0, n, entry, 0);
      return m == len && Mem.equal(entry, 0, len, entries, at, len);
    } finally {
      context.releaseBlock(entry);
      context.releaseBlock(record);
    }
  }

  /** Builds the current entry of a record in {@link StatementContext#entries}. */
  private static int entryNow(
      StatementContext context,
      Tx t,
      TableCore core,
      IndexCore index,
      MemorySegment key,
      int keyLen) {
    try {
      int n = IndexMaintenance.read(context, t, core, key, 0, keyLen);
      if (n < 0) {
        return IndexMaintenance.NONE;
      }
      MemorySegment record = context.record(0);
      MemorySegment entries = context.entries(index.entryBytesMax());
      return IndexMaintenance.entry(context, core, index, key, 0, keyLen, record, 0, n, entries, 0);
    } finally {
      context.shrinkRecord();
    }
  }

  /**
   * Journals the removal of an entry that may be in a tree being built, so that the end of the
   * build checks it.
   */
  static void addJournalItem(
      StatementContext context,
      Tx t,
      IndexCore index,
      MemorySegment entries,
      int at,
      int len,
      MemorySegment key,
      long keyOff,
      int keyLen) {
    if (index.journaled) {
      UniqueBuildJournal.put(context, t, index, entries, at, len, key, keyOff, keyLen);
      return;
    }
    MemorySegment value = index.hints.staged(context, key, keyOff, keyLen);
    Mem.zero(value, keyLen, index.hints.bytes());
    t.put(index.tree, entries, at, len, value, 0, keyLen + index.hints.bytes());
  }
}
