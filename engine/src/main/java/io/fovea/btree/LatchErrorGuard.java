package io.fovea.btree;

import io.fovea.buffer.BufferPool;

/**
 * What becomes of latched pages when something is thrown before their latches are given back,
 * whatever it is: an exception that was meant, an {@link OutOfMemoryError}, a {@link
 * StackOverflowError}.
 *
 * <ul>
 *   <li>As long as nothing was changed, latches go back and versions stay: it has not happened.
 *   <li>A page that may be half changed can't be used any more, and not be written: the pool stops
 *       ({@link io.fovea.buffer.PoolStop#spoil}), and only then the latch goes. What the log has is
 *       found again when the database is opened anew.
 * </ul>
 */
final class LatchErrorGuard {
  private LatchErrorGuard() {}

  /**
   * Gives back one page.
   *
   * @param changed whether a change of it may have begun
   * @param thrown what
   * @return never: throws what was thrown, or what an offset that leads nowhere means
   */
  static RuntimeException one(
      BufferPool pool, int frame, long pid, boolean changed, Throwable thrown) {
    give(pool, frame, changed, thrown);
    return meaning(pool, pid, thrown);
  }

  /**
   * The same for a page of several, all of which were changed as they should be: what failed is the
   * record of that. Where that is an exception the log has died; {@link StructureRecord} sees to it
   * that the pages are not written, and any thread that reads them reads a sound tree.
   */
  static void giveWhole(BufferPool pool, int frame, boolean whole, boolean changed, Throwable t) {
    if (whole && t instanceof RuntimeException) {
      pool.releaseExclusive(frame);
    } else {
      give(pool, frame, changed, t);
    }
  }

  /** The same for a page of several; throws nothing. */
  static void give(BufferPool pool, int frame, boolean changed, Throwable thrown) {
    if (changed) {
      pool.stopping().spoil(frame, thrown);
    } else {
      pool.releaseExclusiveUnchanged(frame);
    }
  }

  /** Throws what was thrown; an offset that leads out of a latched page is damage. */
  static RuntimeException meaning(BufferPool pool, long pid, Throwable thrown) {
    if (thrown instanceof IndexOutOfBoundsException e) {
      throw TreeDamage.offsets(pool, pid, e);
    }
    throw LatchErrorGuard.<RuntimeException>unchecked(thrown);
  }

  /** Nothing between a latch and its end declares an exception. */
  @SuppressWarnings("unchecked")
  private static <X extends Throwable> X unchecked(Throwable thrown) throws X {
    throw (X) thrown;
  }
}
