package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.memory.Hash;
import java.lang.foreign.MemorySegment;

/**
 * Items: what transactions read, lock and give timestamps to. A key and the gap below it are one.
 */
final class Items {
  private Items() {}

  /** item(tree, key): key and the gap below it. Never 0. */
  static long of(BTree tree, MemorySegment key, long offset, int length) {
    long h = Hash.hash(seed(tree), key, offset, length);
    return h == 0 ? 1 : h;
  }

  /** item(tree, +inf): the gap above the last key. */
  static long atEnd(BTree tree) {
    long h = seed(tree) ^ 0x5851_F42D_4C95_7F2DL;
    h = (h ^ (h >>> 32)) * 0xD6E8_FEB8_6659_FD93L;
    return h | 1;
  }

  private static long seed(BTree tree) {
    return tree.treeId() * 0x9E37_79B9_7F4A_7C15L;
  }
}
