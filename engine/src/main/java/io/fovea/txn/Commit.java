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
 * The commit of one transaction, with next-key items: the order of steps, which is the same under
 * all protocols. What (a) to (d) and (f) do is {@link ConcurrencyControl}'s; below it stands as
 * TicToc has it.
 *
 * <pre>
 *      room in the log that a crash would need          before any lock: this may wait
 *      pages of the file, as many as splits may need    likewise, or refuse
 *      log space, and the redo point stays here
 *      pin the items of keys that were not read
 *  (a) lock the written items, in hash order            nobody else changes these keys or the gaps
 *  (b) for each key that appears or disappears:         below them from here on
 *        find the first installed key above, try-lock its item, look again
 *      pages of a long value move, in a transaction that does only that  {@link ChainMove}
 *      pass the gate: no snapshot begins from here on    {@link CommitGate}
 *  (c) commitTs = max(wts of every read, 1 + rts of every locked item, 1 + {@link ScanMarks} of the trees)
 *  (d) every read still has its wts; its rts is raised to commitTs, unless another holds the lock
 *      long values go to chains of new pages            nobody knows these
 *  (e) append to the log                                it has happened now, if this becomes durable
 *      install in the trees ({@link CommitInstaller}), and add to their counts ({@link CountDeltas})
 *  (f) every locked item := (commitTs, commitTs), unlocked
 *      leave the gate
 *      free the pages of old long values; the redo point may go on
 *      [wait until the record is durable: {@link TxEngine#await}, with nothing held]
 * </pre>
 *
 * <b>Order of locks.</b> Written items are waited for in the order of their hash, so that waiting
 * can't form a circle; successors come when those are held and are only tried. Every wait is
 * bounded all the same and ends in an abort, because successors do not keep the order.
 *
 * <p><b>Successors.</b> A key that appears splits a gap that belongs to the item of the first
 * installed key above it; one that disappears gives its gap to that item. Any transaction that
 * scanned the gap has read that item, so it must be locked and its timestamps must move. Between
 * finding a successor and locking it another commit may have installed a key in between: hence the
 * second look. Once the item is held and was still the successor after that, nobody can install a
 * key in the gap, for he would need the same item. Own keys that are not yet installed do not
 * count: all keys of one transaction in one gap have the same successor, and all of them are locked
 * themselves.
 *
 * <p><b>After the append nothing may fail.</b> So the pages that splits may need are promised
 * before it, and a full disk refuses the commit there ({@link CommitAppender}). What is lacking
 * afterwards all the same (a frame, while pages can't be written; space, where a split took more
 * than was foreseen) is waited for, asleep, with the locks held and without a limit: it comes back
 * when the device does. A change of a tree happens as a whole or not at all, so an attempt leaves
 * nothing. A page that can't be read is tried again some times: it was looked at before, and has
 * left the pool since.
 *
 * <p>What can't pass poisons the engine: a page that stays unreadable, the end of the log, a close
 * that does not wait any longer, any other failure. The locks stay as they are, so that nobody sees
 * half a transaction, and so does the session, so that no checkpoint leaves the record behind: what
 * is missing in the pages comes from the log when the database is opened again. Before the append
 * everything may fail, and then nothing has happened.
 *
 * <p><b>Locks before durability.</b> The locks go before the record is durable, so others may build
 * on what may yet be lost. They can't tell anybody: what they write has a record behind this one,
 * and what they only read they wait for as well (see {@link Tx#readLsn}).
 */
final class Commit {
  /** How long a commit that changes the catalog waits for those that are being installed. */
  private static final long MOMENT_NANOS = 60_000_000_000L;

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

  /** Whether a commit that waits may go on; nothing has happened yet. */
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
          public void goOn(Supplier<String> waitsFor) {
            life.checkWaiting(waitsFor);
          }

          @Override
          public long nanosLeft() {
            return life.nanosLeft();
          }
        };
    this.installer = new CommitInstaller(life, work, concurrencyControl, appender, session);
  }

  /**
   * Commits.
   *
   * @return up to where the log must be durable before anybody is told; 0: nothing to wait for
   */
  long run() {
    int n = locks.order();
    CatalogPart catalog = changed(work.catalog);
    if (n == 0 && catalog == null) {
      // What is locked all the same was read under the lock: the dummy write protects it.
      concurrencyControl.publish(concurrencyControl.decide());
      return work.readLsn;
    }
    if (appender.phase() != Phase.NONE) {
      clear(); // an error has cut the end of the last one short
    }
    appender.begun();
    boolean ends = false; // whether the session of the log ends here: always, unless halfway
    try {
      awaitRoom(catalog);
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
      long commitTs = catalog == null ? decide() : decideAtMoment(catalog);
      gate.decided(commitSlot, commitTs);
      if (catalog != null) {
        catalog.decided();
      }
      if (concurrencyControl.versioned) {
        locks.stageVersions();
      }
      if (catalog == null && !writesAnything()) {
        // What was decided under the locks is a read all the same: the dummy write protects it.
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
      if (!appender.happened()) {
        concurrencyControl.release();
        undo(t);
        throw t;
      }
      health.poison(t, leavesPagesWhole(t));
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
        }
      } finally {
        clear();
      }
    }
  }

  /**
   * Before any lock of the commit. One that changes the catalog has waited before it took the locks
   * of the catalog; for one that moves a long value there is somebody who holds the redo point
   * back.
   */
  private void awaitRoom(@Nullable CatalogPart catalog) {
    if (catalog == null && work.move == null) {
      life.shared.awaitRoom(mayWait);
    }
  }

  /** What is kept between commits becomes as new. */
  private void clear() {
    appender.clear();
    counts.clear();
    installer.clear();
    appender.over();
  }

  /** Moves the pages of a long value, but for the first, of which the commit is. */
  private void move(ChainMove how) {
    MemorySegment s = writes.scratch.segment();
    for (int e = 0; e < writes.size(); e++) {
      if (writes.kind(e) == WriteSet.MOVE
          && !how.rest(s, writes.keyOffset(e), writes.keyLength(e), work.position, session)) {
        writes.discard(e, WriteSet.NONE);
      }
    }
  }

  /** Nobody commits: gives back the pages that are kept for the next commit. */
  void releasePages() {
    appender.releasePages(true);
  }

  private void undo(Throwable t) {
    try {
      appender.undo();
    } catch (RuntimeException | Error e) {
      t.addSuppressed(e); // pages that nobody uses
    }
  }

  /** One that only looks for tables is nothing that a commit has to do. */
  static @Nullable CatalogPart changed(@Nullable CatalogPart catalog) {
    return catalog != null && catalog.changes() ? catalog : null;
  }

  private long decide() {
    changes();
    gate.enter(commitSlot);
    return concurrencyControl.decide();
  }

  /** Says what will be changed, for scans by leaves. */
  private void changes() {
    if (life.shared.marks.watched()) {
      work.changed = writes.treeBits();
    }
    gate.changes(commitSlot, work.changed);
  }

  /**
   * A commit that changes the catalog decides alone, with the gate closed: what has decided before
   * comes before it, what decides later comes behind it, and nothing is in between ({@link
   * CommitGate}).
   */
  private long decideAtMoment(CatalogPart catalog) {
    concurrencyControl.requireUsedThere();
    changes();
    catalog.deciding();
    long[] commitTs = new long[1];
    gate.atQuiescentPoint(
        () -> {
          gate.enterAtMoment(commitSlot);
          commitTs[0] = concurrencyControl.decide();
        },
        MOMENT_NANOS,
        life::checkDeadline);
    return commitTs[0];
  }

  /** Whether the transaction has happened, so that nothing may end it any more. */
  boolean happened() {
    return appender.happened();
  }

  /** Deletes of what is not there have been discarded. */
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
   * Whether a failure came where no page is latched, as these do: then every page is as a whole
   * change has left it, and what the commit has not locked may still be read.
   */
  private static boolean leavesPagesWhole(Throwable t) {
    return t instanceof PoolExhaustedException
        || t instanceof StorageFullException
        || t instanceof StorageException
        || t instanceof DurabilityLostException
        || t instanceof DatabaseClosedException;
  }
}
