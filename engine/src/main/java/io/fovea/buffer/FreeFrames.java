package io.fovea.buffer;

import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The frames that hold no page: a stack of candidates.
 *
 * <pre>
 *   stack, native:  | f0 | f1 | ... | f(size-1) |     and behind it: fresh, fresh + 1, ... frames - 1
 *                     freed once, last on top            never popped yet
 *   header of each: unlisted = 0
 * </pre>
 *
 * <p>A frame is <i>free</i> when its header's page id is 0, and belongs to the thread that latches
 * it exclusively. A listed frame may be claimed as a preferred frame; a thread that pops it then
 * tries the next one. The unlisted byte keeps a frame from being listed twice, so the stack never
 * exceeds the number of frames. Frames that were never popped are listed without being on the
 * stack, so that opening a large pool touches none of its memory.
 *
 * <p>{@code count} is the number of free frames that are not claimed; exact while nothing changes.
 *
 * <p>A spin latch protects the stack; its holders take no other latch.
 */
final class FreeFrames {
  private static final VarHandle LATCH;
  private static final VarHandle COUNT;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      LATCH = lookup.findVarHandle(FreeFrames.class, "latch", int.class);
      COUNT = lookup.findVarHandle(FreeFrames.class, "count", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final MemorySegment headers;
  private final MemorySegment stack;
  private final int frames;
  private int size;
  private int fresh;

  @SuppressWarnings("unused") // through its VarHandle
  private int latch;

  private volatile int count;

  FreeFrames(MemorySegment headers, MemorySegment stack, int frames) {
    this.headers = headers;
    this.stack = stack;
    this.frames = frames;
    this.count = frames;
  }

  int count() {
    return count;
  }

  /** Called by the thread that claims a free frame, under its exclusive latch. */
  void claimed() {
    COUNT.getAndAdd(this, -1);
  }

  /** Lists a frame that becomes free; its exclusive latch is held. */
  void add(int frame) {
    COUNT.getAndAdd(this, 1);
    list(frame);
  }

  void list(int frame) {
    lock();
    try {
      long unlisted = FrameHeader.at(frame) + FrameHeader.UNLISTED;
      if (Mem.getByte(headers, unlisted) != 0) {
        Mem.putByte(headers, unlisted, (byte) 0);
        Mem.putInt(stack, 4L * size++, frame);
      }
    } finally {
      unlock();
    }
  }

  /** Pops a frame that may be free; returns -1 if none is listed. */
  int pop() {
    lock();
    try {
      int frame = -1;
      if (size > 0) {
        frame = Mem.getInt(stack, 4L * --size);
      } else if (fresh < frames) {
        frame = fresh++;
      }
      if (frame >= 0) {
        Mem.putByte(headers, FrameHeader.at(frame) + FrameHeader.UNLISTED, (byte) 1);
      }
      return frame;
    } finally {
      unlock();
    }
  }

  private void lock() {
    for (int round = 0; !LATCH.compareAndSet(this, 0, 1); ) {
      round = Math.min(Backoff.pause(round), Backoff.PARK_FROM - 1);
    }
  }

  private void unlock() {
    LATCH.setRelease(this, 0);
  }
}
