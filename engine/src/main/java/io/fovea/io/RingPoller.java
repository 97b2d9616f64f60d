package io.fovea.io;

import io.fovea.bindings.Availability;
import io.fovea.bindings.Errno;
import io.fovea.bindings.EventFd;
import io.fovea.bindings.FileCalls;
import io.fovea.bindings.NativeException;
import io.fovea.bindings.Ring;
import io.fovea.memory.Mem;
import io.fovea.memory.Threads;
import io.fovea.memory.Waits;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Objects;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A thread with a ring: it takes batches from a queue, submits their entries to the kernel and ends
 * them as completions arrive.
 *
 * <pre>
 *   any thread                          the poller's thread, sole owner of the ring
 *   ──────────                          ───────────────────────────────────────────
 *   offer(batch) ─► bounded queue ────► take, fill a submission entry per slot ──► kernel
 *        │                                                                           │
 *        └─ asleep? ─► eventfd ───────► (a read of it is always pending) ◄───────────┤
 *                                       reap: full → end the entry, short → continue │
 *   park ◄── unpark by IoBatch ◄─────── ◄────────────────────────────────────────────┘
 * </pre>
 *
 * <p><b>Why a separate thread.</b> The number of rings per calling thread would be unbounded, and
 * the kernel is fastest if a single thread submits and reaps (SINGLE_ISSUER, DEFER_TASKRUN). Under
 * load the poller never sleeps without work: one system call submits everything new and waits for
 * the next completion.
 *
 * <p><b>Going to sleep.</b> The poller sets {@code asleep} and then checks the queue; a caller
 * offers to the queue and then reads {@code asleep}. Both are sequentially consistent (volatile,
 * and the queue's lock), so one of them sees the other: either the poller finds the batch, or the
 * caller writes to the eventfd, whose read completes and ends the wait. Otherwise a batch could
 * stay in the queue until some other operation completes.
 *
 * <p><b>If the poller dies</b> (a bug, or a kernel that loses completions), operations in progress
 * fail with EIO, {@code dead} is set, and then every caller empties the queue: a caller that
 * offered reads {@code dead} afterwards, so nothing stays in the queue.
 */
final class RingPoller {
  private static final System.Logger LOG = System.getLogger("io.fovea.io");
  private static final int QUEUE_BATCHES = 1024;
  private static final long WAKE = -1;
  private static final long QUEUE_FULL_NANOS = 20_000;

  /** Allocated ahead, for a failure in which nothing can be allocated. */
  private static final Availability NO_MEMORY = new Availability.Unavailable("no ring", 0);

  private final UringDevice device;
  private final DeviceFile file;
  private final Supplier<Availability> probe;
  private final int depth;
  private final ArrayBlockingQueue<IoBatch> queue = new ArrayBlockingQueue<>(QUEUE_BATCHES);
  private final CompletableFuture<Availability> started = new CompletableFuture<>();
  private final Thread thread;
  private final int eventfd;

  /** Receives the count of the eventfd. */
  private final MemorySegment wakeCount = Arena.ofAuto().allocate(ValueLayout.JAVA_LONG);

  private volatile boolean asleep;
  private volatile boolean stopping;
  private volatile boolean dead;

  // Used by the poller's thread only.

  /**
   * The batch per slot. A slot is an operation the kernel may have; its number is the user data.
   */
  private final @Nullable IoBatch[] slotBatch;

  private final int[] slotEntry;
  private final int[] slotFd;
  private final int[] slotStalls;
  private final int[] freeSlots;
  private int free;

  private @Nullable IoBatch current;
  private int currentNext;
  private int currentEnd;
  private int registeredFd = -1;
  private boolean wakeArmed;

  RingPoller(
      UringDevice device, DeviceFile file, Supplier<Availability> probe, int depth, String name) {
    this.probe = probe;
    this.device = device;
    this.file = file;
    this.depth = depth;
    this.slotBatch = new IoBatch[depth];
    this.slotEntry = new int[depth];
    this.slotFd = new int[depth];
    this.slotStalls = new int[depth];
    this.freeSlots = new int[depth];
    for (int i = 0; i < depth; i++) {
      freeSlots[free++] = depth - 1 - i;
    }
    this.eventfd = EventFd.open(0, EventFd.EFD_CLOEXEC);
    // Never joined before its start: a failed open closes pollers that did not begin.
    this.thread = Threads.unstarted("fovea-uring " + name, this::live);
  }

  // ---------------------------------------------------------------------------------- any thread

  /** Starts the thread and returns whether it has a ring. */
  Availability start() {
    if (eventfd < 0) {
      return new Availability.Unavailable("no eventfd", -eventfd);
    }
    try {
      thread.start();
    } catch (OutOfMemoryError none) {
      return new Availability.Unavailable("no thread: " + none.getMessage(), 0);
    }
    return started.join();
  }

  /** Adds a batch to the queue; waits while it is full. */
  void offer(IoBatch batch) {
    boolean interrupted = false;
    while (!queue.offer(batch)) {
      wake();
      LockSupport.parkNanos(this, QUEUE_FULL_NANOS);
      interrupted |= Thread.interrupted();
      if (dead) {
        emptyQueue();
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    wake();
    if (dead) {
      emptyQueue();
    }
  }

  private void wake() {
    if (asleep) {
      // Several threads may get here; an extra count of the eventfd costs only the call.
      asleep = false;
      EventFd.add(eventfd, 1);
    }
  }

  /** Ends the thread. Requires that nothing is in progress and nothing more arrives. */
  void close() {
    stopping = true;
    if (eventfd >= 0) {
      EventFd.add(eventfd, 1);
    }
    Waits.join(thread);
    if (eventfd >= 0) {
      FileCalls.close(eventfd);
    }
  }

  private void emptyQueue() {
    for (IoBatch batch = queue.poll(); batch != null; batch = queue.poll()) {
      fail(batch, 0);
    }
  }

  private void fail(IoBatch batch, int from) {
    for (int i = from, n = batch.size(); i < n; i++) {
      device.end(batch, i, Errno.EIO);
    }
  }

  // --------------------------------------------------------------------------- the poller's thread

  private void live() {
    boolean reported = false;
    try {
      liveOn();
      reported = true;
    } finally {
      if (!reported) {
        started.complete(NO_MEMORY); // has no effect if already completed
      }
    }
  }

  private void liveOn() {
    Availability availability = probe.get();
    if (!(availability instanceof Availability.Available)) {
      started.complete(availability);
      return;
    }
    try (Ring ring = Ring.open(depth)) {
      if (ring.registerFiles(file.raw().fd()) == 0) {
        registeredFd = file.raw().fd();
      }
      started.complete(availability);
      serve(ring);
    } catch (Throwable t) {
      if (started.isDone()) {
        died(t);
        return;
      }
      int errno = t instanceof NativeException e ? Math.abs(e.errno()) : 0;
      started.complete(new Availability.Unavailable("no ring: " + t.getMessage(), errno));
    }
  }

  private void serve(Ring ring) {
    long[] userData = new long[depth];
    int[] results = new int[depth];
    while (true) {
      arm(ring);
      take(ring);
      boolean hasSpace = free > 0;
      if (stopping && free == depth && !wakeArmed && queue.isEmpty()) {
        return;
      }
      asleep = hasSpace;
      // Sees a batch that came before asleep was set; a later one wakes this thread.
      boolean wait = !hasSpace || queue.isEmpty();
      int result = wait ? ring.submitAndWait(1) : ring.submit();
      asleep = false;
      if (result < 0 && result != -Errno.EAGAIN && result != -Errno.EBUSY) {
        throw new NativeException("io_uring_enter", result);
      }
      int n;
      do {
        n = ring.reap(userData, results);
        if (n < 0) {
          throw new NativeException("io_uring completions", n);
        }
        for (int i = 0; i < n; i++) {
          completed(ring, userData[i], results[i]);
        }
      } while (n == depth);
    }
  }

  private void arm(Ring ring) {
    if (!wakeArmed && !stopping) {
      wakeArmed = ring.read(eventfd, wakeCount.address(), 8, 0, WAKE);
    }
  }

  private void take(Ring ring) {
    while (free > 0) {
      IoBatch batch = current;
      if (batch == null) {
        batch = queue.poll();
        if (batch == null) {
          return;
        }
        current = batch;
        currentNext = 0;
        // A sync at the end waits for the other entries, if there are any.
        currentEnd = batch.size() - (batch.size() > 1 && batch.endsWithSync() ? 1 : 0);
      }
      int entry = currentNext++;
      if (currentNext == currentEnd) {
        current = null;
      }
      int slot = freeSlots[--free];
      slotBatch[slot] = batch;
      slotEntry[slot] = entry;
      slotStalls[slot] = 0;
      start(ring, slot);
    }
  }

  /** Submits the rest of a slot's entry to the kernel. */
  private void start(Ring ring, int slot) {
    IoBatch batch = batchOf(slot);
    int i = slotEntry[slot];
    int fd = file.raw().fd();
    slotFd[slot] = fd;
    if (registeredFd >= 0) {
      if (registeredFd != fd && ring.updateFile(0, fd) == 0) {
        registeredFd = fd;
      }
      if (registeredFd == fd) {
        fd = Ring.registeredFile(0);
      }
    }
    int done = batch.progress[i];
    while (!add(ring, batch, i, fd, done, slot)) {
      // The submission queue has as many entries as slots, but the wake-up takes one too.
      int result = ring.submit();
      if (result < 0 && result != -Errno.EAGAIN && result != -Errno.EBUSY) {
        throw new NativeException("io_uring_enter", result);
      }
    }
  }

  private IoBatch batchOf(int slot) {
    return Objects.requireNonNull(slotBatch[slot]);
  }

  private static boolean add(Ring ring, IoBatch batch, int i, int fd, int done, int slot) {
    if (batch.op(i) == IoOp.SYNC) {
      return ring.fdatasync(fd, slot);
    }
    long address = batch.address(i) + done;
    int len = batch.length(i) - done;
    long offset = batch.offset(i) + done;
    return batch.op(i) == IoOp.READ
        ? ring.read(fd, address, len, offset, slot)
        : ring.write(fd, address, len, offset, slot);
  }

  private void completed(Ring ring, long userData, int result) {
    if (userData == WAKE) {
      wakeArmed = false;
      return;
    }
    int slot = (int) userData;
    IoBatch batch = batchOf(slot);
    int i = slotEntry[slot];
    if (result < 0) {
      boolean again =
          batch.op(i) != IoOp.SYNC
              && slotStalls[slot]++ < DeviceFile.STALLS_MAX
              && file.worthAnother(-result, slotFd[slot]);
      if (again) {
        start(ring, slot);
      } else {
        end(ring, slot, -result);
      }
      return;
    }
    if (batch.op(i) == IoOp.SYNC) {
      end(ring, slot, 0);
      return;
    }
    int len = batch.length(i);
    int done = batch.progress[i] + result;
    long reached = batch.offset(i) + done;
    if (done < len) {
      if (batch.op(i) == IoOp.READ && (result == 0 || file.isEnd(reached))) {
        Mem.zero(batch.memory(i), batch.address(i) + done, len - done);
        end(ring, slot, 0);
        return;
      }
      int rest = file.raw().direct() ? done & DeviceFile.BLOCK - 1 : 0;
      if ((result == 0 || rest != 0) && slotStalls[slot]++ >= DeviceFile.STALLS_MAX) {
        end(ring, slot, Errno.EIO);
        return;
      }
      batch.progress[i] = done - rest;
      start(ring, slot);
      return;
    }
    if (batch.op(i) == IoOp.WRITE) {
      file.wrote(reached);
    }
    end(ring, slot, 0);
  }

  /** Ends a slot's entry; starts the batch's sync if that was the last entry before it. */
  private void end(Ring ring, int slot, int errno) {
    IoBatch batch = batchOf(slot);
    int i = slotEntry[slot];
    slotBatch[slot] = null;
    freeSlots[free++] = slot;
    boolean wasSync = batch.op(i) == IoOp.SYNC;
    int left = device.end(batch, i, errno);
    // If one entry is left, the batch still belongs to this thread, on which all its entries end.
    // In a batch that ends with a sync, that entry is the sync, which was not started yet.
    if (left != 1 || wasSync || !batch.endsWithSync()) {
      return;
    }
    int sync = batch.size() - 1;
    int verdict = batch.syncVerdict();
    if (verdict != 0) {
      device.end(batch, sync, verdict);
      return;
    }
    int next = freeSlots[--free];
    slotBatch[next] = batch;
    slotEntry[next] = sync;
    slotStalls[next] = 0;
    start(ring, next);
  }

  /** Fails everything in progress. Closing the ring has ended it in the kernel. */
  private void died(Throwable t) {
    // Before logging, since the logger may fail too: notify waiters first.
    dead = true;
    for (int slot = 0; slot < depth; slot++) {
      IoBatch batch = slotBatch[slot];
      if (batch != null) {
        slotBatch[slot] = null;
        int i = slotEntry[slot];
        boolean sync = batch.op(i) == IoOp.SYNC;
        if (device.end(batch, i, Errno.EIO) == 1 && !sync && batch.endsWithSync()) {
          device.end(batch, batch.size() - 1, Errno.ECANCELED);
        }
      }
    }
    IoBatch rest = current;
    current = null;
    if (rest != null) {
      fail(rest, currentNext);
    }
    emptyQueue();
    Threads.logSafely(LOG, Level.ERROR, "The io_uring of ", device.name(), " has failed", t);
  }
}
