package io.fovea.buffer;

import io.fovea.error.CorruptionException;

/**
 * Which pages of a file are in use: what a superblock keeps of the page allocator.
 *
 * @param highWater the first page id that was never given out
 * @param freeHead the first page of the free list, 0 for none
 * @param freePages how many pages the free list has
 * @param highWaterMax of a superblock: what the mark was at most since the redo point, before pages
 *     were cut off; else the mark
 * @param holes whether a free page may be zeros, because its space was given back: {@link FreeRuns}
 * @since 0.1.0
 */
public record AllocatorState(
    long highWater, long freeHead, long freePages, long highWaterMax, boolean holes) {
  /** The first page that {@link BufferPool#allocate} may give out: 0 to 2 have fixed uses. */
  public static final long FIRST_PID = 3;

  /**
   * The state of an allocator that has cut nothing off, and given nothing back.
   *
   * @param highWater the first page id that was never given out
   * @param freeHead the first page of the free list, 0 for none
   * @param freePages how many pages the free list has
   */
  public AllocatorState(long highWater, long freeHead, long freePages) {
    this(highWater, freeHead, freePages, highWater, false);
  }

  /** A file without pages. */
  public static final AllocatorState EMPTY = new AllocatorState(FIRST_PID, 0, 0);

  /**
   * Finds numbers that contradict each other.
   *
   * @throws CorruptionException where they can't be true
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
