package io.fovea.index;

import io.fovea.btree.BTree;
import io.fovea.encoding.NameText;
import io.fovea.error.CorruptionException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.txn.Tx;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A table as the database knows it: one per name, however often it was opened. A table of the API
 * is a handle to it that remembers the specification that its user wrote.
 *
 * <p>Any thread. {@link #indexes} changes beside transactions, as {@link IndexStage} says; a
 * statement reads it once.
 */
public final class TableCore {
  /** Changes when the table is renamed, and never on the way of a statement. */
  public volatile String name;

  public final KeySpec key;
  public final @Nullable Layout layout;
  public final BTree tree;
  public final int keyBytesMax;

  /** In the order of their creation. */
  private volatile IndexCore[] indexes;

  /** Held while an index is built or dropped, and while the table is dropped. */
  public final ReentrantLock changing = new ReentrantLock();

  private volatile boolean dropped;

  /** Somebody waits to drop it: what changes it gives up. */
  private volatile boolean leaving;

  public TableCore(
      String name, KeySpec key, @Nullable Layout layout, BTree tree, IndexCore[] indexes) {
    this.name = name;
    this.key = key;
    this.layout = layout;
    this.tree = tree;
    this.keyBytesMax = Math.min(key.bytesMax(), tree.maxKeySize());
    this.indexes = indexes;
  }

  /** Those that statements which change records keep up to date, whatever their stage. */
  public IndexCore[] indexes() {
    return indexes;
  }

  /** Those that are used. */
  public List<IndexCore> readable() {
    return Arrays.stream(indexes).filter(i -> i.stage == IndexStage.READABLE).toList();
  }

  /** One that is used. */
  public @Nullable IndexCore index(String indexName) {
    for (IndexCore i : indexes) {
      if (i.stage == IndexStage.READABLE && i.name.equals(indexName)) {
        return i;
      }
    }
    return null;
  }

  public synchronized void add(IndexCore index) {
    IndexCore[] longer = Arrays.copyOf(indexes, indexes.length + 1);
    longer[indexes.length] = index;
    indexes = longer;
  }

  /** Puts another object in the place of one; does nothing where that is not there. */
  public synchronized void replace(IndexCore one, IndexCore by) {
    IndexCore[] all = indexes.clone();
    for (int i = 0; i < all.length; i++) {
      all[i] = all[i] == one ? by : all[i];
    }
    indexes = all;
  }

  /** Statements know nothing of the index with this tree from now on. */
  public synchronized void remove(BTree of) {
    indexes = Arrays.stream(indexes).filter(i -> i.tree != of).toArray(IndexCore[]::new);
  }

  public boolean isLeaving() {
    return leaving;
  }

  public void leaving(boolean is) {
    leaving = is;
  }

  /** The name in a message. */
  public String shown() {
    return NameText.of(name);
  }

  public int recordBytes() {
    return layout == null ? 0 : layout.size();
  }

  public KeyTooLargeException keyTooLong(long bytes) {
    return new KeyTooLargeException("table " + shown(), bytes, keyBytesMax);
  }

  /** Throws unless the record that was read last has the size of the table's records. */
  public void requireSize(Tx t, int bytes) {
    if (bytes != recordBytes()) {
      throw wrongSize(t.page(), bytes);
    }
  }

  public CorruptionException wrongSize(long page, int bytes) {
    return damaged("size of a record of table " + shown(), page, recordBytes(), bytes);
  }

  public CorruptionException longKey(long page, int bytesMax, int bytes) {
    return damaged("length of a key of table " + shown(), page, bytesMax, bytes);
  }

  /** What is found in a page that can't be so: of the table, or of an index of it. */
  public CorruptionException damaged(String what, long page, long expected, long found) {
    long offset = page < 0 ? -1 : page * tree.pool().pageSize();
    return new CorruptionException(what, page, offset, expected, found);
  }

  public void drop() {
    dropped = true;
  }

  public void requireThere() {
    if (dropped) {
      throw new InvalidUseException("Table " + shown() + " was dropped.");
    }
  }

  public boolean isDropped() {
    return dropped;
  }
}
