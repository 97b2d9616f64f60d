package io.fovea.index;

import io.fovea.error.InvalidUseException;
import io.fovea.memory.Mem;
import io.fovea.txn.Tx;
import io.fovea.txn.TxScan;
import java.lang.foreign.MemorySegment;

/**
 * The statements that change tables of objects, and of byte strings, with secondary indexes: the
 * steps of {@link Maintenance}, for values of any length. It is a class of its own so that
 * statements on rows, whose records have one size, know nothing of it.
 *
 * <p>What is said of an object holds for a byte string. The entry of an object is made by the
 * engine, that of a byte string by a user's extractor: some have none, and what the extractor
 * throws goes to who asked.
 *
 * <p>A statement is done as a whole or not at all, for the reasons that {@link Maintenance} gives:
 * entries are computed, and refused, before the first write.
 *
 * <p>The old object is read as a whole even if its entry depends on a few bytes: an object of an
 * older version may have them anywhere.
 */
public final class ObjectMaintenance {
  private ObjectMaintenance() {}

  /** The key in memory of its own: what holds the given one is used for entries. */
  private static MemorySegment staged(
      StatementContext statementContext, TableCore core, MemorySegment key) {
    MemorySegment stage = statementContext.take(core.keyBytesMax);
    MemorySegment.copy(key, 0, stage, 0, key.byteSize());
    return stage;
  }

  /**
   * Adds an object.
   *
   * @param key its key, of any memory; no longer than one may be
   * @param value native memory that holds it, from its beginning
   */
  public static void insert(
      StatementContext statementContext,
      Tx t,
      TableCore core,
      IndexCore[] indexes,
      MemorySegment key,
      MemorySegment value,
      int valueLen) {
    t.requireWritable();
    MemorySegment k = staged(statementContext, core, key);
    try {
      insertStaged(statementContext, t, core, indexes, k, (int) key.byteSize(), value, valueLen);
    } finally {
      statementContext.give(k);
    }
  }

  private static void insertStaged(
      StatementContext statementContext,
      Tx t,
      TableCore core,
      IndexCore[] indexes,
      MemorySegment key,
      int keyLen,
      MemorySegment value,
      int valueLen) {
    MemorySegment entries = Maintenance.room(statementContext, indexes);
    int[] after = statementContext.lengths(1, indexes.length);
    int at = 0;
    for (int i = 0; i < indexes.length; i++) {
      after[i] =
          newEntry(statementContext, core, indexes[i], key, keyLen, value, valueLen, entries, at);
      Maintenance.requireAbsent(statementContext, t, core, indexes[i], entries, at, after[i]);
      at += 2 * indexes[i].entryBytesMax();
    }
    core.insert(t, key, 0, keyLen, value, 0, valueLen);
    try {
      at = 0;
      for (int i = 0; i < indexes.length; i++) {
        if (after[i] != Maintenance.NONE) {
          Maintenance.add(
              statementContext, t, core, indexes[i], entries, at, after[i], key, 0, keyLen);
        }
        at += 2 * indexes[i].entryBytesMax();
      }
    } catch (Throwable e) {
      statementContext.markRollbackOnly(e);
      throw e;
    }
  }

  /**
   * Sets an object.
   *
   * @param key its key, of any memory; no longer than one may be
   * @param value native memory that holds it, from its beginning
   */
  public static void put(
      StatementContext statementContext,
      Tx t,
      TableCore core,
      IndexCore[] indexes,
      MemorySegment key,
      MemorySegment value,
      int valueLen) {
    t.requireWritable();
    int keyLen = (int) key.byteSize();
    MemorySegment k = staged(statementContext, core, key);
    try {
      int n = read(statementContext, t, core, k, keyLen);
      if (n < 0) {
        insertStaged(statementContext, t, core, indexes, k, keyLen, value, valueLen);
      } else {
        replace(
            statementContext,
            t,
            core,
            indexes,
            k,
            keyLen,
            statementContext.record(0),
            n,
            value,
            valueLen);
      }
    } finally {
      statementContext.shrinkRecord();
      statementContext.give(k);
    }
  }

