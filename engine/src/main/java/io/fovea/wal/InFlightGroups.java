package io.fovea.wal;

import io.fovea.io.IoBatch;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.locks.Condition;
import org.jspecify.annotations.Nullable;

/**
 * The groups that are being written, several at a time, in the order of their positions.
 *
 * <pre>
 *        durable                                        under way
 *   ────────┼── group 7 ──┼── group 8 ──┼── group 9 ──┼── what comes next
 *           │ in the air    back          in the air
 *           └─ the position moves on when 7 is back, and then over 7 and 8
 * </pre>
 *
 * <p>Each group has blocks of its own, memory of its own, and a thread that writes it and waits for
 * its sync. A group takes off under the {@link LogWriter}'s turn, is written without it, and is
 * over under it, whatever that thread meets: a close waits for that.
 *
 * <p><b>Rules.</b>
 *
 * <ol>
 *   <li><i>In order.</i> The durable position moves over a group when that group is durable and all
 *       before it are. So it never passes a hole: a group that failed stays the first for ever, and
 *       nobody behind it is told that anything is durable. Forbidden: group 8 is acknowledged, the
 *       machine dies, group 7 is not there, and the log ends before both.
 *   <li><i>A group says what it knows.</i> Its header has the position up to which everything was
 *       durable when it took off ({@link Group#proven}), not its own start: that it is on the
 *       medium proves nothing of the others. Forbidden: recovery takes the end of the log, a group
 *       that was torn, for damage, because a later one is whole.
 *   <li><i>Alone.</i> The first group of a segment, one that goes with a watermark, and one that is
 *       large, is written when no other is in the air. So a segment begins when everything before
 *       it is durable, and nothing else has to know of flights. The same holds for all groups on a
 *       device that may tell a thread of another's failure ({@link SlotFile#writesApart}).
 *   <li><i>Not much.</i> From the durable position to the end of the last group it is no more than
 *       one group may have. So an opening can write all that was in the air again, as one group
 *       ({@link TailGroups}).
 * </ol>
 *
 * <p>Threads: under the writer's turn; what belongs to a group in the air is its thread's.
 */
final class InFlightGroups {
  /** So many at a time. */
  static final int MOST = 4;

  /** The largest payload of one that is not alone, in bytes. */
  static final int PAYLOAD_MAX = 64 << 10;

  /** A group on its way. Written in turn, but for its buffer and its batch. */
  static final class Flight {
    /** The memory that it is written from, and where in it the group begins. */
    final MemorySegment buffer;

    final long off;
    final IoBatch batch = new IoBatch(4);

    /** Where the group ends. */
    long to;

    /** How many bytes are written. */
    long bytes;

    /** How many records there are up to its end, since the log was opened. */
    long records;

    /** How many requests it answers, with all before it. */
    int requests;

    private boolean back;

    /** Which take-off it is whose thread writes it now; 0 for none. The memory is used again. */
    long airborne;

    Flight(MemorySegment buffer, long off) {
      this.buffer = buffer;
      this.off = off;
    }
  }

  private final int payloadMax;
  private final Condition changed;
  private final Flight[] places = new Flight[MOST];

  /** Those that took off and that the durable position has not passed, from {@code first} on. */
  private int first;

  private int count;

  /** How many have a thread that writes them. */
  private int inTheAir;

  private long takeOffs;

  /** How many threads wait for {@link #changed}. */
  private int waiting;

  /**
   * None yet.
   *
   * @param payloadMax the largest payload of any group
   * @param buffer memory for all of them, {@link #bytes} from {@code off} on
   * @param off where it begins
   * @param changed of the writer's turn
   */
  InFlightGroups(int payloadMax, MemorySegment buffer, long off, Condition changed) {
    this.payloadMax = Math.min(payloadMax, PAYLOAD_MAX);
    this.changed = changed;
    for (int i = 0; i < MOST; i++) {
      places[i] = new Flight(buffer, off + i * Group.fileBytes(this.payloadMax));
    }
  }

  /** How much memory there must be. */
  static long bytes(int payloadMax) {
    return MOST * Group.fileBytes(Math.min(payloadMax, PAYLOAD_MAX));
  }

  /** The largest payload of one that is not alone, in bytes. */
  int payloadMax() {
    return payloadMax;
  }

  /** Whether everything that took off is durable. */
  boolean isEmpty() {
    return count == 0;
  }

  /** Whether another may take off. */
  boolean isRoom() {
    return count < MOST;
  }

  /** Where the next one is put together; there is room. */
  Flight next() {
    return places[(first + count) % MOST];
  }

  /** The next one, which is all there, takes off: {@link #over} is due. */
  void takeOff() {
    Flight flight = next();
    flight.back = false;
    flight.airborne = ++takeOffs;
    count++;
    inTheAir++;
  }

  /**
   * A group is no longer in the air. Does nothing where it was not.
   *
   * @param airborne which take-off it is; the memory may have another one by now
   * @param landed whether it is durable: then {@link #pass} tells how far the log is. Otherwise the
   *     log has ended, and nothing passes it
   */
  void over(Flight flight, long airborne, boolean landed) {
    if (airborne == 0 || flight.airborne != airborne) {
      return;
    }
    flight.back = landed;
    flight.airborne = 0;
    inTheAir--;
    if (waiting > 0) {
      changed.signalAll();
    }
  }

  /** The first group, where that is durable: the durable position moves over it. Else null. */
  @Nullable Flight pass() {
    Flight flight = places[first];
    if (count == 0 || !flight.back) {
      return null;
    }
    first = (first + 1) % MOST;
    count--;
    return flight;
  }

  /** Waits until another one is over; others have the turn meanwhile. */
  void await() {
    waiting++;
    try {
      changed.awaitUninterruptibly();
    } finally {
      waiting--;
    }
  }

  /** Waits until nobody uses the memory; the log has ended, or is being closed. */
  void awaitNone() {
    while (inTheAir > 0) {
      await();
    }
  }
}
