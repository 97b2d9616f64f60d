package io.fovea.buffer;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Frames whose pages were given up by the policy, and that are still there to be used. There are
 * two such lists: of pages that are clean, and may leave at once; and of pages that the writer is
 * to write.
 *
 * <pre>
 *   writer ──add────►  | f | f | f | f |  ──take──► a miss, which evicts the page
 *   a miss ──offer──►  | d | d | d | d |  ──take──► the writer, which writes the page
 *                        └─ used again: usage turns from given up to used; any thread that takes it goes on
 * </pre>
 *
 * <p>A list of hints, first in, first out: that a frame is in it says nothing about the page there
 * now. A page that is used again stays, without anybody telling the list. So a dirty page can be
 * written ahead of need and still be found by who needs it, until its frame is taken.
 *
 * <p>Bounded; the oldest entry makes room for a new one, and its page is not given up any more. A
 * spin latch protects the list; its holders take no other latch.
 */
final class ReadyFrames {
  /** No frame and no complement of one. */
  static final int EMPTY = Integer.MAX_VALUE;

  private final MemorySegment headers;
  private final int[] ring;
  private final int mask;
  private final AtomicBoolean latched = new AtomicBoolean();
  private int head;
  private int tail;
  private volatile int size;

  /**
   * A list.
   *
   * @param least how many frames it has room for, or more
   */
  ReadyFrames(MemorySegment headers, int least) {
    this.headers = headers;
    int length = Integer.highestOneBit(Math.max(2, least) - 1) << 1;
    ring = new int[length];
    mask = length - 1;
  }

  /** How many frames are listed, whether their pages are still given up or not. */
  int size() {
    return size;
  }

  /**
   * Lists a frame whose page was given up.
   *
   * @param written whether the page was dirty, and was written for this
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

  /** Lists a frame whose page was given up, if there is room; else it is the policy's again. */
  boolean offer(int frame) {
    boolean room = false;
    if (!full()) {
      lock();
      try {
        room = tail - head < ring.length;
        if (room) {
          ring[tail++ & mask] = frame;
          size = tail - head;
        }
      } finally {
        unlock();
      }
    }
    if (!room) {
      keep(frame);
    }
    return room;
  }

  /** Whether there is no room. */
  boolean full() {
    return size == ring.length;
  }

  /** Takes an entry: a frame, its complement if the page was written for this, or EMPTY. */
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

  /** A page that is listed no more is the policy's business again. */
  void keep(int frame) {
    if (FrameHeader.evictionCandidate(headers, frame)) {
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
