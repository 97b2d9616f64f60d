package io.fovea;

import io.fovea.config.Durability;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.FoveaException;
import io.fovea.txn.TxEngine;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The receipt of a transaction that has committed ahead of its log: {@link Database#runPipelined},
 * {@link Transaction#commitAhead}.
 *
 * <p>Other transactions see its changes already, and wait for their durability before they return.
 * The program must not tell anyone of the transaction, or of what it has read, before {@link
 * #await} has returned or {@link #isDurable} is true: until then a crash undoes the transaction.
 *
 * <pre>{@code
 * Receipt receipt = db.runPipelined(tx -> accounts.update(tx, row));
 * ... begin the work of another client ...
 * receipt.await();
 * answer("done");
 * }</pre>
 *
 * <p>So one thread can serve many clients that share the syncs of the device, without a thread for
 * each of them. Source: flush pipelining, R. Johnson et al., Aether: A Scalable Approach to
 * Logging, PVLDB 3, 2010.
 *
 * <p>With {@link Durability#ASYNC} and {@link Durability#NONE}, and for a transaction that has
 * written nothing and read nothing new, there is nothing to wait for.
 *
 * <p>Any thread.
 *
 * @since 0.1.0
 */
public final class CommitHandle {
  private final TxEngine engine;
  private final long lsn;
  private final boolean wrote;

  /** What a transaction left: a position that was requested, or 0. */
  CommitHandle(TxEngine engine, long lsn, boolean wrote) {
    this.engine = engine;
    this.lsn = lsn;
    this.wrote = wrote;
  }

  /**
   * Whether there is nothing left to wait for. Costs a few nanoseconds.
   *
   * @return true once, and from then on for ever
   * @throws DurabilityLostException if it can't become so any more; {@link
   *     DurabilityLostException#mayHaveCommitted} tells whether the transaction may be there when
   *     the database is opened again
   * @throws DatabaseClosedException if the database was closed before it did
   */
  public boolean isDurable() {
    return engine.isDurable(lsn, wrote);
  }

  /**
   * Waits until all that the transaction has changed, and all that it has read, is on stable
   * storage. An interrupt does not end the wait; the flag is kept. A virtual thread parks.
   *
   * @throws DurabilityLostException as {@link #isDurable}
   * @throws DatabaseClosedException if the database was closed before it did
   */
  public void await() {
    engine.awaitRequested(lsn, wrote);
  }

  /**
   * A stage that is completed when all that the transaction has changed, and all that it has read,
   * is on stable storage. No thread waits meanwhile. Where {@link #isDurable} would throw, the
   * stage is completed with that exception.
   *
   * <p>A virtual thread completes it, and runs what depends on it without an executor of its own;
   * that may block. Where there is nothing to wait for, the stage is complete already.
   *
   * @return the stage, a {@link CompletableFuture}
   */
  public CompletionStage<@Nullable Void> whenDurable() {
    CompletableFuture<@Nullable Void> stage = new CompletableFuture<>();
    whenDurable(stage, null, null);
    return stage;
  }

  /** Runs actions, and completes a stage with a value. */
  <R extends @Nullable Object> void whenDurable(
      CompletableFuture<R> stage, R value, @Nullable List<Runnable> actions) {
    boolean done = false;
    try {
      done = isDurable();
    } catch (FoveaException e) {
      stage.completeExceptionally(e);
      return;
    }
    if (done) {
      complete(stage, value, actions);
    } else {
      engine.whenDurable(lsn, () -> tell(stage, value, actions));
    }
  }

  private <R extends @Nullable Object> void tell(
      CompletableFuture<R> stage, R value, @Nullable List<Runnable> actions) {
    try {
      await(); // which it does not: it knows
    } catch (Throwable t) {
      stage.completeExceptionally(t);
      return;
    }
    complete(stage, value, actions);
  }

  private static <R extends @Nullable Object> void complete(
      CompletableFuture<R> stage, R value, @Nullable List<Runnable> actions) {
    Transaction.runAll(actions);
    stage.complete(value);
  }
}
