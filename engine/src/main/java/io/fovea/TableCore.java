package io.fovea;

import io.fovea.btree.BTree;
import io.fovea.error.InvalidUseException;
import io.fovea.error.KeyTooLargeException;
import org.jspecify.annotations.Nullable;

/**
 * A table as the database knows it: one per name, however often it was opened. {@link Table} is a
 * handle to it that remembers the specification that its user wrote.
 *
 * <p>Any thread. {@link #indexes} changes only while no transaction is active.
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

  private volatile boolean dropped;

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

  IndexCore[] indexes() {
    return indexes;
  }

  void indexes(IndexCore[] all) {
    indexes = all;
  }

  @Nullable IndexCore index(String indexName) {
    for (IndexCore i : indexes) {
      if (i.name.equals(indexName)) {
        return i;
      }
    }
    return null;
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
