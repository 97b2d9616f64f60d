package io.fovea.bindings;

import io.fovea.bindings.generated.LibUring;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Sets up a ring: tries setup flags in order of preference and checks the features and operations
 * that a {@link Ring} requires.
 *
 * @param arena owns the ring's memory; closed with the ring. Confined to the thread that opened the
 *     ring, unless the ring is lent
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

  /** Enough of a {@code struct io_uring_probe} for any operation code. */
  private static final long PROBE_BYTES = UringLayout.PROBE_OPS + 256 * UringLayout.PROBE_OP_BYTES;

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
          "A ring must have 1 to " + ENTRIES_MAX + " entries, not " + entries + ".");
    }
    Arena arena = lent ? Arena.ofShared() : Arena.ofConfined();
    try {
      MemorySegment ring = arena.allocate(UringLayout.RING_BYTES, Long.BYTES);
      MemorySegment params = arena.allocate(UringLayout.PARAMS_BYTES, Long.BYTES);
      int flags = setupFlags;
      if (completionEntries != 0) {
        flags |= LibUring.IORING_SETUP_CQSIZE();
        params.set(ValueLayout.JAVA_INT, UringLayout.PARAMS_CQ_ENTRIES, completionEntries);
      }
      params.set(ValueLayout.JAVA_INT, UringLayout.PARAMS_FLAGS, flags);
      int error =
          UringCalls.QUEUE_INIT_PARAMS.callPlain(entries, ring.address(), params.address(), 0, 0);
      if (error < 0) {
        throw new NativeException("io_uring_queue_init_params", error);
      }
      UringCalls.RING_DONTFORK.callPlain(ring.address(), 0, 0, 0, 0); // best effort
      return new RingSetup(arena, ring, params);
    } catch (Throwable t) {
      arena.close();
      throw t;
    }
  }

  /** Returns the memory that a pointer in a structure refers to. */
  static MemorySegment pointer(MemorySegment struct, long offset, long bytes, Arena arena) {
    long address = struct.get(ValueLayout.JAVA_LONG, offset);
    return MemorySegment.ofAddress(address).reinterpret(bytes, arena, null);
  }

  /** Returns what this kernel lacks, or an empty string. */
  static String missing(MemorySegment ring, int features) {
    if ((features & NEEDED_FEATURES) != NEEDED_FEATURES) {
      return "the kernel's io_uring is older than Linux 5.11";
    }
    long address = UringCalls.probe(ring);
    if (address == 0) {
      return "the kernel's io_uring does not say which operations it has";
    }
    try {
      MemorySegment probe = MemorySegment.ofAddress(address).reinterpret(PROBE_BYTES);
      int length = probe.get(ValueLayout.JAVA_BYTE, UringLayout.PROBE_OPS_LEN) & 0xFF;
      for (int operation : NEEDED_OPERATIONS) {
        long flags =
            UringLayout.PROBE_OPS
                + operation * UringLayout.PROBE_OP_BYTES
                + UringLayout.PROBE_OP_FLAGS;
        boolean supported =
            operation < length
                && (probe.get(ValueLayout.JAVA_SHORT, flags) & LibUring.IO_URING_OP_SUPPORTED())
                    != 0;
        if (!supported) {
          return "the kernel's io_uring lacks operation " + operation;
        }
      }
    } finally {
      UringCalls.FREE_PROBE.callPlain(address, 0, 0, 0, 0);
    }
    return "";
  }
}
