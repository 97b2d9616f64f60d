package io.fovea;

import io.fovea.btree.BTree;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.InvalidUseException;
import io.fovea.memory.Mem;
import io.fovea.txn.Tx;
import java.lang.foreign.MemorySegment;

/**
 * The statements that change tables with secondary indexes.
 *
 * <pre>
 *   1. read the old record, where there is one        (own changes included)
 *   2. entries before and after, for each index       keys too long are refused here
 *   3. unique indexes: is the new entry there?        duplicates are refused here
 *   4. write the record
 *   5. write the entries that differ
 * </pre>
 *
 * <b>A statement is done as a whole or not at all.</b> Everything that a program may catch and
 * survive is thrown in steps 1 to 3 or by the write of step 4 itself. If a later write fails all
 * the same, the transaction can't commit any more.
 *
 * <p>The old record is read again even where a {@link Row} holds it: another row object may have
 * changed the record in this transaction, and entries made from stale fields would stay behind for
 * ever. The read finds its place in the read set; a wrong entry would be found by nobody.
 */
final class Maintenance {
  private static final int NONE = -1;

  private Maintenance() {}

  static void insert(Transaction tx, Tx t, TableCore core, IndexCore[] indexes, Key key, Row row) {
    t.requireWritable();
    Slot slot = tx.slot();
    MemorySegment entries = room(slot, indexes);
    int[] after = slot.lengths(1, indexes.length);
    int at = 0;
    for (int i = 0; i < indexes.length; i++) {
      after[i] = entry(slot, indexes[i], key, row.segment(), row.base(), entries, at);
      requireAbsent(t, core, indexes[i], entries, at, after[i]);
      at += 2 * indexes[i].entryBytesMax();
    }
    try {
      t.insert(
          core.tree,
          key.segment(),
          key.base(),
          key.length(),
          row.segment(),
          row.base(),
          row.size());
    } catch (DuplicateKeyException e) {
      throw new DuplicateKeyException("table \"" + core.name + '"');
    }
    try {
      at = 0;
      for (int i = 0; i < indexes.length; i++) {
        if (after[i] != NONE) {
          add(slot, t, core, indexes[i], entries, at, after[i], key);
        }
        at += 2 * indexes[i].entryBytesMax();
      }
    } catch (Throwable e) {
      tx.breakDown(e);
      throw e;
    }
  }

  static void put(Transaction tx, Tx t, TableCore core, IndexCore[] indexes, Key key, Row row) {
    t.requireWritable();
    int size = row.size();
    MemorySegment old = tx.slot().record(2L * size);
    int n = t.get(core.tree, key.segment(), key.base(), key.length(), old, 0, size);
    if (n < 0) {
      insert(tx, t, core, indexes, key, row);
      return;
    }
    Table.requireSize(core, t, n);
    replace(tx, t, core, indexes, key, old, row.segment(), row.base(), null);
  }

  /** Writes the changed fields of a row that was read. */
  static void update(Transaction tx, Tx t, TableCore core, IndexCore[] indexes, Row row) {
    t.requireWritable();
    Slot slot = tx.slot();
    Key key = slot.key(core);
    key.load(row.segment(), row.keyBase(), row.keyLength());
    int size = row.size();
    MemorySegment records = slot.record(2L * size);
    int n = t.get(core.tree, key.segment(), key.base(), key.length(), records, 0, size);
    if (n < 0) {
      t.requireReadsValid();
      throw new InvalidUseException(
          "There is no record any more with the key of the row: " + key + ".");
    }
    Table.requireSize(core, t, n);
    Mem.copy(records, 0, records, size, size);
    for (int f = row.nextChanged(0); f >= 0; f = row.nextChanged(f + 1)) {
      int from = row.field(f).offset();
      Mem.copy(row.segment(), row.base() + from, records, size + from, row.end(f) - from);
    }
    replace(tx, t, core, indexes, key, records, records, size, row);
  }

