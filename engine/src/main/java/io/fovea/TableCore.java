package io.fovea;

import io.fovea.btree.BTree;
import io.fovea.error.InvalidUseException;
import io.fovea.error.KeyTooLargeException;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A table as the database knows it: one per name, however often it was opened. {@link Table} is a
 * handle to it that remembers the specification that its user wrote.
 *
 * <p>Any thread. {@link #indexes} changes beside transactions, as {@link IndexStage} says; a
 * statement reads it once.
 */
final class TableCore {
  final Database database;
  final String name;
  final KeySpec key;
  final @Nullable Layout layout;
  final BTree tree;
  final int keyBytesMax;

  /** For the engine's own use, a key each slot. */
  final SlotLocal<Key> keys = new SlotLocal<>();

  /** In the order of their creation. */
  private volatile IndexCore[] indexes;

  /** Held while an index is built or dropped, and while the table is dropped. */
  final ReentrantLock changing = new ReentrantLock();

  private volatile boolean dropped;

  /** Somebody waits to drop it: what changes it gives up. */
  private volatile boolean leaving;

  TableCore(
      Database database,
      String name,
      KeySpec key,
      @Nullable Layout layout,
      BTree tree,
      IndexCore[] indexes) {
    this.database = database;
    this.name = name;
    this.key = key;
    this.layout = layout;
    this.tree = tree;
    this.keyBytesMax = Math.min(key.encodedSizeMax(), tree.maxKeySize());
    this.indexes = indexes;
  }

  /** Those that statements which change records keep up to date, whatever their stage. */
  IndexCore[] indexes() {
    return indexes;
  }

  /** Those that are used. */
  List<IndexCore> readable() {
    return Arrays.stream(indexes).filter(i -> i.stage == IndexStage.READABLE).toList();
  }

  /** One that is used. */
  @Nullable IndexCore index(String indexName) {
    for (IndexCore i : indexes) {
      if (i.stage == IndexStage.READABLE && i.name.equals(indexName)) {
        return i;
      }
    }
    return null;
  }

  synchronized void add(IndexCore index) {
    indexes = Trees.append(indexes, index);
  }

  /** Puts another object in the place of one; does nothing where that is not there. */
  synchronized void replace(IndexCore one, IndexCore by) {
    IndexCore[] all = indexes.clone();
    for (int i = 0; i < all.length; i++) {
      all[i] = all[i] == one ? by : all[i];
    }
    indexes = all;
  }

  /** Statements know nothing of the index with this tree from now on. */
  synchronized void remove(BTree of) {
    indexes = Arrays.stream(indexes).filter(i -> i.tree != of).toArray(IndexCore[]::new);
  }

  boolean isLeaving() {
    return leaving;
  }

  void leaving(boolean is) {
    leaving = is;
  }

  int recordBytes() {
    return layout == null ? 0 : layout.size();
  }

  KeyTooLargeException keyTooLong(long bytes) {
    return new KeyTooLargeException("table " + name, bytes, keyBytesMax);
  }

  void drop() {
    dropped = true;
  }

  void requireThere() {
    if (dropped) {
      throw new InvalidUseException("Table " + name + " was dropped.");
    }
  }

  boolean isDropped() {
    return dropped;
  }
}
