package io.fovea.wal;

import io.fovea.io.IoBatch;
import io.fovea.io.KillPoint;
import io.fovea.memory.Mem;
import io.fovea.memory.NativeRegion;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The thread "fovea-log": takes complete records out of the ring and makes them durable, a group at
 * a time.
 *
 * <pre>
 *   walk words from `complete` on ─► due? ─► copy to the buffer, zero the ring, release
 *        ▲                            │ no        │
 *        └──── sleep ◄────────────────┘           ▼
 *                                       write + sync ─► durable, wake those who wait
 * </pre>
 *
 * <p>A group is due when somebody waits for durability or for space, when the window of time or
 * half of the window of bytes has passed, and at the end. While it is being synced the next ones
 * gather.
 *
 * <p><b>Gathering.</b> A sync costs the device and the CPU the same for one commit as for a dozen,
 * and with more clients than CPUs the writer would take a CPU from those who are about to commit.
 * So a group waits for three quarters of the requests that there were lately, but no longer than a
 * sync takes: nobody waits for more than twice as long as he would have to. One client, or two,
 * never wait for others. Where nobody is blocked, for all have other work to do (see {@link
 * Log#request}), it waits for a millisecond, or until the first has nothing left to do.
 *
 * <p>The ring is released before the write: its space is needed more than its bytes, and a write
 * that fails is the end of the log anyway.
 *
 * <p><b>Sleep.</b> The state says how it sleeps, and who wants something looks at it afterwards:
 *
 * <ul>
 *   <li>{@code TIMED}: there are records, but nobody waits for them. Whoever waits raises the
 *       demand (D1) and then reads the state (D2); the writer stores the state (S1) and then reads
 *       the demand (S2). All are sequential, so that either S2 sees D1 or D2 sees S1 and unparks.
 *   <li>{@code IDLE}: there is no record, not even a reserved one. A commit is followed by a wait
 *       for durability or for the window, which look; whoever completes another record looks
 *       himself. Its reservation (a CAS of the tail) is the D1 of that pair.
 *   <li>{@code GATHERING}: as {@code TIMED}, with the number of requests in the place of the
 *       demand, and left alone until that is {@link #enough}.
 * </ul>
 */
final class LogWriter implements Runnable {
  private static final int AWAKE = 0;
  private static final int TIMED = 1;
  private static final int IDLE = 2;
  private static final int GATHERING = 3;

  private static final int AIM_SHIFT = 3;
  private static final int AIM_MIN = 2 << AIM_SHIFT;

  private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(2);
  private static final long GATHERING_NANOS_MAX = TimeUnit.MILLISECONDS.toNanos(1);
  private static final int YIELD_FROM = Runtime.getRuntime().availableProcessors() > 1 ? 50 : 0;
  private static final int PARK_FROM = YIELD_FROM + 20;

  private final Log log;
  private final LogConfig config;
  private final Ring ring;
  private final SegmentFile file;
  private final DurableWaits waits;
  private final Space space;
  private final int payloadMax;
  private final NativeRegion region;
  private final MemorySegment buffer;
  private final IoBatch batch = new IoBatch(3);
  private final Thread thread;

  private volatile int state;

  /** The count of requests at which a writer that is gathering is woken. */
  private volatile int enough;

  /**
   * Whether it gathers for as long as nobody is blocked. Set before it looks whether somebody is;
   * who blocks is in the list before he looks here, so that one of them sees the other.
   */
  private volatile boolean relaxed;

  private volatile boolean closing;
  private volatile long closingSince;

  private long written;
  private long complete;
  private long gathering;
  private int round;

  /** How many requests the groups that were written have answered. */
  private int answered;

  /** How many requests a group has answered, and how many came meanwhile: the most of late. */
  private int expected;

  /**
   * How many requests to gather at most, in units of 1 / 2^{@link #AIM_SHIFT}: grows by one with
   * each group, and shrinks by a quarter when somebody had nothing left to do meanwhile.
   */
  private int aim = AIM_MIN;

  /** Whether it has gathered since the last group. */
  private boolean gathered = true;

  /** How long a group takes from the write to the end of the sync, on average of late. */
  private long syncNanos;

  private volatile long records;
  private volatile long groups;
  private volatile long bytesWritten;
  private long recordsComplete;

  LogWriter(
      Log log, LogConfig config, Ring ring, SegmentFile file, DurableWaits waits, Space space) {
    this.log = log;
    this.config = config;
    this.ring = ring;
    this.file = file;
    this.waits = waits;
    this.space = space;
    this.payloadMax = SegmentFile.payloadMax(ring.size());
    this.written = ring.tail();
    this.complete = written;
    this.region =
        NativeRegion.reserve(Group.BLOCK + Group.fileBytes(payloadMax), false, "log write buffer");
    this.buffer = region.segment();
    this.thread = Thread.ofPlatform().daemon().name("fovea-log").unstarted(this);
  }

  // --------------------------------------------------------------------------------- any thread

  void start() {
    thread.start();
  }

  /** Somebody waits for durability. */
  void wanted() {
    int seen = state;
    if (seen == GATHERING ? waits.requests() - enough >= 0 : seen != AWAKE) {
      LockSupport.unpark(thread);
    }
  }

  /** Somebody is about to block. */
  void blocked() {
    if (relaxed) {
      LockSupport.unpark(thread);
    }
  }

  /** Somebody who worked on has nothing left to do. */
  void hurried() {
    if (state == GATHERING) {
      LockSupport.unpark(thread);
    }
  }

  /** A record was completed that nobody will wait for. */
  void appended() {
    if (state == IDLE) {
      LockSupport.unpark(thread);
    }
  }

  /** Somebody appended who does not wait. */
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

  /** Ends the thread, after what is complete was written if the log has not ended. */
  void close() {
    closingSince = System.nanoTime();
    closing = true;
    wake();
    boolean interrupted = false;
    while (true) {
      try {
        thread.join();
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    region.release();
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
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
    if (!gathered) {
      gather();
    }
    long before = complete;
    walk();
    if (complete > before) {
      round = 0;
    }
    if (complete > written && isDue()) {
      return write();
    }
    if (closing && isOver()) {
      return false;
    }
    pause();
    return true;
  }

  private void walk() {
    for (long word; (word = ring.word(complete)) != 0; ) {
      complete += Record.aligned(Record.length(word));
      recordsComplete++;
    }
  }

  private boolean isUrgent() {
    return closing || waits.isWanted() || space.isWanted();
  }

  private boolean isDue() {
    return isUrgent()
        || complete - written >= config.windowBytes() / 2
        || System.nanoTime() - gathering >= config.windowNanos();
  }

  /**
   * Waits for those who are likely to come soon, from the end of the last group on: whoever comes
   * first wakes nobody.
   */
  private void gather() {
    gathered = true;
    int goal = answered + Math.min(expected - expected / 4, aim >> AIM_SHIFT);
    if (expected < 3 || !mayGather(goal)) {
      return;
    }
    long began = System.nanoTime();
    long patience = Math.min(syncNanos, GATHERING_NANOS_MAX);
    enough = goal;
    state = GATHERING;
    while (mayGather(goal)) {
      relaxed = true;
      relaxed = !waits.isBlocked();
      long limit = relaxed ? GATHERING_NANOS_MAX : patience;
      long left = limit - (System.nanoTime() - began);
      if (left <= 0) {
        break;
      }
      LockSupport.parkNanos(this, left);
    }
    state = AWAKE;
    relaxed = false;
    if (waits.requests() == answered) {
      expected = 0;
    }
  }

  /**
   * Learns how many to gather from a group that was written. Who has nothing left to do during a
   * sync that takes unusually long says nothing about that.
   */
  private void aim(long took) {
    if (!waits.isHurried()) {
      aim = Math.min(aim + 1, (expected + 1) << AIM_SHIFT);
    } else if (took <= 2 * syncNanos) {
      aim = Math.max(aim - aim / 4, AIM_MIN);
    }
  }

  private boolean mayGather(int goal) {
    return !waits.isHurried()
        && waits.requests() - goal < 0
        && !space.isWanted()
        && !closing
        && !log.hasEnded();
  }

  /** At the end: whether there is nothing left, or a record that nobody will complete. */
  private boolean isOver() {
    if (ring.tail() == written) {
      return true;
    }
    return isImpatient();
  }

  private boolean isImpatient() {
    return closing && System.nanoTime() - closingSince > PATIENCE_NANOS;
  }

  private void pause() {
    if (isHurried()) {
      // What somebody waits for is reserved and not complete: in a moment, if its owner has a CPU.
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
      if (!isHurried() && !log.hasEnded()) {
        LockSupport.parkNanos(this, IDLE_NANOS);
      }
      gathering = System.nanoTime();
    } else {
      state = TIMED;
      if (!isHurried() && !log.hasEnded()) {
        long left = config.windowNanos() - (System.nanoTime() - gathering);
        LockSupport.parkNanos(this, Math.max(left, complete > written ? 50_000 : 1_000_000));
      }
    }
    state = AWAKE;
  }

  private boolean isHurried() {
    return isUrgent() || ring.tail() - written >= config.windowBytes() / 2;
  }

  /** Writes one group. */
  private boolean write() {
    gathering = System.nanoTime();
    int requests = waits.requests();
    SegmentHeader header = null;
    long first = Record.aligned(Record.length(ring.word(written)));
    if (Group.fileBytes(first) > file.rest()) {
      header = file.next(written, this::isImpatient);
      if (header == null) {
        return false;
      }
    }
    long to = end(Math.min(payloadMax, file.rest() - Group.HEADER));
    int payload = (int) (to - written);
    int bytes = (int) Group.fileBytes(payload);
    fill(header, to, payload, bytes);
    ring.release(written, to);
    space.changed();
    long began = System.nanoTime();
    put(header, bytes);
    long took = System.nanoTime() - began;
    aim(took);
    syncNanos += (took - syncNanos) / 8;
    written = to;
    records = recordsComplete;
    groups++;
    waits.publish(to);
    expected = Math.max(waits.requests() - answered, expected - 1 - expected / 8);
    answered = requests;
    gathered = false;
    KillPoint.here("log.synced");
    return true;
  }

  /** The end of the last record that fits. */
  private long end(long payload) {
    long limit = written + payload;
    if (complete <= limit) {
      return complete;
    }
    long end = written;
    while (true) {
      long next = end + Record.aligned(Record.length(ring.word(end)));
      if (next > limit) {
        return end;
      }
      end = next;
    }
  }

  private void fill(@Nullable SegmentHeader header, long to, int payload, int bytes) {
    if (header != null) {
      header.put(buffer, 0);
    }
    long at = Group.BLOCK;
    Group.put(
        buffer,
        at,
        file.start.database(),
        file.start.incarnation(),
        file.number(),
        written,
        payload);
    ring.copy(written, to, buffer, at + Group.HEADER);
    Mem.zero(buffer, at + Group.HEADER + payload, bytes - Group.HEADER - payload);
  }

  private void put(@Nullable SegmentHeader header, int bytes) {
    batch.clear();
    if (header != null) {
      batch.write(file.position() - Group.BLOCK, buffer, 0, Group.BLOCK);
    }
    batch.write(file.position(), buffer, Group.BLOCK, bytes);
    batch.sync();
    KillPoint.here("log.write");
    file.device.run(batch);
    batch.throwIfFailed();
    KillPoint.here("log.written");
    file.confirm();
    file.advance(bytes);
    bytesWritten += bytes + (header == null ? 0 : Group.BLOCK);
  }
}