  private static void replace(
      Transaction tx,
      Tx t,
      TableCore core,
      IndexCore[] indexes,
      Key key,
      MemorySegment old,
      MemorySegment record,
      long recordOff,
      @org.jspecify.annotations.Nullable Row patches) {
    Slot slot = tx.slot();
    MemorySegment entries = room(slot, indexes);
    int[] before = slot.lengths(0, indexes.length);
    int[] after = slot.lengths(1, indexes.length);
    int at = 0;
    for (int i = 0; i < indexes.length; i++) {
      IndexCore index = indexes[i];
      int max = index.entryBytesMax();
      if (patches != null && !index.dependsOn(patches)) {
        before[i] = NONE;
        after[i] = NONE;
      } else {
        after[i] = entry(slot, index, key, record, recordOff, entries, at);
        before[i] = entry(slot, index, key, old, 0, entries, at + max);
        if (before[i] == after[i]
            && (before[i] < 0 || Mem.equal(entries, at, after[i], entries, at + max, before[i]))) {
          before[i] = NONE;
          after[i] = NONE;
        }
        requireAbsent(t, core, index, entries, at, after[i]);
      }
      at += 2 * max;
    }
    try {
      if (patches != null) {
        Table.patch(t, core, patches);
      } else {
        t.put(
            core.tree,
            key.segment(),
            key.base(),
            key.length(),
            record,
            recordOff,
            core.recordBytes());
      }
      at = 0;
      for (int i = 0; i < indexes.length; i++) {
        IndexCore index = indexes[i];
        int max = index.entryBytesMax();
        if (before[i] != NONE) {
          t.delete(index.tree, entries, at + max, before[i]);
        }
        if (after[i] != NONE) {
          add(slot, t, core, index, entries, at, after[i], key);
        }
        at += 2 * max;
      }
    } catch (Throwable e) {
      tx.breakDown(e);
      throw e;
    }
  }

  static boolean delete(Transaction tx, Tx t, TableCore core, IndexCore[] indexes, Key key) {
    t.requireWritable();
    Slot slot = tx.slot();
    int size = core.recordBytes();
    MemorySegment old = slot.record(2L * size);
    int n = t.get(core.tree, key.segment(), key.base(), key.length(), old, 0, size);
    if (n < 0) {
      return false;
    }
    Table.requireSize(core, t, n);
    MemorySegment entries = room(slot, indexes);
    int[] before = slot.lengths(0, indexes.length);
    int at = 0;
    for (int i = 0; i < indexes.length; i++) {
      before[i] = entry(slot, indexes[i], key, old, 0, entries, at);
      at += 2 * indexes[i].entryBytesMax();
    }
    try {
      t.delete(core.tree, key.segment(), key.base(), key.length());
      at = 0;
      for (int i = 0; i < indexes.length; i++) {
        if (before[i] != NONE) {
          t.delete(indexes[i].tree, entries, at, before[i]);
        }
        at += 2 * indexes[i].entryBytesMax();
      }
    } catch (Throwable e) {
      tx.breakDown(e);
      throw e;
    }
    return true;
  }

  // -------------------------------------------------------------------------------------- support

  /** Room for an entry before and one after, for each index. */
  private static MemorySegment room(Slot slot, IndexCore[] indexes) {
    long bytes = 0;
    for (IndexCore i : indexes) {
      bytes += 2L * i.entryBytesMax();
    }
    return slot.entries(bytes);
  }

  private static int entry(
      Slot slot,
      IndexCore index,
      Key key,
      MemorySegment record,
      long recordOff,
      MemorySegment entries,
      int at) {
    int len =
        index.build(slot, key.segment(), key.base(), key.length(), record, recordOff, entries, at);
    if (len > index.tree.maxKeySize()) {
      throw index.keyTooLong(len);
    }
    return len;
  }

  private static void requireAbsent(
      Tx t, TableCore core, IndexCore index, MemorySegment entries, int at, int len) {
    if (index.unique && len != NONE && t.get(index.tree, entries, at, len, entries, at, 0) >= 0) {
      throw duplicate(core, index, entries, at, len, false);
    }
  }

  /**
   * Two records would have the same entry.
   *
   * @param built whether the index is being built
   */
  static DuplicateKeyException duplicate(
      TableCore core, IndexCore index, MemorySegment entry, long at, int len, boolean built) {
    Key key = new Key(index.key, index);
    key.load(entry, at, len);
    return DuplicateKeyException.ofIndex(index.name, core.name, key.toString(), built);
  }

  private static void add(
      Slot slot,
      Tx t,
      TableCore core,
      IndexCore index,
      MemorySegment entries,
      int at,
      int len,
      Key key) {
    BTree tree = index.tree;
    IndexHints hints = index.hints;
    int pkLen = key.length();
    MemorySegment value = hints.staged(slot, key.segment(), key.base(), pkLen);
    hints.write(t, core, key, value, pkLen, slot.there);
    if (index.unique) {
      t.insert(tree, entries, at, len, value, 0, pkLen + hints.bytes());
    } else {
      // Nobody else can have this entry: it contains the primary key, whose item is ours.
      t.put(tree, entries, at, len, value, 0, pkLen + hints.bytes());
    }
  }
}
