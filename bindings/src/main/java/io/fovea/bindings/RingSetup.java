package io.fovea.bindings;

import io.fovea.bindings.generated.LibUring;
import io.fovea.bindings.generated.io_uring;
import io.fovea.bindings.generated.io_uring_params;
import io.fovea.bindings.generated.io_uring_probe;
import io.fovea.bindings.generated.io_uring_probe_op;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Sets up a ring: which setup flags are tried in which order, and which features and operations a
 * {@link Ring} requires.
 *
 * @param arena owns the ring's memory; closed with the ring. Confined to the thread that opened the ring, unless the ring is lent
 */
record RingSetup(Arena arena, MemorySegment ring, MemorySegment params) {
  /** The setup flags that {@link Ring#open(int)} tries, best first: Linux 6.1, 6.0, 5.19, older. */
  private static final int[] WISHES = {
    LibUring.IORING_SETUP_SINGLE_ISSUER()
        | LibUring.IORING_SETUP_DEFER_TASKRUN()
        | LibUring.IORING_SETUP_TASKRUN_FLAG(),
    LibUring.IORING_SETUP_SINGLE_ISSUER()
        | LibUring.IORING_SETUP_COOP_TASKRUN()
        | LibUring.IORING_SETUP_TASKRUN_FLAG(),
    LibUring.IORING_SETUP_COOP_TASKRUN() | LibUring.IORING_SETUP_TASKRUN_FLAG(),
    0
  };

  /** The same for a lent ring: several threads submit, so SINGLE_ISSUER does not apply. */
  private static final int[] WISHES_LENT = {
    LibUring.IORING_SETUP_COOP_TASKRUN() | LibUring.IORING_SETUP_TASKRUN_FLAG(), 0
  };

  private static final int NEEDED_FEATURES =
      LibUring.IORING_FEAT_NODROP() | LibUring.IORING_FEAT_EXT_ARG();
  private static final int[] NEEDED_OPERATIONS = {
    LibUring.IORING_OP_NOP(),
    LibUring.IORING_OP_READ(),
    LibUring.IORING_OP_WRITE(),
    LibUring.IORING_OP_READ_FIXED(),
    LibUring.IORING_OP_WRITE_FIXED(),
    LibUring.IORING_OP_FSYNC(),
    LibUring.IORING_OP_ASYNC_CANCEL()
  };
  private static final int ENTRIES_MAX = 32768;

  /** Opens a ring with the best flags that the kernel accepts. */
  static RingSetup best(int entries, boolean lent) {
    int[] wishes = lent ? WISHES_LENT : WISHES;
    for (int i = 0; ; i++) {
      try {
        return make(entries, 0, wishes[i], lent);
      } catch (NativeException e) {
        // An older kernel answers an unknown flag with EINVAL.
        if (e.errno() != Errno.EINVAL || wishes[i] == 0) {
          throw e;
        }
      }
    }
  }

  /**
   * Opens a ring with these flags.
   *
   * @throws NativeException if the kernel refuses
   * @throws IllegalArgumentException if {@code entries} is out of range
   * @throws IllegalStateException if the calling thread is virtual
   */
  static RingSetup make(int entries, int completionEntries, int setupFlags, boolean lent) {
    if (Thread.currentThread().isVirtual()) {
      throw new IllegalStateException(
          "A ring must be opened by a platform thread; the calling thread is virtual.");
    }
    if (entries < 1 || entries > ENTRIES_MAX) {
      throw new IllegalArgumentException(
          "A ring has 1 to " + ENTRIES_MAX + " entries, not " + entries + ".");
    }
    Arena arena = lent ? Arena.ofShared() : Arena.ofConfined();
    try {
      MemorySegment ring = io_uring.allocate(arena);
      MemorySegment params = io_uring_params.allocate(arena);
      int flags = setupFlags;
      if (completionEntries != 0) {
        flags |= LibUring.IORING_SETUP_CQSIZE();
        io_uring_params.cq_entries(params, completionEntries);
      }
      io_uring_params.flags(params, flags);
      int error = LibUring.io_uring_queue_init_params(entries, ring, params);
      if (error < 0) {
        throw new NativeException("io_uring_queue_init_params", error);
      }
      LibUring.io_uring_ring_dontfork(ring); // best effort
      return new RingSetup(arena, ring, params);
    } catch (Throwable t) {
      arena.close();
      throw t;
    }
  }

  /** Returns what this kernel lacks, or an empty string. */
  static String missing(MemorySegment ring, int features) {
    if ((features & NEEDED_FEATURES) != NEEDED_FEATURES) {
      return "the kernel's io_uring is older than Linux 5.11";
    }
    MemorySegment probe = LibUring.io_uring_get_probe_ring(ring);
    if (probe.address() == 0) {
      return "the kernel's io_uring does not say which operations it has";
    }
    try {
      int length = io_uring_probe.ops_len(probe) & 0xFF;
      for (int operation : NEEDED_OPERATIONS) {
        boolean supported =
            operation < length
                && (io_uring_probe_op.flags(
                            probe.asSlice(
                                io_uring_probe.ops$offset()
                                    + operation * io_uring_probe_op.layout().byteSize(),
                                io_uring_probe_op.layout()))
                        & LibUring.IO_URING_OP_SUPPORTED())
                    != 0;
        if (!supported) {
          return "the kernel's io_uring lacks operation " + operation;
        }
      }
    } finally {
      LibUring.io_uring_free_probe(probe);
    }
    return "";
  }
}
