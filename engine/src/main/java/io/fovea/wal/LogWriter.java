package io.fovea.wal;

import io.fovea.memory.Mem;
import io.fovea.memory.NativeRegion;
import io.fovea.memory.Threads;
import io.fovea.memory.Waits;
import io.fovea.wal.InFlightGroups.Flight;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Takes complete records out of the ring and makes them durable, a group at a time: the thread
 * "fovea-log", or any thread that has nothing else to do.
 *
 * <pre>
 *   in turn:  walk words from `complete` on ─► due? ─► copy to a buffer, zero the ring, release
 *                 ▲                             │ no        │
 *                 └──── sleep ◄─────────────────┘           ▼
 *   without:                                            write + sync ─┐
 *   in turn:                                          durable ◄───────┘
 *   without:                                          wake those who wait
 * </pre>
 *
 * <p>A group is due when somebody waits for durability or for space, when the window of time or
 * half of the window of bytes has passed, and at the end.
 *
 * <p><b>Several at a time.</b> While a group is written and synced the next one may take off: two
 * clients that commit at any time wait for their own syncs, and not for each other's as well. The
 * rules are those of {@link InFlightGroups}. Where many commit, the next ones gather meanwhile.
 *
 * <p><b>Who writes.</b> Two hand-overs between threads cost more than the write. So a platform
 * thread that would only wait takes its {@link #turn} and writes the group itself ({@link #lead}),
 * as in the group commits of other engines. It leads where it has worked on and has nothing left to
 * do, where hardly anybody else commits, and where it is the last of those who are gathered. The
 * log's own thread writes for all others: for virtual threads, for space, for the window. What a
 * group changes here is guarded by the turn.
 *
 * <p><b>Gathering.</b> A sync costs the device and the CPU the same for one commit as for a dozen,
 * and with more clients than CPUs a writer would take a CPU from those who are about to commit.
 *
 * <ul>
 *   <li>Where threads are blocked, a group waits for three quarters of the requests that there were
 *       lately, but no longer than a sync takes: nobody waits for more than twice as long as he
 *       would have to. One client, or two, never wait for others.
 *   <li>Where nobody is blocked, for all have other work to do (see {@link Log#request}), it waits
 *       until the first has nothing left to do, who leads, or for a millisecond.
 * </ul>
 *
 * <p>The ring is released before the write: its space is needed more than its bytes, and a write
 * that fails is the end of the log anyway. So a group can't be written a second time: what is left
 * of it in the ring is zeros. They are not written, synced and acknowledged in its place, since
 * {@code written} is behind it from the moment at which it takes off. Where putting it together
 * fails, the log is ended before the turn is given up (F1), and any thread that gets the turn looks
 * whether it has ended before he writes (F2). Forbidden: F2 between the failure and F1. A write
 * that fails without the turn needs no such order: the group stays in the way of all that take off
 * later.
 *
 * <p><b>Sleep.</b> The state says how the thread sleeps, and who wants something looks at it
 * afterwards:
 *
 * <ul>
 *   <li>{@code TIMED}: there are records, but nobody waits for them. Any thread that waits raises
 *       the demand (D1) and then reads the state (D2); the writer stores the state (S1) and then
 *       reads the demand (S2). All are sequential, so that either S2 sees D1 or D2 sees S1 and
 *       unparks.
 *   <li>{@code IDLE}: there is no record, not even a reserved one. A commit is followed by a wait
 *       for durability or for the window, which look; any thread that completes another record
 *       looks himself. Its reservation (a CAS of the tail) is the D1 of that pair.
 *   <li>{@code GATHERING}: as {@code TIMED}, with the number of requests in the place of the
 *       demand, and left alone until that is {@link #enough}.
 * </ul>
 *
 * <p>A thread that leads has raised the demand and tells nobody; where it does not get as far as it
 * has to, for its record was not complete, it goes on as one who waits. A thread that finds the
 * turn taken has told the thread, or is in the group that is under way.
 *
 * <p>The file has more than 600 lines because who writes, when, and how it sleeps is one argument.
 */
final class LogWriter implements Runnable {
  private static final int AWAKE = 0;
  private static final int TIMED = 1;
  private static final int IDLE = 2;
  private static final int GATHERING = 3;

  private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(2);

  /** So few requests in a group, and nobody waits for others. */
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

  /** Of a group that is written alone: a block for a header before it, one for a mark behind. */
  private final Flight alone;

  private final Thread thread;

  private volatile int state;

  /** The count of requests at which a writer that is gathering is woken. */
  private volatile int enough;

  /**
   * Whether it gathers for as long as nobody is blocked. Set before it looks whether somebody is;
   * who blocks says up to where before he looks here, so that one of them sees the other.
   */
  private volatile boolean relaxed;

  private volatile boolean closing;
  private volatile long closingSince;

  /** Held while a group is put together, and while one is written alone. No latch is held. */
  private final ReentrantLock turn = new ReentrantLock();

  // Written by who has the turn; what is volatile is read by others.

  private final InFlightGroups inFlightGroups;

  private long written;
  private long complete;
  private long recordsComplete;

  /** Where the last group ends that took off. */
  private volatile long underWay;

  /** How many groups took off; it may wrap around. */
  private volatile int begun;

  /** There was no room for a group, and the log ended. */
  private boolean stuck;

  /** How many requests the groups that are durable have answered. */
  private volatile int answered;

  /** How many requests there were when the last group took off. */
  private int taken;

  /** How many requests a group has answered, and how many came meanwhile: the most of late. */
  private volatile int expected;

  /** How long a group takes from the write to the end of the sync, on average of late. */
  private volatile long syncNanos;

  /** When the last group was durable. */
  private volatile long syncedAt = System.nanoTime();

  private volatile long records;
  private volatile long groups;
  private volatile long bytesWritten;

  // Of the thread.

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
    this.underWay = written;
    this.mark = Group.BLOCK + Group.fileBytes(payloadMax);
    long behind = mark + Group.BLOCK;
    this.region =
        NativeRegion.reserve(behind + InFlightGroups.bytes(payloadMax), false, "log write buffer");
    this.buffer = region.segment();
    this.alone = new Flight(buffer, Group.BLOCK);
    this.inFlightGroups = new InFlightGroups(payloadMax, buffer, behind, turn.newCondition());
    this.thread = Threads.unstarted("fovea-log", this);
  }

  // --------------------------------------------------------------------------------- any thread

  void start() {
    thread.start();
  }

  /** The memory of its buffer, in bytes. */
  long memoryBytes() {
    return buffer.byteSize();
  }

  /** Somebody wants durability, and does not lead. */
  void wanted() {
    int seen = state;
    if (seen == GATHERING ? !relaxed && isEnough() : seen != AWAKE) {
      LockSupport.unpark(thread);
    }
  }

  private boolean isEnough() {
    return waits.requests() - enough >= 0;
  }

  /**
   * Writes the group on the calling thread, which would wait otherwise, if it may. The caller has
   * asked for durability and holds no latch.
   *
   * @param lsn up to where the caller wants the log to be durable
   * @param idle whether the caller has worked on and has nothing left to do
   * @return whether the group is neither written nor under way, so that the thread is to be told
   */
  boolean lead(long lsn, boolean idle) {
    if (lsn <= underWay || Thread.currentThread().isVirtual()) {
      return lsn > underWay;
    }
    if (idle || expected < FEW) {
      // For the group under way, and for those who have waited longer: they write this one, too.
      turn.lock();
    } else if (!isEnough() || !turn.tryLock()) {
      return true;
    }
    Flight flight = null;
    long airborne = 0;
    try {
      try {
        if (!closing && !log.hasEnded()) {
          walk();
          if (written < lsn && lsn <= complete) {
            flight = write(lsn);
            airborne = flight == null ? 0 : flight.airborne;
          }
        }
      } finally {
        turn.unlock();
      }
      if (flight != null) {
        finish(flight);
      }
    } catch (Throwable t) {
      log.fail(t); // as the log's own thread does; whoever waits is told there
    } finally {
      lose(flight, airborne);
    }
    return lsn > underWay;
  }

  /** Where the last group ends that is under way, or was. */
  long underWay() {
    return underWay;
  }

  /** Somebody is about to block. */
  void blocked() {
    if (relaxed) {
      LockSupport.unpark(thread);
    }
  }

  /** Somebody who worked on has nothing left to do. */
  void flushUrgent() {
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
    Waits.join(thread);
    // Who leads sees the end when it has the turn, and no memory is used after that.
    turn.lock();
    inFlightGroups.awaitNone();
    region.release();
    turn.unlock();
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
    Flight flight = null;
    turn.lock();
    try {
      if (log.hasEnded() || begun != seen) {
        return true;
      }
      if (expected >= FEW && mayGather() && !isEnough() && !inFlightGroups.isEmpty()) {
        inFlightGroups.await(); // many are about to come: gathered from the end of that one on
        return true;
      }
      if (file.slots().isFar() && !closing && !move()) {
        return true;
      }
      long before = complete;
      walk();
      if (complete > before) {
        round = 0;
      }
      if (complete > written && isDue()) {
        gathering = System.nanoTime();
        flight = write(Long.MAX_VALUE);
        if (flight == null) {
          return !stuck;
        }
      }
    } finally {
      turn.unlock();
    }
    if (flight != null) {
      long airborne = flight.airborne;
      try {
        finish(flight);
      } finally {
        lose(flight, airborne);
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
   * Goes on nearer to the start of a file that is too large: in turn, and nothing is in the air.
   *
   * @return false where it was, and others have had the turn
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
   * Finds what is complete, up to the tail: in a ring that is full to the last byte the oldest
   * record lies where the next one would, and is no next one.
   */
  private void walk() {
    long tail = ring.tail();
    for (long word; complete < tail && (word = ring.word(complete)) != 0; ) {
      complete += Record.aligned(Record.length(word));
      recordsComplete++;
    }
  }

  private boolean isUrgent() {
    return closing || waits.isWanted(underWay) || space.isWanted();
  }

  private boolean isDue() {
    return isUrgent()
        || complete - written >= config.windowBytes() / 2
        || System.nanoTime() - gathering >= config.windowNanos();
  }

  /**
   * Waits for those who are likely to come soon, from the end of the last group on: any thread that
   * comes first wakes nobody.
   */
  private void gather() {
    if (!mayGather()) {
      return;
    }
    state = GATHERING;
    while (mayGather()) {
      relaxed = true;
      relaxed = !waits.isBlocked(underWay);
      if (!relaxed && (expected < FEW || isEnough())) {
        break;
      }
      long patience = relaxed ? GATHERING_NANOS_MAX : Math.min(syncNanos, GATHERING_NANOS_MAX);
      long left = patience - (System.nanoTime() - syncedAt);
      if (left <= 0) {
        break;
      }
      LockSupport.parkNanos(this, left);
    }
    state = AWAKE;
    relaxed = false;
  }

  private boolean mayGather() {
    return waits.isWanted(underWay)
        && !waits.isHurried(underWay)
        && !space.isWanted()
        && !closing
        && !log.hasEnded();
  }

  /** At the end: whether there is nothing left, or a record that nobody will complete. */
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

  /**
   * Puts one group together: in turn, there is something to write, and the log has not ended.
   *
   * @param wanted up to where the caller wants to write, at least; the largest number of the thread
   * @return what is to be given to {@link #finish} without the turn; null where there is nothing to
   *     write any more, or the log ended before there was room for it
   */
  private @Nullable Flight write(long wanted) {
    try {
      while (!inFlightGroups.isEmpty() && !mayFly()) {
        inFlightGroups.await();
        boolean late = closing && wanted != Long.MAX_VALUE;
        if (late || log.hasEnded() || written >= wanted || complete == written) {
          return null;
        }
        walk();
      }
      if (!mayFly()) {
        return writeAlone();
      }
      Flight flight = inFlightGroups.next();
      fill(flight, complete);
      flight.batch.write(file.position(), flight.buffer, flight.off, (int) flight.bytes);
      flight.batch.sync();
      file.advance(flight.bytes);
      inFlightGroups.takeOff();
      return flight;
    } catch (Throwable t) {
      log.fail(t); // F1
      throw t;
    }
  }

  /** Whether all that is complete may be written beside what is in the air. */
  private boolean mayFly() {
    long payload = complete - written;
    return payload <= inFlightGroups.payloadMax()
        && inFlightGroups.isRoom()
        && complete - waits.durable() <= payloadMax
        && Group.fileBytes(payload) <= file.rest()
        && !file.isMarkDue(written)
        && file.writesApart();
  }

  /** Writes a group: in turn, and nothing is in the air. */
  private @Nullable Flight writeAlone() {
    SegmentHeader header = null;
    long first = Record.aligned(Record.length(ring.word(written)));
    if (Group.fileBytes(first) > file.rest()) {
      header = file.next(written, this::isImpatient);
      if (header == null) {
        stuck = true;
        return null;
      }
    }
    long from = written;
    long most = Math.min(payloadMax, file.rest() - Group.HEADER);
    fill(alone, ring.end(written, complete, written + most));
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
    passed(alone);
    return alone;
  }

  /** Takes a group out of the ring. */
  private void fill(Flight flight, long to) {
    flight.requests = waits.requests();
    flight.records = recordsComplete;
    flight.to = to;
    underWay = to;
    begun++;
    taken = flight.requests;
    gatherMore();
    int payload = (int) (to - written);
    flight.bytes = Group.fileBytes(payload);
    long at = flight.off;
    MemorySegment target = flight.buffer;
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
    Mem.zero(target, at + rest, flight.bytes - rest);
    ring.release(written, to);
    written = to;
    space.changed();
    flight.batch.clear();
  }

  /**
   * Does what is left to do of a group, without the turn: writes it, if it was not written alone,
   * and wakes those who waited.
   */
  private void finish(Flight flight) {
    if (flight == alone || fly(flight)) {
      waits.wake();
      log.becameDurable();
    }
  }

  /**
   * Writes a group.
   *
   * @return whether more is durable by that; not so while one before it is in the air
   */
  private boolean fly(Flight flight) {
    boolean landed = false;
    try {
      write(flight);
      landed = true;
    } catch (Throwable t) {
      log.fail(t);
    }
    turn.lock();
    try {
      inFlightGroups.over(flight, flight.airborne, landed);
      boolean more = false;
      for (Flight next = inFlightGroups.pass(); next != null; next = inFlightGroups.pass()) {
        passed(next);
        more = true;
      }
      return more;
    } finally {
      turn.unlock();
    }
  }

  /** After an error that came before the end of a group was entered, and that ends the log. */
  private void lose(@Nullable Flight flight, long airborne) {
    if (flight == null || flight.airborne != airborne || airborne == 0) {
      return; // it is over, as always; the memory may have another one
    }
    turn.lock();
    inFlightGroups.over(flight, airborne, false);
    turn.unlock();
  }

  private void write(Flight flight) {
    long began = System.nanoTime();
    file.write(flight.batch);
    file.confirm();
    long now = System.nanoTime();
    syncNanos += (now - began - syncNanos) / 8;
    syncedAt = now;
  }

  /** Of those who were not there when the last group took off so many have to come. */
  private void gatherMore() {
    enough = taken + expected - expected / 4;
  }

  /** In turn: a group is durable, and all before it are. */
  private void passed(Flight flight) {
    records = flight.records;
    groups++;
    bytesWritten += flight.bytes;
    int came = waits.requests() - answered;
    expected = Math.max(came, expected - 1 - expected / 8);
    answered = flight.requests;
    gatherMore();
    waits.reached(flight.to);
  }
}
