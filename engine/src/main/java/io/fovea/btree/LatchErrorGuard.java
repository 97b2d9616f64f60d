package io.fovea.btree;

import io.fovea.buffer.BufferPool;

/**
 * Releases latched pages when any {@link Throwable}, an {@link OutOfMemoryError} included, is
 * thrown under the latches.
 *
 * <ul>
 *   <li>If nothing was changed, the latches are released and the versions do not move.
 *   <li>A page that may be half changed can be neither used nor written: the pool stops ({@link
 *       io.fovea.buffer.BufferPool#stopAndRelease}) before the latch is released. Reopening the
 *       database recovers the page from the log.
 * </ul>
 */
final class LatchErrorGuard {
  private LatchErrorGuard() {}

  /**
   * Releases one page, which may have {@code changed}, and throws {@code thrown} or the damage it
   * stands for.
   */
  static RuntimeException releaseAndThrow(
      BufferPool pool, int frame, long pid, boolean changed, Throwable thrown) {
    release(pool, frame, changed, thrown);
    return rethrow(pool, pid, thrown);
  }

  /**
   * Releases one of several pages that were all changed completely, but whose log record failed.
   * After an exception the log is dead: {@link StructureRecord} keeps the pages from being written,
   * and readers see a sound tree.
   */
  static void releaseWhole(
      BufferPool pool, int frame, boolean complete, boolean changed, Throwable t) {
    if (complete && t instanceof RuntimeException) {
      pool.releaseExclusive(frame);
    } else {
      release(pool, frame, changed, t);
    }
  }

  /** Releases one of several pages; throws nothing. */
  static void release(BufferPool pool, int frame, boolean changed, Throwable thrown) {
    if (changed) {
      pool.stopAndRelease(frame, thrown);
    } else {
      pool.releaseExclusiveUnchanged(frame);
    }
  }

  /** Throws {@code thrown}; an offset that leads out of a latched page is reported as damage. */
  static RuntimeException rethrow(BufferPool pool, long pid, Throwable thrown) {
    if (thrown instanceof IndexOutOfBoundsException e) {
      throw TreeDamage.offsets(pool, pid, e);
    }
    throw LatchErrorGuard.<RuntimeException>unchecked(thrown);
  }

  /** No code under a latch declares a checked exception. */
  @SuppressWarnings("unchecked")
  private static <X extends Throwable> X unchecked(Throwable thrown) throws X {
    throw (X) thrown;
  }
}
