package io.fovea.buffer;

import io.fovea.bindings.Errno;
import io.fovea.io.IoBatch;
import io.fovea.io.ReadRing;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Objects;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A window of reads of one thread, kept full: when a read ends, the next can begin.
 *
 * <pre>
 *   slot      free ──start──► added ──drive──► in flight ──────► completed ──take──► free
 *                     │                         a ring of this thread (ReadRing), or
 *                     │                         the device's threads (IoBatch)
 *                     └─ in a frame already, or being read ──► followed ── when it is there ──► take
 * </pre>
 *
 * <p>Advisory, like {@link PageGroup}, by the rules of {@link GroupLoader}. A page that this or
 * another thread is already reading is not read again; its slot is <i>followed</i>: it can be taken
 * once the frame is unlatched or the page is gone.
 *
 * <p><b>Two I/O backends.</b> A platform thread borrows a ring from the device with its first read
 * and returns it in {@link #finish}; no other thread is woken. Without a ring (a virtual thread,
 * another device) reads go to the device's threads in batches; these set a bit of {@link
 * #completed} for each read that has ended.
 *
 * <p><b>No deadlock.</b> The thread with reads in flight may wait for others' reads, latches,
 * frames and locks. Its reads complete without it: those in its ring by the threads that wait for
 * them ({@link Frames#pause}, and the argument in {@link ReadRing}), those in batches by threads of
 * the device.
 *
 * <p><b>Memory order.</b> The thread that ends a read writes {@code frames[slot]}, then sets the
 * slot's bit by a sequentially consistent read-modify-write; the owner clears the bit by another,
 * and then reads. The setter reads {@code waiter} after that; the owner reads {@code completed}
 * after it has set {@code waiter}.
 *
 * <p>Owned by one thread between its first {@link #start} and {@link #finish}; allocates nothing
 * after the first use.
 *
 * @since 0.1.0
 */
public final class PageReads {
  /** The maximum number of reads in flight; slots are numbered from 0. */
  public static final int CAPACITY = ReadRing.DEPTH;

  /** Smaller than a ring's, so that the slots of a batch are reusable sooner. */
  private static final int BATCH = 16;

  /** Enough for one read in flight in each batch, and a batch for added reads. */
  private static final int BATCHES = CAPACITY;

  private static final VarHandle COMPLETED;

  static {
    try {
      COMPLETED = MethodHandles.lookup().findVarHandle(PageReads.class, "completed", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final long[] pids = new long[CAPACITY];

  /** The frame to fill; after the read -1 if the page did not arrive. */
  private final int[] frames = new int[CAPACITY];

  /** One bit per slot: slots in use, and slots that are followed. */
  private long used;

  private long followed;

  /** One bit per slot: reads that have ended and are not taken. */
  private volatile long completed;

  private volatile @Nullable Thread waiter;
  private @Nullable GroupLoader loader;
  private @Nullable ReadRing ring;

  private boolean asked;

  /** Whether reads were started since the last {@link #submit}. */
  private boolean begun;

  private final IoBatch.Completion completion = this::ended;

  private final int[] added = new int[CAPACITY];
  private int addedSize;
  private final @Nullable Batch[] batches = new Batch[BATCHES];

  private static final class Batch implements IoBatch.Completion {
    final PageReads owner;
    final IoBatch io = new IoBatch(BATCH, this);
    final int[] slots = new int[BATCH];

    /** Whether it was submitted and the owner has yet to see its end. */
    boolean submitted;

    Batch(PageReads owner) {
      this.owner = owner;
    }

    @Override
    public void ended(int i, int errno) {
      owner.ended(slots[i], errno);
    }
  }

  /** Creates an object without reads. */
  public PageReads() {}

  /** Returns whether a slot is in use. */
  public boolean isBusy() {
    return used != 0;
  }

  /**
   * Returns the maximum number of reads in flight in a pool.
   *
   * @param pool the pool
   * @return 1 to {@link #CAPACITY}
   */
  public static int limit(BufferPool pool) {
    return Math.max(1, pool.groups().maxInFlightReads());
  }

  /**
   * Starts reading a page; {@link #drive} submits it. The caller holds no latch.
   *
   * @param pool the pool, the same one until {@link #finish}
   * @param pid any number
   * @return a slot, or -1 if no slot is free until one is taken
   * @throws io.fovea.error.DatabaseClosedException if the pool is closed
   */
  public int start(BufferPool pool, long pid) {
    GroupLoader groups = pool.groups();
    loader = groups;
    if (Long.bitCount(used) >= limit(pool)) {
      return -1;
    }
    if (!asked) {
      // Before a frame is latched: if this throws, no thread waits for a read that never begins.
      asked = true;
      ring = groups.device().acquireReadRing(completion);
    }
    int frame = groups.enter(pid);
    if (frame == GroupLoader.NO_FRAME && used != 0) {
      return -1;
    }
    int slot = Long.numberOfTrailingZeros(~used);
    pids[slot] = pid;
    frames[slot] = frame;
    if (frame < 0) {
      followed |= 1L << slot;
    } else {
      add(groups, slot, frame);
    }
    used |= 1L << slot;
    return slot;
  }

  private void add(GroupLoader groups, int slot, int frame) {
    begun = true;
    ReadRing r = ring;
    if (r == null) {
      added[addedSize++] = slot;
    } else {
      int pageSize = 1 << groups.pageShift();
      r.read(slot, pids[slot] << groups.pageShift(), groups.pages(), groups.base(frame), pageSize);
    }
  }

  /**
   * Submits the started reads unconditionally: other threads may wait for them, and the caller may
   * wait for those threads, or for one of these pages. Excluded: a frame is latched for a read that
   * never reaches the device, because another page arrived first.
   */
  public void drive(boolean wait) {
    for (int round = 0; wait && used != 0 && ready() == 0; ) {
      if (used == followed) {
        round = Objects.requireNonNull(loader).pause(round);
      } else {
        submit(true);
      }
    }
    if (begun || !wait) {
      submit(false);
    }
  }

  private void submit(boolean wait) {
    begun = false;
    ReadRing r = ring;
    if (r != null) {
      r.drive(wait);
    } else {
      submit();
      if (wait) {
        await();
      }
    }
  }

  /**
   * Takes a slot whose page has arrived, or failed to.
   *
   * @return a slot, which is free again; or -1
   */
  public int take() {
    long ready = ready();
    if (ready == 0) {
      return -1;
    }
    int slot = Long.numberOfTrailingZeros(ready);
    long bit = 1L << slot;
    if ((followed & bit) != 0) {
      followed &= ~bit;
    } else {
      COMPLETED.getAndBitwiseAnd(this, ~bit);
    }
    used &= ~bit;
    return slot;
  }

  private long ready() {
    long ready = completed;
    if (followed == 0) {
      return ready;
    }
    GroupLoader groups = Objects.requireNonNull(loader);
    for (long left = followed; left != 0; left &= left - 1) {
      if (groups.isSettled(pids[Long.numberOfTrailingZeros(left)])) {
        ready |= left & -left;
      }
    }
    return ready;
  }

  /**
   * Returns the frame of the page whose slot was taken last: a hint, as the page may have left.
   *
   * @param slot the slot
   * @return a frame, or -1 if the page was not read for this slot
   */
  public int frame(int slot) {
    return frames[slot];
  }

  /** Waits until all reads have ended, forgets them, and returns the ring. */
  public void finish() {
    // Only after an exception.
    dropAdded();
    while (used != followed) {
      drive(true);
      while (take() >= 0) {}
    }
    used = 0;
    followed = 0;
    asked = false;
    ReadRing r = ring;
    ring = null;
    if (r != null) {
      r.releaseBorrowed();
    }
  }

  private void ended(int slot, int errno) {
    int frame = frames[slot];
    frames[slot] = -1;
    try {
      if (Objects.requireNonNull(loader).ended(pids[slot], frame, errno, true)) {
        frames[slot] = frame;
      }
    } finally {
      COMPLETED.getAndBitwiseOr(this, 1L << slot);
      Thread thread = waiter;
      if (thread != null) {
        LockSupport.unpark(thread);
      }
    }
  }

  // -------------------------------------------------------------------------------- by batches

  /**
   * Submits all added reads: their frames are latched, and a thread that waits for an unsubmitted
   * one would wait for this thread.
   */
  private void submit() {
    while (addedSize > 0) {
      try {
        submit(Math.min(BATCH, addedSize));
      } catch (RuntimeException | Error e) {
        // A device that throws has begun nothing, by the contract of BlockDevice.submit.
        dropAdded();
        throw e;
      }
    }
  }

  private void submit(int n) {
    GroupLoader groups = Objects.requireNonNull(loader);
    Batch batch = idle();
    batch.io.clear();
    for (int i = 0; i < n; i++) {
      int slot = added[i];
      batch.slots[i] = slot;
      int pageSize = 1 << groups.pageShift();
      batch.io.read(
          pids[slot] << groups.pageShift(), groups.pages(), groups.base(frames[slot]), pageSize);
    }
    if (n == 1 && Long.bitCount(used & ~followed) == 1) {
      // This thread may do a single read itself, which saves two handovers.
      groups.device().run(batch.io);
    } else {
      groups.device().submit(batch.io);
    }
    batch.submitted = true;
    addedSize -= n;
    System.arraycopy(added, n, added, 0, addedSize);
  }

  private void dropAdded() {
    for (int i = 0; i < addedSize; i++) {
      ended(added[i], Errno.ECANCELED);
    }
    addedSize = 0;
  }

  /**
   * Returns a batch that is not in flight. Each of the others has a read that is unfinished, or
   * whose thread is a few instructions from its end.
   */
  private Batch idle() {
    for (int round = 0; ; round = Backoff.pause(round)) {
      for (int i = 0; i < BATCHES; i++) {
        Batch batch = batches[i];
        if (batch == null) {
          batch = new Batch(this);
          batches[i] = batch;
        }
        if (!batch.submitted || batch.io.isDone()) {
          batch.submitted = false;
          return batch;
        }
      }
    }
  }

  private void await() {
    boolean interrupted = false;
    waiter = Thread.currentThread();
    while (completed == 0) {
      LockSupport.park(this);
      interrupted |= Thread.interrupted();
    }
    waiter = null;
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
