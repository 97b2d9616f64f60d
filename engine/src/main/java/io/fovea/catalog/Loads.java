package io.fovea.catalog;

import io.fovea.error.InvalidUseException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.index.IndexCore;
import io.fovea.index.TableCore;
import io.fovea.io.Storage;
import io.fovea.store.Store;
import io.fovea.wal.LogSession;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * The loads of a database that are under way: some tables at a time, each by one thread. Who needs
 * all to be still waits until there is none ({@link #none}); a close ends them ({@link #end}).
 *
 * <p>Order of locks: {@link TableCore#changing}, then {@link #running}, then a load's own, then the
 * schema's. Any thread.
 */
final class Loads {
  private final Host host;
  private final Store store;
  private final SchemaChanges changes;
  private final Expirations expirations;

  /** Shared by each load, exclusive for who needs that there is none. */
  private final ReentrantReadWriteLock running = new ReentrantReadWriteLock(true);

  private final Set<TableLoad> active = ConcurrentHashMap.newKeySet();

  /** Sessions of the log, which are made once and lent. Guarded by itself. */
  private final Deque<LogSession> sessions = new ArrayDeque<>();

  /** Which files for runs are in use, a bit each. Guarded by {@link #sessions}. */
  private int files;

  Loads(Host host, Store store, SchemaChanges changes, Expirations expirations) {
    this.host = host;
    this.store = store;
    this.changes = changes;
    this.expirations = expirations;
  }

  <X extends Exception> LoadResult run(TableCore core, LoadHow how, LoadFeed<X> feed) throws X {
    String what = "load table " + core.shown();
    store.requireOpen();
    store.requireNoTransaction(what);
    store.willWrite();
    if (core.changing.isHeldByCurrentThread()) {
      throw new InvalidUseException("Can't " + what + " within a load of it.");
    }
    IndexBuild.lock(core.changing, what);
    try {
      core.requireThere();
      requireMakers(core, what);
      lock(running.readLock(), what);
      try {
        return runAlone(core, how, feed, what);
      } finally {
        running.readLock().unlock();
      }
    } finally {
      core.changing.unlock();
    }
  }

  private <X extends Exception> LoadResult runAlone(
      TableCore core, LoadHow how, LoadFeed<X> feed, String what) throws X {
    LogSession session = takeSession();
    int number = -1;
    try {
      number = takeFile();
      if (number < 0) {
        throw new InvalidUseException(
            "Can't "
                + what
                + ": "
                + Storage.LOADS
                + " tables are being loaded, which is the limit.");
      }
      SortFile file = new SortFile(store.storage(), number);
      TableLoad load = new TableLoad(host, store, changes, core, how, session, file, what);
      active.add(load);
      try {
        LoadResult done = load.run(feed);
        expirations.leftOut(load.leftOut());
        return done;
      } finally {
        active.remove(load);
      }
    } finally {
      give(session, number);
    }
  }

  /** An index whose keys a user's code computes needs that code. */
  private static void requireMakers(TableCore core, String what) {
    for (IndexCore i : core.readable()) {
      if (i.isExtracted() && i.maker == null) {
        throw new InvalidUseException(
            "Can't "
                + what
                + ": its index "
                + i.shown()
                + " has an extractor, which is not known yet. Open the table with the specification"
                + " of the index first.");
      }
    }
  }

  private LogSession takeSession() {
    synchronized (sessions) {
      LogSession idle = sessions.poll();
      return idle == null ? store.newSession() : idle;
    }
  }

  private int takeFile() {
    synchronized (sessions) {
      int free = Integer.numberOfTrailingZeros(~files);
      if (free >= Storage.LOADS) {
        return -1;
      }
      files |= 1 << free;
      return free;
    }
  }

  private void give(LogSession session, int file) {
    synchronized (sessions) {
      if (file >= 0) {
        files &= ~(1 << file);
      }
      // One that a failure has left halfway holds back the redo point for good.
      if (store.engine().poison() == null) {
        sessions.push(session);
      }
    }
  }

  private static void lock(Lock lock, String what) {
    try {
      lock.lockInterruptibly();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new OperationInterruptedException(what);
    }
  }

  /** Does something while no table is being loaded. */
  void none(String what, Runnable work) {
    if (running.getReadHoldCount() > 0) {
      throw new InvalidUseException("Can't " + what + " within a load.");
    }
    lock(running.writeLock(), what);
    try {
      work.run();
    } finally {
      running.writeLock().unlock();
    }
  }

  /** Ends all that are under way, and frees what they have made. The store takes no more. */
  void end() {
    active.forEach(TableLoad::giveUp);
  }
}
