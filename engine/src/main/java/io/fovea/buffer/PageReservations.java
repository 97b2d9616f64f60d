package io.fovea.buffer;

import io.fovea.wal.LogSession;

/**
 * Reserves pages of the file and frames for an operation before its point of no return: {@link
 * BufferPool#pageReservations}. A commit reserves pages before its record is in the log, so that it
 * never finds the disk full afterwards. Thread-safe.
 *
 * <pre>
 *   free pages + file space above the high-water mark  >=  reserved         always;
 *                 without those that may be holes: {@link FreeHoles}
 *   reserve     reserved += n, if the invariant holds then; otherwise the file grows, or refuses
 *   allocate    with a reservation: reserved -= 1; without: only unreserved pages
 *   return      reserved += 1: a page that was taken and not needed
 *   release     reserved -= the rest
 * </pre>
 *
 * Each of these is one step under the spin latch of {@link PageAllocator}, so no page is reserved
 * twice. A session keeps a few reserved pages from one commit to the next, so that most commits
 * need no step; if the disk is full it keeps none.
 *
 * @since 0.1.0
 */
public final class PageReservations {
  /**
   * The frames that a structure change needs at once: two new pages, and one on the way to them.
   */
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

  /** Returns the page size, in bytes. */
  public int pageSize() {
    return 1 << pageShift;
  }

  /**
   * Reserves pages, so that a session can allocate them independently of other sessions and of the
   * storage; its earlier reservation counts. The caller holds no latch.
   *
   * @param log one thread's; not {@link LogSession#NONE}
   * @param pages the minimum number
   * @throws io.fovea.error.StorageFullException if there is no space for them; the earlier
   *     reservation stays
   */
  public void reserve(LogSession log, int pages) {
    frames.checkOpen();
    allocator.reserve(log, pages);
  }

  /**
   * Releases reservations, in part or in full.
   *
   * @param log the session
   * @param keep how many pages it may keep for its next operation, unless the storage is full
   */
  public void release(LogSession log, int keep) {
    allocator.release(log, keep);
  }

  /**
   * Returns how many pages {@code inserts} new records may need, each in the worst leaf.
   *
   * <p>A leaf is split once for a record, and more often if records are large; the first split of
   * each leaf is of an existing one. An inner node is split once for each split below it, and no
   * more often than there are nodes of its level, which is overestimated at one per 16 nodes below.
   * Roots need two pages.
   *
   * @param inserts the number of records
   * @param bytes the size of all records together
   * @return the number of pages
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
   * Checks that frames are available, for an operation that can't be undone later: returns at once
   * while pages can be written, and otherwise waits for frames.
   *
   * @throws io.fovea.error.PoolExhaustedException if there are none
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
