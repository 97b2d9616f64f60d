package io.fovea.txn;

import io.fovea.btree.ChainMove;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.PoolExhaustedException;
import io.fovea.error.StorageException;
import io.fovea.error.StorageFullException;
import io.fovea.memory.Waits;
import io.fovea.txn.CommitAppender.Phase;
import io.fovea.wal.LogSession;
import java.lang.foreign.MemorySegment;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The commit of one transaction. The order of the steps is the same under all protocols; {@link
 * ConcurrencyControl} implements (a) to (d) and (f), shown here for TicToc. {@code
 * docs/internals/transactions.md} contains the proof.
 *
 * <pre>
 *      wait for log space that a recovery may need      before any lock
 *      reserve the pages that splits may need           likewise; may be refused
 *      grant of log space; holds back the redo point
 *      pin the items of keys that were not read
 *  (a) lock the written items, in hash order            these keys and the gaps below them
 *  (b) for each key that appears or disappears:         can't change after this
 *        find the first installed key above, try-lock its item, check again
 *      move pages of a long value, in a transaction that does only that  {@link ChainMove}
 *      enter the gate: no snapshot begins from here on  {@link CommitGate}
 *  (c) commitTs = max(wts of every read, 1 + rts of every locked item, 1 + {@link ScanTimestamps} of the trees)
 *  (d) every read still has its wts; its rts is raised to commitTs, unless another holds the lock
 *      write long values to chains of new pages         not reachable yet
 *  (e) append to the log                                committed from here on, if this becomes durable
 *      install in the trees ({@link CommitInstaller}), and add to their counts ({@link CountDeltas})
 *  (f) every locked item := (commitTs, commitTs), unlocked
 *      leave the gate
 *      free the pages of old long values; release the redo point
 *      [wait until the record is durable: {@link TxEngine#await}, with nothing held]
 * </pre>
 *
 * <b>Lock order.</b> A commit waits for written items in hash order. It locks successors
 * afterwards, out of order, so every wait is bounded and ends in an abort.
 *
 * <p><b>Successors.</b> Another commit may install a key between finding the successor and locking
 * it; hence the second check. Once the item is held and still is the successor, no other commit can
 * install a key in the gap, because it needs the same item. The transaction's own keys that are not
 * installed yet do not matter: all keys of one transaction in one gap have the same successor, and
 * all are locked themselves.
 *
 * <p><b>After the append nothing may fail.</b> Pages for splits are reserved before it. If a
 * resource is still missing (a frame while pages can't be written, or space if a split took more
 * than foreseen), the commit sleeps with its locks held until the device recovers. A tree change
 * happens completely or not at all, so a failed attempt leaves nothing. A permanent failure (a page
 * that stays unreadable, the end of the log, a close that no longer waits) stops the engine. The
 * locks are kept, so that no transaction sees half a commit, and so is the session, so that no
 * checkpoint passes the record: the next opening applies the missing changes. Before the append
 * anything may fail without a trace.
 *
 * <p><b>Locks are released before durability.</b> Later writers have later records, and readers
 * wait for what they read ({@link Tx#readLsn}).
 */
final class Commit {
  /** How long a commit that changes the catalog waits for commits that are being installed. */
  private static final long QUIESCENT_POINT_NANOS = 60_000_000_000L;

  private final TxLife life;
  private final Workspace work;
  private final EngineHealth health;
  private final WriteSet writes;
  private final ConcurrencyControl concurrencyControl;
  private final LogSession session;
  private final CommitAppender appender;
  private final CommitGate gate;
  private final CommitGate.CommitSlot commitSlot;
  private final CountDeltas counts;
  private final CommitLocks locks;
  private final CommitInstaller installer;

  private final Waits.Check mayWait;

  Commit(TxLife life, Workspace work, ConcurrencyControl concurrencyControl, TxReads reader) {
    TxShared shared = life.shared;
    this.life = life;
    this.work = work;
    this.health = life.health;
    this.writes = work.writes;
    this.concurrencyControl = concurrencyControl;
    this.session = shared.session();
    this.counts = new CountDeltas(life.id);
    this.appender = new CommitAppender(life, work, reader, session, counts);
    this.gate = shared.gate;
    this.commitSlot = shared.gate.pass(life.id);
    this.locks = new CommitLocks(life, work, concurrencyControl);
    this.mayWait =
        new Waits.Check() {
          @Override
          public void checkWait(Supplier<String> waitsFor) {
            life.checkWaiting(waitsFor);
          }

          @Override
          public long nanosLeft() {
            return life.nanosLeft();
          }
        };
    this.installer = new CommitInstaller(life, work, concurrencyControl, appender, session);
  }

  /** Commits; returns the LSN that must be durable before an acknowledgment, or 0. */
  long run() {
    int n = locks.order();
    CatalogPart catalog = changed(work.catalog);
    if (n == 0 && catalog == null) {
      // Any items that are locked were read under the lock: a dummy write protects these reads.
      concurrencyControl.publish(concurrencyControl.decide());
      return work.readLsn;
    }
    if (appender.phase() != Phase.NONE) {
      clear(); // an error interrupted the end of the last commit
    }
    appender.begun();
    // Whether the log session ends here: always, unless the commit failed halfway.
    boolean ends = false;
    try {
      awaitLogSpace(catalog);
      boolean first = concurrencyControl.pessimistic.waitsForBodies();
      if (!first) {
        appender.begin();
      }
      locks.pinWrites(n);
      locks.lockWrites(n);
      locks.lockSuccessors();
      if (first) {
        appender.begin();
      }
      if (work.move != null) {
        move(work.move);
      }
      long commitTs = catalog == null ? decide() : decideAtQuiescentPoint(catalog);
      gate.decided(commitSlot, commitTs);
      if (catalog != null) {
        catalog.decided();
      }
      if (concurrencyControl.versioned) {
        locks.stageVersions();
      }
      if (catalog == null && !writesAnything()) {
        // The deletes found nothing. These were reads under locks: a dummy write protects them.
        concurrencyControl.publish(commitTs);
        ends = true;
        return work.readLsn;
      }
      counts.collect(writes, catalog);
      appender.stageLong();
      appender.ready();
      long end = appender.append();
      concurrencyControl.installing();
      installer.all();
      if (catalog != null) {
        catalog.install(session);
      }
      counts.apply(session.recordStart());
      concurrencyControl.publish(commitTs);
      gate.passed(commitSlot);
      appender.release();
      appender.published();
      ends = true;
      return end;
    } catch (Throwable t) {
      ends = appender.phase() != Phase.HAPPENED;
      if (!appender.isLogged()) {
        concurrencyControl.release();
        undo(t);
        throw t;
      }
      health.poison(t, leavesPagesConsistent(t));
      concurrencyControl.forget();
      if (session.logging()) {
        throw inDoubt(t);
      }
      throw t;
    } finally {
      try {
        if (ends) { // no call may fail between a commit's end and this
          gate.passed(commitSlot);
          session.end();
          appender.releasePages(false);
        } else {
          session.abandon();
        }
      } finally {
        clear();
      }
    }
  }

  /**
   * Waits for log space, before any lock. Catalog changes have waited before they took the
   * catalog's locks; the caller of a long value's move holds back the redo point.
   */
  private void awaitLogSpace(@Nullable CatalogPart catalog) {
    if (catalog == null && work.move == null) {
      life.shared.awaitLogSpace(mayWait);
    }
  }

  private void clear() {
    appender.clear();
    counts.clear();
    installer.clear();
    appender.over();
  }

  /** Moves the pages of a long value other than the first, which the commit itself moves. */
  private void move(ChainMove how) {
    MemorySegment s = writes.scratch.segment();
    for (int e = 0; e < writes.size(); e++) {
      if (writes.kind(e) == WriteSet.MOVE
          && !how.moveTail(s, writes.keyOffset(e), writes.keyLength(e), work.position, session)) {
        writes.discard(e, WriteSet.NONE);
      }
    }
  }

  /** Releases the pages that are kept for the next commit; no commit is running. */
  void releasePages() {
    appender.releasePages(true);
  }

  private void undo(Throwable t) {
    try {
      appender.undo();
    } catch (RuntimeException | Error e) {
      t.addSuppressed(e); // leaks only unreachable pages
    }
  }

  static @Nullable CatalogPart changed(@Nullable CatalogPart catalog) {
    return catalog != null && catalog.changes() ? catalog : null;
  }

  private long decide() {
    changes();
    gate.enter(commitSlot);
    return concurrencyControl.decide();
  }

  private void changes() {
    if (life.shared.marks.watched()) {
      work.changed = writes.treeBits();
    }
    gate.changes(commitSlot, work.changed);
  }

  /**
   * Decides with the gate closed, so that a catalog change falls between all other commits ({@link
   * CommitGate}).
   */
  private long decideAtQuiescentPoint(CatalogPart catalog) {
    concurrencyControl.requireUsedTablesExist();
    changes();
    catalog.deciding();
    long[] commitTs = new long[1];
    gate.atQuiescentPoint(
        () -> {
          gate.enterAtQuiescentPoint(commitSlot);
          commitTs[0] = concurrencyControl.decide();
        },
        QUIESCENT_POINT_NANOS,
        life::checkDeadline);
    return commitTs[0];
  }

  boolean happened() {
    return appender.isLogged();
  }

  private boolean writesAnything() {
    for (int e = 0, size = writes.size(); e < size; e++) {
      if (writes.kind(e) != WriteSet.NONE) {
        return true;
      }
    }
    return false;
  }

  private static DurabilityLostException inDoubt(Throwable t) {
    return new DurabilityLostException(
        "The commit is in the log, but its changes could not be put into the pages, so the database"
            + " stopped. The transaction has committed if its record is found when the database is"
            + " opened again.",
        t,
        true);
  }

  /**
   * Returns whether no page was latched at a failure. Then every page contains only whole changes,
   * and whatever the commit did not lock may still be read.
   */
  private static boolean leavesPagesConsistent(Throwable t) {
    return t instanceof PoolExhaustedException
        || t instanceof StorageFullException
        || t instanceof StorageException
        || t instanceof DurabilityLostException
        || t instanceof DatabaseClosedException;
  }
}
