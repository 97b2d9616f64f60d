package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import io.fovea.error.CorruptionException;
import java.lang.foreign.MemorySegment;

/** Tells what a page that can't be right means: a torn read, damage, or a mistake of the caller. */
final class TreeDamage {
  private TreeDamage() {}

  /** The exception for a page of which something is not as it must be. */
  static CorruptionException of(BufferPool pool, long pid, String what, long expected, long found) {
    return new CorruptionException(what, pid, pid * pool.pageSize(), expected, found);
  }

  /** The exception for offsets that lead out of a page that was not changed meanwhile. */
  static CorruptionException offsets(BufferPool pool, long pid, IndexOutOfBoundsException e) {
    CorruptionException damage =
        e instanceof NodeDamage d
            ? of(pool, pid, d.getMessage(), d.expected, d.found)
            : of(pool, pid, "offsets in a node", 0, -1);
    damage.initCause(e);
    return damage;
  }

  /**
   * Returns where a page was torn, which means a restart.
   *
   * @param outside what the caller has passed; a range outside of it is the caller's mistake
   * @throws CorruptionException if the page has not changed, so that its offsets are damaged
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
