package io.fovea.buffer;

import io.fovea.error.CorruptionException;

/**
 * Which pages of a file are in use: the part of the page allocator's state that a superblock
 * stores.
 *
 * @param highWater the first page id that was never allocated
 * @param freeHead the first page of the free list, 0 for none
 * @param freePages the number of pages in the free list
 * @param highWaterMax in a superblock, the highest mark since the redo point, including pages since
 *     cut off; otherwise {@code highWater}
 * @param holes whether a free page may read as zeros because it was punched: {@link FreeRuns}
 * @since 0.1.0
 */
public record AllocatorState(
    long highWater, long freeHead, long freePages, long highWaterMax, boolean holes) {
  /** The first page that {@link BufferPool#allocate} may return: 0 to 2 have fixed uses. */
  public static final long FIRST_PID = 3;

  /**
   * Creates the state of an allocator that has neither cut nor punched pages.
   *
   * @param highWater the first page id that was never allocated
   * @param freeHead the first page of the free list, 0 for none
   * @param freePages the number of pages in the free list
   */
  public AllocatorState(long highWater, long freeHead, long freePages) {
    this(highWater, freeHead, freePages, highWater, false);
  }

  /** A file without pages. */
  public static final AllocatorState EMPTY = new AllocatorState(FIRST_PID, 0, 0);

  /**
   * Checks that the numbers do not contradict each other.
   *
   * @throws CorruptionException if they do
   */
  void check() {
    if (highWater < FIRST_PID || highWater > PageRef.PID_MASK) {
      throw new CorruptionException("high-water mark", -1, -1, FIRST_PID, highWater);
    }
    if (highWaterMax < highWater || highWaterMax > PageRef.PID_MASK) {
      throw new CorruptionException("highest high-water mark", -1, -1, highWater, highWaterMax);
    }
    boolean head = freeHead == 0 || freeHead >= FIRST_PID;
    if (!head
        || freeHead >= highWater
        || (freeHead == 0) != (freePages == 0)
        || freePages < 0
        || freePages > highWater - FIRST_PID) {
      throw new CorruptionException("head of the free list", -1, -1, freePages, freeHead);
    }
  }
}
