package io.fovea.txn;

import io.fovea.btree.BTree;
import io.fovea.btree.KeyHash;
import java.lang.foreign.MemorySegment;

/** Computes items: hashes of tree and key, which transactions read, lock and timestamp. */
final class Items {
  private Items() {}

  /** Returns the item of a key and the gap below it. Never 0. */
  static long of(BTree tree, MemorySegment key, long offset, int length) {
    return KeyHash.of(tree, key, offset, length);
  }

  /** Returns the item of the gap above the last key. */
  static long atEnd(BTree tree) {
    long h = KeyHash.seed(tree) ^ 0x5851_F42D_4C95_7F2DL;
    h = (h ^ (h >>> 32)) * 0xD6E8_FEB8_6659_FD93L;
    return h | 1;
  }
}
