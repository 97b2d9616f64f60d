package io.fovea.btree;

import io.fovea.memory.LongList;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Writes of values of any length to a tree without a log, in the order of a commit: write the new
 * chain, change the leaf, free the old chain.
 */
final class Writes {
  private Writes() {}

  /** Sets the value of a key; returns whether the key was absent. */
  static boolean upsert(
      BTree tree,
      MemorySegment key,
      long off,
      int len,
      MemorySegment value,
      long vOff,
      int vLen,
      Position p) {
    LongList old = new LongList();
    chain(tree, key, off, len, p, old);
    boolean absent;
    if (vLen <= tree.inlineMax()) {
      absent = tree.upsertInline(key, off, len, value, vOff, vLen, p, LogSession.NONE);
    } else {
      LongList chain = new LongList();
      tree.checkSizes(len, vLen);
      long first = tree.writeChain(value, vOff, vLen, chain, LogSession.NONE);
      try {
        absent = tree.upsertChain(key, off, len, first, vLen, p, LogSession.NONE);
      } catch (RuntimeException | Error e) {
        tree.freeChain(chain, LogSession.NONE);
        throw e;
      }
    }
    tree.freeChain(old, LogSession.NONE);
    return absent;
  }

  /** Removes a key; returns whether it existed. */
  static boolean delete(BTree tree, MemorySegment key, long off, int len, Position p) {
    LongList old = new LongList();
    chain(tree, key, off, len, p, old);
    boolean existed = tree.remove(key, off, len, true, p, LogSession.NONE);
    tree.freeChain(old, LogSession.NONE);
    return existed;
  }

  /** Overwrites bytes of a value; returns false if the key is absent or the value too short. */
  static boolean patch(
      BTree tree,
      MemorySegment key,
      long off,
      int len,
      int at,
      MemorySegment bytes,
      long bOff,
      int bLen,
      Position p) {
    if (tree.patch(key, off, len, at, bytes, bOff, bLen, p, LogSession.NONE)) {
      return true;
    }
    int length = chain(tree, key, off, len, p, new LongList());
    if (at < 0 || at > length - bLen) {
      return false;
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment value = arena.allocate(length, 8);
      while (tree.copyValue(p, value, 0, length) != length || !tree.valid(p)) {
        tree.locate(key, off, len, p);
      }
      Mem.copy(bytes, bOff, value, at, bLen);
      upsert(tree, key, off, len, value, 0, length, p);
      return true;
    }
  }

  private static int chain(
      BTree tree, MemorySegment key, long off, int len, Position p, LongList pids) {
    return tree.mayHaveLongValues() ? tree.chain(key, off, len, p, pids) : -1;
  }
}
