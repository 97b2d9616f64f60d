package io.fovea;

import io.fovea.btree.Lookahead;
import io.fovea.error.InvalidUseException;
import io.fovea.index.GroupedReads;
import io.fovea.index.TableCore;
import io.fovea.txn.Tx;
import org.jspecify.annotations.Nullable;

/**
 * A reusable set of keys to read at once, with the rows read. The caller owns it and must use it
 * from one thread at a time. Its rows belong to the transaction in which they were read; see {@link
 * Row}. Methods that take an index throw {@link IndexOutOfBoundsException} unless the index is less
 * than {@link #size}.
 *
 * @since 0.1.0
 */
public final class Batch {
  private final RowTable table;

  /** Far more than one transaction reads; rows are allocated in advance. */
  private static final int CAPACITY_MAX = 1 << 24;

  private final @Nullable Key[] keys;
  private final @Nullable Row[] rows;
  private final boolean[] found;
  private final Reads reads = new Reads();
  private int size;

  Batch(RowTable table, int capacity) {
    if (capacity < 1 || capacity > CAPACITY_MAX) {
      throw new IllegalArgumentException(
          "A batch takes 1 to " + CAPACITY_MAX + " keys, not " + capacity + ".");
    }
    this.table = table;
    this.keys = new Key[capacity];
    this.rows = new Row[capacity];
    this.found = new boolean[capacity];
    for (int i = 0; i < capacity; i++) {
      keys[i] = table.key();
      rows[i] = table.row();
    }
  }

  void requireOf(TableCore core) {
    if (table.core() != core) {
      throw new InvalidUseException("The batch belongs to table " + table.name() + ".");
    }
  }

  Row rowAt(int i) {
    return require(rows[i]);
  }

  /**
   * Returns a key of the read in progress. If the batch was cleared during the read, another thread
   * or a repeated body is sharing it.
   */
  Key keyAt(int i) {
    if (i >= size) {
      throw usedTwice();
    }
    return require(keys[i]);
  }

  private static InvalidUseException usedTwice() {
    return new InvalidUseException(
        "The batch was cleared while it was read: a batch is used by one thread at a time.");
  }

  private static <T> T require(@Nullable T t) {
    if (t == null) {
      throw new IllegalStateException();
    }
    return t;
  }

  /** {@return the maximum number of keys} */
  public int capacity() {
    return keys.length;
  }

  /** {@return the number of keys} */
  public int size() {
    return size;
  }

  /**
   * Removes all keys.
   *
   * @return this
   */
  public Batch clear() {
    size = 0;
    return this;
  }

  /**
   * Adds a key, to be set by the caller.
   *
   * @return the new key, without parts
   * @throws InvalidUseException if the batch is full
   */
  public Key add() {
    int n = size;
    if (n >= keys.length) {
      throw new InvalidUseException("The batch is full: it takes " + keys.length + " keys.");
    }
    found[n] = false;
    require(rows[n]).invalidate();
    size = n + 1;
    return require(keys[n]).clear();
  }

  /**
   * Adds a copy of a key.
   *
   * @param key the key to copy
   * @return this
   * @throws InvalidUseException if the batch is full, or the key's parts differ from the table's
   */
  public Batch add(Key key) {
    add().set(key);
    return this;
  }

  /**
   * {@return a key}
   *
   * @param i its index, from 0
   */
  public Key key(int i) {
    return require(keys[java.util.Objects.checkIndex(i, size)]);
  }

  /**
   * {@return whether a key had a record when the batch was read}
   *
   * @param i the key's index, from 0
   */
  public boolean found(int i) {
    return found[java.util.Objects.checkIndex(i, size)];
  }

  /**
   * {@return the record of a key; void if there is none, or if the batch was not read}
   *
   * @param i the key's index, from 0
   */
  public Row row(int i) {
    return require(rows[java.util.Objects.checkIndex(i, size)]);
  }

  // -------------------------------------------------------------------------------------- reading

  /**
   * Reads all keys, in groups whose cache misses and reads overlap.
   *
   * @param bytes the number of bytes to read of each record
   * @return the number of keys with a record
   */
  int read(Transaction tx, Tx t, int bytes) {
    reads.tx = tx;
    reads.bytes = bytes;
    try {
      return reads.read(t, table.core().tree, size, bytes);
    } finally {
      reads.tx = null;
    }
  }

  /** The keys and rows of the batch. */
  private final class Reads extends GroupedReads {
    @Nullable Transaction tx;
    int bytes;

    @Override
    protected void add(Lookahead ahead, int i) {
      Key key = keyAt(i);
      table.require(key);
      ahead.add(key.segment(), key.base(), key.length(), i);
    }

    @Override
    protected boolean get(Tx t, int expected, int i) {
      Transaction of = tx;
      Key key = keyAt(i);
      if (of == null) {
        throw usedTwice();
      }
      Row out = rowAt(i);
      TableCore core = table.core();
      out.invalidate();
      int length =
          t.get(
              expected,
              core.tree,
              key.segment(),
              key.base(),
              key.length(),
              out.segment(),
              out.base(),
              bytes);
      found[i] =
          length >= 0
              && out.read(of, t, core, key.segment(), key.base(), key.length(), length, bytes);
      return found[i];
    }
  }
}
