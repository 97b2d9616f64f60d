package io.fovea.txn;

import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.FoveaException;
import io.fovea.wal.Log;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * Whether the engine works, and what callers get when it does not.
 *
 * <p>A failure moves the engine along one word, {@link #state}, which never moves back:
 *
 * <pre>
 *   RUNNING ──► READ_ONLY ──► HALTED
 *      └──────────────────────►
 *
 *   READ_ONLY   a change failed halfway and all pages are whole: transactions that only read go on,
 *               nothing that writes begins or commits
 *   HALTED      pages may be half changed: nothing that was read leaves the engine
 * </pre>
 *
 * <p>RUNNING → READ_ONLY is a compare-and-set. HALTED is the greatest state, so a plain volatile
 * store reaches it from any other; that store needs no memory and next to no stack, and works after
 * an {@link OutOfMemoryError} and a {@link StackOverflowError}. The cause is stored before the
 * state, so that a thread that sees a failure finds a cause; the first one stays.
 *
 * <p>A close is independent of failures. Each of its flags is set and never cleared:
 *
 * <pre>
 *   closed       nothing begins any more; active transactions go on
 *   stopping     no commit waits any longer for a resource
 *   refuses      no operation waits any longer for a page, except in commits that have happened
 * </pre>
 *
 * <p>Thread-safe. {@code HealthRaces} attacks the transitions.
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

  /** Whether transactions that only read wait for what they read. */
  private final boolean waits;

  /** Wakes those who wait to begin, or for room: they look again whether they may. */
  private Runnable wake = () -> {};

  private volatile boolean closed;
  private volatile boolean stopping;
  private volatile String whyReadOnly = "A read-only transaction can't write.";

  /** RUNNING, READ_ONLY or HALTED; only ever increases. */
  private volatile int state = RUNNING;

  /** What failed first. Not null in any state but RUNNING. */
  private volatile @Nullable Throwable cause;

  private volatile boolean refuses;

  EngineHealth(@Nullable Log log, boolean waits) {
    this.log = log;
    this.waits = waits;
  }

  /** Says who else is to be woken when the engine stops. Before any transaction begins. */
  void wakes(Runnable waiters) {
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

  /** As {@link TxEngine#stopAdmission}. */
  void stopAdmission() {
    closed = true;
    wake.run();
  }

  /** As {@link TxEngine#abortWaits}. */
  void abortWaits() {
    stopping = true;
  }

  /** As {@link TxEngine#requireWaits}. */
  void requireWaits(RuntimeException lacking) {
    if (stopping) {
      throw new DatabaseClosedException(
          "The database was closed while a commit waited for what it lacked: " + lacking, lacking);
    }
    requireLog();
  }

  /** As {@link TxEngine#refuse}. */
  void refuse() {
    refuses = true;
    wake.run();
  }

  boolean refuses() {
    return refuses;
  }

  /** As {@link TxEngine#poison(Throwable)}. */
  void poison(Throwable why) {
    poison(why, false);
  }

  /**
   * Stops writing, because a commit failed in the middle: what it locked stays locked.
   *
   * @param why what failed
   * @param whole whether all pages are whole. Then read-only transactions go on: what the commit
   *     has changed, and was going to change, is locked
   */
  void poison(Throwable why, boolean whole) {
    boolean readable = false;
    try {
      if (cause == null) {
        CAUSE.compareAndSet(this, (Throwable) null, why);
      }
      if (whole) {
        STATE.compareAndSet(this, RUNNING, READ_ONLY); // fails where a state as bad is reached
        readable = true;
      }
    } finally {
      if (!readable) { // also where one of the calls above has failed: then the worst is assumed
        if (cause == null) {
          cause = why;
        }
        state = HALTED;
      }
    }
    wake.run();
  }

  /** As {@link TxEngine#halt}. */
  void halt(Throwable why) {
    poison(why, false);
  }

  boolean halted() {
    return state == HALTED;
  }

  /** As {@link TxEngine#poison()}. */
  @Nullable Throwable poison() {
    return state == RUNNING ? null : cause;
  }

  /** As {@link TxEngine#leftPagesWhole}. */
  boolean leftPagesWhole() {
    return state == READ_ONLY;
  }

  /** As {@link TxEngine#checkUsable}. */
  void checkUsable(boolean readOnly) {
    int now = state;
    if (now != RUNNING && !(readOnly && now == READ_ONLY)) {
      throw stopped();
    }
  }

  /** Says that the engine is broken. */
  private FoveaException stopped() {
    Throwable p = cause;
    if (log != null) {
      return new DurabilityLostException(
          "A change failed halfway, so the database stopped: "
              + p
              + ". What was acknowledged is found again when the database is opened anew.",
          p);
    }
    return new DatabaseClosedException(
        "A commit failed while it changed pages, so the database stopped: " + p, p);
  }

  /** For who meets a lock that stays: the holder may be the commit that broke the engine. */
  void requireHolder() {
    if (state != RUNNING) {
      throw stopped();
    }
  }

  /**
   * Checks whether a transaction may begin. One that only reads needs no log as long as everything
   * it reads is durable, which {@link CommitDurability} ensures for commits that wait.
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

  /** Throws where nothing can become durable any more. */
  void requireLog() {
    Log l = log;
    if (l != null) {
      l.requireAlive();
    }
  }

  /** As {@link TxEngine#whyReadOnly}. */
  void whyReadOnly(String why) {
    whyReadOnly = why;
  }

  String whyReadOnly() {
    return whyReadOnly;
  }
}
