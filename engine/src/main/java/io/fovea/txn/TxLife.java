package io.fovea.txn;

import io.fovea.error.AbortCause;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.memory.Waits;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Whether a transaction may go on: active, doomed, too old; and how it waits.
 *
 * <p>An abort dooms: every later operation throws the same cause, until the transaction has been
 * rolled back. Its age is looked at every {@value #CHECK_DEADLINE_EVERY} operations, and while it
 * waits.
 */
final class TxLife {
  /** The number of no thread. */
  static final long NOBODY = 0;

  private static final int CHECK_DEADLINE_EVERY = 256;

  /** The number of the context: no two transactions at a time have the same. */
  final int id;

  final TxShared shared;
  final EngineHealth health;
  final TxCounters counters = new TxCounters();

  /** Whether operations are accepted. {@link Tx} writes it: a store can't fail, a call can. */
  boolean active;

  /**
   * The number of the thread whose it is, or {@link #NOBODY}; likewise. Not the thread itself: G1
   * fences where a reference is stored into an old object, which a begin would pay for.
   */
  long thread;

  private boolean readOnly;

  /** Why it can only be rolled back; null while it may commit. */
  @Nullable AbortCause doomed;

  private long beganNanos;
  private long timeoutNanos;
  private int operationsToCheck;

  /** Whether {@link #before} is to be done before the next operation. */
  private boolean interrupted;

  /** Set once: a reference that is stored at each read would cost a fence, as above. */
  private Runnable before = () -> {};

  TxLife(TxShared shared, int id) {
    this.shared = shared;
    this.health = shared.health;
    this.id = id;
  }

  // ---------------------------------------------------------------- begin and end

  /** The calling thread begins a transaction. */
  void begin(boolean readOnly, long timeoutNanos) {
    this.readOnly = readOnly;
    this.timeoutNanos = timeoutNanos;
    beganNanos = System.nanoTime();
    operationsToCheck = CHECK_DEADLINE_EVERY + 1;
    interrupted = false;
    doomed = null;
    thread = Thread.currentThread().threadId();
  }

  boolean readOnly() {
    return readOnly;
  }

  /** When it began, on the clock of {@link System#nanoTime}. */
  long beganNanos() {
    return beganNanos;
  }

  /** Any thread: a moment's truth, which is exact for the thread itself. */
  boolean belongsTo(long threadId) {
    return thread == threadId;
  }

  // ---------------------------------------------------------------- may it go on?

  /** An operation begins. A thread that has another's context in hand kept it beyond an end. */
  void operation() {
    assert !active || belongsTo(Thread.currentThread().threadId()) : "another thread's transaction";
    if (!active || doomed != null) {
      throw refusal();
    }
    if (--operationsToCheck == 0) {
      operationsToCheck = CHECK_DEADLINE_EVERY - 1; // less than any count of a first one
      between();
    }
  }

  private void between() {
    if (interrupted) {
      // Stores only: until it has returned, each operation begins with it.
      operationsToCheck = 1;
      before.run();
      interrupted = false;
      operationsToCheck = CHECK_DEADLINE_EVERY - 1;
    } else {
      checkDeadline();
    }
  }

  /** Whether the operation that has begun is the first of its transaction. */
  boolean first() {
    return operationsToCheck == CHECK_DEADLINE_EVERY; // the count begins one above
  }

  /** What {@link #deferToNextOperation} has done; once, as the context is made. */
  void before(Runnable what) {
    before = what;
  }

  /** Has the next operation do what {@link #before(Runnable)} says, before it does anything. */
  void deferToNextOperation() {
    interrupted = true;
    operationsToCheck = 1;
  }

  /** As {@link Tx#requireWritable}. */
  void requireWritable() {
    if (readOnly) {
      throw new InvalidUseException(health.whyReadOnly());
    }
  }

  /** Why nothing is accepted. */
  RuntimeException refusal() {
    if (!active) {
      return ended();
    }
    return aborted(doomed, "the transaction was doomed by an earlier abort");
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

  /** Throws where an earlier abort has doomed the transaction. */
  void requireUndoomed() {
    if (doomed != null) {
      throw aborted(doomed, "the transaction was doomed by an earlier abort");
    }
  }

  private void checkDeadline(long now) {
    health.checkUsable(readOnly);
    if (isLate(now)) {
      throw abort(AbortCause.TIMEOUT, late());
    }
  }

  private boolean isLate(long now) {
    return timeoutNanos > 0 && now - beganNanos > timeoutNanos;
  }

  private String late() {
    return "the transaction is older than its limit of " + timeoutNanos / 1_000_000 + " ms";
  }

  /**
   * In a wait of the transaction's thread that may be long: throws if it is to end.
   *
   * @param waitsFor what for, and who has it
   */
  void checkWaiting(Supplier<String> waitsFor) {
    if (health.refuses()) {
      throw new DatabaseClosedException();
    }
    health.checkUsable(readOnly);
    if (isLate(System.nanoTime())) {
      throw abort(AbortCause.TIMEOUT, late() + "; it waits for " + waitsFor.get());
    }
  }

  /** How long {@link #checkWaiting} does not throw for its age; at least 1 where it has not. */
  long nanosLeft() {
    return timeoutNanos > 0
        ? Math.max(1, timeoutNanos - (System.nanoTime() - beganNanos) + 1)
        : Long.MAX_VALUE;
  }

  // ---------------------------------------------------------------- waits

  /** One step of waiting: first a few spins, then the core goes to who may be holding the lock. */
  void pause(int attempt) {
    if (attempt < 32) {
      Thread.onSpinWait();
    } else {
      Waits.giveWay();
      if ((attempt & 63) == 63) {
        checkDeadline();
      }
    }
  }

  /** The same where the wait is for a lock, which stays if its holder has broken the engine. */
  void pauseForHolder(int attempt) {
    if ((attempt & 63) == 63) {
      health.requireHolder();
    }
    pause(attempt);
  }

  // ---------------------------------------------------------------- aborts

  /** Dooms the transaction; the caller throws what this returns. */
  TransactionAbortedException abort(AbortCause cause, String message) {
    if (doomed == null) {
      doomed = cause;
      counters.abort(cause);
      if (cause == AbortCause.VALIDATION) {
        shared.timestamps.conflict(id);
      }
    }
    return aborted(cause, message);
  }

  /** An abort that arose where nobody knows transactions. */
  TransactionAbortedException counted(TransactionAbortedException e) {
    if (doomed == null) {
      doomed = e.abortCause();
      counters.abort(doomed);
    }
    return e;
  }

  private static TransactionAbortedException aborted(@Nullable AbortCause cause, String message) {
    return new TransactionAbortedException(cause == null ? AbortCause.VALIDATION : cause, message);
  }
}
