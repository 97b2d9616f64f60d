package io.fovea.bindings;

import io.fovea.bindings.generated.LibUring;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/**
 * The completion side of a ring: liburing's {@code io_uring_peek_cqe} and {@code
 * io_uring_cqe_seen}, which are inline in C.
 *
 * <pre>
 *        khead (we write)             ktail (kernel writes)
 *          |                            |
 *   ... free | completions to be reaped  | free ...          positions, 32 bits, wrapping
 *
 *   struct io_uring_cqe[entries], 16 bytes each, at position &amp; mask
 *   user_data 8 | res 4 | flags 4
 * </pre>
 *
 * <p><b>Memory order.</b> The kernel may add completions at any time, from an interrupt or another
 * thread.
 *
 * <ul>
 *   <li>{@code ktail} is read with acquire semantics; partner: {@code
 *       smp_store_release(&amp;rings-> cq.tail)} in {@code io_commit_cqring}. Forbidden: we see the
 *       new tail and read a completion from before the kernel filled it.
 *   <li>{@code khead} is written with release semantics, after the completion was read; partner:
 *       the kernel's read of {@code rings->cq.head} before it decides that an entry is free ({@code
 *       io_cqe_cache_refill}, ordered by the control dependency to its stores). Forbidden: the
 *       kernel sees the new head and overwrites a completion that we have not yet read.
 *   <li>The flags word is read opaquely: it says only that a call into the kernel would find more.
 *       A stale value delays that to the next check. A waiting thread waits in the kernel, which
 *       checks again.
 * </ul>
 *
 * <p>One thread at a time: the owner (checked by the confined arena), or the holder of the lock of
 * a lent ring.
 */
final class CompletionQueue {
  private static final int MORE = LibUring.IORING_SQ_CQ_OVERFLOW() | LibUring.IORING_SQ_TASKRUN();
  private static final VarHandle INT = ValueLayout.JAVA_INT.varHandle();

  private final MemorySegment ring;
  private final MemorySegment khead;
  private final MemorySegment ktail;
  private final MemorySegment kflags;
  private final MemorySegment cqes;
  private final int entries;
  private final int mask;
  private int head;

  /**
   * Wraps the queue of a ring that liburing has set up.
   *
   * @param ring {@code struct io_uring}
   * @param arena the arena of the ring's memory
   */
  CompletionQueue(MemorySegment ring, Arena arena) {
    this.ring = ring;
    long cq = UringLayout.CQ;
    khead = RingSetup.pointer(ring, cq + UringLayout.CQ_KHEAD, Integer.BYTES, arena);
    ktail = RingSetup.pointer(ring, cq + UringLayout.CQ_KTAIL, Integer.BYTES, arena);
    kflags = RingSetup.pointer(ring, UringLayout.SQ + UringLayout.SQ_KFLAGS, Integer.BYTES, arena);
    mask =
        RingSetup.pointer(ring, cq + UringLayout.CQ_KRING_MASK, Integer.BYTES, arena)
            .get(ValueLayout.JAVA_INT, 0);
    entries =
        RingSetup.pointer(ring, cq + UringLayout.CQ_KRING_ENTRIES, Integer.BYTES, arena)
            .get(ValueLayout.JAVA_INT, 0);
    cqes =
        RingSetup.pointer(ring, cq + UringLayout.CQ_CQES, entries * UringLayout.CQE_BYTES, arena);
    head = (int) INT.getAcquire(khead, 0L);
  }

  int entries() {
    return entries;
  }

  /** Returns the position up to which completions were reaped. */
  int head() {
    return head;
  }

  /**
   * Returns the number of completions that can be reaped now, or a negated error number if the
   * kernel has more but cannot deliver them.
   */
  int ready() {
    int ready = (int) INT.getAcquire(ktail, 0L) - head;
    if (ready == 0 && ((int) INT.getOpaque(kflags, 0L) & MORE) != 0) {
      int error = UringCalls.GET_EVENTS.callPlain(ring.address(), 0, 0, 0, 0);
      ready = (int) INT.getAcquire(ktail, 0L) - head;
      if (ready == 0
          && error < 0
          && error != -Errno.EINTR
          && error != -Errno.EAGAIN
          && error != -Errno.EBUSY) {
        return error;
      }
    }
    return ready;
  }

  /** Reaps up to {@code max} completions. */
  int reap(long[] userData, int[] results, int max) {
    int ready = ready();
    if (ready <= 0) {
      return ready;
    }
    int n = Math.min(ready, max);
    int first = head;
    for (int i = 0; i < n; i++) {
      long at = ((first + i) & mask) * UringLayout.CQE_BYTES;
      userData[i] = cqes.get(ValueLayout.JAVA_LONG, at + UringLayout.CQE_USER_DATA);
      results[i] = cqes.get(ValueLayout.JAVA_INT, at + UringLayout.CQE_RES);
    }
    head = first + n;
    INT.setRelease(khead, 0L, head);
    return n;
  }

  /**
   * Reaps all completions that are ready. The head moves before each call of the handler, so a
   * handler may throw, add requests, submit, and even reap.
   */
  int reap(Ring.Completion handler) {
    int ready = ready();
    if (ready <= 0) {
      return ready;
    }
    int end = head + ready;
    int n = 0;
    while (end - head > 0) {
      long at = (head & mask) * UringLayout.CQE_BYTES;
      long userData = cqes.get(ValueLayout.JAVA_LONG, at + UringLayout.CQE_USER_DATA);
      int result = cqes.get(ValueLayout.JAVA_INT, at + UringLayout.CQE_RES);
      head++;
      INT.setRelease(khead, 0L, head);
      n++;
      handler.completed(userData, result);
    }
    return n;
  }
}
