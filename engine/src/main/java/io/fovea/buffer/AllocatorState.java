package io.fovea.buffer;

/**
 * Which pages of a file are in use: what a superblock keeps of the page allocator.
 *
 * @param highWater the first page id that was never given out
 * @param freeHead the first page of the free list, 0 for none
 * @param freePages how many pages the free list has
 * @since 0.1.0
 */
public record AllocatorState(long highWater, long freeHead, long freePages) {
  /** The first page that {@link BufferPool#allocate} may give out: 0 to 2 have fixed uses. */
  public static final long FIRST_PID = 3;

  /** A file without pages. */
  public static final AllocatorState EMPTY = new AllocatorState(FIRST_PID, 0, 0);
}
