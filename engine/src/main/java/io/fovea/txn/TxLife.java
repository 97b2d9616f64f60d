package io.fovea.txn;

import io.fovea.error.AbortCause;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.memory.Waits;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Whether a transaction may continue: active, rollback-only, timed out; and how it waits. After an
 * abort every operation throws the same cause, until the rollback. The age is checked every {@value
 * #CHECK_DEADLINE_EVERY} operations, and while waiting.
 */
final class TxLife {
  /** The id of no thread. */
  static final long NO_THREAD = 0;

  private static final int CHECK_DEADLINE_EVERY = 256;

  /** The number of the context, unique among active transactions. */
  final int id;

  final TxShared shared;
  final EngineHealth health;
  final TxCounters counters = new TxCounters();

  /** Whether operations are accepted. {@link Tx} writes it: a store can't fail, a call can. */
  boolean active;

  /**
   * The owner thread's id, or {@link #NO_THREAD}; also written by {@link Tx}. Not the thread
   * itself, because G1 fences when a reference is stored into an old object.
   */
  long thread;

  private boolean readOnly;

  /** Why it can only be rolled back; null while it may commit. */
  @Nullable AbortCause rollbackOnly;

  private long beganNanos;
  private long timeoutNanos;
  private int operationsToCheck;

  /** Whether {@link #before} must run before the next operation. */
  private boolean interrupted;

  /** Set once, because storing a reference would cost a fence, as above. */
  private Runnable before = () -> {};

  TxLife(TxShared shared, int id) {
    this.shared = shared;
    this.health = shared.health;
    this.id = id;
  }

  // ---------------------------------------------------------------- begin and end

  void begin(boolean readOnly, long timeoutNanos) {
    this.readOnly = readOnly;
    this.timeoutNanos = timeoutNanos;
    beganNanos = System.nanoTime();
    operationsToCheck = CHECK_DEADLINE_EVERY + 1;
    interrupted = false;
    rollbackOnly = null;
    thread = Thread.currentThread().threadId();
  }

  boolean isReadOnly() {
    return readOnly;
  }

  /** Returns when the transaction began, by {@link System#nanoTime}. */
  long beganNanos() {
    return beganNanos;
  }

  /** May be called by any thread; exact for the owner. */
  boolean belongsTo(long threadId) {
    return thread == threadId;
  }

  // ---------------------------------------------------------------- checks

  /** Begins an operation. The assertion finds a thread that uses a context after the end. */
  void operation() {
    assert !active || belongsTo(Thread.currentThread().threadId()) : "another thread's transaction";
    if (!active || rollbackOnly != null) {
      throw refusal();
    }
    if (--operationsToCheck == 0) {
      operationsToCheck = CHECK_DEADLINE_EVERY - 1; // less than any count of a first one
      checkPeriodically();
    }
  }

  private void checkPeriodically() {
    if (interrupted) {
      // Stores only: until before.run() has returned, each operation begins with it.
      operationsToCheck = 1;
      try {
        before.run();
      } catch (TransactionAbortedException e) {
        throw counted(e);
      }
      interrupted = false;
      operationsToCheck = CHECK_DEADLINE_EVERY - 1;
    } else {
      checkDeadline();
    }
  }

  boolean isFirstOperation() {
    return operationsToCheck == CHECK_DEADLINE_EVERY; // the count begins one above
  }

  /** Sets what {@link #deferToNextOperation} runs; called once, by the constructor. */
  void before(Runnable what) {
    before = what;
  }

  /** Makes the next operation run {@link #before(Runnable)} first. */
  void deferToNextOperation() {
    interrupted = true;
    operationsToCheck = 1;
  }

  void requireWritable() {
    if (readOnly) {
      throw new InvalidUseException(health.whyReadOnly());
    }
  }

  RuntimeException refusal() {
    if (!active) {
      return ended();
    }
    return aborted(rollbackOnly, "the transaction was doomed by an earlier abort");
  }

  static InvalidUseException ended() {
    return new InvalidUseException("The transaction has ended.");
  }

  void requireActive() {
    if (!active) {
      throw refusal();
    }
  }

  void checkDeadline() {
    checkDeadline(timeoutNanos > 0 ? System.nanoTime() : 0);
  }

  void requireNotRollbackOnly() {
    if (rollbackOnly != null) {
      throw aborted(rollbackOnly, "the transaction was doomed by an earlier abort");
    }
  }

  private void checkDeadline(long now) {
    health.checkUsable(readOnly);
    if (isLate(now)) {
      throw abort(AbortCause.TIMEOUT, deadlineText());
    }
  }

  private boolean isLate(long now) {
    return timeoutNanos > 0 && now - beganNanos > timeoutNanos;
  }

  private String deadlineText() {
    return "the transaction is older than its limit of " + timeoutNanos / 1_000_000 + " ms";
  }

  /** Throws if a long wait of the transaction's thread, described for messages, must end. */
  void checkWaiting(Supplier<String> waitsFor) {
    if (health.refuses()) {
      throw new DatabaseClosedException();
    }
    health.checkUsable(readOnly);
    if (isLate(System.nanoTime())) {
      throw abort(AbortCause.TIMEOUT, deadlineText() + "; it waits for " + waitsFor.get());
    }
  }

  /** Returns the nanoseconds until {@link #checkWaiting} throws because of the age; at least 1. */
  long nanosLeft() {
    return timeoutNanos > 0
        ? Math.max(1, timeoutNanos - (System.nanoTime() - beganNanos) + 1)
        : Long.MAX_VALUE;
  }

  // ---------------------------------------------------------------- waits

  /**
   * One step of waiting: first spins, then yields to the holder. A close ends the wait, since the
   * holder may be a transaction that the close has refused: its locks stay.
   */
  void pause(int attempt) {
    if (attempt < 32) {
      Thread.onSpinWait();
    } else {
      Waits.yieldThread();
      if ((attempt & 63) == 63) {
        if (health.refuses()) {
          throw new DatabaseClosedException();
        }
        checkDeadline();
      }
    }
  }

  /** One step of waiting for a lock, which stays held if its holder has stopped the engine. */
  void pauseForHolder(int attempt) {
    if ((attempt & 63) == 63) {
      health.requireHolder();
    }
    pause(attempt);
  }

  // ---------------------------------------------------------------- aborts

  TransactionAbortedException abort(AbortCause cause, String message) {
    if (rollbackOnly == null) {
      rollbackOnly = cause;
      counters.abort(cause);
      if (cause == AbortCause.VALIDATION) {
        shared.timestamps.conflict(id);
      }
    }
    return aborted(cause, message);
  }

  /** Counts an abort from a part that does not know transactions. */
  TransactionAbortedException counted(TransactionAbortedException e) {
    if (rollbackOnly == null) {
      rollbackOnly = e.abortCause();
      counters.abort(rollbackOnly);
    }
    return e;
  }

  private static TransactionAbortedException aborted(@Nullable AbortCause cause, String message) {
    return new TransactionAbortedException(cause == null ? AbortCause.VALIDATION : cause, message);
  }
}
