package io.fovea;

import io.fovea.error.InvalidUseException;
import io.fovea.error.TransactionAbortedException;
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
 * A scan of byte strings under way: it stands before the first record, then on one after the other.
 *
 * <p>Belongs to its transaction and to its thread, and moves, as {@link RowCursor} does.
 *
 * @since 0.1.0
 */
public final class ByteCursor implements AutoCloseable {
  private final Transaction tx;
  private final @Nullable IndexCore index;
  private final Database database;
  private final TableCore table;
  private @Nullable TxScan scan;
  private boolean closed;
  private boolean on;

  ByteCursor(Transaction tx, RowTable table, @Nullable TxScan scan) {
    this(tx, table, null, scan);
  }

  /**
   * One in the order of an index.
   *
   * @param index of a table of objects or byte strings; null for the order of keys
   */
  ByteCursor(Transaction tx, RowTable table, @Nullable IndexCore index, @Nullable TxScan scan) {
    this.tx = tx;
    this.index = index;
    this.database = table.database();
    this.table = table.core();
    this.scan = scan;
  }

  private Tx enter() {
    if (closed) {
      if (tx.isActive()) {
        throw new InvalidUseException("The cursor is closed.");
      }
      tx.requireMine("The cursor has ended with its transaction");
    }
    return tx.enter(database);
  }

  private TxScan standing() {
    TxScan s = scan;
    if (!on || s == null) {
      throw new InvalidUseException(
          "The cursor stands on no record: next(), or another move, must return true first.");
    }
    return s;
  }

