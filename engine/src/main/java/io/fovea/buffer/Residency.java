package io.fovea.buffer;

import java.util.function.LongSupplier;

/**
 * Where the memory of pages comes from. Every call costs microseconds beside what it is for, so it
 * is an interface; where a page's bytes are is arithmetic on the hot path, and stays in {@link
 * Translator}.
 *
 * <pre>
 *   claim(p) ──► a frame, latched, empty ──translator.insert──► used ──Frames.drop──► giveBack
 *      │
 *      └── ~frame: somebody has p there, or is about to    NONE: there is no memory now
 *
 *   reserve ──► memory for a page whose id is not known yet ──use(p)──► its frame, latched
 * </pre>
 *
 * <p>Which memory is given up for others is {@link FrameAllocator}'s business; it asks here what is
 * free and what becomes of a page that leaves.
 *
 * <p>Any thread, unless a method says otherwise. Kinds: {@link FrameResidency}, {@link
 * ResidencyBudget}.
 */
interface Residency {
  /** There is no memory for a page at once: no frame, and no complement of one. */
  int NONE = Integer.MIN_VALUE;

  /** How {@link FrameAllocator} looks from here: who makes room. */
  interface Room {
    /** Takes memory, and waits for it: see {@link FrameAllocator#acquire}. */
    int acquire(int preferred);

    /** The same without waiting; -1 where there is none at once. */
    int tryAcquire(int preferred);

    /** Takes a frame if that costs nothing: see {@link FrameAllocator#claimPreferred}. */
    boolean claimPreferred(int preferred);
  }

  /** Said before the first page is asked for. */
  void wire(Room room);

  /**
   * Says up to where the file has, or has had, pages that were given out while the pool is open: a
   * number that never goes back. Asked at any time.
   */
  default void fileHas(LongSupplier pages) {}

  // -------------------------------------------------------------------------------- a page comes

  /**
   * Memory for a page that seems to be nowhere. The caller holds no latch, or does not wait.
   *
   * @param pid the page
   * @param wait whether to wait where there is none at once
   * @param passing whether it is only passed by: it pushes no page out of its preferred frame
   * @return its frame, latched exclusively and empty; the complement of a frame that somebody else
   *     has the page in, or was about to; or {@link #NONE}, where it does not wait
   * @throws io.fovea.error.PoolExhaustedException where none could be had for some seconds
   */
  int claim(long pid, boolean wait, boolean passing);

  /**
   * Memory for one page that will be known later. The caller holds no latch.
   *
   * @param likely the page that it will probably be
   * @return what {@link #use} and {@link #cancel} take
   * @throws io.fovea.error.PoolExhaustedException where none could be had for some seconds
   */
  int reserve(long likely);

  /**
   * The frame for a page, out of memory that was reserved. Does not fail for want of memory, nor
   * because the operation takes too long; waits for who has the page for a moment.
   *
   * @return latched exclusively; empty, or with the page in it already
   */
  int use(int reserved, long pid);

  /** What was reserved is not needed. */
  void cancel(int reserved);

  /** Memory that is free; for {@link FrameAllocator}. Negative where there is none. */
  int takeFree();

  /** The same in a frame that a policy has proposed and that has no page. */
  boolean takeFree(int frame);

  /**
   * Memory of a page that was dropped for another one; for {@link FrameAllocator}.
   *
   * @param emptied latched exclusively, without a page; the latch is the residency's from here on
   * @return as {@link #takeFree()}; negative where it must not be used again
   */
  int take(int emptied);

  /**
   * The same of several pages, of {@link #newLeaving}: memory of one of them, and that of the
   * others is free. Only where {@link #together} is more than 1.
   *
   * @param emptied one frame at least; they are forgotten, and their latches are the residency's
   * @return as {@link #takeFree()}; negative where not even one must be used again
   */
  default int take(EvictionBatch emptied) {
    throw new UnsupportedOperationException("Pages leave one by one here.");
  }

  // ------------------------------------------------------------------------------- a page leaves

  /** Whether a page may leave. Its frame is latched exclusively, and it is cold and clean. */
  boolean leave(int frame);

  /** Whether pages leave at all: else there is nothing to keep ready. */
  default boolean evicts() {
    return true;
  }

  /** Gives the memory of an empty frame back, and then its exclusive latch. */
  void giveBack(int frame);

  /**
   * The same for many, of {@link #newLeaving}.
   *
   * @param emptied they are forgotten
   */
  default void giveBack(EvictionBatch emptied) {
    for (int i = 0; i < emptied.size(); i++) {
      giveBack(emptied.frames[i]);
    }
    emptied.clear();
  }

  /** How many leave together at best: those of one list. */
  default int together() {
    return 1;
  }

  /** A list for {@link #together} pages. */
  default EvictionBatch newLeaving() {
    return new EvictionBatch(1, null);
  }

  // ----------------------------------------------------------------------------------- how many

  /** How many pages may be in memory now. */
  int capacity();

  /** How many of them could come without another one leaving; negative where too many are there. */
  int free();

  /** How many places there are for pages in memory; it never changes. */
  int places();

  /**
   * The page in one of the places.
   *
   * @param i a place
   * @return its frame, which may be empty; -1 for none
   */
  int resident(int i);

  /** The place of a page in memory, which it keeps as long as it is there and does not move. */
  int place(int frame);

  /** How many pages the file may have. */
  default long filePagesMax() {
    return Long.MAX_VALUE;
  }

  /** What all of it takes, in bytes. */
  long bytes();
}
