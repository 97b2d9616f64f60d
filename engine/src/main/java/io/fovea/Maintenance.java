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
      after[i] = newEntry(slot, indexes[i], key, row.segment(), row.base(), entries, at);
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
        after[i] = newEntry(slot, index, key, record, recordOff, entries, at);
        before[i] = oldEntry(slot, index, key, old, 0, entries, at + max);
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
          remove(slot, t, index, entries, at + max, before[i], key);
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
      before[i] = oldEntry(slot, indexes[i], key, old, 0, entries, at);
      at += 2 * indexes[i].entryBytesMax();
    }
    try {
      t.delete(core.tree, key.segment(), key.base(), key.length());
      at = 0;
      for (int i = 0; i < indexes.length; i++) {
        if (before[i] != NONE) {
          remove(slot, t, indexes[i], entries, at, before[i], key);
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

  /** The entry of a record as it will be, where the index takes new ones. */
  private static int newEntry(
      Slot slot,
      IndexCore index,
      Key key,
      MemorySegment record,
      long recordOff,
      MemorySegment entries,
      int at) {
    return index.stage == IndexStage.DELETE_ONLY
        ? NONE
        : entry(slot, index, key, record, recordOff, entries, at);
  }

  /**
   * The entry of a record as it was. Of an index that is not used, a record for which none can be
   * made has none: that is for its building to say, and not for who removes the record.
   */
  private static int oldEntry(
      Slot slot,
      IndexCore index,
      Key key,
      MemorySegment record,
      long recordOff,
      MemorySegment entries,
      int at) {
    if (index.stage == IndexStage.READABLE) {
      return entry(slot, index, key, record, recordOff, entries, at);
    }
    try {
      return entry(slot, index, key, record, recordOff, entries, at);
    } catch (RuntimeException e) {
      return NONE;
    }
  }

  /** Removes an entry, if it is that of the record. */
  private static void remove(
      Slot slot, Tx t, IndexCore index, MemorySegment entries, int at, int len, Key key) {
    if (!index.unique || index.stage == IndexStage.READABLE) {
      t.delete(index.tree, entries, at, len);
      return;
    }
    // A record that was not gone through yet has none, and another one may have taken its key.
    if (isOf(slot, t, index, entries, at, len, key) > 0) {
      t.delete(index.tree, entries, at, len);
    }
  }

  /** 1 if a unique index has an entry and it is of a record, 0 if of another, -1 if it has none. */
  private static int isOf(
      Slot slot, Tx t, IndexCore index, MemorySegment entries, int at, int len, Key key) {
    int room = key.length() + index.hints.bytes();
    MemorySegment stage = slot.keyStage(room);
    int n = t.get(index.tree, entries, at, len, stage, 0, room);
    if (n < 0) {
      return -1;
    }
    boolean own =
        index.hints.keyLength(n) == key.length()
            && Mem.equal(stage, 0, key.length(), key.segment(), key.base(), key.length());
    return own ? 1 : 0;
  }

  /** Makes the entry of a record, as it is now, in an index that is being built. */
  static void fill(Transaction tx, Tx t, TableCore core, IndexCore index, Key key) {
    Slot slot = tx.slot();
    int size = core.recordBytes();
    MemorySegment record = slot.record(2L * size);
    int n = t.get(core.tree, key.segment(), key.base(), key.length(), record, 0, size);
    if (n < 0) {
      return;
    }
    Table.requireSize(core, t, n);
    MemorySegment entries = slot.entries(index.entryBytesMax());
    int len = entry(slot, index, key, record, 0, entries, 0);
    if (len == NONE) {
      return;
    }
    if (index.unique) {
      int own = isOf(slot, t, index, entries, 0, len, key);
      if (own == 0) {
        throw duplicate(core, index, entries, 0, len, true);
      }
      if (own > 0) {
        return;
      }
    }
    add(slot, t, core, index, entries, 0, len, key);
  }

  private static void requireAbsent(
      Tx t, TableCore core, IndexCore index, MemorySegment entries, int at, int len) {
    if (index.unique && len != NONE && t.get(index.tree, entries, at, len, entries, at, 0) >= 0) {
      throw duplicate(core, index, entries, at, len, index.stage == IndexStage.BUILDING);
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
