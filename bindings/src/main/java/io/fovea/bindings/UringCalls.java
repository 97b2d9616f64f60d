package io.fovea.bindings;

import java.lang.foreign.MemorySegment;

/** The functions of liburing that {@link Ring} calls. They return negated error numbers. */
final class UringCalls {
  static final NativeFunction QUEUE_INIT_PARAMS =
      NativeFunction.uring("io_uring_queue_init_params");
  static final NativeFunction QUEUE_EXIT = NativeFunction.uring("io_uring_queue_exit");
  static final NativeFunction RING_DONTFORK = NativeFunction.uring("io_uring_ring_dontfork");
  static final NativeFunction FREE_PROBE = NativeFunction.uring("io_uring_free_probe");
  static final NativeFunction SUBMIT = NativeFunction.uring("io_uring_submit");
  static final NativeFunction SUBMIT_AND_WAIT = NativeFunction.uring("io_uring_submit_and_wait");
  static final NativeFunction SUBMIT_AND_WAIT_TIMEOUT =
      NativeFunction.uring("io_uring_submit_and_wait_timeout");
  static final NativeFunction GET_EVENTS = NativeFunction.uring("io_uring_get_events");
  static final NativeFunction REGISTER_FILES = NativeFunction.uring("io_uring_register_files");
  static final NativeFunction UNREGISTER_FILES = NativeFunction.uring("io_uring_unregister_files");
  static final NativeFunction REGISTER_FILES_UPDATE =
      NativeFunction.uring("io_uring_register_files_update");
  static final NativeFunction REGISTER_BUFFERS = NativeFunction.uring("io_uring_register_buffers");
  static final NativeFunction UNREGISTER_BUFFERS =
      NativeFunction.uring("io_uring_unregister_buffers");
  private static final NativeFunction GET_PROBE_RING =
      NativeFunction.uring("io_uring_get_probe_ring");

  private UringCalls() {}

  /** Returns the address of a {@code struct io_uring_probe} to be freed, or 0. */
  static long probe(MemorySegment ring) {
    CallState state = CallState.acquire();
    try {
      return GET_PROBE_RING.call(state, ring.address(), 0, 0);
    } finally {
      state.release();
    }
  }
}
