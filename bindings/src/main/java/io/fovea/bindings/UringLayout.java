package io.fovea.bindings;

/**
 * Offsets and sizes, in bytes, of the structures shared with liburing and the kernel.
 *
 * <p>Constants, because the accessors that jextract generates make the JVM generate classes for
 * each shape of access. {@code UringLayoutTest} compares them with the generated layouts.
 */
final class UringLayout {
  // struct io_uring
  static final long RING_BYTES = 216;
  static final long SQ = 0;
  static final long CQ = 104;

  // struct io_uring_sq: pointers, then the tail
  static final long SQ_KHEAD = 0;
  static final long SQ_KRING_MASK = 16;
  static final long SQ_KRING_ENTRIES = 24;
  static final long SQ_KFLAGS = 32;
  static final long SQ_SQES = 56;
  static final long SQ_SQE_TAIL = 68;

  // struct io_uring_cq: pointers
  static final long CQ_KHEAD = 0;
  static final long CQ_KTAIL = 8;
  static final long CQ_KRING_MASK = 16;
  static final long CQ_KRING_ENTRIES = 24;
  static final long CQ_CQES = 48;

  // struct io_uring_sqe
  static final long SQE_BYTES = 64;
  static final long SQE_OPCODE = 0;
  static final long SQE_FLAGS = 1;
  static final long SQE_IOPRIO = 2;
  static final long SQE_FD = 4;
  static final long SQE_OFF = 8;
  static final long SQE_ADDR = 16;
  static final long SQE_LEN = 24;
  static final long SQE_RW_FLAGS = 28;
  static final long SQE_USER_DATA = 32;
  static final long SQE_BUF_INDEX = 40;
  static final long SQE_PERSONALITY = 42;
  static final long SQE_FILE_INDEX = 44;
  static final long SQE_ADDR3 = 48;
  static final long SQE_PAD2 = 56;

  // struct io_uring_cqe
  static final long CQE_BYTES = 16;
  static final long CQE_USER_DATA = 0;
  static final long CQE_RES = 8;

  // struct io_uring_params
  static final long PARAMS_BYTES = 120;
  static final long PARAMS_CQ_ENTRIES = 4;
  static final long PARAMS_FLAGS = 8;
  static final long PARAMS_FEATURES = 20;

  // struct io_uring_probe, an array of struct io_uring_probe_op at its end
  static final long PROBE_OPS_LEN = 1;
  static final long PROBE_OPS = 16;
  static final long PROBE_OP_BYTES = 8;
  static final long PROBE_OP_FLAGS = 2;

  // struct iovec
  static final long IOVEC_BYTES = 16;
  static final long IOVEC_BASE = 0;
  static final long IOVEC_LEN = 8;

  // struct __kernel_timespec
  static final long TIMESPEC_BYTES = 16;
  static final long TIMESPEC_SEC = 0;
  static final long TIMESPEC_NSEC = 8;

  private UringLayout() {}
}
