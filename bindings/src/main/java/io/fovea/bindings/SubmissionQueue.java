package io.fovea.bindings;

import io.fovea.bindings.generated.LibUring;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.Objects;

/**
 * The submission side of a ring: liburing's {@code io_uring_get_sqe} and {@code io_uring_prep_*},
 * which are inline in C.
 *
 * <pre>
 *        khead (kernel writes)          sqe_tail (we write)
 *          |                              |
 *   ... free | not consumed yet            | free ...        positions, 32 bits, wrapping
 *          +--- flushed ---+--- filled ---+
 *                        ktail (liburing writes it in io_uring_submit)
 *
 *   struct io_uring_sqe[entries], 64 bytes each, at position &amp; mask
 *   opcode 1 | flags 1 | ioprio 2 | fd 4 | off 8 | addr 8 | len 4 | rw_flags 4
 *   user_data 8 | buf_index 2 | personality 2 | file_index 4 | addr3 8 | pad 8
 * </pre>
 *
 * <p>{@code sqe_tail} is in liburing's {@code struct io_uring}, so {@code io_uring_submit} finds
 * the entries filled here. liburing maintains {@code ktail} and the index array.
 *
 * <p><b>Memory order.</b> There is no SQPOLL thread: the kernel reads this queue only inside {@code
 * io_uring_enter}, on the thread that filled it. Entries and tail need no fence: the system call
 * comes between in program order, and the JIT moves no memory access across a native call. The same
 * holds for {@code khead}, which that call writes. It is still read with acquire semantics
 * (partner: {@code smp_store_release(&amp;rings->sq.head)} in {@code io_commit_sqring}), which is
 * free on x86 and keeps an entry from being filled before the kernel has read the one it replaces.
 *
 * <p>One thread at a time: the owner (checked by the confined arena), or the holder of the lock of
 * a lent ring.
 */
final class SubmissionQueue {
  private static final long TAIL = UringLayout.SQ + UringLayout.SQ_SQE_TAIL;
  private static final VarHandle INT = ValueLayout.JAVA_INT.varHandle();

  private static final byte FIXED_FILE = (byte) LibUring.IOSQE_FIXED_FILE();
  private static final byte LINK = (byte) LibUring.IOSQE_IO_LINK();

  /**
   * Indexes of registered files begin here, far from -1 and from negated error numbers, so that a
   * descriptor that was never opened is not mistaken for the first registered file.
   */
  private static final int REGISTERED = Integer.MIN_VALUE;

  private static final int REGISTERED_MAX = 1 << 20;

  private final MemorySegment ring;
  private final MemorySegment khead;
  private final MemorySegment sqes;
  private final int entries;
  private final int mask;
  private int tail;

  /**
   * Wraps the queue of a ring that liburing has set up.
   *
   * @param ring {@code struct io_uring}
   * @param arena the arena of the ring's memory
   */
  SubmissionQueue(MemorySegment ring, Arena arena) {
    this.ring = ring;
    long sq = UringLayout.SQ;
    khead = RingSetup.pointer(ring, sq + UringLayout.SQ_KHEAD, Integer.BYTES, arena);
    // Read through the pointers: the fields that hold the values are padding before liburing 2.3.
    mask =
        RingSetup.pointer(ring, sq + UringLayout.SQ_KRING_MASK, Integer.BYTES, arena)
            .get(ValueLayout.JAVA_INT, 0);
    entries =
        RingSetup.pointer(ring, sq + UringLayout.SQ_KRING_ENTRIES, Integer.BYTES, arena)
            .get(ValueLayout.JAVA_INT, 0);
    sqes =
        RingSetup.pointer(ring, sq + UringLayout.SQ_SQES, entries * UringLayout.SQE_BYTES, arena);
    tail = ring.get(ValueLayout.JAVA_INT, TAIL);
  }

  /** Returns the descriptor that stands for a registered file. */
  static int registered(int index) {
    return REGISTERED + Objects.checkIndex(index, REGISTERED_MAX);
  }

  int entries() {
    return entries;
  }

  /** Returns the position up to which the kernel has taken entries. */
  int head() {
    return (int) INT.getAcquire(khead, 0L);
  }

  /** Returns the number of entries that the kernel has yet to consume. */
  int pending() {
    return tail - head();
  }

  /**
   * Fills the next entry.
   *
   * @param fd a descriptor, or the result of {@link #registered}
   * @return false if the queue is full
   */
  boolean fill(
      int opcode,
      int fd,
      long offset,
      long address,
      int length,
      int opFlags,
      int bufferIndex,
      long userData) {
    int position = tail;
    if (position - head() >= entries) {
      return false;
    }
    long at = (position & mask) * UringLayout.SQE_BYTES;
    boolean fixed = fd < REGISTERED + REGISTERED_MAX;
    MemorySegment s = sqes;
    s.set(ValueLayout.JAVA_BYTE, at + UringLayout.SQE_OPCODE, (byte) opcode);
    s.set(ValueLayout.JAVA_BYTE, at + UringLayout.SQE_FLAGS, fixed ? FIXED_FILE : 0);
    s.set(ValueLayout.JAVA_SHORT, at + UringLayout.SQE_IOPRIO, (short) 0);
    s.set(ValueLayout.JAVA_INT, at + UringLayout.SQE_FD, fixed ? fd - REGISTERED : fd);
    s.set(ValueLayout.JAVA_LONG, at + UringLayout.SQE_OFF, offset);
    s.set(ValueLayout.JAVA_LONG, at + UringLayout.SQE_ADDR, address);
    s.set(ValueLayout.JAVA_INT, at + UringLayout.SQE_LEN, length);
    s.set(ValueLayout.JAVA_INT, at + UringLayout.SQE_RW_FLAGS, opFlags);
    s.set(ValueLayout.JAVA_LONG, at + UringLayout.SQE_USER_DATA, userData);
    s.set(ValueLayout.JAVA_SHORT, at + UringLayout.SQE_BUF_INDEX, (short) bufferIndex);
    s.set(ValueLayout.JAVA_SHORT, at + UringLayout.SQE_PERSONALITY, (short) 0);
    s.set(ValueLayout.JAVA_INT, at + UringLayout.SQE_FILE_INDEX, 0);
    s.set(ValueLayout.JAVA_LONG, at + UringLayout.SQE_ADDR3, 0L);
    s.set(ValueLayout.JAVA_LONG, at + UringLayout.SQE_PAD2, 0L);
    tail = position + 1;
    ring.set(ValueLayout.JAVA_INT, TAIL, tail);
    return true;
  }

  /** Links the last filled entry to the next one. */
  void link() {
    if (pending() == 0) {
      throw new IllegalStateException(
          "There is no pending request to link from. Add one before you call linkNext().");
    }
    long at = ((tail - 1) & mask) * UringLayout.SQE_BYTES + UringLayout.SQE_FLAGS;
    sqes.set(ValueLayout.JAVA_BYTE, at, (byte) (sqes.get(ValueLayout.JAVA_BYTE, at) | LINK));
  }

  /** Turns the entries that the kernel has yet to consume into no-ops. */
  void defuse() {
    int end = tail;
    for (int position = head(); position != end; position++) {
      long at = (position & mask) * UringLayout.SQE_BYTES;
      sqes.asSlice(at, UringLayout.SQE_BYTES).fill((byte) 0);
      sqes.set(ValueLayout.JAVA_BYTE, at + UringLayout.SQE_OPCODE, (byte) LibUring.IORING_OP_NOP());
    }
  }
}
