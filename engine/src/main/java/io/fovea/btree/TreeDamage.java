package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.error.CorruptionException;
import java.lang.foreign.MemorySegment;

/** Distinguishes torn reads, damage and caller errors. */
final class TreeDamage {
  private TreeDamage() {}

  /** Returns the exception for a damaged page. */
  static CorruptionException of(BufferPool pool, long pid, String what, long expected, long found) {
    return new CorruptionException(what, pid, pid * pool.pageSize(), expected, found);
  }

  /** Returns the exception for offsets that lead out of an unchanged page. */
  static CorruptionException offsets(BufferPool pool, long pid, IndexOutOfBoundsException e) {
    CorruptionException damage =
        e instanceof NodeDamage d
            ? of(pool, pid, d.getMessage(), d.expected, d.found)
            : of(pool, pid, "offsets in a node", 0, -1);
    damage.initCause(e);
    return damage;
  }

  /**
   * Returns if a page was torn, which means a restart. If the caller's range of {@code outside} is
   * invalid, the caller is at fault and the exception is rethrown.
   *
   * @throws CorruptionException if the page is unchanged, so its offsets are damaged
   */
  static void requireTorn(
      BufferPool pool,
      int frame,
      long version,
      long pid,
      MemorySegment outside,
      long off,
      long len,
      IndexOutOfBoundsException e) {
    if (off < 0 || len < 0 || off + len > outside.byteSize()) {
      throw e;
    }
    if (pool.validate(frame, version)) {
      throw offsets(pool, pid, e);
    }
  }
}
