package io.fovea.io;

import io.fovea.bindings.Errno;
import io.fovea.bindings.NativeException;
import io.fovea.bindings.Ring;
import io.fovea.memory.Threads;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A ring that a thread has borrowed: the thread submits its reads to the kernel and ends them
 * itself, without another thread in between.
 *
 * <pre>
 *   borrower     acquire ─► read(slot) ... read(slot) ─► drive ─► ... ─► drive(wait) ─► releaseBorrowed
 *                                                      │ lock, submit, reap, unlock
 *   another                                            ▼
 *   (waits for   ───────────────────────────────► endReads: lock if it is free, reap, unlock
 *    a read)                                           │
 *                                   completion.ended(slot, errno), under the lock
 * </pre>
 *
 * <p><b>No thread depends on the borrower.</b> Finished reads are ended by whichever thread reaps
 * them. While the borrower is in {@link #drive}, the borrower reaps them: it returns from the
 * kernel with each completion. While it is elsewhere, perhaps waiting for something that only
 * another thread can provide, the lock is free, and any thread that waits for a read may end it
 * ({@link BlockDevice#reapReadRings}). So a read needs only the device and the thread that waits
 * for it, the borrower may wait for anything, and there is no cycle. For this reason the ring has
 * no single issuer, and completions do not wait for the submitting thread: without DEFER_TASKRUN
 * the kernel posts them when that thread next passes through the kernel, asleep (it is woken), by a
 * system call or by a timer tick.
 *
 * <p>Other threads never submit: to the kernel, a request belongs to the thread that submits it,
 * and would be cancelled with that thread. The borrower submits everything it has added before it
 * unlocks.
 *
 * <p><b>Reads land in memory of the ring</b>, a block per slot that the kernel has pinned
 * permanently, and the thread that ends them copies them. The extra copy is faster: these few
 * blocks stay in caches, whereas frames of a pool are cold memory, and the copied page is in this
 * processor's cache when it is used. If the ring fails, the kernel can write nowhere else. Reads of
 * more than a block go straight to their destination, as do all reads if the kernel refuses to pin
 * memory.
 *
 * <p><b>Memory order.</b> The ring, {@code inFlight} and {@code endedByOthers} are guarded by the
 * lock, which is taken by a compare-and-set and released by a release store. The borrower writes
 * the description of a slot before it locks to submit the slot, and not again before {@code
 * completion} has reported its end, which must establish an order with the borrower.
 *
 * <p>Errors and short reads are rare; the read is then repeated by system call ({@link
 * DeviceFile#read}), which handles the end of the file and a file that refuses direct transfers. If
 * the ring itself fails, its reads end with EIO, and the ring is not acquired again.
 *
 * @since 0.1.0
 */
public final class ReadRing {
  /** The maximum number of reads in progress: slots are numbered from 0. */
  public static final int DEPTH = 64;

  /** Not null: rings exist only with native access. */
  private static final MemorySegment EVERYTHING = Objects.requireNonNull(IoBatch.EVERYTHING);

  /** The size of the memory that reads land in. */
  static final int LANDING_BYTES = DEPTH * DeviceFile.BLOCK;

  private static final int LANDING = 0;

  private static final int SPINS = 64;
  private static final String NOT_BORROWED = "the ring is not acquired, or was already released";
  private static final System.Logger LOG = System.getLogger("io.fovea.io");
  private static final VarHandle LOCKED;
  private static final VarHandle BORROWED;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      LOCKED = lookup.findVarHandle(ReadRing.class, "locked", boolean.class);
      BORROWED = lookup.findVarHandle(ReadRing.class, "borrowed", boolean.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final UringDevice device;
  private final DeviceFile file;

  @SuppressWarnings("unused") // through BORROWED
  private volatile boolean borrowed;

  @SuppressWarnings("unused") // through LOCKED
  private volatile boolean locked;

  // Guarded by the lock.

  private final Ring ring;
  private final int registeredFd;

  /** Registered as buffer {@link #LANDING}; null if that was refused. */
  private final @Nullable MemorySegment landing;

  private final long[] userData = new long[DEPTH];
  private final int[] results = new int[DEPTH];
  private final boolean[] active = new boolean[DEPTH];
  private int inFlight;

  /** Reads that another thread has ended since the borrower last checked. */
  private int endedByOthers;

  private volatile boolean broken;

  // Used by the borrower; see the memory order.

  private final long[] offsets = new long[DEPTH];
  private final long[] addresses = new long[DEPTH];
  private final int[] lengths = new int[DEPTH];
  private final int[] added = new int[DEPTH];
  private int addedSize;
  private IoBatch.@Nullable Completion completion;

  /**
   * Opens a ring.
   *
   * @param landing {@link #LANDING_BYTES} of memory; with less, reads go directly to their
   *     destinations
   * @throws NativeException if the kernel refuses
   */
  ReadRing(UringDevice device, DeviceFile file, MemorySegment landing) {
    this.device = device;
    this.file = file;
    int fd = file.raw().fd();
    this.ring = Ring.openLent(DEPTH);
    this.registeredFd = ring.registerFiles(fd) == 0 ? fd : -1;
    this.landing = register(landing) ? landing : null;
  }

  private boolean register(MemorySegment memory) {
    return memory.byteSize() >= LANDING_BYTES
        && ring.registerBuffers(new long[] {memory.address()}, new long[] {LANDING_BYTES}) == 0;
  }

  // -------------------------------------------------------------------------------- borrowing

  boolean borrow(IoBatch.Completion by) {
    if (borrowed || broken || !BORROWED.compareAndSet(this, false, true)) {
      return false;
    }
    completion = by;
    return true;
  }

  /** Ends the loan. Called by the borrower with no read in progress. */
  public void releaseBorrowed() {
    assert borrowed : NOT_BORROWED;
    if (addedSize != 0) {
      throw new IllegalStateException(
          "Drive the ring first; reads added and not submitted: " + addedSize + ".");
    }
    // Another thread may still be ending the last read.
    lock();
    int left = inFlight;
    endedByOthers = 0;
    unlock();
    if (left != 0) {
      throw new IllegalStateException("Await the reads first; reads in progress: " + left + ".");
    }
    completion = null;
    BORROWED.setRelease(this, false);
    device.leave();
  }

  private boolean tryLock() {
    return !locked && LOCKED.compareAndSet(this, false, true);
  }

  private void lock() {
    for (int round = 0; !tryLock(); round++) {
      // Another thread is ending reads: microseconds, if it is not preempted.
      if (round < SPINS) {
        Thread.onSpinWait();
      } else {
        Thread.yield();
      }
    }
  }

  private void unlock() {
    LOCKED.setRelease(this, false);
  }

  // -------------------------------------------------------------------------------- the borrower

  /**
   * Adds a read, which {@link #drive} submits. The memory must be aligned to the block size and
   * stay alive.
   *
   * @param slot 0 to {@link #DEPTH} - 1, a slot without a read
   * @param offset the offset on the device, in bytes
   * @param seg native memory
   * @param segOff the offset in the memory
   * @param len the number of bytes
   */
  public void read(int slot, long offset, MemorySegment seg, long segOff, int len) {
    assert borrowed : NOT_BORROWED;
    offsets[slot] = offset;
    addresses[slot] = seg.address() + Objects.checkFromIndexSize(segOff, len, seg.byteSize());
    lengths[slot] = len;
    added[addedSize++] = slot;
  }

  /**
   * Submits the added reads, and ends finished ones.
   *
   * @param wait whether to wait until a read has ended since the last call; there must be a read
   *     whose end was not yet known
   */
  public void drive(boolean wait) {
    assert borrowed : NOT_BORROWED;
    lock();
    try {
      boolean sleep = wait && endedByOthers == 0;
      endedByOthers = 0;
      if (broken) {
        takeAdded();
        endAll();
        return;
      }
      if (addedSize == 0 && reap() > 0) {
        return;
      }
      submit(sleep);
    } catch (RuntimeException | Error e) {
      // The added reads may or may not be in the ring, and threads wait for them.
      takeAdded();
      fail(e);
    } finally {
      unlock();
    }
  }

  private void submit(boolean sleep) {
    fill();
    if (inFlight == 0) {
      return;
    }
    do {
      int result = sleep ? ring.submitAndWait(1) : ring.pending() > 0 ? ring.submit() : 0;
      if (result < 0 && result != -Errno.EAGAIN && result != -Errno.EBUSY) {
        fail(new NativeException("io_uring_enter", result));
        return;
      }
      sleep &= reap() == 0;
      // Everything is submitted before the lock is released, with as many calls as it takes.
    } while (!broken && (sleep || ring.pending() > 0));
  }

  private void fill() {
    int fd = file.raw().fd();
    int target = fd == registeredFd ? Ring.registeredFile(0) : fd;
    int n = takeAdded();
    for (int i = 0; i < n; i++) {
      int slot = added[i];
      // There are as many entries as slots, and the kernel takes all before the lock is released.
      if (!request(target, slot)) {
        end(slot, again(slot));
      }
    }
  }

  private boolean request(int target, int slot) {
    MemorySegment first = bounceSegment(slot);
    return first == null
        ? ring.read(target, addresses[slot], lengths[slot], offsets[slot], slot)
        : ring.readFixed(
            target,
            first.address() + bounceOffset(slot),
            lengths[slot],
            offsets[slot],
            LANDING,
            slot);
  }

  /**
   * Returns the memory in which a slot's read lands, at {@link #bounceOffset}; null if it goes
   * directly.
   */
  private @Nullable MemorySegment bounceSegment(int slot) {
    return lengths[slot] <= DeviceFile.BLOCK ? landing : null;
  }

  private static long bounceOffset(int slot) {
    return (long) slot * DeviceFile.BLOCK;
  }

  private int takeAdded() {
    int n = addedSize;
    for (int i = 0; i < n; i++) {
      active[added[i]] = true;
    }
    inFlight += n;
    addedSize = 0;
    return n;
  }

  // ------------------------------------------------------------------------------------ both

  /** Ends finished reads, on a thread that waits for one. */
  void endReads() {
    if (borrowed && tryLock()) {
      try {
        if (!broken && inFlight > 0) {
          endedByOthers += Math.max(0, reap());
        }
      } finally {
        unlock();
      }
    }
  }

  private int reap() {
    int n = ring.reap(userData, results);
    if (n < 0) {
      fail(new NativeException("io_uring completions", n));
      return 1;
    }
    for (int i = 0; i < n; i++) {
      int slot = (int) userData[i];
      end(slot, results[i] == lengths[slot] ? copyFromBounce(slot) : again(slot));
    }
    return n;
  }

  /** Copies a block from where it landed to its destination. */
  private int copyFromBounce(int slot) {
    MemorySegment from = bounceSegment(slot);
    if (from != null) {
      MemorySegment.copy(from, bounceOffset(slot), EVERYTHING, addresses[slot], lengths[slot]);
    }
    return 0;
  }

  private int again(int slot) {
    try {
      return file.read(offsets[slot], EVERYTHING, addresses[slot], lengths[slot]);
    } catch (RuntimeException | Error e) {
      return IoErrors.unexpected(device.name(), e);
    }
  }

  private void end(int slot, int errno) {
    active[slot] = false;
    inFlight--;
    device.stats().record(IoOp.READ, lengths[slot], errno);
    try {
      Objects.requireNonNull(completion).ended(slot, errno);
    } catch (RuntimeException | Error e) {
      // The reaping thread survives any exception.
      Threads.logSafely(LOG, Level.ERROR, "Completing a read of ", device.name(), " failed", e);
    }
  }

  /**
   * Handles a kernel that loses completions, or a bug. Closing the ring ends operations in
   * progress.
   */
  private void fail(Throwable e) {
    // Before logging, since the logger may fail too and threads wait for reads.
    broken = true;
    try {
      ring.close();
    } finally {
      endAll();
    }
    Threads.logSafely(LOG, Level.ERROR, "A ring of ", device.name(), " has failed", e);
  }

  private void endAll() {
    for (int slot = 0; slot < DEPTH; slot++) {
      if (active[slot]) {
        end(slot, Errno.EIO);
      }
    }
  }

  /** Closes the ring, which no thread is using. */
  void close() {
    ring.close();
  }
}
