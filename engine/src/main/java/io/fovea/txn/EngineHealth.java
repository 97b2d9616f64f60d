package io.fovea.txn;

import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.FoveaException;
import io.fovea.wal.Log;
import org.jspecify.annotations.Nullable;

/**
 * Whether an engine works, and what those are told who ask it for something when it does not.
 *
 * <pre>
 *   closed       nothing begins any more; what is active goes on
 *   stopping     no commit waits any longer for what it lacks
 *   refuses      nobody waits any longer for a page, but commits that have happened
 *   poisoned     a change failed halfway: nothing that writes begins or commits any more. Where all
 *                pages are whole, transactions that only read go on; else nothing that was read is
 *                told (halted)
 * </pre>
 *
 * <p>Any thread. Each of these is set and never taken back.
 */
final class EngineHealth {
  private final @Nullable Log log;

  /** Whether transactions that only read wait for what they read. */
  private final boolean waits;

  /** Wakes those who wait to begin: they look again whether they may. */
  private Runnable wake = () -> {};

  private volatile boolean closed;
  private volatile boolean stopping;
  private volatile String whyReadOnly = "A read-only transaction can't write.";
  private volatile @Nullable Throwable poison;

  /** Whether what a broken engine has not locked may be read. */
  private volatile boolean pagesWhole;

  private volatile boolean refuses;

  EngineHealth(@Nullable Log log, boolean waits) {
    this.log = log;
    this.waits = waits;
  }

  /** Says who is to be woken when the engine stops. Before any transaction begins. */
  void wakes(Runnable waiters) {
    wake = waiters;
  }

  /** As {@link TxEngine#beginNoMore}. */
  void beginNoMore() {
    closed = true;
    wake.run();
  }

  /** As {@link TxEngine#waitNoMore}. */
  void waitNoMore() {
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
  }

  boolean refuses() {
    return refuses;
  }

  /** As {@link TxEngine#poison(Throwable)}. */
  void poison(Throwable cause) {
    poison(cause, false);
  }

  /**
   * A commit failed in the middle: what it locked stays locked, and nothing that writes begins any
   * more.
   *
   * @param cause why
   * @param whole whether every page is as a whole change has left it. Then transactions that only
   *     read go on: what the commit has changed, and was going to change, is locked.
   */
  void poison(Throwable cause, boolean whole) {
    pagesWhole = whole && (poison == null || pagesWhole);
    poison = cause;
    wake.run();
  }

  /** As {@link TxEngine#halt}. */
  void halt(Throwable cause) {
    poison(cause, false);
  }

  boolean halted() {
    return poison != null && !pagesWhole;
  }

  /** As {@link TxEngine#poison()}. */
  @Nullable Throwable poison() {
    return poison;
  }

  /** As {@link TxEngine#leftPagesWhole}. */
  boolean leftPagesWhole() {
    return pagesWhole;
  }

  /** As {@link TxEngine#checkUsable}. */
  void checkUsable(boolean readOnly) {
    if (poison != null && !(readOnly && pagesWhole)) {
      throw stopped();
    }
  }

  /** Says that the engine is broken. */
  private FoveaException stopped() {
    Throwable p = poison;
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
    if (poison != null) {
      throw stopped();
    }
  }

  /**
   * A transaction that only reads needs no log, as long as it finds nothing that is not durable
   * yet: {@link DurableWaits} sees to that, where anybody waits at all.
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
