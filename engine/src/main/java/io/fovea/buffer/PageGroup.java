package io.fovea.buffer;

import io.fovea.io.IoBatch;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A list of pages that a thread is about to read. {@link BufferPool#begin} reads those that are in
 * no frame in one batch, while the thread continues.
 *
 * <p>Reusable; owned by one thread at a time, and by the device while it reads. Only the
 * constructor allocates. Waiting for the reads is optional: it happens at the latest when the list
 * is used again.
 *
 * @since 0.1.0
 */
public final class PageGroup {
  /** The maximum number of pages. */
  public static final int CAPACITY = 32;

  final long[] pids = new long[CAPACITY];

  /** Per page of the list: the frame that the page was read into, or -1. */
  final int[] frames = new int[CAPACITY];

  /** Per entry of the batch: the index in the list. */
  final int[] indexes = new int[CAPACITY];

  final IoBatch io = new IoBatch(CAPACITY, this::ended);
  private @Nullable GroupLoader loader;
  boolean used;
  int size;

  /** Creates an empty list. */
  public PageGroup() {}

  /** Removes all pages; waits for those that are being read. */
  public void clear() {
    await();
    size = 0;
  }

  /**
   * Adds a page; the list must not be full.
   *
   * @param pid any number: one that is not a page, or whose page is in a frame, is skipped
   */
  public void add(long pid) {
    pids[size] = pid;
    frames[size] = -1;
    size++;
  }

  /**
   * Returns the number of pages in the list.
   *
   * @return 0 to {@link #CAPACITY}
   */
  public int size() {
    return size;
  }

  /**
   * Waits until all reads of {@link BufferPool#begin} have ended. A virtual thread parks. An
   * interrupt does not end the wait; the flag is kept.
   */
  public void await() {
    io.await();
  }

  /**
   * Returns the frame of a page: a hint, as the page may have left. To be called after {@link
   * #await}.
   *
   * @param i the index of the page in the list, from 0
   * @return a frame; -1 if the page was not read, because it was present or for any other reason
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
