package io.fovea.buffer;

import io.fovea.io.IoBatch;

/**
 * Pages that a thread is about to look at: a list to be filled and handed to {@link
 * BufferPool#fetch}, which reads those that are in no frame at once.
 *
 * <p>Made once and used again and again; owned by one thread at a time; nothing is allocated but by
 * the constructor.
 *
 * @since 0.1.0
 */
public final class PageGroup {
  /** How many pages it holds. */
  public static final int CAPACITY = 64;

  final long[] pids = new long[CAPACITY];

  /** By place in the list: the frame that the page was brought into, or -1. */
  final int[] frames = new int[CAPACITY];

  /** By entry of the batch: the place in the list. */
  final int[] places = new int[CAPACITY];

  final IoBatch io = new IoBatch(CAPACITY);
  int size;

  /** Makes an empty list. */
  public PageGroup() {}

  /** Forgets all pages. */
  public void clear() {
    size = 0;
  }

  /**
   * Adds a page; there must be room.
   *
   * @param pid any number: what is no page, or is in a frame, is passed over
   */
  public void add(long pid) {
    pids[size] = pid;
    frames[size] = -1;
    size++;
  }

  /**
   * How many pages were added.
   *
   * @return 0 to {@link #CAPACITY}
   */
  public int size() {
    return size;
  }

  /**
   * Where the last {@link BufferPool#fetch} put a page: a guess, for the page may be gone again.
   *
   * @param i the page's place in the list, from 0
   * @return a frame; -1 where the page was not brought in, as it was there already or for any other
   *     reason
   */
  public int frame(int i) {
    return frames[i];
  }
}