  private static void replace(
      StatementContext statementContext,
      Tx t,
      TableCore core,
      IndexCore[] indexes,
      MemorySegment key,
      int keyLen,
      MemorySegment old,
      int oldLen,
      MemorySegment value,
      int valueLen) {
    MemorySegment entries = Maintenance.room(statementContext, indexes);
    int[] before = statementContext.lengths(0, indexes.length);
    int[] after = statementContext.lengths(1, indexes.length);
    int at = 0;
    for (int i = 0; i < indexes.length; i++) {
      IndexCore index = indexes[i];
      int max = index.entryBytesMax();
      after[i] = newEntry(statementContext, core, index, key, keyLen, value, valueLen, entries, at);
      before[i] =
          oldEntry(statementContext, core, index, key, keyLen, old, 0, oldLen, entries, at + max);
      if (before[i] == after[i]
          && (before[i] < 0 || Mem.equal(entries, at, after[i], entries, at + max, before[i]))) {
        before[i] = Maintenance.NONE;
        after[i] = Maintenance.NONE;
      }
      Maintenance.requireAbsent(statementContext, t, core, index, entries, at, after[i]);
      at += 2 * max;
    }
    try {
      t.put(core.tree, key, 0, keyLen, value, 0, valueLen);
      at = 0;
      for (int i = 0; i < indexes.length; i++) {
        IndexCore index = indexes[i];
        int max = index.entryBytesMax();
        if (before[i] != Maintenance.NONE) {
          Maintenance.remove(
              statementContext, t, index, entries, at + max, before[i], key, 0, keyLen);
        }
        if (after[i] != Maintenance.NONE) {
          Maintenance.add(statementContext, t, core, index, entries, at, after[i], key, 0, keyLen);
        }
        at += 2 * max;
      }
    } catch (Throwable e) {
      statementContext.markRollbackOnly(e);
      throw e;
    }
  }

  /**
   * Removes an object.
   *
   * @param key its key, of any memory; no longer than one may be
   * @return whether there was one
   */
  public static boolean delete(
      StatementContext statementContext,
      Tx t,
      TableCore core,
      IndexCore[] indexes,
      MemorySegment key) {
    t.requireWritable();
    int keyLen = (int) key.byteSize();
    MemorySegment k = staged(statementContext, core, key);
    try {
      int n = read(statementContext, t, core, k, keyLen);
      if (n < 0) {
        return false;
      }
      int[] before = statementContext.lengths(0, indexes.length);
      MemorySegment entries =
          entriesBefore(
              statementContext, core, indexes, k, keyLen, statementContext.record(0), 0, n, before);
      try {
        t.delete(core.tree, k, 0, keyLen);
        Maintenance.removeAll(statementContext, t, indexes, entries, before, k, 0, keyLen);
      } catch (Throwable e) {
        statementContext.markRollbackOnly(e);
        throw e;
      }
      return true;
    } finally {
      statementContext.shrinkRecord();
      statementContext.give(k);
    }
  }

  /**
   * Removes the objects that a scan meets, with their entries, and closes it. If it fails after the
   * first one, the transaction can't commit any more.
   *
   * @param scan of the table's tree, before its first record
   * @param most how many objects at most
   * @return how many it were
   */
  public static long deleteRange(
      StatementContext statementContext,
      Tx t,
      TableCore core,
      IndexCore[] indexes,
      TxScan scan,
      long most) {
    long n = 0;
    MemorySegment key = statementContext.take(core.keyBytesMax);
    try {
      t.requireWritable();
      scan.toDelete(true);
      while (n < most && scan.next()) {
        delete(statementContext, t, core, indexes, scan, key);
        n++;
      }
      return n;
    } catch (Throwable e) {
      if (n > 0) {
        statementContext.markRollbackOnly(e);
      }
      throw e;
    } finally {
      statementContext.give(key);
      scan.close();
    }
  }

  /** Removes the object that a scan stands on. */
  private static void delete(
      StatementContext statementContext,
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
    int[] before = statementContext.lengths(0, indexes.length);
    MemorySegment entries =
        entriesBefore(
            statementContext,
            core,
            indexes,
            stage,
            keyLen,
            scan.valueSegment(),
            scan.valueOffset(),
            scan.valueLength(),
            before);
    try {
      t.delete(scan);
      Maintenance.removeAll(statementContext, t, indexes, entries, before, stage, 0, keyLen);
    } catch (Throwable e) {
      statementContext.markRollbackOnly(e);
      throw e;
    }
  }

  /** The entries of an object that goes. */
  private static MemorySegment entriesBefore(
      StatementContext statementContext,
      TableCore core,
      IndexCore[] indexes,
      MemorySegment key,
      int keyLen,
      MemorySegment old,
      long oldOff,
      int oldLen,
      int[] before) {
    MemorySegment entries = Maintenance.room(statementContext, indexes);
    int at = 0;
    for (int i = 0; i < indexes.length; i++) {
      before[i] =
          oldEntry(
              statementContext, core, indexes[i], key, keyLen, old, oldOff, oldLen, entries, at);
      at += 2 * indexes[i].entryBytesMax();
    }
    return entries;
  }

  /** Makes the entry of an object, as it is now, in an index that is being built. */
  public static void fill(
      StatementContext statementContext,
      Tx t,
      TableCore core,
      IndexCore index,
      MemorySegment key,
      int keyLen) {
    try {
      int n = read(statementContext, t, core, key, keyLen);
      if (n >= 0) {
        fill(statementContext, t, core, index, key, keyLen, n);
      }
    } finally {
      statementContext.shrinkRecord();
    }
  }