  /**
   * Moves to the next record.
   *
   * @return false if there is none
   * @throws TransactionAbortedException when the transaction can't go on
   * @throws InvalidUseException if the cursor or its transaction has ended, or belongs to another
   *     thread
   * @throws io.fovea.error.DatabaseClosedException if the database was closed
   */
  public boolean next() {
    enter();
    try {
      on = false;
      on = scan != null && scan.next();
      return on;
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
  }

  /**
   * Moves to the record before: back along the scan's order. Behind the last record, to the last
   * one.
   *
   * @return false if there is none
   * @throws TransactionAbortedException as {@link #next}
   * @throws InvalidUseException as {@link #next}
   * @throws io.fovea.error.DatabaseClosedException as {@link #next}
   */
  public boolean previous() {
    return move(TxScan::previous);
  }

  /**
   * Moves to the first record of the interval, in the scan's order.
   *
   * @return false if there is none
   * @throws TransactionAbortedException as {@link #next}
   * @throws InvalidUseException as {@link #next}
   * @throws io.fovea.error.DatabaseClosedException as {@link #next}
   */
  public boolean first() {
    return move(TxScan::first);
  }

  /**
   * Moves to the last record of the interval, in the scan's order.
   *
   * @return false if there is none
   * @throws TransactionAbortedException as {@link #next}
   * @throws InvalidUseException as {@link #next}
   * @throws io.fovea.error.DatabaseClosedException as {@link #next}
   */
  public boolean last() {
    return move(TxScan::last);
  }

  /**
   * Moves to the first record of the interval that lies at a key or, in the scan's order, behind
   * it: as {@link RowCursor#seek}.
   *
   * @param to where to, before or behind where it stands
   * @return false if there is none
   * @throws TransactionAbortedException as {@link #next}
   * @throws InvalidUseException as {@link #next}
   * @throws io.fovea.error.KeyTooLargeException if no key of that length can be in the table
   * @throws io.fovea.error.DatabaseClosedException as {@link #next}
   */
  public boolean seek(byte[] to) {
    return seek(Objects.requireNonNull(to, "to"), true);
  }

  /** Moves to the first record behind a key, be it there or not. */
  boolean seekBehind(byte[] key) {
    return seek(key, false);
  }

  private boolean seek(byte[] to, boolean inclusive) {
    enter();
    try {
      if (to.length > longest()) {
        throw index == null ? table.keyTooLong(to.length) : index.keyTooLong(to.length);
      }
      on = false;
      TxScan s = scan;
      if (s != null) {
        MemorySegment stage = tx.slot().keyStage(to.length);
        Mem.putBytes(stage, 0, to, 0, to.length);
        on = s.seek(stage, 0, to.length, inclusive);
      }
      return on;
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
  }

  /** Moves to the first record of the interval that lies at a key of its index, or behind it. */
  boolean seek(Key to, IndexCore in) {
    enter();
    try {
      Range.requireOwner(to, in);
      on = false;
      TxScan s = scan;
      if (s != null) {
        int stride = ByteIndex.stride(in);
        on = Range.seek(s, to, in.unique, tx.slot().entries(2L * stride), stride);
      }
      return on;
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
  }

  /** The key of the entry on which it stands, without the primary key behind it. */
  void indexKey(IndexCore of, Key out) {
    enter();
    try {
      TxScan s = standing();
      int behind = of.unique ? 0 : Index.Reads.keyLength(table, of, s);
      int length = s.keyLength() - behind;
      if (length <= 0 || length > of.key.bytesMax()) {
        throw table.damaged(
            "length of a key in index " + of.shown() + " of table " + table.shown(),
            s.page(),
            of.key.bytesMax(),
            length);
      }
      out.load(s.keySegment(), s.keyOffset(), length);
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
  }

  /** The most bytes of what it is moved to. */
  private int longest() {
    return index == null ? table.keyBytesMax : index.tree.maxKeySize();
  }

  /** A move to a record that a key does not name; {@link #next} is the hot one, and stays apart. */
  private boolean move(Predicate<TxScan> how) {
    enter();
    try {
      on = false;
      on = scan != null && how.test(scan);
      return on;
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
  }

  /**
   * The key of the record that it stands on.
   *
   * @return a new array
   * @throws InvalidUseException if it stands on no record, or as {@link #next}
   */
  public byte[] key() {
    enter();
    try {
      TxScan s = standing();
      if (index != null) {
        return copy(s.valueSegment(), s.valueOffset(), Index.Reads.keyLength(table, index, s));
      }
      return keyOf(s);
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
  }

  private byte[] keyOf(TxScan s) {
    if (s.keyLength() > longest()) {
      throw table.longKey(s.page(), longest(), s.keyLength());
    }
    return copy(s.keySegment(), s.keyOffset(), s.keyLength());
  }

  /** Where it stands: the key of the record, or that of its entry. */
  byte[] position() {
    enter();
    try {
      return keyOf(standing());
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
  }

  /**
   * The value of the record that it stands on.
   *
   * @return a new array
   * @throws InvalidUseException if it stands on no record, or as {@link #next}
   */
  public byte[] value() {
    Tx t = enter();
    try {
      TxScan s = standing();
      if (index != null) {
        return Index.Reads.value(tx, t, table, index, s);
      }
      return copy(s.valueSegment(), s.valueOffset(), s.valueLength());
    } catch (TransactionAbortedException e) {
      throw tx.doom(e);
    } finally {
      tx.exit();
    }
  }

  static byte[] copy(MemorySegment src, long off, int len) {
    byte[] out = new byte[len];
    Mem.getBytes(src, off, out, 0, len);
    return out;
  }

  /**
   * Ends the scan. A second call does nothing, as does one after the transaction's end.
   *
   * @throws InvalidUseException if it belongs to another thread
   */
  @Override
  public void close() {
    if (closed || !tx.isActive()) {
      closed = true;
      return;
    }
    tx.requireMine("The cursor can't be closed");
    if (tx.slot().enter()) {
      try {
        TxScan s = scan;
        scan = null;
        closed = true;
        on = false;
        if (s != null) {
          s.close();
        }
      } catch (TransactionAbortedException e) {
        throw tx.doom(e);
      } finally {
        tx.exit();
      }
    }
  }
}
