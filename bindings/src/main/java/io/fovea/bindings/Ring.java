package io.fovea.bindings;

import io.fovea.bindings.generated.LibUring;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * An io_uring: requests go in, completions come out, many per system call.
 *
 * <pre>
 *   read(..) write(..) fsync(..)      submit()                          reap(..)
 *        |                              |                                 |
 *        v                              v                                 |
 *   submission queue (mapped) --- io_uring_enter --&gt; kernel --&gt; completion queue (mapped)
 * </pre>
 *
 * <p>liburing sets up the ring, submits and registers. This class fills entries and reaps
 * completions in the memory shared with the kernel, because the C functions that do so are inline.
 * The memory-order arguments are in {@code SubmissionQueue} and {@code CompletionQueue}.
 *
 * <p><b>Threads.</b> Not thread-safe. A ring belongs to the platform thread that opened it, which
 * must also close it: the kernel relies on this (SINGLE_ISSUER), and the JVM checks it ({@link
 * WrongThreadException}). A virtual thread cannot own a ring, because it changes its carrier. A
 * ring of {@link #openLent} may be used by several threads, which must exclude each other.
 *
 * <p><b>Requests.</b> A method that adds a request returns false if the submission queue is full;
 * {@link #submit()} empties it. Buffers and descriptors must stay valid until the completion is
 * reaped. Every request produces exactly one completion, with its {@code userData} and a result:
 * bytes or 0, or a negated error number. A read may transfer fewer bytes than requested.
 * Completions arrive in any order. More requests may be in flight than the completion queue has
 * entries; the kernel keeps the excess completions until there is space.
 *
 * <p><b>Descriptors.</b> Instead of a descriptor, a request may name a registered file by {@link
 * #registeredFile}.
 *
 * <p><b>Errors.</b> A refusal by the kernel is returned as a negated error number. Use after {@link
 * #close()} throws {@link RingClosedException}. Only setup and registration allocate.
 *
 * <p>Call {@link Uring#probe()} first; without it this class may fail to load.
 *
 * @since 0.1.0
 */
public final class Ring implements AutoCloseable {

  /**
   * Handles completions.
   *
   * @since 0.1.0
   */
  @FunctionalInterface
  public interface Completion {
    /**
     * Called once for each completion, on the thread that reaps. It may add requests, submit and
     * reap. An exception propagates to the caller of {@link Ring#reap(Completion)}, with the
     * completion reaped.
     *
     * @param userData the user data of the request
     * @param result bytes or 0, or a negated error number
     * @since 0.1.0
     */
    void completed(long userData, int result);
  }

  private static final int NO_FILE = 0;
  private static final long NANOS_PER_SECOND = 1_000_000_000L;

  private final Arena arena;
  private final MemorySegment ring;
  private final MemorySegment timeout;
  private final MemorySegment firstCompletion;
  private final SubmissionQueue submissions;
  private final CompletionQueue completions;
  private final int features;
  private final int setupFlags;
  private boolean closed;

  private Ring(RingSetup setup) {
    arena = setup.arena();
    ring = setup.ring();
    timeout = arena.allocate(UringLayout.TIMESPEC_BYTES, Long.BYTES);
    firstCompletion = arena.allocate(ValueLayout.ADDRESS);
    submissions = new SubmissionQueue(ring, arena);
    completions = new CompletionQueue(ring, arena);
    features = setup.params().get(ValueLayout.JAVA_INT, UringLayout.PARAMS_FEATURES);
    setupFlags = setup.params().get(ValueLayout.JAVA_INT, UringLayout.PARAMS_FLAGS);
  }

  /**
   * Opens a ring with the best setup flags that the kernel accepts, and a completion queue of twice
   * the size. The calling thread becomes its owner.
   *
   * @param entries the capacity of the submission queue, in requests, 1 to 32768; rounded up to a
   *     power of two
   * @return the ring
   * @throws IllegalArgumentException if {@code entries} is out of range
   * @throws NativeException if the kernel refuses, for example with {@link Errno#EPERM}, {@link
   *     Errno#ENOSYS}, {@link Errno#ENOMEM} or {@link Errno#EMFILE}
   * @throws IllegalStateException if the calling thread is virtual
   * @since 0.1.0
   */
  public static Ring open(int entries) {
    return new Ring(RingSetup.best(entries, false));
  }

  /**
   * Opens a ring that any thread may use, one at a time. The handover must order the actions of one
   * user before those of the next (a lock does). A thread should not end while it has requests in
   * flight.
   *
   * @param entries the capacity of the submission queue, in requests, 1 to 32768; rounded up to a
   *     power of two
   * @return the ring
   * @throws IllegalArgumentException if {@code entries} is out of range
   * @throws NativeException if the kernel refuses
   * @throws IllegalStateException if the calling thread is virtual
   * @since 0.1.0
   */
  public static Ring openLent(int entries) {
    return new Ring(RingSetup.best(entries, true));
  }

  /**
   * Opens a ring. The calling thread becomes its owner.
   *
   * @param entries the capacity of the submission queue, in requests, 1 to 32768; rounded up to a
   *     power of two
   * @param completionEntries the size of the completion queue, at least {@code entries}, rounded up
   *     likewise; 0 for twice {@code entries}
   * @param setupFlags {@code IORING_SETUP_*} that affect only how completions are delivered
   * @return the ring
   * @throws IllegalArgumentException if {@code entries} is out of range
   * @throws NativeException if the kernel refuses; {@link Errno#EINVAL} if it does not know a flag
   * @throws IllegalStateException if the calling thread is virtual
   * @since 0.1.0
   */
  public static Ring open(int entries, int completionEntries, int setupFlags) {
    return new Ring(RingSetup.make(entries, completionEntries, setupFlags, false));
  }

  /**
   * Returns the value that names a registered file in a request.
   *
   * @param index its index in {@link #registerFiles}
   * @return what to pass as the descriptor; opaque, never equal to a descriptor or a negated error
   *     number
   * @throws IndexOutOfBoundsException if the index is negative or 2^20 or more
   * @since 0.1.0
   */
  public static int registeredFile(int index) {
    return SubmissionQueue.registered(index);
  }

  // ---------------------------------------------------------------- requests

  /**
   * Adds a request that does nothing.
   *
   * @param userData returned with its completion; the result is 0
   * @return false if the submission queue is full
   * @throws RingClosedException if the ring is closed
   * @since 0.1.0
   */
  public boolean nop(long userData) {
    checkOpen();
    return submissions.fill(LibUring.IORING_OP_NOP(), NO_FILE, 0, 0, 0, 0, 0, userData);
  }

  /**
   * Adds a read.
   *
   * @param fd descriptor or {@link #registeredFile}
   * @param address the destination of the bytes
   * @param length the maximum number of bytes
   * @param offset position in the file, in bytes
   * @param userData returned with its completion; the result is the number of bytes read
   * @return false if the submission queue is full
   * @throws RingClosedException if the ring is closed
   * @since 0.1.0
   */
  public boolean read(int fd, long address, int length, long offset, long userData) {
    checkOpen();
    return submissions.fill(LibUring.IORING_OP_READ(), fd, offset, address, length, 0, 0, userData);
  }

  /**
   * Adds a write.
   *
   * @param fd descriptor or {@link #registeredFile}
   * @param address the source of the bytes
   * @param length the maximum number of bytes
   * @param offset position in the file, in bytes
   * @param userData returned with its completion; the result is the number of bytes written
   * @return false if the submission queue is full
   * @throws RingClosedException if the ring is closed
   * @since 0.1.0
   */
  public boolean write(int fd, long address, int length, long offset, long userData) {
    checkOpen();
    return submissions.fill(
        LibUring.IORING_OP_WRITE(), fd, offset, address, length, 0, 0, userData);
  }

  /**
   * Adds a read into a registered buffer, which spares the kernel from pinning its pages.
   *
   * @param fd descriptor or {@link #registeredFile}
   * @param address the destination of the bytes, within the buffer
   * @param length the maximum number of bytes
   * @param offset position in the file, in bytes
   * @param buffer the buffer's index in {@link #registerBuffers}
   * @param userData returned with its completion; the result is the number of bytes read
   * @return false if the submission queue is full
   * @throws RingClosedException if the ring is closed
   * @since 0.1.0
   */
  public boolean readFixed(
      int fd, long address, int length, long offset, int buffer, long userData) {
    checkOpen();
    return submissions.fill(
        LibUring.IORING_OP_READ_FIXED(), fd, offset, address, length, 0, buffer, userData);
  }

  /**
   * Adds a write from a registered buffer, which spares the kernel from pinning its pages.
   *
   * @param fd descriptor or {@link #registeredFile}
   * @param address the source of the bytes, within the buffer
   * @param length the maximum number of bytes
   * @param offset position in the file, in bytes
   * @param buffer the buffer's index in {@link #registerBuffers}
   * @param userData returned with its completion; the result is the number of bytes written
   * @return false if the submission queue is full
   * @throws RingClosedException if the ring is closed
   * @since 0.1.0
   */
  public boolean writeFixed(
      int fd, long address, int length, long offset, int buffer, long userData) {
    checkOpen();
    return submissions.fill(
        LibUring.IORING_OP_WRITE_FIXED(), fd, offset, address, length, 0, buffer, userData);
  }

  /**
   * Adds an fsync. It covers writes that had completed when it was submitted, not concurrent ones;
   * see {@link #linkNext()}.
   *
   * @param fd descriptor or {@link #registeredFile}
   * @param userData returned with its completion; the result is 0
   * @return false if the submission queue is full
   * @throws RingClosedException if the ring is closed
   * @since 0.1.0
   */
  public boolean fsync(int fd, long userData) {
    checkOpen();
    return submissions.fill(LibUring.IORING_OP_FSYNC(), fd, 0, 0, 0, 0, 0, userData);
  }

  /**
   * Adds an fdatasync. It covers writes that had completed when it was submitted, not concurrent
   * ones; see {@link #linkNext()}.
   *
   * @param fd descriptor or {@link #registeredFile}
   * @param userData returned with its completion; the result is 0
   * @return false if the submission queue is full
   * @throws RingClosedException if the ring is closed
   * @since 0.1.0
   */
  public boolean fdatasync(int fd, long userData) {
    checkOpen();
    return submissions.fill(
        LibUring.IORING_OP_FSYNC(), fd, 0, 0, 0, LibUring.IORING_FSYNC_DATASYNC(), 0, userData);
  }

  /**
   * Makes the next added request start only after the last added one has succeeded. If the last one
   * fails, or transfers fewer bytes than requested, the next completes with {@link
   * Errno#ECANCELED}. Both must be submitted by the same call.
   *
   * @throws IllegalStateException if all added requests have been submitted
   * @throws RingClosedException if the ring is closed
   * @since 0.1.0
   */
  public void linkNext() {
    checkOpen();
    submissions.link();
  }

  // ---------------------------------------------------------------- submission

  /**
   * Submits the added requests to the kernel.
   *
   * @return the number of requests that the kernel took; the rest stay for the next call. Or a
   *     negated error number, for example {@link Errno#EAGAIN} or {@link Errno#EBUSY} if
   *     completions must be reaped first
   * @throws RingClosedException if the ring is closed
   * @since 0.1.0
   */
  public int submit() {
    checkOpen();
    int result;
    do {
      result = UringCalls.SUBMIT.callPlain(address(), 0, 0, 0, 0);
    } while (result == -Errno.EINTR);
    return result;
  }

  /**
   * Submits the added requests to the kernel and waits for completions. It may return with fewer
   * than requested; reap to find out.
   *
   * @param completions the number of completions to wait for, including those ready but not reaped;
   *     capped at the number that can arrive
   * @return the number of requests that the kernel took, or a negated error number
   * @throws RingClosedException if the ring is closed
   * @since 0.1.0
   */
  public int submitAndWait(int completions) {
    checkOpen();
    int result;
    do {
      result = UringCalls.SUBMIT_AND_WAIT.callPlain(address(), possible(completions), 0, 0, 0);
    } while (result == -Errno.EINTR);
    return result;
  }

  /**
   * Submits the added requests and waits for completions, up to a timeout; see {@link
   * #submitAndWait(int)}.
   *
   * @param completions the number of completions to wait for
   * @param timeoutNanos the longest wait, in nanoseconds
   * @return the number of requests that the kernel took, even if the wait timed out; or a negated
   *     error number
   * @throws RingClosedException if the ring is closed
   * @since 0.1.0
   */
  public int submitAndWait(int completions, long timeoutNanos) {
    checkOpen();
    int before = submissions.head();
    timeout.set(ValueLayout.JAVA_LONG, UringLayout.TIMESPEC_SEC, timeoutNanos / NANOS_PER_SECOND);
    timeout.set(ValueLayout.JAVA_LONG, UringLayout.TIMESPEC_NSEC, timeoutNanos % NANOS_PER_SECOND);
    int result =
        UringCalls.SUBMIT_AND_WAIT_TIMEOUT.callPlain(
            address(), firstCompletion.address(), possible(completions), timeout.address(), 0);
    // liburing's result on success differs between versions, and -ETIME may hide a submission.
    int taken = submissions.head() - before;
    return taken > 0 || result >= 0 || result == -Errno.ETIME || result == -Errno.EINTR
        ? taken
        : result;
  }

  /** Caps a wait at the number of completions that can arrive. */
  private int possible(int wanted) {
    return Math.clamp(wanted, 0, submissions.pending() + inFlight());
  }

  // ---------------------------------------------------------------- completions

  /**
   * Reaps completions that are ready, without waiting. Calls the kernel only if the queue is empty
   * and a flag of the ring says that there are more.
   *
   * @param userData receives the user data of the requests
   * @param results receives bytes or 0, or a negated error number, at the same index
   * @return the number of completions, at most the length of the shorter array; or a negated error
   *     number if the kernel lost completions ({@link Errno#EBADR})
   * @throws RingClosedException if the ring is closed
   * @since 0.1.0
   */
  public int reap(long[] userData, int[] results) {
    checkOpen();
    return completions.reap(userData, results, Math.min(userData.length, results.length));
  }

  /**
   * Reaps all completions that are ready, without waiting; see {@link #reap(long[], int[])}.
   *
   * @param handler called for each
   * @return the number of completions, or a negated error number
   * @throws RingClosedException if the ring is closed
   * @since 0.1.0
   */
  public int reap(Completion handler) {
    checkOpen();
    return completions.reap(handler);
  }

  // ---------------------------------------------------------------- registration

  /**
   * Registers files, which saves the kernel the lookup of each descriptor. The files stay open in
   * the ring even if the descriptors are closed. Call once, or again after {@link
   * #unregisterFiles()}.
   *
   * @param fds the descriptors; -1 leaves an index free for {@link #updateFile}
   * @return 0 or a negated error number
   * @throws RingClosedException if the ring is closed
   * @since 0.1.0
   */
  public int registerFiles(int... fds) {
    checkOpen();
    try (Arena temporary = Arena.ofConfined()) {
      MemorySegment array = temporary.allocateFrom(ValueLayout.JAVA_INT, fds);
      return UringCalls.REGISTER_FILES.callPlain(address(), array.address(), fds.length, 0, 0);
    }
  }

  /**
   * Replaces one registered file. Requests in flight keep the old file.
   *
   * @param index its index
   * @param fd the new descriptor, or -1 to leave the index free
   * @return 0 or a negated error number
   * @throws RingClosedException if the ring is closed
   * @since 0.1.0
   */
  public int updateFile(int index, int fd) {
    checkOpen();
    try (Arena temporary = Arena.ofConfined()) {
      MemorySegment array = temporary.allocateFrom(ValueLayout.JAVA_INT, fd);
      int result =
          UringCalls.REGISTER_FILES_UPDATE.callPlain(address(), index, array.address(), 1, 0);
      return result < 0 ? result : 0;
    }
  }

  /**
   * Undoes {@link #registerFiles}.
   *
   * @return 0 or a negated error number
   * @throws RingClosedException if the ring is closed
   * @since 0.1.0
   */
  public int unregisterFiles() {
    checkOpen();
    return UringCalls.UNREGISTER_FILES.callPlain(address(), 0, 0, 0, 0);
  }

  /**
   * Registers buffers for {@link #readFixed} and {@link #writeFixed}. The kernel pins their pages
   * and counts them against {@link Libc#RLIMIT_MEMLOCK}. Call once, or again after {@link
   * #unregisterBuffers()}.
   *
   * @param addresses the buffers' first bytes
   * @param lengths their lengths in bytes, 1 GiB at most each
   * @return 0 or a negated error number; {@link Errno#ENOMEM} if the limit is too low
   * @throws IllegalArgumentException if the arrays differ in length
   * @throws RingClosedException if the ring is closed
   * @since 0.1.0
   */
  public int registerBuffers(long[] addresses, long[] lengths) {
    checkOpen();
    if (addresses.length != lengths.length) {
      throw new IllegalArgumentException(
          addresses.length + " addresses and " + lengths.length + " lengths.");
    }
    try (Arena temporary = Arena.ofConfined()) {
      MemorySegment array =
          temporary.allocate(UringLayout.IOVEC_BYTES * addresses.length, Long.BYTES);
      for (int i = 0; i < addresses.length; i++) {
        long at = i * UringLayout.IOVEC_BYTES;
        array.set(ValueLayout.JAVA_LONG, at + UringLayout.IOVEC_BASE, addresses[i]);
        array.set(ValueLayout.JAVA_LONG, at + UringLayout.IOVEC_LEN, lengths[i]);
      }
      return UringCalls.REGISTER_BUFFERS.callPlain(
          address(), array.address(), addresses.length, 0, 0);
    }
  }

  /**
   * Undoes {@link #registerBuffers}.
   *
   * @return 0 or a negated error number
   * @throws RingClosedException if the ring is closed
   * @since 0.1.0
   */
  public int unregisterBuffers() {
    checkOpen();
    return UringCalls.UNREGISTER_BUFFERS.callPlain(address(), 0, 0, 0, 0);
  }

  // ---------------------------------------------------------------- facts

  /**
   * Returns the size of the submission queue, in requests.
   *
   * @return requests
   * @throws RingClosedException if the ring is closed
   * @since 0.1.0
   */
  public int entries() {
    checkOpen();
    return submissions.entries();
  }

  /**
   * Returns the size of the completion queue, in completions.
   *
   * @return completions
   * @throws RingClosedException if the ring is closed
   * @since 0.1.0
   */
  public int completionEntries() {
    checkOpen();
    return completions.entries();
  }

  /**
   * Returns the number of added requests that the kernel has yet to consume.
   *
   * @return requests
   * @throws RingClosedException if the ring is closed
   * @since 0.1.0
   */
  public int pending() {
    checkOpen();
    return submissions.pending();
  }

  /**
   * Returns the number of requests that the kernel has taken and whose completions have not been
   * reaped.
   *
   * @return requests
   * @throws RingClosedException if the ring is closed
   * @since 0.1.0
   */
  public int inFlight() {
    checkOpen();
    // Each request has one completion, and both positions begin at 0.
    return submissions.head() - completions.head();
  }

  /**
   * Returns the features of the kernel.
   *
   * @return {@code IORING_FEAT_*}
   * @since 0.1.0
   */
  public int features() {
    return features;
  }

  /**
   * Returns the flags that the ring was set up with.
   *
   * @return {@code IORING_SETUP_*}
   * @since 0.1.0
   */
  public int setupFlags() {
    return setupFlags;
  }

  /** Returns what this kernel lacks, or an empty string. */
  String missing() {
    return RingSetup.missing(ring, features);
  }

  // ---------------------------------------------------------------- end

  /**
   * Closes the ring. Closing it again has no effect. Requests that were not submitted are dropped.
   * Requests in flight are cancelled if the kernel can (Linux 5.19), and always awaited, since the
   * kernel could otherwise still write to their buffers; their completions are discarded. On older
   * kernels, before closing the ring, make sure that every request can complete, for example a read
   * of an eventfd.
   *
   * @throws WrongThreadException if the calling thread is not the owner; the ring stays open
   * @since 0.1.0
   */
  @Override
  public void close() {
    if (closed) {
      return;
    }
    drain();
    closed = true;
    UringCalls.QUEUE_EXIT.callPlain(ring.address(), 0, 0, 0, 0);
    arena.close();
  }

  private void drain() {
    submissions.defuse();
    if (submissions.pending() + inFlight() == 0) {
      return;
    }
    boolean cancelled = false;
    long[] userData = new long[64];
    int[] results = new int[64];
    int error = 0;
    while (submissions.pending() + inFlight() > 0 && error >= 0) {
      if (!cancelled) {
        cancelled =
            submissions.fill(
                LibUring.IORING_OP_ASYNC_CANCEL(),
                NO_FILE,
                0,
                0,
                0,
                LibUring.IORING_ASYNC_CANCEL_ALL() | LibUring.IORING_ASYNC_CANCEL_ANY(),
                0,
                0);
      }
      error = submitAndWait(1);
      int reaped = reap(userData, results);
      if (reaped > 0) {
        error = 0;
      } else if (reaped < 0) {
        error = reaped;
      }
    }
  }

  /** Returns the address of {@code struct io_uring}; throws if the thread may not use it. */
  private long address() {
    ring.get(ValueLayout.JAVA_BYTE, 0); // the arena checks thread and liveness
    return ring.address();
  }

  private void checkOpen() {
    if (closed) {
      throw new RingClosedException();
    }
  }
}
