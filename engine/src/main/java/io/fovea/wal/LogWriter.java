package io.fovea.wal;

import io.fovea.memory.Mem;
import io.fovea.memory.NativeRegion;
import io.fovea.memory.Threads;
import io.fovea.memory.Waits;
import io.fovea.wal.InFlightGroups.InFlightGroup;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Takes complete records out of the ring and makes them durable, a group at a time: the thread
 * "fovea-log", or a thread that would otherwise wait.
 *
 * <pre>
 *   with the lock:  walk words from `complete` on ─► due? ─► copy to a buffer, zero the ring, release
 *                       ▲                             │ no        │
 *                       └──── sleep ◄─────────────────┘           ▼
 *   without:                                                  write + sync ─┐
 *   with the lock:                                          durable ◄───────┘
 *   without:                                                wake waiters
 * </pre>
 *
 * <p>A group is written when a thread waits for durability or for space, when the time window has
 * passed, when half of the byte window is full, and at a close.
 *
 * <p><b>Several at a time.</b> While a group is written and synced the next one may start: two
 * clients that commit independently wait only for their own syncs. The rules are those of {@link
 * InFlightGroups}. With many committers, the next requests gather in the meantime.
 *
 * <p><b>Leaders.</b> Two hand-overs between threads cost more than the write. So a platform thread
 * that would only wait takes the {@link #writerLock}, a lock that guards the state of groups, and
 * writes the group itself ({@link #lead}), as in the group commit of other engines. It leads if it
 * requested durability earlier and has no more work, if there are hardly any other committers, or
 * if it is the last of those being gathered. The log's own thread writes in all other cases: for
 * virtual threads, for space, for the window.
 *
 * <p><b>Gathering.</b> A sync costs the device and the CPU the same for one commit as for a dozen,
 * and with more clients than CPUs a writer would take a CPU from threads that are about to commit.
 *
 * <ul>
 *   <li>If threads are blocked, a group waits for three quarters of the recent number of requests,
 *       but no longer than a sync takes, so no wait more than doubles. One or two clients never
 *       wait for others.
 *   <li>If no thread is blocked because all have other work (see {@link Log#request}), a group
 *       waits until the first of them has no more work and leads, or for a millisecond.
 * </ul>
 *
 * <p><b>Errors.</b> The ring is released before the write: its space is needed, and a failed write
 * ends the log anyway. So a group cannot be written twice: the ring has zeros in its place. These
 * are never written and acknowledged, since {@code written} is past them once the group starts. If
 * assembling a group fails, the log is ended before the lock is released (F1), and a thread that
 * gets the lock checks for the end before it writes (F2). Forbidden: F2 between the failure and F1.
 * A write that fails without the lock needs no such order: the failed group blocks all later ones.
 *
 * <p><b>Sleep.</b> The state says how the thread sleeps. A thread that needs the writer first
 * changes shared state and then reads this state:
 *
 * <ul>
 *   <li>{@code TIMED}: there are records, but no thread waits for them. A waiter raises the demand
 *       (D1), then reads the state (D2); the writer stores the state (S1), then reads the demand
 *       (S2). All are sequentially consistent, so either S2 sees D1, or D2 sees S1 and unparks.
 *   <li>{@code IDLE}: there is no record, not even a reserved one. A commit is followed by a wait
 *       for durability or for the window, which read the state; a thread that completes any other
 *       record reads it too. Its reservation (a CAS of the tail) is the D1 of that pair.
 *   <li>{@code GATHERING}: as {@code TIMED}, with the number of requests in place of the demand.
 *       The thread is left alone until that number is {@link #gatherTarget}.
 * </ul>
 *
 * <p>A leader has raised the demand and wakes no other thread. If its record was incomplete, so
 * that the group ends before it, the leader continues as a waiter. A thread that finds the lock
 * taken has woken the log's thread, or the group in flight covers its record.
 */
final class LogWriter implements Runnable {
  private static final int AWAKE = 0;
  private static final int TIMED = 1;
  private static final int IDLE = 2;
  private static final int GATHERING = 3;

  private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(2);

  /** With fewer requests than this in a group, no thread waits for others. */
  private static final int FEW = 3;

  private static final long GATHERING_NANOS_MAX = TimeUnit.MILLISECONDS.toNanos(1);
  private static final int YIELD_FROM = Runtime.getRuntime().availableProcessors() > 1 ? 50 : 0;
  private static final int PARK_FROM = YIELD_FROM + 20;

  private final Log log;
  private final LogConfig config;
  private final Ring ring;
  private final SegmentFile file;
  private final DurabilityWaiters waits;
  private final Space space;
  private final int payloadMax;
  private final NativeRegion region;
  private final MemorySegment buffer;
  private final long mark;

  /**
   * The group written alone, with a block before it for a segment header and one after it for a
   * watermark.
   */
  private final InFlightGroup alone;

  private final Thread thread;

  private volatile int state;

  /** The number of requests at which a gathering writer is woken. */
  private volatile int gatherTarget;

  /**
   * Whether the writer gathers as long as no thread is blocked. Set before the writer checks for
   * blocked threads; a thread publishes that it blocks before it reads this field, so one of the
   * two sees the other.
   */
  private volatile boolean mayDelay;

  private volatile boolean closing;
  private volatile long closingSince;

  /** Held while a group is assembled, and while one is written alone. No latch is held. */
  private final ReentrantLock writerLock = new ReentrantLock();

  // Written with the writer lock held; volatile fields are read by other threads.

  private final InFlightGroups inFlightGroups;

  private long written;
  private long complete;
  private long recordsComplete;

  /** The end of the last group that started. */
  private volatile long startedLsn;

  /** The number of groups that started; may wrap around. */
  private volatile int begun;

  /** The log ended while there was no space for a group. */
  private boolean blocked;

  /** The number of requests that the durable groups have answered. */
  private volatile int answered;

  /** The number of requests when the last group started. */
  private int taken;

  /** The recent maximum of requests per group, including those that came while it was written. */
  private volatile int expected;

  /** The average time from a group's write to the end of its sync. */
  private volatile long syncNanos;

  /** The time at which the last group was durable. */
  private volatile long syncedAt = System.nanoTime();

  private volatile long records;
  private volatile long groups;
  private volatile long bytesWritten;

  // Used by the log's thread only.

  private long gathering;
  private int round;

  LogWriter(
      Log log,
      LogConfig config,
      Ring ring,
      SegmentFile file,
      DurabilityWaiters waits,
      Space space) {
    this.log = log;
    this.config = config;
    this.ring = ring;
    this.file = file;
    this.waits = waits;
    this.space = space;
    this.payloadMax = SegmentFile.payloadMax(ring.size());
    this.written = ring.tail();
    this.complete = written;
    this.startedLsn = written;
    this.mark = Group.BLOCK + Group.fileBytes(payloadMax);
    long afterMark = mark + Group.BLOCK;
    this.region =
        NativeRegion.reserve(
            afterMark + InFlightGroups.bytes(payloadMax), false, "log write buffer");
    this.buffer = region.segment();
    this.alone = new InFlightGroup(buffer, Group.BLOCK);
    this.inFlightGroups =
        new InFlightGroups(payloadMax, buffer, afterMark, writerLock.newCondition());
    this.thread = Threads.unstarted("fovea-log", this);
  }

  // --------------------------------------------------------------------------------- any thread

  void start() {
    thread.start();
  }

  /** Returns the memory of the buffer, in bytes. */
  long memoryBytes() {
    return buffer.byteSize();
  }

  /** Registers a request for durability by a thread that does not lead. */
  void requested() {
    int seen = state;
    if (seen == GATHERING ? !mayDelay && isEnough() : seen != AWAKE) {
      LockSupport.unpark(thread);
    }
  }

  private boolean isEnough() {
    return waits.requests() - gatherTarget >= 0;
  }

  /**
   * Writes the group on the calling thread, which would otherwise wait, if appropriate. The caller
   * has requested durability and holds no latch.
   *
   * @param lsn the position that the caller needs
   * @param idle whether the caller requested it earlier and now has nothing left to do
   * @return whether the group is neither written nor in flight, so that the writer must be notified
   */
  boolean lead(long lsn, boolean idle) {
    if (lsn <= startedLsn || Thread.currentThread().isVirtual()) {
      return lsn > startedLsn;
    }
    if (idle || expected < FEW) {
      // Waits for the group being assembled and for threads queued earlier: their groups cover this
      // position too.
      writerLock.lock();
    } else if (!isEnough() || !writerLock.tryLock()) {
      return true;
    }
    InFlightGroup inFlight = null;
    long startNumber = 0;
    try {
      try {
        if (!closing && !log.hasEnded()) {
          walk();
          if (written < lsn && lsn <= complete) {
            inFlight = write(lsn);
            startNumber = inFlight == null ? 0 : inFlight.startNumber;
          }
        }
      } finally {
        writerLock.unlock();
      }
      if (inFlight != null) {
        finish(inFlight);
      }
    } catch (Throwable t) {
      log.fail(t); // as the log's own thread does; waiters are notified there
    } finally {
      abandonGroup(inFlight, startNumber);
    }
    return lsn > startedLsn;
  }

  /** Returns the end of the last group that started. */
  long startedLsn() {
    return startedLsn;
  }

  /** Registers that a thread is about to block. */
  void blocked() {
    if (mayDelay) {
      LockSupport.unpark(thread);
    }
  }

  /** Registers that a thread that requested durability earlier has no more work. */
  void flushUrgent() {
    if (state == GATHERING) {
      LockSupport.unpark(thread);
    }
  }

  /** Registers that a record was completed that no thread will wait for. */
  void appended() {
    if (state == IDLE) {
      LockSupport.unpark(thread);
    }
  }

  /** Registers an append by a thread that does not wait. */
  void gathered() {
    int seen = state;
    if (seen == IDLE
        || (seen == TIMED && ring.tail() - waits.durable() >= config.windowBytes() / 2)) {
      LockSupport.unpark(thread);
    }
  }

  void wake() {
    LockSupport.unpark(thread);
  }

  /** Ends the thread, after writing all complete records unless the log has ended. */
  void close() {
    closingSince = System.nanoTime();
    closing = true;
    wake();
    Waits.join(thread);
    // A leader sees the end when it gets the writer lock, and uses no memory after that.
    writerLock.lock();
    inFlightGroups.awaitNone();
    region.release();
    writerLock.unlock();
  }

  long records() {
    return records;
  }

  long groups() {
    return groups;
  }

  long bytesWritten() {
    return bytesWritten;
  }

  // --------------------------------------------------------------------------------- the thread

  @Override
  public void run() {
    try {
      while (step()) {}
    } catch (Throwable t) {
      log.fail(t);
    } finally {
      log.ended();
    }
  }

  private boolean step() {
    if (log.hasEnded()) {
      return false;
    }
    int seen = begun;
    gather();
    InFlightGroup inFlight = null;
    writerLock.lock();
    try {
      if (log.hasEnded() || begun != seen) {
        return true;
      }
      if (expected >= FEW && mayGather() && !isEnough() && !inFlightGroups.isEmpty()) {
        inFlightGroups.await(); // many requests are likely: gather from the end of this group on
        return true;
      }
      if (file.slots().blocksTruncation() && !closing && !move()) {
        return true;
      }
      long before = complete;
      walk();
      if (complete > before) {
        round = 0;
      }
      if (complete > written && isDue()) {
        gathering = System.nanoTime();
        inFlight = write(Long.MAX_VALUE);
        if (inFlight == null) {
          return !blocked;
        }
      }
    } finally {
      writerLock.unlock();
    }
    if (inFlight != null) {
      long startNumber = inFlight.startNumber;
      try {
        finish(inFlight);
      } finally {
        abandonGroup(inFlight, startNumber);
      }
      return true;
    }
    if (closing && isOver()) {
      return false;
    }
    pause();
    return true;
  }

  /**
   * Continues nearer to the start of a file that is too large. Called with the writer lock held.
   *
   * @return false if groups were in flight: the lock was released, so the caller starts over
   */
  private boolean move() {
    if (!inFlightGroups.isEmpty()) {
      inFlightGroups.await();
      return false;
    }
    try {
      if (file.moveNearer(written, buffer)) {
        bytesWritten += Group.BLOCK;
      }
      return true;
    } catch (Throwable t) {
      log.fail(t); // F1
      throw t;
    }
  }

  /**
   * Advances over complete records, up to the tail: in a ring that is full to the last byte, the
   * next word is that of the oldest record.
   */
  private void walk() {
    long tail = ring.tail();
    for (long word; complete < tail && (word = ring.word(complete)) != 0; ) {
      complete += Record.aligned(Record.length(word));
      recordsComplete++;
    }
  }

  private boolean isUrgent() {
    return closing || waits.isWanted(startedLsn) || space.isWanted();
  }

  private boolean isDue() {
    return isUrgent()
        || complete - written >= config.windowBytes() / 2
        || System.nanoTime() - gathering >= config.windowNanos();
  }

  /**
   * Waits for requests that are likely to come soon, measured from the end of the last group. Until
   * there are enough, requests do not wake the writer.
   */
  private void gather() {
    if (!mayGather()) {
      return;
    }
    state = GATHERING;
    while (mayGather()) {
      mayDelay = true;
      mayDelay = !waits.isBlocked(startedLsn);
      if (!mayDelay && (expected < FEW || isEnough())) {
        break;
      }
      long patience = mayDelay ? GATHERING_NANOS_MAX : Math.min(syncNanos, GATHERING_NANOS_MAX);
      long left = patience - (System.nanoTime() - syncedAt);
      if (left <= 0) {
        break;
      }
      LockSupport.parkNanos(this, left);
    }
    state = AWAKE;
    mayDelay = false;
  }

  private boolean mayGather() {
    return waits.isWanted(startedLsn)
        && !waits.isUrgent(startedLsn)
        && !space.isWanted()
        && !closing
        && !log.hasEnded();
  }

  /** While closing, returns whether nothing is left, or only a record that is never completed. */
  private boolean isOver() {
    if (ring.tail() == written && waits.durable() == written) {
      return true;
    }
    return isImpatient();
  }

  private boolean isImpatient() {
    return closing && System.nanoTime() - closingSince > PATIENCE_NANOS;
  }

  private void pause() {
    if (mustStopGathering()) {
      // A waiter needs a record that is reserved but incomplete; it will be complete soon if its
      // owner has a CPU.
      if (round >= PARK_FROM) {
        LockSupport.parkNanos(Math.min(20_000L << Math.min(round - PARK_FROM, 10), 1_000_000));
      } else if (round >= YIELD_FROM) {
        Thread.yield();
      } else {
        Thread.onSpinWait();
      }
      round++;
      return;
    }
    state = IDLE;
    if (ring.tail() == written) {
      if (!mustStopGathering() && !log.hasEnded()) {
        LockSupport.parkNanos(this, IDLE_NANOS);
      }
      gathering = System.nanoTime();
    } else {
      state = TIMED;
      if (!mustStopGathering() && !log.hasEnded()) {
        long left = config.windowNanos() - (System.nanoTime() - gathering);
        LockSupport.parkNanos(this, Math.max(left, complete > written ? 50_000 : 1_000_000));
      }
    }
    state = AWAKE;
  }

  private boolean mustStopGathering() {
    return isUrgent() || ring.tail() - written >= config.windowBytes() / 2;
  }

  /**
   * Assembles one group. Called with the writer lock held, while there is something to write and
   * the log has not ended.
   *
   * @param requested the position that the caller needs; {@code Long.MAX_VALUE} for the log's own
   *     thread
   * @return the group to pass to {@link #finish} without the writer lock; null if nothing is left
   *     to write, or the log ended before there was space for it
   */
  private @Nullable InFlightGroup write(long wanted) {
    try {
      while (!inFlightGroups.isEmpty() && !mayWriteConcurrently()) {
        inFlightGroups.await();
        boolean late = closing && wanted != Long.MAX_VALUE;
        if (late || log.hasEnded() || written >= wanted || complete == written) {
          return null;
        }
        walk();
      }
      if (!mayWriteConcurrently()) {
        return writeAlone();
      }
      InFlightGroup inFlight = inFlightGroups.next();
      fill(inFlight, complete);
      inFlight.batch.write(file.position(), inFlight.buffer, inFlight.off, (int) inFlight.bytes);
      inFlight.batch.sync();
      file.advance(inFlight.bytes);
      inFlightGroups.start();
      return inFlight;
    } catch (Throwable t) {
      log.fail(t); // F1
      throw t;
    }
  }

  /** Returns whether everything complete may be written concurrently with the groups in flight. */
  private boolean mayWriteConcurrently() {
    long payload = complete - written;
    return payload <= inFlightGroups.payloadMax()
        && inFlightGroups.mayStart()
        && complete - waits.durable() <= payloadMax
        && Group.fileBytes(payload) <= file.currentRemaining()
        && !file.isMarkDue(written)
        && file.writesApart();
  }

  /** Writes a group with the writer lock held and no other in flight. */
  private @Nullable InFlightGroup writeAlone() {
    SegmentHeader header = null;
    long first = Record.aligned(Record.length(ring.word(written)));
    if (Group.fileBytes(first) > file.currentRemaining()) {
      header = file.next(written, this::isImpatient);
      if (header == null) {
        blocked = true;
        return null;
      }
    }
    long from = written;
    long max = Math.min(payloadMax, file.currentRemaining() - Group.HEADER);
    fill(alone, ring.end(written, complete, written + max));
    if (header != null) {
      header.put(buffer, 0);
      alone.batch.write(file.position() - Group.BLOCK, buffer, 0, Group.BLOCK);
    }
    alone.batch.write(file.position(), buffer, alone.off, (int) alone.bytes);
    long marked = file.mark(from, buffer, mark);
    if (marked >= 0) {
      alone.batch.write(marked, buffer, mark, Group.BLOCK);
    }
    alone.batch.sync();
    write(alone);
    file.durable();
    file.advance(alone.bytes);
    alone.bytes += (header == null ? 0 : Group.BLOCK) + (marked < 0 ? 0 : Group.BLOCK);
    groupBecameDurable(alone);
    return alone;
  }

  private void fill(InFlightGroup inFlight, long to) {
    inFlight.requests = waits.requests();
    inFlight.records = recordsComplete;
    inFlight.to = to;
    startedLsn = to;
    begun++;
    taken = inFlight.requests;
    gatherMore();
    int payload = (int) (to - written);
    inFlight.bytes = Group.fileBytes(payload);
    long at = inFlight.off;
    MemorySegment target = inFlight.buffer;
    Group.put(
        target,
        at,
        file.start.database(),
        file.start.incarnation(),
        file.number(),
        written,
        waits.durable(),
        payload);
    ring.copy(written, to, target, at + Group.HEADER);
    long rest = Group.HEADER + payload;
    Mem.zero(target, at + rest, inFlight.bytes - rest);
    ring.release(written, to);
    written = to;
    space.changed();
    inFlight.batch.clear();
  }

  /**
   * Completes a group without the writer lock: writes it, unless it was written alone, and wakes
   * waiters.
   */
  private void finish(InFlightGroup inFlight) {
    if (inFlight == alone || writeConcurrently(inFlight)) {
      waits.wake();
      log.becameDurable();
    }
  }

  /**
   * Writes a group.
   *
   * @return whether more became durable; false while an earlier group is in flight
   */
  private boolean writeConcurrently(InFlightGroup inFlight) {
    boolean landed = false;
    try {
      write(inFlight);
      landed = true;
    } catch (Throwable t) {
      log.fail(t);
    }
    writerLock.lock();
    try {
      inFlightGroups.finish(inFlight, inFlight.startNumber, landed);
      boolean more = false;
      for (InFlightGroup next = inFlightGroups.takeDurable();
          next != null;
          next = inFlightGroups.takeDurable()) {
        groupBecameDurable(next);
        more = true;
      }
      return more;
    } finally {
      writerLock.unlock();
    }
  }

  /**
   * Finishes a group after an error that prevented it from being finished and that ends the log.
   */
  private void abandonGroup(@Nullable InFlightGroup inFlight, long startNumber) {
    if (inFlight == null || inFlight.startNumber != startNumber || startNumber == 0) {
      return; // it is finished, as usual; the memory may belong to another group
    }
    writerLock.lock();
    inFlightGroups.finish(inFlight, startNumber, false);
    writerLock.unlock();
  }

  private void write(InFlightGroup inFlight) {
    long began = System.nanoTime();
    file.write(inFlight.batch);
    file.confirm();
    long now = System.nanoTime();
    syncNanos += (now - began - syncNanos) / 8;
    syncedAt = now;
  }

  /** Sets the number of requests to gather, counted from the start of the last group. */
  private void gatherMore() {
    gatherTarget = taken + expected - expected / 4;
  }

  /** Called with the writer lock held: a group and all before it are durable. */
  private void groupBecameDurable(InFlightGroup inFlight) {
    records = inFlight.records;
    groups++;
    bytesWritten += inFlight.bytes;
    int came = waits.requests() - answered;
    expected = Math.max(came, expected - 1 - expected / 8);
    answered = inFlight.requests;
    gatherMore();
    waits.reached(inFlight.to);
  }
}
