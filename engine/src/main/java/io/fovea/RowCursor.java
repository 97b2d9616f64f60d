package io.fovea;

import io.fovea.catalog.RangeDeletion;
import io.fovea.error.InvalidUseException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.index.IndexCore;
import io.fovea.index.LegacyRowReader;
import io.fovea.index.RecordBuffer;
import io.fovea.index.StatementContext;
import io.fovea.index.TableCore;
import io.fovea.memory.Mem;
import io.fovea.txn.Tx;
import io.fovea.txn.TxScan;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A cursor over a range of a table or an index. It starts before the first record.
 *
 * <pre>
 *              previous()   next()
 *                   ◄───┐ ┌───►
 *   before the first ── 1 ── 2 ── 3 ── 4 ── after the last       of the range, in scan order
 *    ▲                  ▲         ▲    ▲
 *    │                first()     │   last()
 *   start                       seek(3), or the first record after it
 * </pre>
 *
 * <p>All moves stay in the range and follow the scan order: in a descending scan, {@link #first}
 * moves to the largest key, {@link #next} moves down, and {@link #seek} finds the largest key at or
 * below its argument. A move that returns false leaves the cursor without a record: after the last
 * one, or for {@link #previous} before the first one.
 *
 * <p><b>Cost.</b> A step in the direction of the previous one costs the same in both directions.
 * {@link #seek}, {@code first}, {@code last} and a change of direction search from the root of the
 * tree. <b>Conflicts.</b> The records that a seek skips are not read, and other transactions may
 * change them. The seek reads the record that it finds and the gap between it and the key.
 *
 * <p>The cursor sees the state of the transaction, including changes that the transaction makes
 * while the scan is open. {@link #row} and {@link #key} copy when called; the results belong to the
 * cursor and change with each move.
 *
 * <p>A cursor is confined to its transaction and its thread. Close it when you no longer need it;
 * otherwise it is closed when the transaction ends.
 *
 * @since 0.1.0
 */
public final class RowCursor implements AutoCloseable {

  private final Transaction tx;
  private final RowTable of;
  private final TableCore table;
  private final @Nullable IndexCore index;
  private final MemorySegment memory;

  /** Skips expired rows; null if rows do not expire. */
  private final @Nullable VisibleRecords visible;

  private @Nullable TxScan scan;
  private boolean closed;

  /** Whether the cursor has a current record. */
  private boolean on;

  private @Nullable Row row;
  private boolean rowRead;
  private @Nullable Key key;
  private boolean keyRead;
  private @Nullable Key indexKey;

  /** The neighbors in the list of the transaction's open cursors. */
  @Nullable RowCursor newer;

  @Nullable RowCursor older;

  /** The stack of the call that opened the cursor, for the leak detector. */
  private final @Nullable Throwable site;

  private RowCursor(Transaction tx, RowTable of, @Nullable IndexCore index, MemorySegment memory) {
    this.tx = tx;
    this.of = of;
    this.table = of.core();
    this.index = index;
    this.memory = memory;
    this.visible = VisibleRecords.of(tx, table, index);
    this.site = of.database().leaks().siteOfCursor();
  }

  /** Opens a cursor. Called within an operation. */
  static RowCursor open(
      Transaction tx, Tx t, RowTable of, @Nullable IndexCore index, Range range, ScanOrder order) {
    StatementContext context = tx.statementContext();
    TableCore table = of.core();
    int rowBytes = rowBytes(of);
    int keyBytes = align(table.key.maxBytes());
    int entryBytes = index == null ? 0 : align(index.entryBytesMax());
    int stride = stride(table, index);
    MemorySegment stage = context.entries(2L * stride);
    TxScan scan =
        index == null
            ? range.open(t, table.tree, table, true, order, stage, stride)
            : range.open(t, index.tree, index, index.unique, order, stage, stride);
    RowCursor cursor =
        new RowCursor(tx, of, index, context.take((long) rowBytes + keyBytes + entryBytes));
    cursor.scan = scan;
    tx.opened(cursor);
    return cursor;
  }

  /** Returns the bytes of memory for one end of a range. */
  private static int stride(TableCore table, @Nullable IndexCore index) {
    int keyBytes = align(table.key.maxBytes());
    return index == null ? keyBytes : Math.max(keyBytes, align(index.entryBytesMax()));
  }

  /** Estimates the result of a scan. Called within an operation. */
  static Estimate estimate(
      StatementContext context, TableCore table, @Nullable IndexCore index, Range range) {
    int stride = stride(table, index);
    MemorySegment stage = context.entries(2L * stride);
    return index == null
        ? range.estimate(table.tree, table, true, stage, stride)
        : range.estimate(index.tree, index, index.unique, stage, stride);
  }

  /** Removes the records of a range in one pass. Called within an operation. */
  static long delete(Transaction tx, Tx t, TableCore core, Range range, long max) {
    int stride = stride(core, null);
    MemorySegment stage = tx.statementContext().entries(2L * stride);
    return delete(
        tx, t, core, range.open(t, core.tree, core, true, ScanOrder.ASCENDING, stage, stride), max);
  }

  /** Removes the records of a scan; for a null scan, does nothing. */
  static long delete(Transaction tx, Tx t, TableCore core, @Nullable TxScan scan, long max) {
    if (scan == null) {
      return 0;
    }
    Database db = tx.database();
    // Change subscribers receive each removed record.
    int leaves =
        db.store().isFollowed()
            ? Integer.MAX_VALUE
            : db.options().experiments().subtreeDeleteThreshold();
    long records =
        RangeDeletion.run(tx.statementContext(), t, core, scan, max, leaves, tx::catalogChanges);
    tx.deletedRange(core.name, records);
    return records;
  }

  static void checkMost(long max) {
    if (max < 0) {
      throw new IllegalArgumentException(
          "The maximum number of records can't be negative: " + max + ".");
    }
  }

  /** Returns the size of the row in the cursor's memory; the keys follow it. */
  private static int rowBytes(RowTable of) {
    return align(RecordBuffer.bytes(of.core().recordBytes(), of.core().key.maxBytes()));
  }

  private static int align(int bytes) {
    return (bytes + 7) & ~7;
  }

  /** Moves to the next record. Called within an operation. */
  boolean advance() {
    boolean again = visible != null && visible.mustRecheck(false);
    leave();
    return completeMove(again || scan != null && scan.next(), false);
  }

  /** Clears the current record before a move, in case the scan throws. */
  private void leave() {
    if (row != null) {
      row.invalidate();
    }
    rowRead = false;
    keyRead = false;
    on = false;
    if (visible != null) {
      visible.beginMove();
    }
  }

  /** Skips hidden records in the direction of the move. */
  private boolean completeMove(boolean found, boolean back) {
    boolean moved = visible == null ? found : visible.completeMove(scan, found, back);
    on = moved;
    return moved;
  }

  /**
   * Copies the value of the current entry: the primary key and the hint. Called within an
   * operation.
   *
   * @return the length of the primary key
   */
  int entryValue(MemorySegment out) {
    TxScan s = currentScan();
    int len = keyLength(s);
    Mem.copy(s.valueSegment(), s.valueOffset(), out, 0, s.valueLength());
    return len;
  }

  /** Returns the handle of the current entry's read, or a negative number. */
  int entryHandle() {
    return currentScan().handle();
  }

  private int keyLength(TxScan s) {
    return index == null ? s.keyLength() : EntryReads.keyLength(table, index, s);
  }

  /** Checks the length of a key against the memory of the cursor. */
  private void requireKey(TxScan s, int maxBytes) {
    if (s.keyLength() > maxBytes) {
      throw table.longKey(s.page(), maxBytes, s.keyLength());
    }
  }

  private TxScan currentScan() {
    TxScan s = scan;
    if (!on || s == null) {
      throw new InvalidUseException(
          "The cursor has no current record: next() or another move must return true first.");
    }
    return s;
  }

  private Tx enter() {
    if (closed) {
      if (tx.isActive()) {
        throw new InvalidUseException("The cursor is closed.");
      }
      tx.requireOwner("The cursor has ended with its transaction");
    }
    return tx.enter(of.database());
  }

  /**
   * Moves to the next record.
   *
   * @return false if there is none
   * @throws TransactionAbortedException when the transaction can't continue
   * @throws InvalidUseException if the cursor or its transaction has ended, or belongs to another
   *     thread
   * @throws io.fovea.error.DatabaseClosedException if the database was closed
   */
  public boolean next() {
    enter();
    try {
      return advance();
    } finally {
      tx.exit();
    }
  }

  /**
   * Moves to the previous record, against the scan order. After the last record, moves to the last.
   *
   * @return false if there is none
   * @throws TransactionAbortedException as {@link #next}
   * @throws InvalidUseException as {@link #next}
   * @throws io.fovea.error.DatabaseClosedException as {@link #next}
   */
  public boolean previous() {
    boolean again = visible != null && visible.mustRecheck(true);
    return move(true, again ? s -> true : TxScan::previous);
  }

  /** Moves as specified; kept separate from {@link #next}, which is hot. */
  private boolean move(boolean back, Predicate<TxScan> how) {
    enter();
    try {
      leave();
      return completeMove(scan != null && how.test(scan), back);
    } finally {
      tx.exit();
    }
  }

  /**
   * Moves to the first record of the range, in scan order.
   *
   * @return false if there is none
   * @throws TransactionAbortedException as {@link #next}
   * @throws InvalidUseException as {@link #next}
   * @throws io.fovea.error.DatabaseClosedException as {@link #next}
   */
  public boolean first() {
    return move(false, TxScan::first);
  }

  /**
   * Moves to the last record of the range, in scan order.
   *
   * @return false if there is none
   * @throws TransactionAbortedException as {@link #next}
   * @throws InvalidUseException as {@link #next}
   * @throws io.fovea.error.DatabaseClosedException as {@link #next}
   */
  public boolean last() {
    return move(true, TxScan::last);
  }

  /**
   * Moves to the first record of the range at a key or after it, in scan order. The key may lie
   * before or after the current record.
   *
   * @param to a key of the table, or of the scanned index; a prefix stands for all keys that begin
   *     with it
   * @return false if there is none
   * @throws TransactionAbortedException as {@link #next}
   * @throws InvalidUseException if the key belongs to another table or index, or as {@link #next}
   * @throws io.fovea.error.KeyTooLargeException if the key exceeds the maximum length for the table
   *     or index
   * @throws io.fovea.error.DatabaseClosedException as {@link #next}
   */
  public boolean seek(Key to) {
    Objects.requireNonNull(to, "to");
    enter();
    try {
      Range.requireOwner(to, index == null ? table : index);
      leave();
      TxScan s = scan;
      if (s == null) {
        return false;
      }
      int stride = stride(table, index);
      MemorySegment stage = tx.statementContext().entries(2L * stride);
      boolean exact = index == null || index.unique;
      return completeMove(Range.seek(s, to, exact, stage, stride), false);
    } finally {
      tx.exit();
    }
  }

  /** Moves to the first record after a {@link #position}, which need not exist. */
  boolean seekAfter(byte[] position) {
    enter();
    try {
      leave();
      TxScan s = scan;
      if (s == null) {
        return false;
      }
      MemorySegment stage = tx.statementContext().entries(position.length);
      Mem.putBytes(stage, 0, position, 0, position.length);
      return completeMove(s.seek(stage, 0, position.length, false), false);
    } finally {
      tx.exit();
    }
  }

  /** Returns the key of the current record in the scanned tree. */
  byte[] position() {
    enter();
    try {
      TxScan s = currentScan();
      return Mem.bytes(s.keySegment(), s.keyOffset(), s.keyLength());
    } finally {
      tx.exit();
    }
  }

  /**
   * Returns the current record, which may be changed and passed to {@link RowTable#update}. A scan
   * of an index reads the record in this call.
   *
   * @return the row, which belongs to the cursor; it is void after the next move, and can't be used
   *     after {@link #close}
   * @throws TransactionAbortedException when the transaction can't continue
   * @throws InvalidUseException if there is no current record, if this is a scan of an index and
   *     the transaction has deleted the record since the move, or as {@link #next}
   */
  public Row row() {
    Tx t = enter();
    try {
      TxScan s = currentScan();
      Row r = row;
      if (r == null) {
        r = of.row(memory);
        row = r;
      }
      if (!rowRead) {
        read(t, s, r);
        rowRead = true;
      }
      return r;
    } finally {
      tx.exit();
    }
  }

  /** Reads the current record into a row of the caller. */
  void read(Row out) {
    Tx t = enter();
    try {
      if (out.owner() != table) {
        throw new InvalidUseException(
            "The row belongs to another table: it is one of " + out.layout() + ".");
      }
      read(t, currentScan(), out);
    } finally {
      tx.exit();
    }
  }

  private void read(Tx t, TxScan s, Row r) {
    r.invalidate();
    if (index == null) {
      int form = LegacyRowReader.AS_IT_IS;
      requireKey(s, table.keyBytesMax);
      if (s.valueLength() == table.storedBytes) {
        Mem.copy(s.valueSegment(), s.valueOffset(), r.segment(), r.base(), r.size());
      } else {
        form =
            table.old.upgrade(
                s.valueLength(), s.valueSegment(), s.valueOffset(), r.segment(), r.base());
        if (form == LegacyRowReader.UNKNOWN) {
          throw table.wrongSize(s.page(), s.valueLength());
        }
      }
      r.read(tx, s.keySegment(), s.keyOffset(), s.keyLength(), s.handle(), r.size(), form);
      return;
    }
    // Use the entry, not the key object, which the program may have changed.
    int pkLength = keyLength(s);
    boolean moved =
        RowIndex.resolve(
            tx,
            t,
            table,
            index,
            s.valueSegment(),
            s.valueOffset(),
            pkLength,
            s.valueSegment(),
            s.valueOffset() + pkLength,
            s.handle(),
            r);
    if (!moved) {
      throw new InvalidUseException("The record under the cursor has expired.");
    }
  }

  /**
   * Returns the primary key of the current record, without reading the record.
   *
   * @return the key, which belongs to the cursor; it changes with the next move, and can't be used
   *     after {@link #close}
   * @throws InvalidUseException if there is no current record, or as {@link #next}
   */
  public Key key() {
    enter();
    try {
      currentScan();
      return primaryKey();
    } finally {
      tx.exit();
    }
  }

  private Key primaryKey() {
    Key k = key;
    if (k == null) {
      k = new Key(of.spec().key(), table, memory, rowBytes(of));
      key = k;
    }
    if (!keyRead) {
      TxScan s = currentScan();
      if (index == null) {
        requireKey(s, table.keyBytesMax);
        k.load(s.keySegment(), s.keyOffset(), s.keyLength());
      } else {
        k.load(s.valueSegment(), s.valueOffset(), keyLength(s));
      }
      keyRead = true;
    }
    return k;
  }

  /**
   * Returns the key of the current entry in a scan of an index: the indexed fields, followed by the
   * other parts of the primary key unless the index is unique.
   *
   * @return the key, which belongs to the cursor; it changes with the next move, and can't be used
   *     after {@link #close}
   * @throws InvalidUseException if this is a scan of a table, or as {@link #key}
   */
  public Key indexKey() {
    IndexCore i = index;
    if (i == null) {
      throw new InvalidUseException("A scan of a table has no index key.");
    }
    enter();
    try {
      TxScan s = currentScan();
      Key k = indexKey;
      if (k == null) {
        k = new Key(i.entry, i, memory, rowBytes(of) + align(table.key.maxBytes()));
        indexKey = k;
      }
      requireKey(s, i.entryBytesMax());
      k.load(s.keySegment(), s.keyOffset(), s.keyLength());
      return k;
    } finally {
      tx.exit();
    }
  }

  /**
   * Closes the cursor. A second call does nothing, nor does one after the end of the transaction.
   *
   * @throws InvalidUseException if it belongs to another thread
   */
  @Override
  public void close() {
    if (closed || !tx.isActive()) {
      closed = true;
      return;
    }
    tx.requireOwner("The cursor can't be closed");
    if (tx.statementContext().enter()) {
      try {
        release();
      } finally {
        tx.exit();
      }
    }
  }

  /** Closes the cursor. Called within an operation. */
  void release() {
    TxScan s = scan;
    scan = null;
    closed = true;
    on = false;
    tx.closed(this);
    releaseObjects(tx.statementContext());
    if (s != null) {
      s.close();
    }
  }

  /** Invalidates the objects handed out, since another cursor may reuse their memory. */
  private void releaseObjects(StatementContext context) {
    if (row != null) {
      row.end();
    }
    if (key != null) {
      key.end();
    }
    if (indexKey != null) {
      indexKey.end();
    }
    context.releaseBlock(memory);
  }

  /**
   * Ends all open cursors at the end of the transaction.
   *
   * @param newest the first in the list of its open cursors
   */
  static void abandonAll(@Nullable RowCursor newest, StatementContext context) {
    RowCursor c = newest;
    try {
      for (; c != null; c = c.older) {
        c.abandon(context);
      }
    } finally {
      if (c != null) {
        abandonAll(c.older, context); // even if reporting this one failed
      }
    }
  }

  private void abandon(StatementContext context) {
    scan = null;
    closed = true;
    on = false;
    releaseObjects(context);
    Throwable s = site;
    if (s != null) {
      of.database()
          .leaks()
          .report("A cursor of table " + table.displayName() + " was not closed", s);
    }
  }
}
