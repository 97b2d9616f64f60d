package io.fovea.buffer;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Frames whose pages are eviction candidates and are still usable. There are two such lists: one of
 * clean pages, which may leave, and one of dirty pages, which the writer must write.
 *
 * <pre>
 *   writer ──add────►  | f | f | f | f |  ──take──► a miss, which evicts the page
 *   a miss ──offer──►  | d | d | d | d |  ──take──► the writer, which writes the page
 *                        └─ used again: usage turns from candidate to used; threads that take it skip
 * </pre>
 *
 * <p>A list of hints, first in, first out: an entry says nothing about the page that the frame
 * holds now. A page that is used again stays in its frame, although still listed. A dirty page can
 * be written ahead of need and used until its frame is taken.
 *
 * <p>Bounded: a new entry displaces the oldest, whose page is no longer a candidate. A spin latch
 * protects the list; its holders take no other latch.
 */
final class ReadyFrames {
  static final int EMPTY = Integer.MAX_VALUE;

  private final MemorySegment headers;
  private final int[] ring;
  private final int mask;
  private final AtomicBoolean latched = new AtomicBoolean();
  private int head;
  private int tail;
  private volatile int size;

  /**
   * Creates a list.
   *
   * @param min the minimum capacity
   */
  ReadyFrames(MemorySegment headers, int min) {
    this.headers = headers;
    int length = Integer.highestOneBit(Math.max(2, min) - 1) << 1;
    ring = new int[length];
    mask = length - 1;
  }

  /** Returns the number of listed frames, whether their pages are still candidates or not. */
  int size() {
    return size;
  }

  /**
   * Lists a frame whose page is an eviction candidate.
   *
   * @param written whether the page was dirty, and was written in order to leave
   */
  void add(int frame, boolean written) {
    int oldest = EMPTY;
    lock();
    try {
      if (tail - head == ring.length) {
        oldest = ring[head++ & mask];
      }
      ring[tail++ & mask] = written ? ~frame : frame;
      size = tail - head;
    } finally {
      unlock();
    }
    if (oldest != EMPTY) {
      keep(oldest < 0 ? ~oldest : oldest);
    }
  }

  /** Lists a candidate unless the list is full; then the page returns to the policy. */
  boolean offer(int frame) {
    boolean added = false;
    if (!isFull()) {
      lock();
      try {
        added = tail - head < ring.length;
        if (added) {
          ring[tail++ & mask] = frame;
          size = tail - head;
        }
      } finally {
        unlock();
      }
    }
    if (!added) {
      keep(frame);
    }
    return added;
  }

  boolean isFull() {
    return size == ring.length;
  }

  /** Takes an entry: a frame, its complement if the page was written to leave, or EMPTY. */
  int take() {
    if (size == 0) {
      return EMPTY;
    }
    lock();
    try {
      int entry = tail == head ? EMPTY : ring[head++ & mask];
      size = tail - head;
      return entry;
    } finally {
      unlock();
    }
  }

  /** Returns to the policy a page that is no longer listed. */
  void keep(int frame) {
    if (FrameHeader.isEvictionCandidate(headers, frame)) {
      FrameHeader.setUsed(headers, frame, false);
    }
  }

  private void unlock() {
    latched.setRelease(false);
  }

  private void lock() {
    for (int round = 0; !latched.compareAndSet(false, true); ) {
      round = Math.min(Backoff.pause(round), Backoff.PARK_FROM - 1);
    }
  }
}
