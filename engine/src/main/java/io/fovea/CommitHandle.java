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
 * A transaction that has committed but may not be durable yet, from {@link Database#runPipelined}
 * or {@link Transaction#commitPipelined}. Safe for any thread.
 *
 * <p>Other transactions already see its changes, and a transaction that has read them returns only
 * once they are durable. The program must not reveal the transaction, or what it has read, before
 * {@link #await} has returned or {@link #isDurable} is true: until then, a crash would undo it.
 *
 * <pre>{@code
 * CommitHandle commit = db.runPipelined(tx -> accounts.update(tx, row));
 * ... begin the work of another client ...
 * commit.await();
 * answer("done");
 * }</pre>
 *
 * <p>This lets one thread serve many clients, whose commits share the syncs of the device. There is
 * nothing to wait for with {@link Durability#ASYNC} and {@link Durability#NONE}, or if the
 * transaction has written nothing and has read only durable data. Source: flush pipelining, R.
 * Johnson et al., Aether: A Scalable Approach to Logging, PVLDB 3, 2010.
 *
 * @since 0.1.0
 */
public final class CommitHandle {
  private final TxEngine engine;
  private final long lsn;
  private final boolean wrote;

  /** Creates a handle with the requested log position of a transaction, or 0. */
  CommitHandle(TxEngine engine, long lsn, boolean wrote) {
    this.engine = engine;
    this.lsn = lsn;
    this.wrote = wrote;
  }

  /**
   * Returns whether there is nothing left to wait for. Takes a few nanoseconds.
   *
   * @return whether the transaction is durable; once true, always true
   * @throws DurabilityLostException if it can no longer become durable; {@link
   *     DurabilityLostException#mayHaveCommitted} tells whether the next opening may find it
   *     committed
   * @throws DatabaseClosedException if the database was closed before the transaction became
   *     durable
   */
  public boolean isDurable() {
    return engine.isDurable(lsn, wrote);
  }

  /**
   * Waits until everything that the transaction has changed or read is durable. Throws the
   * exceptions of {@link #isDurable}. An interrupt does not end the wait; the flag is kept. A
   * virtual thread parks.
   */
  public void await() {
    engine.awaitRequested(lsn, wrote);
  }

  /**
   * Returns a stage that completes when everything that the transaction has changed or read is
   * durable; if that is already so, the stage is complete. It completes exceptionally where {@link
   * #isDurable} would throw. No thread waits. A virtual thread completes it and runs dependent
   * actions that have no executor; these may block.
   *
   * @return the stage, a {@link CompletableFuture}
   */
  public CompletionStage<@Nullable Void> whenDurable() {
    CompletableFuture<@Nullable Void> stage = new CompletableFuture<>();
    whenDurable(stage, null, null);
    return stage;
  }

  /** Runs actions and completes a stage with a value, once durable. */
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
      engine.whenDurable(lsn, () -> finish(stage, value, actions));
    }
  }

  private <R extends @Nullable Object> void finish(
      CompletableFuture<R> stage, R value, @Nullable List<Runnable> actions) {
    try {
      await(); // returns or throws without waiting
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
