package io.fovea;

import io.fovea.error.InvalidUseException;
import io.fovea.index.IndexCore;
import io.fovea.index.TableCore;
import io.fovea.memory.Mem;
import io.fovea.txn.Tx;
import io.fovea.txn.TxScan;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A scan of keys and values: of a table whose values are byte strings, or of one of its indexes.
 */
final class EntryScan<K, V> extends Cursor<K, V> {
  private final Coding<K, V> coding;

  /** The decoded key of the current record, if decoding a value has required it. */
  private @Nullable K key;

  private final Transaction tx;
  private final @Nullable IndexCore index;
  private final Database database;
  private final TableCore table;

  /** Skips expired records; null if records do not expire. */
  private final @Nullable VisibleRecords visible;

  private @Nullable TxScan scan;
  private boolean closed;
  private boolean on;

  EntryScan(Transaction tx, RowTable table, @Nullable TxScan scan, Coding<K, V> coding) {
    this(tx, table, null, scan, coding);
  }

  /**
   * Creates a scan.
   *
   * @param index an index of a table of objects or byte strings; null for key order
   */
  EntryScan(
      Transaction tx,
      RowTable table,
      @Nullable IndexCore index,
      @Nullable TxScan scan,
      Coding<K, V> coding) {
    this.coding = coding;
    this.tx = tx;
    this.index = index;
    this.database = table.database();
    this.table = table.core();
    this.visible = VisibleRecords.of(tx, this.table, index);
    this.scan = scan;
  }

  private Tx enter() {
    if (closed) {
      if (tx.isActive()) {
        throw new InvalidUseException("The cursor is closed.");
      }
      tx.requireOwner("The cursor has ended with its transaction");
    }
    return tx.enter(database);
  }

  private TxScan currentScan() {
    TxScan s = scan;
    if (!on || s == null) {
      throw new InvalidUseException(
          "The cursor has no current record: next() or another move must return true first.");
    }
    return s;
  }

  @Override
  public boolean next() {
    enter();
    try {
      boolean again = visible != null && visible.mustRecheck(false);
      leave();
      return completeMove(again || scan != null && scan.next(), false);
    } finally {
      tx.exit();
    }
  }

  /** Clears the current record before a move, in case the scan throws. */
  private void leave() {
    on = false;
    key = null;
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

  @Override
  public boolean previous() {
    boolean again = visible != null && visible.mustRecheck(true);
    return move(true, again ? s -> true : TxScan::previous);
  }

  @Override
  public boolean first() {
    return move(false, TxScan::first);
  }

  @Override
  public boolean last() {
    return move(true, TxScan::last);
  }

  @Override
  public boolean seek(K to) {
    return seek(coding.encode(Objects.requireNonNull(to, "to")), true);
  }

  @Override
  boolean seekAfter(byte[] position) {
    return seek(position, false);
  }

  private boolean seek(byte[] to, boolean inclusive) {
    enter();
    try {
      if (to.length > longest()) {
        throw index == null ? table.keyTooLong(to.length) : index.keyTooLong(to.length);
      }
      leave();
      TxScan s = scan;
      if (s == null) {
        return false;
      }
      MemorySegment stage = tx.statementContext().keyStage(to.length);
      Mem.putBytes(stage, 0, to, 0, to.length);
      return completeMove(s.seek(stage, 0, to.length, inclusive), false);
    } finally {
      tx.exit();
    }
  }

  /** Moves to the first record at a stored key or after it. */
  boolean seekTo(byte[] to) {
    return seek(to, true);
  }

  /** Copies the index key of the current entry, without the primary key. */
  void indexKey(IndexCore of, Key out) {
    enter();
    try {
      TxScan s = currentScan();
      int pkLength = of.unique ? 0 : EntryReads.keyLength(table, of, s);
      int length = s.keyLength() - pkLength;
      if (length <= 0 || length > of.key.maxBytes()) {
        throw table.damaged(
            "length of a key in index " + of.displayName() + " of table " + table.displayName(),
            s.page(),
            of.key.maxBytes(),
            length);
      }
      out.load(s.keySegment(), s.keyOffset(), length);
    } finally {
      tx.exit();
    }
  }

  /** Returns the maximum length of a seek key. */
  private int longest() {
    return index == null ? table.keyBytesMax : index.tree.maxKeySize();
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

  @Override
  public K key() {
    if (!coding.needsKey()) {
      return coding.key(keyBytes());
    }
    K k = key;
    if (k == null) {
      k = coding.key(keyBytes());
      key = k;
    }
    return k;
  }

  private byte[] keyBytes() {
    enter();
    try {
      TxScan s = currentScan();
      if (index != null) {
        return Mem.bytes(s.valueSegment(), s.valueOffset(), EntryReads.keyLength(table, index, s));
      }
      return keyOf(s);
    } finally {
      tx.exit();
    }
  }

  private byte[] keyOf(TxScan s) {
    if (s.keyLength() > longest()) {
      throw table.longKey(s.page(), longest(), s.keyLength());
    }
    return Mem.bytes(s.keySegment(), s.keyOffset(), s.keyLength());
  }

  @Override
  byte[] position() {
    enter();
    try {
      return keyOf(currentScan());
    } finally {
      tx.exit();
    }
  }

  @Override
  public V value() {
    return coding.needsKey() ? coding.value(key(), valueBytes()) : coding.value(valueBytes());
  }

  private byte[] valueBytes() {
    Tx t = enter();
    try {
      TxScan s = currentScan();
      if (index != null) {
        return EntryReads.value(tx, t, table, index, s);
      }
      return Mem.bytes(s.valueSegment(), s.valueOffset(), s.valueLength());
    } finally {
      tx.exit();
    }
  }

  @Override
  public void close() {
    if (closed || !tx.isActive()) {
      closed = true;
      return;
    }
    tx.requireOwner("The cursor can't be closed");
    if (tx.statementContext().enter()) {
      try {
        TxScan s = scan;
        scan = null;
        closed = true;
        on = false;
        key = null;
        if (s != null) {
          s.close();
        }
      } finally {
        tx.exit();
      }
    }
  }
}