  private static void fill(
      StatementContext statementContext,
      Tx t,
      TableCore core,
      IndexCore index,
      MemorySegment key,
      int keyLen,
      int n) {
    MemorySegment entries = statementContext.entries(index.entryBytesMax());
    int len =
        entry(
            statementContext,
            core,
            index,
            key,
            keyLen,
            statementContext.record(0),
            0,
            n,
            entries,
            0);
    if (len == Maintenance.NONE) {
      return;
    }
    if (index.unique) {
      int own = Maintenance.isOf(statementContext, t, index, entries, 0, len, key, 0, keyLen);
      if (own == 0) {
        throw Maintenance.duplicate(core, index, entries, 0, len, true);
      }
      if (own > 0) {
        return;
      }
    }
    Maintenance.add(statementContext, t, core, index, entries, 0, len, key, 0, keyLen);
  }

  /**
   * The entry of an object as it is now, into {@link StatementContext#entries}; negative for none.
   */
  static int entryNow(
      StatementContext statementContext,
      Tx t,
      TableCore core,
      IndexCore index,
      MemorySegment key,
      int keyLen) {
    try {
      int n = read(statementContext, t, core, key, keyLen);
      if (n < 0) {
        return Maintenance.NONE;
      }
      MemorySegment entries = statementContext.entries(index.entryBytesMax());
      return entry(
          statementContext, core, index, key, keyLen, statementContext.record(0), 0, n, entries, 0);
    } finally {
      statementContext.shrinkRecord();
    }
  }

  /**
   * Reads an object as a whole, own changes included, into {@link StatementContext#record}; -1 for
   * none.
   */
  private static int read(
      StatementContext statementContext, Tx t, TableCore core, MemorySegment key, int keyLen) {
    MemorySegment old = statementContext.record(1);
    int room = (int) Math.min(old.byteSize(), Integer.MAX_VALUE);
    int n = t.get(core.tree, key, 0, keyLen, old, 0, room);
    while (n > room) {
      old = statementContext.record(n);
      room = (int) Math.min(old.byteSize(), Integer.MAX_VALUE);
      n = t.get(core.tree, key, 0, keyLen, old, 0, room);
    }
    return n;
  }

  private static int newEntry(
      StatementContext statementContext,
      TableCore core,
      IndexCore index,
      MemorySegment key,
      int keyLen,
      MemorySegment value,
      int valueLen,
      MemorySegment entries,
      int at) {
    if (index.stage == IndexStage.DELETE_ONLY) {
      return Maintenance.NONE;
    }
    try {
      return index.build(statementContext, key, 0, keyLen, value, 0, valueLen, entries, at);
    } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
      if (index.isExtracted()) {
        throw e;
      }
      throw new InvalidUseException(
          "The value is no object of table "
              + core.shown()
              + ", which has indexes by components: "
              + e.getMessage());
    }
  }

  /** As in {@link Maintenance}: an index that is not used may lack the entry. */
  private static int oldEntry(
      StatementContext statementContext,
      TableCore core,
      IndexCore index,
      MemorySegment key,
      int keyLen,
      MemorySegment old,
      long oldOff,
      int oldLen,
      MemorySegment entries,
      int at) {
    if (index.stage == IndexStage.READABLE) {
      return entry(statementContext, core, index, key, keyLen, old, oldOff, oldLen, entries, at);
    }
    try {
      return entry(statementContext, core, index, key, keyLen, old, oldOff, oldLen, entries, at);
    } catch (RuntimeException e) {
      return Maintenance.NONE;
    }
  }

  /** The entry of an object that is stored; negative for none. */
  private static int entry(
      StatementContext statementContext,
      TableCore core,
      IndexCore index,
      MemorySegment key,
      int keyLen,
      MemorySegment object,
      long objectOff,
      int objectLen,
      MemorySegment entries,
      int at) {
    try {
      return index.build(
          statementContext, key, 0, keyLen, object, objectOff, objectLen, entries, at);
    } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
      throw index.isExtracted() ? e : noObject(core, e);
    }
  }

  /** What is stored is no object of the table. */
  static RuntimeException noObject(TableCore core, RuntimeException why) {
    RuntimeException e =
        core.damaged("an object of table " + core.shown() + ": " + why.getMessage(), -1, 0, 1);
    e.initCause(why);
    return e;
  }

  /**
   * The entry of an object that is stored, for who reads the table without transactions.
   *
   * @param out {@link IndexCore#entryBytesMax} bytes
   * @return its length, or -1 if it has none
   */
  static int entryOf(
      StatementContext statementContext,
      TableCore core,
      IndexCore index,
      MemorySegment key,
      long keyOff,
      int keyLen,
      MemorySegment object,
      long objectOff,
      int objectLen,
      MemorySegment out) {
    try {
      return index.build(
          statementContext, key, keyOff, keyLen, object, objectOff, objectLen, out, 0);
    } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
      throw index.isExtracted() ? e : noObject(core, e);
    }
  }
}
