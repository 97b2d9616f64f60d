package io.fovea.txn;

import io.fovea.memory.Waits;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * The attempts to do one piece of work until it commits: how long to wait before the next one, and
 * whether that one is pessimistic. Of one thread.
 *
 * <ol>
 *   <li>After an abort the thread backs off: {@link #backOff}. Where the abort was caused by a
 *       reservation, it waits for the end of that, since another attempt would meet it again.
 *   <li>After {@code pessimisticAfterAborts} aborts it queues up for being pessimistic. Until its
 *       turn comes it makes attempts still, and waits longer and longer between them.
 *   <li>When its turn has come every attempt is pessimistic, until the work is done. Where the turn
 *       was taken away, because an attempt took too long, it queues up again.
 * </ol>
 */
public final class Attempts implements AutoCloseable {
  /** How long the end of another's reservation is waited for. */
  private static final long RESERVATION_NANOS = 1_000_000_000L;

  /** Aborts of a transaction after which it gives way, and does not sleep yet. */
  private static final int YIELDS = 4;

  private static final long TURN_NANOS = 1_000_000L;
  private static final int TURN_DOUBLINGS = 10;

  private final Reservations reservations;
  private final int pessimisticAfterAborts;
  private int aborts;
  private int inQueue;
  private @Nullable PessimisticTicket pessimisticTicket;
  private @Nullable Reservation met;

  /**
   * @param reservations of the engine whose transactions the attempts are
   * @param pessimisticAfterAborts the number of aborts after which attempts are pessimistic; 0:
   *     from the first attempt, if no other transaction holds the ticket
   */
  Attempts(Reservations reservations, int pessimisticAfterAborts) {
    this.reservations = reservations;
    this.pessimisticAfterAborts = pessimisticAfterAborts;
    queueUp();
  }

  private void queueUp() {
    PessimisticTicket t = pessimisticTicket;
    if ((t == null || t.isOver()) && aborts >= pessimisticAfterAborts) {
      pessimisticTicket = reservations.enqueue();
    }
  }

  /**
   * Waits until it is this thread's turn to be pessimistic, for who makes one attempt only.
   *
   * @param nanos for how long at most
   * @return whether it is
   */
  public boolean awaitTurn(long nanos) {
    PessimisticTicket t = pessimisticTicket;
    if (t == null) {
      return false;
    }
    reservations.awaitTurn(t, nanos);
    return t.isGranted();
  }

  /** An attempt was aborted: waits before the next. */
  public void backOff() {
    aborts++;
    Reservation r = met;
    met = null;
    queueUp();
    PessimisticTicket t = pessimisticTicket;
    if (t == null) {
      if (r != null) {
        reservations.awaitEnd(r, RESERVATION_NANOS);
      } else {
        sleep(aborts);
      }
    } else if (!t.isGranted()) {
      reservations.awaitTurn(t, TURN_NANOS << Math.min(inQueue++, TURN_DOUBLINGS));
    } else if (aborts > pessimisticAfterAborts + 1) {
      sleep(aborts); // a pessimistic attempt that failed
    }
  }

  /**
   * Waits before another attempt: gives way a few times, then sleeps longer from attempt to attempt
   * and by a random share, so that those who collided do not meet again.
   *
   * @param attempt how often the transaction was aborted, from 1
   */
  private static void sleep(int attempt) {
    if (attempt <= YIELDS) {
      Thread.yield();
      return;
    }
    long limit = 1_000L << Math.min(attempt, 10);
    Waits.sleep(ThreadLocalRandom.current().nextLong(limit / 2, limit));
  }

  /** The place in the queue; null where there is none yet. */
  @Nullable PessimisticTicket pessimisticTicket() {
    return pessimisticTicket;
  }

  /** An attempt is being aborted because of a reservation. */
  void met(Reservation r) {
    met = r;
  }

  /**
   * The work is done, or given up: the next one's turn. Twice is fine. Also by the thread that
   * finds a transaction which its user has forgotten.
   */
  @Override
  public void close() {
    PessimisticTicket t = pessimisticTicket;
    if (t != null) {
      t.leave();
    }
  }
}
