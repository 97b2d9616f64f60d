package io.fovea.buffer;

import java.util.function.LongSupplier;

/**
 * The source of memory for pages. This is an interface because every call accompanies an operation
 * that takes microseconds; on the hot path the address of a page's bytes is arithmetic in {@link
 * Translator}.
 *
 * <pre>
 *   claim(p) ──► a frame, latched, empty ──translator.insert──► used ──Frames.drop──► unclaim
 *      │
 *      └── ~frame: another thread has p there, or will     NONE: there is no memory now
 *
 *   reserve ──► memory for a page whose id is not known yet ──use(p)──► its frame, latched
 * </pre>
 *
 * <p>{@link FrameAllocator} chooses the pages to evict; this interface decides which memory is
 * free, and handles pages that leave.
 *
 * <p>Thread-safe, unless a method says otherwise. Implementations: {@link FrameResidency}, {@link
 * ResidencyBudget}.
 */
interface Residency {
  /** No memory for a page is available without waiting; neither a frame nor a complement. */
  int NONE = Integer.MIN_VALUE;

  /** The part of {@link FrameAllocator} that is used here. */
  interface Reclaimer {
    int acquire(int preferred);

    int tryAcquire(int preferred);

    boolean claimPreferred(int preferred);
  }

  void wire(Reclaimer reclaimer);

  /**
   * Sets the source of a limit above all pages of the file that were allocated while the pool is
   * open. The limit never decreases, and may be read at any time.
   */
  default void setFilePages(LongSupplier pages) {}

  // ------------------------------------------------------------------------ a page arrives

  /**
   * Claims memory for a page that seems to be in no frame. The caller holds no latch, or does not
   * wait.
   *
   * @param pid the page
   * @param wait whether to wait if there is none
   * @param passing whether the page is only read ahead: it displaces no page from its preferred
   *     frame
   * @return its frame, latched exclusively and empty; the complement of a frame in which another
   *     thread has or had the page, or will have it; or {@link #NONE}, if it does not wait
   * @throws io.fovea.error.PoolExhaustedException if there was none for several seconds
   */
  int claim(long pid, boolean wait, boolean passing);

  /**
   * Reserves memory for one page to be named later. The caller holds no latch.
   *
   * @param likely the page that the memory will probably be for
   * @return the argument of {@link #use} and {@link #cancel}
   * @throws io.fovea.error.PoolExhaustedException if there was none for several seconds
   */
  int reserve(long likely);

  /**
   * Returns the frame for a page, from reserved memory. Fails neither for lack of memory nor
   * because the operation takes too long; waits for readers of the page.
   *
   * @return the frame, latched exclusively; empty, or with the page already in it
   */
  int use(int reserved, long pid);

  void cancel(int reserved);

  /** Takes free memory, for {@link FrameAllocator}. Negative if there is none. */
  int takeFree();

  /** Takes the memory of a frame that a policy has proposed and that has no page. */
  boolean takeFree(int frame);

  /**
   * Takes the memory of a page that was dropped for another one; for {@link FrameAllocator}.
   *
   * @param emptied a frame that is latched exclusively and has no page; this releases the latch
   * @return as {@link #takeFree()}; negative if the memory must not be reused
   */
  int take(int emptied);

  /**
   * Takes the memory of one page of a batch of {@link #newBatch}; the memory of the others becomes
   * free. Called only if {@link #evictionBatchSize} is more than 1.
   *
   * @param emptied at least one frame; this releases their latches and empties the batch
   * @return as {@link #takeFree()}; negative if not even one may be reused
   */
  default int take(EvictionBatch emptied) {
    throw new UnsupportedOperationException("This residency evicts pages one by one.");
  }

  // ------------------------------------------------------------------------------- a page leaves

  /**
   * Returns whether a page may leave. Its frame is latched exclusively, and it is cold and clean.
   */
  boolean leave(int frame);

  /** Returns whether pages leave at all; otherwise none are made ready. */
  default boolean evicts() {
    return true;
  }

  /** Releases the memory of an empty frame, then its exclusive latch. */
  void unclaim(int frame);

  /**
   * Releases the memory of the frames of a batch of {@link #newBatch}, then their latches.
   *
   * @param emptied the batch, which is empty afterwards
   */
  default void unclaim(EvictionBatch emptied) {
    for (int i = 0; i < emptied.size(); i++) {
      unclaim(emptied.frames[i]);
    }
    emptied.clear();
  }

  /** Returns the best number of pages to evict together: the capacity of a batch. */
  default int evictionBatchSize() {
    return 1;
  }

  default EvictionBatch newBatch() {
    return new EvictionBatch(1, null);
  }

  // ----------------------------------------------------------------------------------- numbers

  /** Returns the number of pages that may be in memory now. */
  int capacity();

  /**
   * Returns the number of pages that can arrive before one must leave; negative if too many are in
   * memory.
   */
  int free();

  /** Returns the number of entries in the list of resident pages; constant. */
  int maxResidents();

  /**
   * Reads an entry of the list of resident pages.
   *
   * @param i its index
   * @return the frame, which may be empty; -1 for none
   */
  int resident(int i);

  /** Returns the index of a page in memory, constant while it is there and does not move. */
  int indexOf(int frame);

  default long filePagesMax() {
    return Long.MAX_VALUE;
  }

  long bytes();
}
