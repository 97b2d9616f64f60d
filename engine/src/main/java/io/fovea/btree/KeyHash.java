package io.fovea.btree;

import io.fovea.memory.Hash;
import java.lang.foreign.MemorySegment;

/**
 * The number under which transactions and the {@link KeyLocationCache} know a key of a tree. Two
 * keys may have the same.
 */
public final class KeyHash {
  private KeyHash() {}

  /**
   * Hashes a key.
   *
   * @param tree whose key it is
   * @param key where it is; native memory
   * @param offset where it begins
   * @param length how long it is
   * @return never 0
   */
  public static long of(BTree tree, MemorySegment key, long offset, int length) {
    return Hash.hash(seed(tree), key, offset, length);
  }

  /**
   * What tells the keys of one tree from those of another.
   *
   * @param tree the tree
   * @return a seed
   */
  public static long seed(BTree tree) {
    return tree.treeId() * 0x9E37_79B9_7F4A_7C15L;
  }
}
