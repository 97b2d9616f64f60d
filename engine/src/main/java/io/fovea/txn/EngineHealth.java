package io.fovea.txn;

import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.FoveaException;
import io.fovea.wal.Log;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * Whether the engine works, and the exceptions that callers get if it does not.
 *
 * <pre>
 *   RUNNING ──► READ_ONLY ──► HALTED
 *      └──────────────────────►
 *
 *   READ_ONLY   a change failed halfway and all pages are whole: read-only transactions continue,
 *               and nothing that writes begins or commits
 *   HALTED      pages may be half changed: no result leaves the engine
 * </pre>
 *
 * <p>RUNNING → READ_ONLY is a compare-and-set. HALTED is the greatest state, so a volatile store
 * reaches it from any other; the store works after an {@link OutOfMemoryError} or {@link
 * StackOverflowError}. The first cause is kept. It is stored before the state, so that a thread
 * that sees a failure finds a cause.
 *
 * <p>A close is independent of failures. Its flags are never cleared:
 *
 * <pre>
 *   closed       nothing begins; active transactions continue
 *   stopping     no commit waits for a resource
 *   refuses      no operation waits for a page, except in commits that have happened
 * </pre>
 *
 * <p>Thread-safe. {@code HealthRaces} tests the transitions.
 */
final class EngineHealth {
  private static final int RUNNING = 0;
  private static final int READ_ONLY = 1;
  private static final int HALTED = 2;

  private static final VarHandle STATE;
  private static final VarHandle CAUSE;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      STATE = lookup.findVarHandle(EngineHealth.class, "state", int.class);
      CAUSE = lookup.findVarHandle(EngineHealth.class, "cause", Throwable.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final @Nullable Log log;

  private final boolean waits;

  /** Wakes threads that wait to begin or for log space, to check whether they may still wait. */
  private Runnable wake = () -> {};

  private volatile boolean closed;
  private volatile boolean stopping;
  private volatile String whyReadOnly = "A read-only transaction can't write.";

  private volatile int state = RUNNING;

  /** The first failure. Not null in any state but RUNNING. */
  private volatile @Nullable Throwable cause;

  private volatile boolean refuses;

  EngineHealth(@Nullable Log log, boolean waits) {
    this.log = log;
    this.waits = waits;
  }

  /** Adds a wake-up for stops of the engine. Called before any transaction begins. */
  void addWakeAction(Runnable waiters) {
    Runnable others = wake;
    wake =
        () -> {
          try {
            others.run();
          } finally {
            waiters.run();
          }
        };
  }

  void stopAdmission() {
    closed = true;
    wake.run();
  }

  void abortWaits() {
    stopping = true;
  }

  void requireWaits(RuntimeException lacking) {
    if (stopping) {
      throw new DatabaseClosedException(
          "The database was closed while a commit waited for a resource: " + lacking, lacking);
    }
    requireLog();
  }

  void refuse() {
    refuses = true;
    wake.run();
  }

  boolean refuses() {
    return refuses;
  }

  void poison(Throwable why) {
    poison(why, false);
  }

  /**
   * Stops writing, because a commit failed halfway; its locks are kept. If all pages are {@code
   * whole}, read-only transactions continue: the locks cover all changes, installed or not.
   */
  void poison(Throwable why, boolean whole) {
    boolean readable = false;
    try {
      if (cause == null) {
        CAUSE.compareAndSet(this, (Throwable) null, why);
      }
      if (whole) {
        STATE.compareAndSet(this, RUNNING, READ_ONLY); // fails if the state is at least as bad
        readable = true;
      }
    } finally {
      if (!readable) { // also if a call above has failed: assume the worst
        if (cause == null) {
          cause = why;
        }
        state = HALTED;
      }
    }
    wake.run();
  }

  void halt(Throwable why) {
    poison(why, false);
  }

  boolean isHalted() {
    return state == HALTED;
  }

  @Nullable Throwable poison() {
    return state == RUNNING ? null : cause;
  }

  boolean pagesAreConsistent() {
    return state == READ_ONLY;
  }

  void checkUsable(boolean readOnly) {
    int now = state;
    if (now != RUNNING && !(readOnly && now == READ_ONLY)) {
      throw stopped();
    }
  }

  private FoveaException stopped() {
    Throwable p = cause;
    if (log != null) {
      return new DurabilityLostException(
          "A change failed halfway, so the database stopped: "
              + p
              + ". Opening the database again recovers everything that was acknowledged.",
          p);
    }
    return new DatabaseClosedException(
        "A commit failed while it changed pages, so the database stopped: " + p, p);
  }

  /** Called if a lock stays held: the holder may be the commit that stopped the engine. */
  void requireHolder() {
    if (state != RUNNING) {
      throw stopped();
    }
  }

  /**
   * Checks whether a transaction may begin. A read-only transaction needs no log if everything it
   * reads is durable, as {@link TxEngine#await} ensures.
   */
  void checkBegin(boolean readOnly) {
    if (closed) {
      throw new DatabaseClosedException("The database is closed.");
    }
    checkUsable(readOnly);
    if (!(readOnly && waits)) {
      requireLog();
    }
  }

  /** Throws if nothing can become durable. */
  void requireLog() {
    Log l = log;
    if (l != null) {
      l.requireAlive();
    }
  }

  void whyReadOnly(String why) {
    whyReadOnly = why;
  }

  String whyReadOnly() {
    return whyReadOnly;
  }
}
