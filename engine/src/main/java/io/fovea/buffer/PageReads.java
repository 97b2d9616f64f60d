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
 * Reads of one thread that are always as many as may be: as soon as one has come, the next can
 * begin.
 *
 * <pre>
 *   slot      free ──start──► added ──drive──► under way ──────► landed ──take──► free
 *                     │                         a ring of one's own (ReadRing), or
 *                     │                         the device's threads (IoBatch)
 *                     └─ in a frame already, or on its way there ─► followed ─ when it is there ─► take
 * </pre>
 *
 * <p>As advisory as {@link PageGroup}, whose rules hold here too ({@link GroupLoader}): pages are
 * entered as a lone miss enters them, a page that is not brought in, for whatever reason, is met
 * again on the ordinary way, and any thread that ends a read unlatches the frame at once. A page
 * that is on its way already, by this thread or by another, is not read again; its slot is
 * <i>followed</i>: it can be taken when the frame is unlatched or the page is gone.
 *
 * <p><b>Two doors.</b> A platform thread borrows a ring from the device with its first read and
 * gives it back with {@link #finish}: no thread is woken for anything. Where there is none (a
 * virtual thread, another device) what was added goes to the device's threads in batches, which set
 * a bit of {@link #landed} for each read that has come.
 *
 * <p><b>No deadlock.</b> The thread that has reads under way may wait for others' reads, latches,
 * frames and locks. Its reads come to their end without it: those in its ring by whoever waits for
 * them ({@link Frames#pause}, and the argument in {@link ReadRing}), those in batches by threads of
 * the device.
 *
 * <p><b>Memory order.</b> Who ends a read writes {@code frames[slot]} and then sets the slot's bit,
 * a sequential read-modify-write; the owner takes the bit by another, and then reads. The setter
 * looks at {@code waiter} after that, the owner at {@code landed} after it has set {@code waiter}.
 *
 * <p>Owned by one thread between its first {@link #start} and {@link #finish}; nothing is allocated
 * after the first use.
 *
 * @since 0.1.0
 */
public final class PageReads {
  /** How many reads may be under way: slots are numbered from 0. */
  public static final int CAPACITY = ReadRing.DEPTH;

  /** Smaller than the ring's: what lands first should not wait for many others to be used again. */
  private static final int BATCH = 16;

  /** With a read in each that is under way there is one for those that are added. */
  private static final int BATCHES = CAPACITY;

  private static final VarHandle LANDED;

  static {
    try {
      LANDED = MethodHandles.lookup().findVarHandle(PageReads.class, "landed", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final long[] pids = new long[CAPACITY];

  /** The frame that is filled; after the end of the read -1 where the page did not come. */
  private final int[] frames = new int[CAPACITY];

  /** By bits: slots in use, and those that are followed. */
  private long used;

  private long followed;

  /** By bits: what has come, and was not taken. */
  private volatile long landed;

  private volatile @Nullable Thread waiter;
  private @Nullable GroupLoader loader;
  private @Nullable ReadRing ring;

  /** Whether a ring was asked for. */
  private boolean asked;

  /** Whether reads were begun since the last were handed over. */
  private boolean begun;

  private final IoBatch.Completion completion = this::ended;

  private final int[] added = new int[CAPACITY];
  private int addedSize;
  private final @Nullable Batch[] batches = new Batch[BATCHES];

  /** A batch, and which slots its entries are of. */
  private static final class Batch implements IoBatch.Completion {
    final PageReads owner;
    final IoBatch io = new IoBatch(BATCH, this);
    final int[] slots = new int[BATCH];

    /** Whether the device has taken it, and the owner has not seen its end. */
    boolean underWay;

    Batch(PageReads owner) {
      this.owner = owner;
    }

    @Override
    public void ended(int i, int errno) {
      owner.ended(slots[i], errno);
    }
  }

  /** Makes one with no reads. */
  public PageReads() {}

  /** Whether a slot is in use. */
  public boolean busy() {
    return used != 0;
  }

  /**
   * How many reads may be under way in a pool.
   *
   * @param pool the pool
   * @return 1 to {@link #CAPACITY}
   */
  public static int limit(BufferPool pool) {
    return Math.max(1, pool.groups().maxInFlightReads());
  }

  /**
   * Begins to read a page; {@link #drive} hands it over. The caller holds no latch.
   *
   * @param pool the pool, the same one until {@link #finish}
   * @param pid any number
   * @return a slot, or -1 where there is no room as long as none was taken
   * @throws io.fovea.error.DatabaseClosedException where the pool is closed
   */
  public int start(BufferPool pool, long pid) {
    GroupLoader groups = pool.groups();
    loader = groups;
    if (Long.bitCount(used) >= limit(pool)) {
      return -1;
    }
    if (!asked) {
      // Before a frame is latched: whatever this throws, nobody waits for a read that never begins.
      asked = true;
      ring = groups.device().lend(completion);
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
   * Hands over what was started, in any case: other threads may wait for it, and this one goes on
   * to wait for them, or for that very page. Forbidden is a read that is begun, whose frame is
   * latched, and that the device does not know of, because another page had come meanwhile.
   *
   * @param wait whether to wait until a slot can be taken, if there is one in use
   */
  public void drive(boolean wait) {
    for (int round = 0; wait && used != 0 && ready() == 0; ) {
      if (used == followed) {
        round = Objects.requireNonNull(loader).pause(round);
      } else {
        handOver(true);
      }
    }
    if (begun || !wait) {
      handOver(false);
    }
  }

  private void handOver(boolean wait) {
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
   * A slot whose page has come, or will not.
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
      LANDED.getAndBitwiseAnd(this, ~bit);
    }
    used &= ~bit;
    return slot;
  }

  private long ready() {
    long ready = landed;
    if (followed == 0) {
      return ready;
    }
    GroupLoader groups = Objects.requireNonNull(loader);
    for (long left = followed; left != 0; left &= left - 1) {
      if (groups.settled(pids[Long.numberOfTrailingZeros(left)])) {
        ready |= left & -left;
      }
    }
    return ready;
  }

  /**
   * Where the page was put whose slot was taken last: a hint, for it may be gone again.
   *
   * @param slot the slot
   * @return a frame, or -1 where the page was not read for this slot
   */
  public int frame(int slot) {
    return frames[slot];
  }

  /** Waits until all reads have ended, forgets them, and gives the ring back. */
  public void finish() {
    // Only after something was thrown.
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
      r.giveBack();
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
      LANDED.getAndBitwiseOr(this, 1L << slot);
      Thread thread = waiter;
      if (thread != null) {
        LockSupport.unpark(thread);
      }
    }
  }

  // -------------------------------------------------------------------------------- by batches

  /**
   * Hands over all of it: the pages are latched, and any thread that waits for one that is not on
   * its way would wait for this thread.
   */
  private void submit() {
    while (addedSize > 0) {
      try {
        submit(Math.min(BATCH, addedSize));
      } catch (RuntimeException | Error e) {
        // Where a device throws it has begun nothing: BlockDevice.submit promises that.
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
      // A lone one may be done by this thread, which saves two hand-overs.
      groups.device().run(batch.io);
    } else {
      groups.device().submit(batch.io);
    }
    batch.underWay = true;
    addedSize -= n;
    System.arraycopy(added, n, added, 0, addedSize);
  }

  /** Gives up what was not handed over. */
  private void dropAdded() {
    for (int i = 0; i < addedSize; i++) {
      ended(added[i], Errno.ECANCELED);
    }
    addedSize = 0;
  }

  /**
   * A batch that is not under way. Those that are have a read each that has not ended, or that has
   * landed this very moment, and then its thread has some instructions left to do.
   */
  private Batch idle() {
    for (int round = 0; ; round = Backoff.pause(round)) {
      for (int i = 0; i < BATCHES; i++) {
        Batch batch = batches[i];
        if (batch == null) {
          batch = new Batch(this);
          batches[i] = batch;
        }
        if (!batch.underWay || batch.io.isDone()) {
          batch.underWay = false;
          return batch;
        }
      }
    }
  }

  /** Waits until a read has landed. */
  private void await() {
    boolean interrupted = false;
    waiter = Thread.currentThread();
    while (landed == 0) {
      LockSupport.park(this);
      interrupted |= Thread.interrupted();
    }
    waiter = null;
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
