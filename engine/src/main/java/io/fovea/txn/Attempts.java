package io.fovea.txn;

import io.fovea.memory.Waits;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * The attempts of one thread to commit a piece of work.
 *
 * <ol>
 *   <li>After an abort the thread {@linkplain #backOff backs off}. If a reservation caused the
 *       abort, it waits for the end of the reservation.
 *   <li>After {@code pessimisticAfterAborts} aborts it queues for a {@link PessimisticTicket}, and
 *       meanwhile makes ordinary attempts with growing pauses.
 *   <li>Once the ticket is granted, every attempt is pessimistic. If the ticket is revoked because
 *       an attempt took too long, the thread queues again.
 * </ol>
 */
public final class Attempts implements AutoCloseable {
  private static final long RESERVATION_NANOS = 1_000_000_000L;

  private static final int YIELDS = 4;

  private static final long TICKET_NANOS = 1_000_000L;
  private static final int TICKET_DOUBLINGS = 10;

  private final Reservations reservations;
  private final int pessimisticAfterAborts;
  private int aborts;
  private int inQueue;
  private @Nullable PessimisticTicket pessimisticTicket;
  private @Nullable Reservation aborter;

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

  /** Waits up to a limit for the ticket, before a single attempt; returns whether it is granted. */
  public boolean awaitTicket(long nanos) {
    PessimisticTicket t = pessimisticTicket;
    if (t == null) {
      return false;
    }
    reservations.awaitTicket(t, nanos);
    return t.isGranted();
  }

  /** Counts an aborted attempt and waits before the next. */
  public void backOff() {
    aborts++;
    Reservation r = aborter;
    aborter = null;
    queueUp();
    PessimisticTicket t = pessimisticTicket;
    if (t == null) {
      if (r != null) {
        reservations.awaitEnd(r, RESERVATION_NANOS);
      } else {
        sleep(aborts);
      }
    } else if (!t.isGranted()) {
      reservations.awaitTicket(t, TICKET_NANOS << Math.min(inQueue++, TICKET_DOUBLINGS));
    } else if (aborts > pessimisticAfterAborts + 1) {
      sleep(aborts); // a pessimistic attempt failed
    }
  }

  /** Yields a few times, then sleeps for a growing, random time, to separate colliding threads. */
  private static void sleep(int attempt) {
    if (attempt <= YIELDS) {
      Thread.yield();
      return;
    }
    long limit = 1_000L << Math.min(attempt, 10);
    Waits.sleep(ThreadLocalRandom.current().nextLong(limit / 2, limit));
  }

  @Nullable PessimisticTicket pessimisticTicket() {
    return pessimisticTicket;
  }

  /** Records the reservation that aborts the current attempt. */
  void setAborter(Reservation r) {
    aborter = r;
  }

  /** Leaves the queue. Idempotent; also called by a thread that ends a leaked transaction. */
  @Override
  public void close() {
    PessimisticTicket t = pessimisticTicket;
    if (t != null) {
      t.leave();
    }
  }
}
