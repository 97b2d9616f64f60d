package io.fovea.buffer;

import io.fovea.wal.LogSession;

/**
 * What an operation makes sure of before it can't go back: that there will be pages of the file,
 * and frames for them. {@link BufferPool#promises}. Any thread; {@link PageAllocator} has the
 * accounts.
 *
 * <p><b>Promises.</b> Who can't go back any more must not find the disk full. So a commit has pages
 * promised to its session before its record is in the log, and takes from them afterwards:
 *
 * <pre>
 *   free pages + room of the file above the high-water mark  >=  promised         always;
 *               without those that may be holes: {@link FreeHoles}
 *   promise     promised += n, where that holds then; else the file grows, or refuses
 *   allocate    with a promise: promised -= 1; without one: only what was promised to nobody
 *   giveBack    promised += 1: a page that was taken and not needed
 *   release     promised -= what is left
 * </pre>
 *
 * Each of these is one step under the spin latch, so no page is promised twice. A session keeps a
 * few promised pages from one commit to the next, so that most commits need no step at all; where
 * the disk is full it keeps none.
 *
 * @since 0.1.0
 */
public final class PageReservations {
  /** What a change of structure takes at once: two new pages, and one on the way to them. */
  private static final int CHANGE_FRAMES = 3;

  private final PageAllocator allocator;
  private final Frames frames;
  private final WriteBack writeBack;
  private final int pageShift;

  PageReservations(PageAllocator allocator, Frames frames, WriteBack writeBack) {
    this.allocator = allocator;
    this.frames = frames;
    this.writeBack = writeBack;
    this.pageShift = frames.pageShift;
  }

  /** Bytes of a page. */
  public int pageSize() {
    return 1 << pageShift;
  }

  /**
   * Sees to it that a session can allocate so many pages, whatever others do and however full the
   * storage gets; what it was promised before counts. Nothing is latched.
   *
   * @param log one thread's; not {@link LogSession#NONE}
   * @param pages how many, at least
   * @throws io.fovea.error.StorageFullException where there is no space for them; what was promised
   *     before stays
   */
  public void promise(LogSession log, int pages) {
    frames.checkOpen();
    allocator.promise(log, pages);
  }

  /**
   * Ends promises, in part or as a whole.
   *
   * @param log the session
   * @param keep how many pages it may keep for its next operation, where there is space enough
   */
  public void release(LogSession log, int keep) {
    allocator.release(log, keep);
  }

  /**
   * How many pages {@code inserts} new records of so many bytes may need, each in the worst leaf.
   *
   * <p>A leaf is split once for a record, and more often where records are large; the first split
   * of each leaf is one of those that there are. An inner node is split once for each split below
   * it, and no more often than there are nodes of its level, which is estimated high: one for 16
   * below. Roots need two pages.
   *
   * @param inserts how many
   * @param bytes of all records together
   * @return pages
   */
  public int pagesFor(int inserts, long bytes) {
    if (inserts == 0) {
      return 0;
    }
    long used = allocator.highWater();
    long filled = (bytes << 2) >>> pageShift;
    long sum = Math.min(inserts + filled, 2 * used + 2 * filled) + 4;
    for (long nodes = used; nodes > 0; nodes >>= 4) {
      sum += Math.min(inserts, nodes >> 4) + 1;
    }
    return (int) Math.min(sum, Integer.MAX_VALUE / 2);
  }

  /**
   * For an operation that can't go back later: returns at once as long as pages can be written, and
   * else only when frames are to be had all the same.
   *
   * @throws io.fovea.error.PoolExhaustedException where there are none
   */
  public void requireFrames() {
    if (writeBack.failure() == null) {
      return;
    }
    int[] reserved = new int[CHANGE_FRAMES];
    int n = 0;
    try {
      for (; n < CHANGE_FRAMES; n++) {
        reserved[n] = frames.residency.reserve(0);
      }
    } finally {
      while (n > 0) {
        frames.residency.cancel(reserved[--n]);
      }
    }
  }
}
