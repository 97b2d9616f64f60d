package io.fovea.ratis;

import io.fovea.ratis.ReplicationException.Reason;
import io.fovea.replication.Outcome;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Determines up to which index the log must be applied for a read to be linearizable.
 *
 * <p><b>A mark is an empty log entry.</b> It is appended after the read began. The leader that
 * commits it has all entries committed before (Raft's leader completeness). So its index is above
 * everything acknowledged before the read began, and a peer that has applied it has applied all of
 * that.
 *
 * <p>Ratis' ReadIndex is not used. Its leader (3.2.2, {@code ReadIndexHeartbeats}) skips the
 * majority check if the same commit index was confirmed before. A leader that was stopped or cut
 * off since then still has that index although another one leads: {@code FaultTest} found it
 * returning overwritten values. Ratis' leader lease falls back to the same code.
 *
 * <p>A peer has one mark in progress. Reads that arrive meanwhile share the next one: so the number
 * of reads costs nothing, and each waits for at most two rounds of the log.
 *
 * <p>Thread-safe; fields are guarded by this.
 */
final class ReadMarks {
  private final Requests requests;
  private final Duration limit;

  /** The mark to be sent next, shared by all reads that arrive until then. */
  private @Nullable CompletableFuture<Long> next;

  private boolean underWay;

  ReadMarks(Requests requests, Duration limit) {
    this.requests = requests;
    this.limit = limit;
  }

  /**
   * Makes a mark, or shares one that is made after this call.
   *
   * @return its index
   * @throws ReplicationException if it is not committed in time, this peer is closed, or the thread
   *     is interrupted
   */
  long await(Duration most) {
    long until = System.nanoTime() + most.toNanos();
    while (true) {
      try {
        return join().get(until - System.nanoTime(), TimeUnit.NANOSECONDS);
      } catch (TimeoutException e) {
        throw new ReplicationException(
            Reason.TIMEOUT,
            false,
            "A linearizable read needs a new log entry, but none was committed within "
                + most.toMillis()
                + " ms. Check that a majority of the peers is up and that they reach each"
                + " other.",
            e);
      } catch (ExecutionException e) {
        if (!(e.getCause() instanceof ReplicationException r)) {
          throw new IllegalStateException(
              "A linearizable read got an unexpected " + "answer.", e.getCause());
        }
        if (r.reason() != Reason.TIMEOUT || until - System.nanoTime() <= 0) {
          throw new ReplicationException(r.reason(), false, String.valueOf(r.getMessage()), r);
        }
        // The mark was in progress longer than this caller has waited: the next one may succeed.
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new ReplicationException(
            Reason.BEHIND, false, "The thread was interrupted during a linearizable read.", e);
      }
    }
  }

  private CompletableFuture<Long> join() {
    CompletableFuture<Long> mine;
    synchronized (this) {
      mine = next;
      if (mine == null) {
        mine = new CompletableFuture<>();
        next = mine;
      }
      if (underWay) {
        return mine;
      }
      underWay = true;
      next = null;
    }
    send(mine);
    return mine;
  }

  private void send(CompletableFuture<Long> mark) {
    requests
        .mark(limit)
        .thenApply(answer -> Outcome.of(answer).index())
        .whenComplete(
            (index, e) -> {
              CompletableFuture<Long> then;
              synchronized (this) {
                then = next;
                next = null;
                underWay = then != null;
              }
              if (then != null) {
                send(then);
              }
              if (e == null) {
                mark.complete(index);
              } else {
                mark.completeExceptionally(e.getCause() == null ? e : e.getCause());
              }
            });
  }
}
