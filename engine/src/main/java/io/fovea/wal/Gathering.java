package io.fovea.wal;

import java.util.concurrent.TimeUnit;

/**
 * For how many requests for durability a group waits, and for how long at most. Learned from the
 * groups before.
 *
 * <pre>
 *   requests counted:   answered ........ enoughAhead ........ enough ........ all that come
 *                          |  of threads that work on  |  of threads that wait  |
 * </pre>
 *
 * <p><b>Threads that wait</b> come back together, when a group is durable: three quarters of as
 * many as of late are {@link #isEnough enough}.
 *
 * <p><b>Threads that work on</b> (see {@link Log#request}) have other clients to serve while a
 * group is synced, until all of these wait as well. A group that begins too early costs a sync
 * more; one that begins too late leaves a thread with nothing to do. So the number grows slowly, by
 * a sixteenth with each group that reached it, and shrinks by three where a thread has {@link
 * #ranDry run dry}: it comes to rest where one group in four finds such a thread. It never goes
 * below a third of what came. At the floor threads run dry whatever is done, for they have one
 * client or two; then nobody wakes the log's thread, and who runs dry writes.
 *
 * <p>Counts of requests may wrap around; only differences are compared. What a group changes is
 * written by who has the turn; any thread reads.
 */
final class Gathering {
  /** So few requests in a group, and nobody waits for others. */
  private static final int FEW = 3;

  static final long NANOS_MAX = TimeUnit.MILLISECONDS.toNanos(1);

  /** Of {@link #ahead}: one request. */
  private static final int ONE = 16;

  /** As three groups bring: one group in four finds a thread that has run dry. */
  private static final int CUT = 3;

  private static final int FLOOR = 2 * ONE;
  private static final int CEILING = 1024 * ONE;

  /** How many requests the groups that were written have answered. */
  private volatile int answered;

  /** How many requests a group has answered, and how many came meanwhile: the most of late. */
  private volatile int expected;

  /** The count of requests at which a group is written where threads wait. */
  private volatile int enough;

  /** The count of requests at which a group is written where threads work on. */
  private volatile int enoughAhead;

  /** Whether threads run dry whatever is done. */
  private volatile boolean atFloor;

  private volatile boolean ranDry;

  /** How long a group takes from the write to the end of the sync, on average of late. */
  private volatile long syncNanos;

  /** When the last group was durable. */
  private volatile long syncedAt = System.nanoTime();

  /** How many requests of threads that work on a group waits for, in sixteenths. */
  private int ahead = 4 * ONE;

  Gathering() {
    enoughAhead = ahead / ONE;
  }

  /** Whether hardly anybody else commits: nobody waits for others. */
  boolean isFew() {
    return expected < FEW;
  }

  /** Whether there are enough requests of threads that wait. */
  boolean isEnough(int requests) {
    return requests - enough >= 0;
  }

  /** Whether there are enough requests of threads that work on. */
  boolean isEnoughAhead(int requests) {
    return requests - enoughAhead >= 0 && !atFloor;
  }

  /** Whether a request is the one that makes enough of threads that work on. */
  boolean completes(int request) {
    return request == enoughAhead && !atFloor;
  }

  /** A thread that worked on has nothing left to do. */
  void ranDry() {
    if (!ranDry) {
      ranDry = true;
    }
  }

  /** How long a group may go on gathering, from now on; not positive for no longer. */
  long left(boolean workOn) {
    long patience = workOn ? NANOS_MAX : Math.min(syncNanos, NANOS_MAX);
    return patience - (System.nanoTime() - syncedAt);
  }

  /**
   * A group is durable.
   *
   * @param began when it was written
   * @param requests how many requests there had been when it was put together
   * @param now how many there are now
   */
  void wrote(long began, int requests, int now) {
    long nanos = System.nanoTime();
    syncNanos += (nanos - began - syncNanos) / 8;
    syncedAt = nanos;
    int came = now - answered;
    expected = Math.max(came, expected - 1 - expected / 8);
    if (ranDry) {
      ranDry = false;
      ahead = Math.max(FLOOR, Math.max(ahead - CUT, came * ONE / 3));
    } else if (requests - enoughAhead >= 0) {
      ahead = Math.min(CEILING, ahead + 1);
    }
    atFloor = ahead == FLOOR;
    answered = requests;
    enough = requests + expected - expected / 4;
    enoughAhead = requests + ahead / ONE;
  }
}
