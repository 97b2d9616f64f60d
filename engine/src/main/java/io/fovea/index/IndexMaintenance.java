package io.fovea.index;

import io.fovea.btree.BTree;
import io.fovea.encoding.KeyText;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.InvalidUseException;
import io.fovea.memory.Blocks;
import io.fovea.memory.Mem;
import io.fovea.txn.Tx;
import io.fovea.txn.TxScan;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Statements that change tables with secondary indexes: of rows, objects and byte strings.
 *
 * <pre>
 *   1. read the old record, if there is one           (own changes included)
 *   2. build old and new entries for each index        keys that are too long are refused here
 *   3. unique indexes: does the new entry exist?      duplicates are refused here
 *   4. write the record
 *   5. write the entries that differ
 * </pre>
 *
 * <p><b>A statement takes effect entirely or not at all.</b> Every exception that a program may
 * catch and survive is thrown in steps 1 to 3 or by the write of step 4 itself. If a later write
 * fails, the transaction can only roll back.
 *
 * <p>The old record is read again even if a row of the API holds it: another row may have changed
 * the record in this transaction, and entries built from stale fields would never be removed. The
 * read hits the read set and is cheap.
 *
 * <p>The record formats differ in two steps. {@link #read} converts a row of an older layout to the
 * newest, and reads an object or a byte string in full. {@link IndexCore#build} builds an entry
 * from fields ({@link EntryPlan}), from components ({@link ObjectPlan}) or with an {@link
 * EntryMaker}. An exception of an extractor propagates to the caller of the statement.
 *
 * <p>Keys and records are native memory, other than the scratch memory of {@link StatementContext}
 * for entries and old records.
 */
public final class IndexMaintenance {
  public static final int NONE = -1;

  private IndexMaintenance() {}

  public static void insert(
      StatementContext context,
      Tx t,
      TableCore core,
      IndexCore[] indexes,
      MemorySegment key,
      long keyOff,
      int keyLen,
      MemorySegment record,
      long recordOff,
      int recordLen) {
    t.requireWritable();
    RecordExpiry.removeHiddenConflicts(
        context, t, core, indexes, key, keyOff, keyLen, record, recordOff, recordLen, true);
    MemorySegment entries = entryBuffer(context, indexes);
    int[] after = context.lengths(1, indexes.length);
    int at = 0;
    for (int i = 0; i < indexes.length; i++) {
      IndexCore index = indexes[i];
      after[i] =
          newEntry(
              context, core, index, key, keyOff, keyLen, record, recordOff, recordLen, entries, at);
      requireAbsent(context, t, core, index, entries, at, after[i]);
      at += 2 * index.entryBytesMax();
    }
    write(context, t, core, key, keyOff, keyLen, record, recordOff, recordLen, true);
    try {
      at = 0;
      for (int i = 0; i < indexes.length; i++) {
        if (after[i] != NONE) {
          add(context, t, core, indexes[i], entries, at, after[i], key, keyOff, keyLen);
        }
        at += 2 * indexes[i].entryBytesMax();
      }
    } catch (Throwable e) {
      context.markRollbackOnly(e);
      throw e;
    }
  }

  public static void put(
      StatementContext context,
      Tx t,
      TableCore core,
      IndexCore[] indexes,
      MemorySegment key,
      long keyOff,
      int keyLen,
      MemorySegment record,
      long recordOff,
      int recordLen) {
    t.requireWritable();
    if (!core.deleteReadsRecord(indexes)) {
      write(context, t, core, key, keyOff, keyLen, record, recordOff, recordLen, false);
      return;
    }
    RecordExpiry.removeHiddenConflicts(
        context, t, core, indexes, key, keyOff, keyLen, record, recordOff, recordLen, false);
    int n = read(context, t, core, key, keyOff, keyLen);
    if (n < 0) {
      insert(context, t, core, indexes, key, keyOff, keyLen, record, recordOff, recordLen);
      return;
    }
    replace(
        context,
        t,
        core,
        indexes,
        key,
        keyOff,
        keyLen,
        context.record(0),
        n,
        record,
        recordOff,
        recordLen,
        null,
        true);
  }

  /** Writes the changed fields of a row, or the whole row if it was read from an older layout. */
  public static void update(
      StatementContext context, Tx t, TableCore core, IndexCore[] indexes, RecordBuffer changed) {
    t.requireWritable();
    MemorySegment key = changed.segment();
    long keyOff = changed.keyBase();
    int keyLen = changed.keyLength();
    int size = changed.size();
    MemorySegment records = context.record(2L * size);
    int n = t.get(core.tree, key, keyOff, keyLen, records, 0, size);
    if (n < 0) {
      t.requireReadsValid();
      throw new InvalidUseException(
          "The record of the row no longer exists; its key is "
              + KeyText.of(core.key, key, keyOff, keyLen)
              + ".");
    }
    int form =
        LegacyRowReader.settle(
            context, t, core, key, keyOff, keyLen, n, records, 0, core.recordBytes());
    Mem.copy(records, 0, records, size, size);
    for (int f = changed.nextChanged(0); f >= 0; f = changed.nextChanged(f + 1)) {
      int from = changed.start(f);
      Mem.copy(key, changed.base() + from, records, size + from, changed.end(f) - from);
    }
    RecordExpiry.removeHiddenConflicts(
        context, t, core, indexes, key, keyOff, keyLen, records, size, size, false);
    changed.form(form);
    boolean complete = !changed.isPlain() && !core.patches(changed);
    replace(
        context, t, core, indexes, key, keyOff, keyLen, records, size, records, size, size, changed,
        complete);
  }

  /**
   * Replaces a record; writes only the changed fields in {@code patches} unless {@code complete}.
   */
  private static void replace(
      StatementContext context,
      Tx t,
      TableCore core,
      IndexCore[] indexes,
      MemorySegment key,
      long keyOff,
      int keyLen,
      MemorySegment old,
      int oldLen,
      MemorySegment record,
      long recordOff,
      int recordLen,
      @Nullable RecordBuffer patches,
      boolean complete) {
    MemorySegment entries = entryBuffer(context, indexes);
    int[] before = context.lengths(0, indexes.length);
    int[] after = context.lengths(1, indexes.length);
    int at = 0;
    for (int i = 0; i < indexes.length; i++) {
      IndexCore index = indexes[i];
      int max = index.entryBytesMax();
      if (patches != null && !index.dependsOn(patches)) {
        before[i] = NONE;
        after[i] = NONE;
      } else {
        after[i] =
            newEntry(
                context, core, index, key, keyOff, keyLen, record, recordOff, recordLen, entries,
                at);
        before[i] =
            oldEntry(context, core, index, key, keyOff, keyLen, old, 0, oldLen, entries, at + max);
        if (before[i] == after[i]
            && (before[i] < 0 || Mem.equal(entries, at, after[i], entries, at + max, before[i]))) {
          before[i] = NONE;
          after[i] = index.tracks ? after[i] : NONE;
        }
        requireAbsent(context, t, core, index, entries, at, after[i]);
      }
      at += 2 * max;
    }
    try {
      if (patches != null && !complete) {
        patch(t, core, patches);
      } else {
        write(context, t, core, key, keyOff, keyLen, record, recordOff, recordLen, false);
      }
      at = 0;
      for (int i = 0; i < indexes.length; i++) {
        IndexCore index = indexes[i];
        int max = index.entryBytesMax();
        if (before[i] != NONE) {
          remove(context, t, index, entries, at + max, before[i], key, keyOff, keyLen);
        }
        if (after[i] != NONE) {
          add(context, t, core, index, entries, at, after[i], key, keyOff, keyLen);
        }
        at += 2 * max;
      }
    } catch (Throwable e) {
      context.markRollbackOnly(e);
      throw e;
    }
  }

  private static void write(
      StatementContext context,
      Tx t,
      TableCore core,
      MemorySegment key,
      long keyOff,
      int keyLen,
      MemorySegment record,
      long recordOff,
      int recordLen,
      boolean insert) {
    PackedRows packed = core.packed();
    MemorySegment stored = record;
    long storedOff = recordOff;
    int bytes = recordLen;
    if (packed != null) {
      stored = context.valueStage(bytes);
      storedOff = 0;
      bytes = packed.pack(record, recordOff, stored, 0);
    }
    if (insert) {
      core.insert(t, key, keyOff, keyLen, stored, storedOff, bytes);
    } else {
      t.put(core.tree, key, keyOff, keyLen, stored, storedOff, bytes);
    }
  }

  /** Writes one patch per run of adjacent changed fields. */
  public static void patch(Tx t, TableCore core, RecordBuffer record) {
    int f = record.nextChanged(0);
    while (f >= 0) {
      int from = record.start(f);
      int end = record.end(f);
      int next = record.nextChanged(f + 1);
      while (next >= 0 && record.start(next) == end) {
        end = record.end(next);
        next = record.nextChanged(next + 1);
      }
      t.patch(
          core.tree,
          record.segment(),
          record.keyBase(),
          record.keyLength(),
          record.handle(),
          from,
          record.segment(),
          record.base() + from,
          end - from);
      f = next;
    }
  }

  public static boolean delete(
      StatementContext context,
      Tx t,
      TableCore core,
      IndexCore[] indexes,
      MemorySegment key,
      long keyOff,
      int keyLen) {
    t.requireWritable();
    int n = read(context, t, core, key, keyOff, keyLen);
    if (n < 0) {
      return false;
    }
    MemorySegment old = context.record(0);
    RecordExpiry expiry = core.expiry();
    if (expiry != null && expiry.hides(context, t, old, 0, n)) {
      return false;
    }
    remove(context, t, core, indexes, key, keyOff, keyLen, old, n);
    return true;
  }

  static void remove(
      StatementContext context,
      Tx t,
      TableCore core,
      IndexCore[] indexes,
      MemorySegment key,
      long keyOff,
      int keyLen,
      MemorySegment old,
      int oldLen) {
    int[] before = context.lengths(0, indexes.length);
    MemorySegment entries =
        oldEntries(context, core, indexes, key, keyOff, keyLen, old, 0, oldLen, before);
    try {
      t.delete(core.tree, key, keyOff, keyLen);
      removeAll(context, t, indexes, entries, before, key, keyOff, keyLen);
    } catch (Throwable e) {
      context.markRollbackOnly(e);
      throw e;
    }
  }

  /**
   * Removes up to {@code max} records of a new scan of the table with their entries, and closes the
   * scan; returns the number of records removed. A failure after the first removal marks the
   * transaction rollback-only. Expired records are left to the sweep.
   */
  public static long deleteRange(
      StatementContext context, Tx t, TableCore core, IndexCore[] indexes, TxScan scan, long max) {
    long n = 0;
    MemorySegment key = Blocks.NONE;
    try {
      t.requireWritable();
      boolean indexed = indexes.length > 0;
      RecordExpiry expiry = core.expiry();
      if (indexed) {
        key = context.take(core.keyBytesMax);
      }
      scan.prepareForDeletes(indexed || expiry != null);
      while (n < max && scan.next()) {
        if (expiry != null
            && expiry.hides(
                context, t, core, scan.valueLength(), scan.valueSegment(), scan.valueOffset())) {
          continue;
        }
        if (indexed) {
          deleteWithEntries(context, t, core, indexes, scan, key);
        } else {
          t.delete(scan);
        }
        n++;
      }
      return n;
    } catch (Throwable e) {
      if (n > 0) {
        context.markRollbackOnly(e);
      }
      throw e;
    } finally {
      if (key != Blocks.NONE) {
        context.releaseBlock(key);
      }
      scan.close();
    }
  }

  /**
   * Removes the current record of a scan. The key is copied to {@code stage}, since the scan's own
   * memory may move with the next write.
   */
  private static void deleteWithEntries(
      StatementContext context,
      Tx t,
      TableCore core,
      IndexCore[] indexes,
      TxScan scan,
      MemorySegment stage) {
    int keyLen = scan.keyLength();
    if (keyLen > core.keyBytesMax) {
      throw core.longKey(scan.page(), core.keyBytesMax, keyLen);
    }
    Mem.copy(scan.keySegment(), scan.keyOffset(), stage, 0, keyLen);
    MemorySegment record = scan.valueSegment();
    long recordOff = scan.valueOffset();
    int recordLen = scan.valueLength();
    if (core.layout != null && recordLen != core.storedBytes) {
      MemorySegment made = context.record(core.recordBytes());
      if (core.old.upgrade(recordLen, record, recordOff, made, 0) == LegacyRowReader.UNKNOWN) {
        throw core.wrongSize(scan.page(), recordLen);
      }
      record = made;
      recordOff = 0;
      recordLen = core.recordBytes();
    }
    int[] before = context.lengths(0, indexes.length);
    MemorySegment entries =
        oldEntries(context, core, indexes, stage, 0, keyLen, record, recordOff, recordLen, before);
    try {
      t.delete(scan);
      removeAll(context, t, indexes, entries, before, stage, 0, keyLen);
    } catch (Throwable e) {
      context.markRollbackOnly(e);
      throw e;
    }
  }

  private static void removeAll(
      StatementContext context,
      Tx t,
      IndexCore[] indexes,
      MemorySegment entries,
      int[] lengths,
      MemorySegment key,
      long keyOff,
      int keyLen) {
    int at = 0;
    for (int i = 0; i < indexes.length; i++) {
      if (lengths[i] != NONE) {
        remove(context, t, indexes[i], entries, at, lengths[i], key, keyOff, keyLen);
      }
      at += 2 * indexes[i].entryBytesMax();
    }
  }

  // -------------------------------------------------------------------------------------- reading

  /**
   * Reads a record in memory form into {@link StatementContext#record}, own changes included: a row
   * in the newest layout, or an object or a byte string in full. Returns its length or -1.
   */
  static int read(
      StatementContext context, Tx t, TableCore core, MemorySegment key, long keyOff, int keyLen) {
    if (core.layout == null) {
      return readWhole(context, t, core, key, keyOff, keyLen);
    }
    int size = core.recordBytes();
    MemorySegment old = context.record(2L * size);
    int n = t.get(core.tree, key, keyOff, keyLen, old, 0, size);
    if (n < 0) {
      return -1;
    }
    LegacyRowReader.settle(context, t, core, key, keyOff, keyLen, n, old, 0, core.recordBytes());
    return size;
  }

  /** In an object of an older version, the components may be at any offset. */
  private static int readWhole(
      StatementContext context, Tx t, TableCore core, MemorySegment key, long keyOff, int keyLen) {
    MemorySegment old = context.record(1);
    int n = t.get(core.tree, key, keyOff, keyLen, old, 0, bytes(old));
    while (n > old.byteSize()) {
      old = context.record(n);
      n = t.get(core.tree, key, keyOff, keyLen, old, 0, bytes(old));
    }
    return n;
  }

  /**
   * Reads a record like {@link #read}, but into memory {@linkplain StatementContext#take taken}
   * from the context, which the caller must return in every case. The length is in {@link
   * StatementContext#lengthApart}.
   */
  static MemorySegment readApart(
      StatementContext context, Tx t, TableCore core, MemorySegment key, long keyOff, int keyLen) {
    boolean rows = core.layout != null;
    MemorySegment record = context.take(core.recordBytes());
    boolean read = false;
    try {
      int capacity = rows ? core.recordBytes() : bytes(record);
      int n = t.get(core.tree, key, keyOff, keyLen, record, 0, capacity);
      while (!rows && n > capacity) {
        MemorySegment larger = context.take(n);
        context.releaseBlock(record); // after the second take: a failure must not return it twice
        record = larger;
        capacity = bytes(record);
        n = t.get(core.tree, key, keyOff, keyLen, record, 0, capacity);
      }
      if (rows && n >= 0) {
        LegacyRowReader.settle(
            context, t, core, key, keyOff, keyLen, n, record, 0, core.recordBytes());
        n = core.recordBytes();
      }
      context.lengthApart = n;
      read = true;
      return record;
    } finally {
      if (!read) {
        context.releaseBlock(record);
      }
    }
  }

  private static int bytes(MemorySegment buffer) {
    return (int) Math.min(buffer.byteSize(), Integer.MAX_VALUE);
  }

  // -------------------------------------------------------------------------------------- entries

  private static MemorySegment entryBuffer(StatementContext context, IndexCore[] indexes) {
    long bytes = 0;
    for (IndexCore i : indexes) {
      bytes += 2L * i.entryBytesMax();
    }
    return context.entries(bytes);
  }

  /**
   * Builds the entry of a stored record, a row in the current layout, at {@code at}; returns {@link
   * #NONE} if the index omits the record.
   */
  public static int entry(
      StatementContext context,
      TableCore core,
      IndexCore index,
      MemorySegment key,
      long keyOff,
      int keyLen,
      MemorySegment record,
      long recordOff,
      int recordLen,
      MemorySegment entries,
      int at) {
    try {
      return index.build(context, key, keyOff, keyLen, record, recordOff, recordLen, entries, at);
    } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
      if (index.objects == null) {
        throw e;
      }
      RuntimeException damage =
          core.damaged(
              "an object of table " + core.displayName() + ": " + e.getMessage(), -1, 0, 1);
      damage.initCause(e);
      throw damage;
    }
  }

  /** Builds the entry of a new record, if the index accepts new entries. */
  static int newEntry(
      StatementContext context,
      TableCore core,
      IndexCore index,
      MemorySegment key,
      long keyOff,
      int keyLen,
      MemorySegment record,
      long recordOff,
      int recordLen,
      MemorySegment entries,
      int at) {
    if (index.stage == IndexStage.DELETE_ONLY) {
      return NONE;
    }
    try {
      return index.build(context, key, keyOff, keyLen, record, recordOff, recordLen, entries, at);
    } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
      if (index.objects == null) {
        throw e;
      }
      throw new InvalidUseException(
          "The value is not an object of table "
              + core.displayName()
              + ", which has indexes by components: "
              + e.getMessage());
    }
  }

  /**
   * Builds the entry of an old record. If that fails and the index is not readable yet, the record
   * counts as having no entry: the index build reports such a record, not the statement that
   * removes it.
   */
  private static int oldEntry(
      StatementContext context,
      TableCore core,
      IndexCore index,
      MemorySegment key,
      long keyOff,
      int keyLen,
      MemorySegment old,
      long oldOff,
      int oldLen,
      MemorySegment entries,
      int at) {
    try {
      return entry(context, core, index, key, keyOff, keyLen, old, oldOff, oldLen, entries, at);
    } catch (RuntimeException e) {
      if (index.stage == IndexStage.READABLE) {
        throw e;
      }
      return NONE;
    }
  }

  private static MemorySegment oldEntries(
      StatementContext context,
      TableCore core,
      IndexCore[] indexes,
      MemorySegment key,
      long keyOff,
      int keyLen,
      MemorySegment old,
      long oldOff,
      int oldLen,
      int[] before) {
    MemorySegment entries = entryBuffer(context, indexes);
    int at = 0;
    for (int i = 0; i < indexes.length; i++) {
      before[i] =
          oldEntry(
              context, core, indexes[i], key, keyOff, keyLen, old, oldOff, oldLen, entries, at);
      at += 2 * indexes[i].entryBytesMax();
    }
    return entries;
  }

  /** Removes an entry, if it belongs to the record. */
  static void remove(
      StatementContext context,
      Tx t,
      IndexCore index,
      MemorySegment entries,
      int at,
      int len,
      MemorySegment key,
      long keyOff,
      int keyLen) {
    if (index.stage == IndexStage.JOURNALING) {
      Filling.addJournalItem(context, t, index, entries, at, len, key, keyOff, keyLen);
      return;
    }
    if (!index.unique || index.stage == IndexStage.READABLE) {
      t.delete(index.tree, entries, at, len);
      return;
    }
    // The build may not have reached this record yet, and another record may own the entry.
    if (isOf(context, t, index, entries, at, len, key, keyOff, keyLen) > 0) {
      t.delete(index.tree, entries, at, len);
    }
  }

  /**
   * Returns 1 if the entry belongs to the record, 0 if it belongs to another, -1 if it is absent.
   */
  static int isOf(
      StatementContext context,
      Tx t,
      IndexCore index,
      MemorySegment entries,
      int at,
      int len,
      MemorySegment key,
      long keyOff,
      int keyLen) {
    int capacity = keyLen + index.hints.bytes();
    MemorySegment stage = context.keyStage(capacity);
    int n = t.get(index.tree, entries, at, len, stage, 0, capacity);
    if (n < 0) {
      return -1;
    }
    boolean own =
        index.hints.keyLength(n) == keyLen && Mem.equal(stage, 0, keyLen, key, keyOff, keyLen);
    return own ? 1 : 0;
  }

  static void requireAbsent(
      StatementContext context,
      Tx t,
      TableCore core,
      IndexCore index,
      MemorySegment entries,
      int at,
      int len) {
    if (index.checksBeforeAdd
        && len != NONE
        && t.get(index.tree, entries, at, len, entries, at, 0) >= 0) {
      Filling.requireStale(context, t, core, index, entries, at, len);
    }
  }

  public static DuplicateKeyException duplicate(
      TableCore core, IndexCore index, MemorySegment entry, long at, int len, boolean built) {
    ObjectPlan objects = index.objects;
    byte[] key = Mem.bytes(entry, at, len);
    String shown =
        objects == null ? KeyText.of(index.key, entry, at, len) : objects.entries().text(key);
    return DuplicateKeyException.ofIndex(index.name, core.name, key, shown, built);
  }

  static void add(
      StatementContext context,
      Tx t,
      TableCore core,
      IndexCore index,
      MemorySegment entries,
      int at,
      int len,
      MemorySegment key,
      long keyOff,
      int keyLen) {
    BTree tree = index.tree;
    IndexHints hints = index.hints;
    MemorySegment value = hints.staged(context, key, keyOff, keyLen);
    hints.write(t, core, key, keyOff, keyLen, value, keyLen, context.position);
    if (index.exact) {
      t.insert(tree, entries, at, len, value, 0, keyLen + hints.bytes());
    } else if (!index.journaled) {
      // No other transaction can add this entry: it contains the primary key, whose item this
      // transaction owns. Otherwise, the index is unique and being built, and an entry found here
      // is stale.
      t.put(tree, entries, at, len, value, 0, keyLen + hints.bytes());
    } else {
      UniqueBuildJournal.put(context, t, index, entries, at, len, key, keyOff, keyLen);
    }
  }
}
