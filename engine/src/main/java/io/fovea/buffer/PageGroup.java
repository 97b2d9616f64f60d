package io.fovea.buffer;

import io.fovea.io.IoBatch;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Pages that a thread is about to look at: a list to be filled and handed to {@link
 * BufferPool#begin}, which has those that are in no frame read at once, while the thread goes on.
 *
 * <p>Made once and used again and again; owned by one thread at a time, by the device while it
 * reads; nothing is allocated but by the constructor. Nobody has to wait for the end, which is
 * waited for before the list is used again.
 *
 * @since 0.1.0
 */
public final class PageGroup {
  /** How many pages it holds. */
  public static final int CAPACITY = 32;

  final long[] pids = new long[CAPACITY];

  /** By place in the list: the frame that the page was brought into, or -1. */
  final int[] frames = new int[CAPACITY];

  /** By entry of the batch: the place in the list. */
  final int[] places = new int[CAPACITY];

  final IoBatch io = new IoBatch(CAPACITY, this::ended);
  private @Nullable GroupLoader loader;
  boolean used;
  int size;

  /** Makes an empty list. */
  public PageGroup() {}

  /** Forgets all pages; waits for those that are being read. */
  public void clear() {
    await();
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
   * Waits until all pages have come that {@link BufferPool#begin} has asked for. A virtual thread
   * parks. An interrupt does not end the wait; the flag is kept.
   */
  public void await() {
    io.await();
  }

  /**
   * Where a page was put: a hint, for the page may be gone again. After {@link #await}.
   *
   * @param i the page's place in the list, from 0
   * @return a frame; -1 where the page was not brought in, as it was there already or for any other
   *     reason
   */
  public int frame(int i) {
    return frames[i];
  }

  void begin(GroupLoader owner, boolean asUsed) {
    loader = owner;
    used = asUsed;
  }

  private void ended(int entry, int errno) {
    Objects.requireNonNull(loader).ended(this, entry, errno);
  }
}
