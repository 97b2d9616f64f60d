package io.fovea.bindings;

import io.fovea.bindings.generated.LibUring;
import io.fovea.bindings.generated.__kernel_timespec;
import io.fovea.bindings.generated.io_uring_params;
import io.fovea.bindings.generated.iovec;
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
 * <p>liburing sets the ring up, submits and registers; entries are filled and completions reaped
 * here, in the memory that is shared with the kernel, for the functions that do it in C are inline.
 * The memory-order arguments stand with the two queues: {@code SubmissionQueue} needs none, for the
 * kernel reads it only within our own call; {@code CompletionQueue} pairs an acquire of the tail
 * and a release of the head with the kernel.
 *
 * <p><b>Threads.</b> Not thread-safe. A ring belongs to the platform thread that opened it, for all
 * of its life, closing included: the kernel was told so (SINGLE_ISSUER), and the JVM checks it too
 * ({@link WrongThreadException}). A virtual thread cannot own one, because it changes its carrier.
 * One of {@link #openLent} goes from thread to thread, and its users keep each other out.
 *
 * <p><b>Requests.</b> A method that adds a request returns false where the submission queue is
 * full; {@link #submit()} makes room. Buffers and descriptors must stay valid until the completion
 * was reaped. Every request gives exactly one completion, with its {@code userData} and a result:
 * bytes or 0, or a negated error number. A read may give fewer bytes than asked. Completions come
 * in any order. More requests may be in flight than the completion queue has entries; the kernel
 * keeps the rest and hands it over as there is room.
 *
 * <p><b>Descriptors.</b> Wherever a request takes one, {@link #registeredFile} of an index stands
 * for the registered file at that index.
 *
 * <p><b>Errors.</b> Refused by the kernel: a negated error number. Used after {@link #close()}:
 * {@link RingClosedException}. Nothing here allocates but the set-up and the registrations.
 *
 * <p>Ask {@link Uring#probe()} first; without it this class may fail to load.
 *
 * <p>The file has more than 600 lines because a user of a ring reads its contract in one place; two
 * thirds are Javadoc. {@code RingSetup} and the two queues have what can be told apart.
 *
 * @since 0.1.0
 */
public final class Ring implements AutoCloseable {

  /**
   * Takes completions.
   *
   * @since 0.1.0
   */
  @FunctionalInterface
  public interface Completion {
    /**
     * Called once for each completion, on the ring's thread. It may add requests, submit and reap.
     * What it throws goes to the caller of {@link Ring#reap(Completion)}; the completion counts as
     * reaped.
     *
     * @param userData what the request was given
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
    timeout = __kernel_timespec.allocate(arena);
    firstCompletion = arena.allocate(ValueLayout.ADDRESS);
    submissions = new SubmissionQueue(ring, arena);
    completions = new CompletionQueue(ring, arena);
    features = io_uring_params.features(setup.params());
    setupFlags = io_uring_params.flags(setup.params());
  }

  /**
   * Opens a ring with the best set-up flags that the kernel takes, and a completion queue of twice
   * the size. The calling thread becomes its owner.
   *
   * @param entries how many requests the submission queue holds, 1 to 32768; rounded up to a power
   *     of two
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
   * Opens a ring that any thread may use, one at a time: whoever has used it releases it in a way
   * that orders what it did before what the next does. A thread that has requests in flight should
   * not end.
   *
   * @param entries how many requests the submission queue holds, 1 to 32768; rounded up to a power
   *     of two
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
   * @param entries how many requests the submission queue holds, 1 to 32768; rounded up to a power
   *     of two
   * @param completionEntries how many completions the other queue holds, at least {@code entries}
   *     and rounded up likewise; 0 for twice {@code entries}
   * @param setupFlags {@code IORING_SETUP_*} that change nothing but how completions are delivered
   * @return the ring
   * @throws IllegalArgumentException if {@code entries} is out of range
   * @throws NativeException if the kernel refuses; {@link Errno#EINVAL} where it does not know a
   *     flag
   * @throws IllegalStateException if the calling thread is virtual
   * @since 0.1.0
   */
  public static Ring open(int entries, int completionEntries, int setupFlags) {
    return new Ring(RingSetup.make(entries, completionEntries, setupFlags, false));
  }

  /**
   * How a request names a registered file.
   *
   * @param index its index in {@link #registerFiles}
   * @return what to pass as the descriptor; opaque, and no descriptor nor a negated error number
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
   * @param userData comes back with its completion; the result is 0
   * @return false where the submission queue is full
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
   * @param address where the bytes go
   * @param length how many bytes at most
   * @param offset where in the file, in bytes
   * @param userData comes back with its completion; the result is the number of bytes read
   * @return false where the submission queue is full
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
   * @param address where the bytes are
   * @param length how many bytes at most
   * @param offset where in the file, in bytes
   * @param userData comes back with its completion; the result is the number of bytes written
   * @return false where the submission queue is full
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
   * @param address where the bytes go, within the buffer
   * @param length how many bytes at most
   * @param offset where in the file, in bytes
   * @param buffer the buffer's index in {@link #registerBuffers}
   * @param userData comes back with its completion; the result is the number of bytes read
   * @return false where the submission queue is full
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
   * @param address where the bytes are, within the buffer
   * @param length how many bytes at most
   * @param offset where in the file, in bytes
   * @param buffer the buffer's index in {@link #registerBuffers}
   * @param userData comes back with its completion; the result is the number of bytes written
   * @return false where the submission queue is full
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
   * Adds an fsync. It covers the writes that had completed when it was submitted, not those that
   * are in flight beside it; see {@link #linkNext()}.
   *
   * @param fd descriptor or {@link #registeredFile}
   * @param userData comes back with its completion; the result is 0
   * @return false where the submission queue is full
   * @throws RingClosedException if the ring is closed
   * @since 0.1.0
   */
  public boolean fsync(int fd, long userData) {
    checkOpen();
    return submissions.fill(LibUring.IORING_OP_FSYNC(), fd, 0, 0, 0, 0, 0, userData);
  }

  /**
   * Adds an fdatasync. It covers the writes that had completed when it was submitted, not those
   * that are in flight beside it; see {@link #linkNext()}.
   *
   * @param fd descriptor or {@link #registeredFile}
   * @param userData comes back with its completion; the result is 0
   * @return false where the submission queue is full
   * @throws RingClosedException if the ring is closed
   * @since 0.1.0
   */
  public boolean fdatasync(int fd, long userData) {
    checkOpen();
    return submissions.fill(
        LibUring.IORING_OP_FSYNC(), fd, 0, 0, 0, LibUring.IORING_FSYNC_DATASYNC(), 0, userData);
  }

  /**
   * Lets the request that is added next start only when the one that was added last has succeeded.
   * Where that fails, or transfers fewer bytes than asked, the next completes with {@link
   * Errno#ECANCELED}. Both must be submitted by one call.
   *
   * @throws IllegalStateException if there is no request that is not yet submitted
   * @throws RingClosedException if the ring is closed
   * @since 0.1.0
   */
  public void linkNext() {
    checkOpen();
    submissions.link();
  }

  // ---------------------------------------------------------------- submission

  /**
   * Hands the added requests to the kernel.
   *
   * @return how many it took, which may be fewer than there were: the rest stays for the next call;
   *     or a negated error number, for example {@link Errno#EAGAIN} or {@link Errno#EBUSY} where
   *     completions must be reaped first
   * @throws RingClosedException if the ring is closed
   * @since 0.1.0
   */
  public int submit() {
    checkOpen();
    int result;
    do {
      result = LibUring.io_uring_submit(ring);
    } while (result == -Errno.EINTR);
    return result;
  }

  /**
   * Hands the added requests to the kernel and waits for completions. A return says nothing about
   * their number: reap and look.
   *
   * @param completions how many completions to wait for, those that are ready and not yet reaped
   *     included; never more than can come
   * @return how many requests the kernel took, or a negated error number
   * @throws RingClosedException if the ring is closed
   * @since 0.1.0
   */
  public int submitAndWait(int completions) {
    checkOpen();
    int result;
    do {
      result = LibUring.io_uring_submit_and_wait(ring, possible(completions));
    } while (result == -Errno.EINTR);
    return result;
  }

  /**
   * As {@link #submitAndWait(int)}, for a limited time.
   *
   * @param completions how many completions to wait for
   * @param timeoutNanos how long to wait at most, in nanoseconds
   * @return how many requests the kernel took, also where the time ran out; or a negated error
   *     number
   * @throws RingClosedException if the ring is closed
   * @since 0.1.0
   */
  public int submitAndWait(int completions, long timeoutNanos) {
    checkOpen();
    int before = submissions.head();
    __kernel_timespec.tv_sec(timeout, timeoutNanos / NANOS_PER_SECOND);
    __kernel_timespec.tv_nsec(timeout, timeoutNanos % NANOS_PER_SECOND);
    int result =
        LibUring.io_uring_submit_and_wait_timeout(
            ring, firstCompletion, possible(completions), timeout, MemorySegment.NULL);
    // What it returns on success differs between versions, and -ETIME may hide a submission.
    int taken = submissions.head() - before;
    return taken > 0 || result >= 0 || result == -Errno.ETIME || result == -Errno.EINTR
        ? taken
        : result;
  }

  /** Waiting for more than can come would be waiting for ever. */
  private int possible(int wanted) {
    return Math.clamp(wanted, 0, submissions.pending() + inFlight());
  }

  // ---------------------------------------------------------------- completions

  /**
   * Takes completions that are there, without waiting. Calls the kernel only where the queue is
   * empty and a flag of the ring says that there is something to fetch.
   *
   * @param userData gets what the requests were given
   * @param results gets bytes or 0, or a negated error number, at the same index
   * @return how many, at most the length of the shorter array; or a negated error number where the
   *     kernel lost completions ({@link Errno#EBADR})
   * @throws RingClosedException if the ring is closed
   * @since 0.1.0
   */
  public int reap(long[] userData, int[] results) {
    checkOpen();
    return completions.reap(userData, results, Math.min(userData.length, results.length));
  }

  /**
   * Takes the completions that are there, without waiting; see {@link #reap(long[], int[])}.
   *
   * @param handler called for each
   * @return how many, or a negated error number
   * @throws RingClosedException if the ring is closed
   * @since 0.1.0
   */
  public int reap(Completion handler) {
    checkOpen();
    return completions.reap(handler);
  }

  // ---------------------------------------------------------------- registration

  /**
   * Registers files, which spares the kernel from looking each descriptor up. They stay open in the
   * ring even where the descriptors are closed. May be done once, or again after {@link
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
      return LibUring.io_uring_register_files(ring, array, fds.length);
    }
  }

  /**
   * Replaces one registered file. Requests in flight keep the one that they began with.
   *
   * @param index which
   * @param fd the new descriptor, or -1 to leave the index free
   * @return 0 or a negated error number
   * @throws RingClosedException if the ring is closed
   * @since 0.1.0
   */
  public int updateFile(int index, int fd) {
    checkOpen();
    try (Arena temporary = Arena.ofConfined()) {
      MemorySegment array = temporary.allocateFrom(ValueLayout.JAVA_INT, fd);
      int result = LibUring.io_uring_register_files_update(ring, index, array, 1);
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
    return LibUring.io_uring_unregister_files(ring);
  }

  /**
   * Registers buffers for {@link #readFixed} and {@link #writeFixed}. The kernel pins their pages
   * and counts them against {@link Libc#RLIMIT_MEMLOCK}. May be done once, or again after {@link
   * #unregisterBuffers()}.
   *
   * @param addresses the buffers' first bytes
   * @param lengths their lengths in bytes, 1 GiB at most each
   * @return 0 or a negated error number; {@link Errno#ENOMEM} where the limit is too low
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
      MemorySegment array = iovec.allocateArray(addresses.length, temporary);
      for (int i = 0; i < addresses.length; i++) {
        MemorySegment element = iovec.asSlice(array, i);
        iovec.iov_base(element, MemorySegment.ofAddress(addresses[i]));
        iovec.iov_len(element, lengths[i]);
      }
      return LibUring.io_uring_register_buffers(ring, array, addresses.length);
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
    return LibUring.io_uring_unregister_buffers(ring);
  }

  // ---------------------------------------------------------------- facts

  /**
   * The size of the submission queue.
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
   * The size of the completion queue.
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
   * Requests that were added and that the kernel has not taken yet.
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
   * Requests that the kernel has taken and whose completions were not reaped.
   *
   * @return requests
   * @throws RingClosedException if the ring is closed
   * @since 0.1.0
   */
  public int inFlight() {
    checkOpen();
    // One completion per request, and both positions began at 0.
    return submissions.head() - completions.head();
  }

  /**
   * What the kernel can do.
   *
   * @return {@code IORING_FEAT_*}
   * @since 0.1.0
   */
  public int features() {
    return features;
  }

  /**
   * How the ring was set up.
   *
   * @return {@code IORING_SETUP_*}
   * @since 0.1.0
   */
  public int setupFlags() {
    return setupFlags;
  }

  /** What this kernel lacks, or an empty string. */
  String missing() {
    return RingSetup.missing(ring, features);
  }

  // ---------------------------------------------------------------- end

  /**
   * Closes the ring; closing it again does nothing. Requests that were added and not submitted are
   * dropped. Requests in flight are cancelled where the kernel can (Linux 5.19), and waited for in
   * any case, since the kernel would otherwise go on to write to their buffers; their completions
   * are discarded. On older kernels a request that never completes, such as a read of an eventfd,
   * must be ended by its owner first.
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
    LibUring.io_uring_queue_exit(ring);
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

  private void checkOpen() {
    if (closed) {
      throw new RingClosedException();
    }
  }
}
