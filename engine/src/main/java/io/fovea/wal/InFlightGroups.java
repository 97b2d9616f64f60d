package io.fovea.wal;

import io.fovea.io.IoBatch;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.locks.Condition;
import org.jspecify.annotations.Nullable;

/**
 * The groups being written, several at a time, in the order of their positions.
 *
 * <pre>
 *        durable                                        under way
 *   ────────┼── group 7 ──┼── group 8 ──┼── group 9 ──┼── later groups
 *           │ in flight     done          in flight
 *           └─ advances when 7 is done, then over 7 and 8
 * </pre>
 *
 * <p>Each group has its own blocks, its own memory and a thread that writes it and waits for its
 * sync. A group starts while its thread holds the {@link LogWriter}'s lock, is written without the
 * lock, and is finished with the lock held, even after an error: a close waits for that.
 *
 * <p><b>Rules.</b>
 *
 * <ol>
 *   <li><i>In order.</i> The durable position moves over a group when that group and all before it
 *       are durable, so it never passes a hole: a failed group stays the first forever, and no
 *       waiter beyond it is acknowledged. Forbidden: group 8 is acknowledged, the machine fails,
 *       group 7 is missing, and the log ends before both.
 *   <li><i>The proven position.</i> A group's header contains the position that was durable when it
 *       started ({@link Group#proven}), not its own start: its presence on the medium proves
 *       nothing about the others. Forbidden: recovery takes the end of the log, a torn group, for
 *       damage because a later group is whole.
 *   <li><i>Alone.</i> The first group of a segment, a group with a watermark and a large group are
 *       written while no other group is in flight. So a segment begins when everything before it is
 *       durable, and other code need not consider concurrent groups. The same holds for all groups
 *       on a device that may report one thread's failure to another ({@link SlotFile#writesApart}).
 *   <li><i>Bounded.</i> The records between the durable position and the end of the last group fit
 *       into one group. So an opening can rewrite everything that was in flight as one group
 *       ({@link TailGroups}).
 * </ol>
 *
 * <p>Threads: all state is guarded by the writer's lock, except that a group in flight belongs to
 * its thread.
 */
final class InFlightGroups {
  /** The maximum number of groups in flight. */
  static final int MOST = 4;

  /** The largest payload of a group that is not written alone, in bytes. */
  static final int PAYLOAD_MAX = 64 << 10;

  /** A group in flight. Written with the lock held, except for its buffer and its batch. */
  static final class InFlightGroup {
    /** The memory that the group is written from, and the offset of the group in it. */
    final MemorySegment buffer;

    final long off;
    final IoBatch batch = new IoBatch(4);

    /** The end of the group. */
    long to;

    /** The number of bytes written. */
    long bytes;

    /** The number of records up to its end, since the log was opened. */
    long records;

    /** The number of requests that it and all groups before it answer. */
    int requests;

    private boolean durable;

    /**
     * The number of the start whose thread is writing the group; 0 for none. Distinguishes
     * successive uses of the memory.
     */
    long startNumber;

    InFlightGroup(MemorySegment buffer, long off) {
      this.buffer = buffer;
      this.off = off;
    }
  }

  private final int payloadMax;
  private final Condition changed;
  private final InFlightGroup[] groups = new InFlightGroup[MOST];

  /**
   * The index of the oldest group that ends beyond the durable position; there are {@code count}.
   */
  private int first;

  private int count;

  /** The number of groups that a thread is writing. */
  private int beingWritten;

  private long starts;

  /** The number of threads waiting for {@link #changed}. */
  private int waiting;

  /**
   * Creates the groups.
   *
   * @param payloadMax the largest payload of any group
   * @param buffer memory for all of them: {@link #bytes} bytes starting at {@code off}
   * @param off the offset of that memory
   * @param changed a condition of the writer's lock
   */
  InFlightGroups(int payloadMax, MemorySegment buffer, long off, Condition changed) {
    this.payloadMax = Math.min(payloadMax, PAYLOAD_MAX);
    this.changed = changed;
    for (int i = 0; i < MOST; i++) {
      groups[i] = new InFlightGroup(buffer, off + i * Group.fileBytes(this.payloadMax));
    }
  }

  /** Returns the memory needed, in bytes. */
  static long bytes(int payloadMax) {
    return MOST * Group.fileBytes(Math.min(payloadMax, PAYLOAD_MAX));
  }

  /** Returns the largest payload of a group that is not written alone, in bytes. */
  int payloadMax() {
    return payloadMax;
  }

  /** Returns whether every group that started is durable. */
  boolean isEmpty() {
    return count == 0;
  }

  /** Returns whether another group may start. */
  boolean mayStart() {
    return count < MOST;
  }

  /** Returns the memory in which the next group is assembled. Requires {@link #mayStart}. */
  InFlightGroup next() {
    return groups[(first + count) % MOST];
  }

  /** Starts the next group, which is complete in memory. The caller must call {@link #finish}. */
  void start() {
    InFlightGroup group = next();
    group.durable = false;
    group.startNumber = ++starts;
    count++;
    beingWritten++;
  }

  /**
   * Finishes a group, once.
   *
   * @param startNumber the number of the start; the memory may be in use by a later start
   * @param durable whether the group is durable; then {@link #takeDurable} can move over it.
   *     Otherwise the log has ended, and the durable position never passes the group
   */
  void finish(InFlightGroup group, long startNumber, boolean durable) {
    if (startNumber == 0 || group.startNumber != startNumber) {
      return;
    }
    group.durable = durable;
    group.startNumber = 0;
    beingWritten--;
    if (waiting > 0) {
      changed.signalAll();
    }
  }

  /** If the first group is durable, moves over it and returns it; otherwise returns null. */
  @Nullable InFlightGroup takeDurable() {
    InFlightGroup group = groups[first];
    if (count == 0 || !group.durable) {
      return null;
    }
    first = (first + 1) % MOST;
    count--;
    return group;
  }

  /** Waits until another group is finished. Releases the lock during the wait. */
  void await() {
    waiting++;
    try {
      changed.awaitUninterruptibly();
    } finally {
      waiting--;
    }
  }

  /** Waits until no thread uses the memory. The log has ended or is being closed. */
  void awaitNone() {
    while (beingWritten > 0) {
      await();
    }
  }
}
