package io.fovea.btree;

import io.fovea.memory.Hash;
import java.lang.foreign.MemorySegment;

/**
 * The hash by which transactions and the {@link KeyLocationCache} identify a key of a tree. Two
 * keys may share a hash.
 */
public final class KeyHash {
  private KeyHash() {}

  /** Hashes a key. Never returns 0. */
  public static long of(BTree tree, MemorySegment key, long offset, int length) {
    return Hash.hash(seed(tree), key, offset, length);
  }

  /** Returns the seed that distinguishes the keys of a tree from those of other trees. */
  public static long seed(BTree tree) {
    return tree.treeId() * 0x9E37_79B9_7F4A_7C15L;
  }
}
