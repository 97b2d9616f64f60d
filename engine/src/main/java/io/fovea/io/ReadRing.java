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
 * A ring that a thread has borrowed: it hands its reads to the kernel and ends them itself, without
 * any other thread between.
 *
 * <pre>
 *   borrower     lend ─► read(slot) ... read(slot) ─► drive ─► ... ─► drive(wait) ─► giveBack
 *                                                      │ lock, submit, reap, unlock
 *   another                                            ▼
 *   (waits for   ───────────────────────────────► endReads: lock if it is free, reap, unlock
 *    a read)                                           │
 *                                   completion.ended(slot, errno), under the lock
 * </pre>
 *
 * <p><b>Nobody depends on the borrower.</b> Reads that are done are ended when somebody reaps them.
 * While the borrower is in {@link #drive} that is he: he returns from the kernel with each
 * completion. While he is elsewhere, waiting perhaps for what only another thread can give, the
 * lock is free, and any thread that waits for a read may end it ({@link BlockDevice#endLent}). So a
 * read comes to its end by the device and the thread that waits for it, and the borrower may wait
 * for whatever he likes: there is no circle. For that the ring has no single issuer, and
 * completions do not wait for the thread that submitted: without DEFER_TASKRUN the kernel posts
 * them when that thread next passes through the kernel, asleep (it is woken), by a system call or
 * by a timer's tick.
 *
 * <p>Others never submit: a request belongs, to the kernel, to the thread that hands it over, and
 * would be cancelled with it. What the borrower has added is handed over before he unlocks.
 *
 * <p><b>Reads land in memory of the ring</b>, a block for each slot, which the kernel has pinned
 * once and for all, and are copied from there by whoever ends them. That is a copy more and it is
 * faster: the same few blocks stay in the caches of whoever fills them, where frames of a pool are
 * memory that nobody has touched for long, and the page is in this processor's cache when it is
 * looked at. Where the ring fails, what the kernel may still write goes nowhere else. Reads of more
 * than a block go straight to where they belong, as do all where the kernel refuses to pin more.
 *
 * <p><b>Memory order.</b> The ring, {@code underWay} and {@code strays} are guarded by the lock, a
 * compare-and-set and a release store. What describes a slot is written by the borrower before he
 * locks to submit it, and not again before {@code completion} has said that it has ended, which it
 * does in a way that the borrower sees ordered.
 *
 * <p>An error or a short read is rare, and the read is done again by system call ({@link
 * DeviceFile#read}), which knows what an end of file is, and a file that does not take direct
 * transfers. Where the ring itself fails, what was under way ends with EIO, and the ring is not
 * lent again.
 *
 * @since 0.1.0
 */
public final class ReadRing {
  /** How many reads may be under way: slots are numbered from 0. */
  public static final int DEPTH = 64;

  /** There is a ring only where native access is granted. */
  private static final MemorySegment EVERYTHING = Objects.requireNonNull(IoBatch.EVERYTHING);

  /** What the reads of a ring land in. */
  static final int LANDING_BYTES = DEPTH * DeviceFile.BLOCK;

  private static final int LANDING = 0;

  private static final int SPINS = 64;
  private static final String NOT_LENT = "a ring is used that is not lent, or was given back";
  private static final System.Logger LOG = System.getLogger("io.fovea.io");
  private static final VarHandle LOCKED;
  private static final VarHandle LENT;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      LOCKED = lookup.findVarHandle(ReadRing.class, "locked", boolean.class);
      LENT = lookup.findVarHandle(ReadRing.class, "lent", boolean.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final UringDevice device;
  private final DeviceFile file;

  @SuppressWarnings("unused") // through LENT
  private volatile boolean lent;

  @SuppressWarnings("unused") // through LOCKED
  private volatile boolean locked;

  // Guarded by the lock.

  private final Ring ring;
  private final int registeredFd;

  /** Registered as buffer {@link #LANDING}; nothing where it could not be. */
  private final @Nullable MemorySegment landing;

  private final long[] userData = new long[DEPTH];
  private final int[] results = new int[DEPTH];
  private final boolean[] active = new boolean[DEPTH];
  private int underWay;

  /** Reads that another thread has ended since the borrower looked. */
  private int strays;

  private volatile boolean broken;

  // The borrower's, see the memory order.

  private final long[] offsets = new long[DEPTH];
  private final long[] addresses = new long[DEPTH];
  private final int[] lengths = new int[DEPTH];
  private final int[] added = new int[DEPTH];
  private int addedSize;
  private IoBatch.@Nullable Completion completion;

  /**
   * Opens a ring.
   *
   * @param landing {@link #LANDING_BYTES}, or fewer for none
   * @throws NativeException where the kernel refuses
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
    if (lent || broken || !LENT.compareAndSet(this, false, true)) {
      return false;
    }
    completion = by;
    return true;
  }

  /** Ends the loan. The borrower; nothing is under way. */
  public void giveBack() {
    assert lent : NOT_LENT;
    if (addedSize != 0) {
      throw new IllegalStateException("Reads were added and not handed over: " + addedSize + ".");
    }
    // Another thread may be ending the last read, and still be at it.
    lock();
    int left = underWay;
    strays = 0;
    unlock();
    if (left != 0) {
      throw new IllegalStateException("Reads are under way: " + left + ".");
    }
    completion = null;
    LENT.setRelease(this, false);
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
   * Adds a read, which {@link #drive} hands over. The memory is aligned to the block size, and
   * stays.
   *
   * @param slot 0 to {@link #DEPTH} - 1, one that has no read
   * @param offset where on the device, in bytes
   * @param seg native memory
   * @param segOff where in the memory
   * @param len how many bytes
   */
  public void read(int slot, long offset, MemorySegment seg, long segOff, int len) {
    assert lent : NOT_LENT;
    offsets[slot] = offset;
    addresses[slot] = seg.address() + Objects.checkFromIndexSize(segOff, len, seg.byteSize());
    lengths[slot] = len;
    added[addedSize++] = slot;
  }

  /**
   * Hands over what was added, and ends what is done.
   *
   * @param wait whether to wait until a read has ended since the last call; there must be one that
   *     was not yet known to have ended
   */
  public void drive(boolean wait) {
    assert lent : NOT_LENT;
    lock();
    try {
      boolean sleep = wait && strays == 0;
      strays = 0;
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
      // What was added is in the ring, or not: nobody can tell, and somebody waits for it.
      takeAdded();
      fail(e);
    } finally {
      unlock();
    }
  }

  private void submit(boolean sleep) {
    fill();
    if (underWay == 0) {
      return;
    }
    do {
      int result = sleep ? ring.submitAndWait(1) : ring.pending() > 0 ? ring.submit() : 0;
      if (result < 0 && result != -Errno.EAGAIN && result != -Errno.EBUSY) {
        fail(new NativeException("io_uring_enter", result));
        return;
      }
      sleep &= reap() == 0;
      // All is handed over before the lock is given up, however long the kernel has to be asked.
    } while (!broken && (sleep || ring.pending() > 0));
  }

  private void fill() {
    int fd = file.raw().fd();
    int target = fd == registeredFd ? Ring.registeredFile(0) : fd;
    int n = takeAdded();
    for (int i = 0; i < n; i++) {
      int slot = added[i];
      // As many entries as slots, all of which the kernel takes before the lock is given up.
      if (!request(target, slot)) {
        end(slot, again(slot));
      }
    }
  }

  private boolean request(int target, int slot) {
    MemorySegment first = landing(slot);
    return first == null
        ? ring.read(target, addresses[slot], lengths[slot], offsets[slot], slot)
        : ring.readFixed(
            target, first.address() + landed(slot), lengths[slot], offsets[slot], LANDING, slot);
  }

  /** Where the read of a slot lands, at {@link #landed}; null if that is where it belongs. */
  private @Nullable MemorySegment landing(int slot) {
    return lengths[slot] <= DeviceFile.BLOCK ? landing : null;
  }

  private static long landed(int slot) {
    return (long) slot * DeviceFile.BLOCK;
  }

  private int takeAdded() {
    int n = addedSize;
    for (int i = 0; i < n; i++) {
      active[added[i]] = true;
    }
    underWay += n;
    addedSize = 0;
    return n;
  }

  // ------------------------------------------------------------------------------------ both

  /** Ends what is done, on a thread that waits for it. */
  void endReads() {
    if (lent && tryLock()) {
      try {
        if (!broken && underWay > 0) {
          strays += Math.max(0, reap());
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
      end(slot, results[i] == lengths[slot] ? bring(slot) : again(slot));
    }
    return n;
  }

  /** Takes a block from where it has landed to where it belongs. */
  private int bring(int slot) {
    MemorySegment from = landing(slot);
    if (from != null) {
      MemorySegment.copy(from, landed(slot), EVERYTHING, addresses[slot], lengths[slot]);
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
    underWay--;
    device.stats().record(IoOp.READ, lengths[slot], errno);
    try {
      Objects.requireNonNull(completion).ended(slot, errno);
    } catch (RuntimeException | Error e) {
      // As for a thread of the device: any thread that reaps survives whatever is thrown.
      Threads.tell(LOG, Level.ERROR, "The end of a read of ", device.name(), " failed", e);
    }
  }

  /** A kernel that loses completions, or a bug. Closing the ring sees to what is under way. */
  private void fail(Throwable e) {
    // Before the logger, which may fail as the ring did: reads are waited for.
    broken = true;
    try {
      ring.close();
    } finally {
      endAll();
    }
    Threads.tell(LOG, Level.ERROR, "A ring of ", device.name(), " has failed", e);
  }

  private void endAll() {
    for (int slot = 0; slot < DEPTH; slot++) {
      if (active[slot]) {
        end(slot, Errno.EIO);
      }
    }
  }

  /** When nobody has it. */
  void close() {
    ring.close();
  }
}
