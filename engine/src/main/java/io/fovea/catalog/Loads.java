package io.fovea.catalog;

import io.fovea.error.InvalidUseException;
import io.fovea.index.IndexCore;
import io.fovea.index.TableCore;
import io.fovea.io.Storage;
import io.fovea.memory.SharedOperationLock;
import io.fovea.store.Store;
import io.fovea.wal.LogSession;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/**
 * The loads of a database that are under way: some tables at a time, each by one thread. Who needs
 * all to be still waits until there is none ({@link #none}); a close ends them ({@link #end}).
 *
 * <p>Order of locks: {@link TableCore#changing}, then {@link #running}, then a load's own, then the
 * schema's. Any thread.
 */
final class Loads {
  /** What is under way. */
  interface Work {
    /** Nothing more is done; what was made and nobody knows is freed. Any thread. */
    void giveUp();
  }

  /** Makes what is to be done. */
  @FunctionalInterface
  interface Maker<W extends Work> {
    /** Makes it, with a session of the log and a file for sorted runs of its own. */
    W make(LogSession session, SortFile file);
  }

  /**
   * Does it.
   *
   * @param <R> what becomes of it
   * @param <X> what it throws
   */
  @FunctionalInterface
  interface Task<W extends Work, R, X extends Exception> {
    /** Does it. */
    R run(W work) throws X;
  }

  private final CatalogCallbacks catalogCallbacks;
  private final Store store;
  private final SchemaChanges changes;
  private final Expirations expirations;

  /** Shared by each load, exclusive for who needs that there is none. */
  private final SharedOperationLock running = new SharedOperationLock("the lock of loads");

  /** What was done so far. */
  final LoadCounters counters = new LoadCounters();

  private final Set<Work> active = ConcurrentHashMap.newKeySet();

  /** Sessions of the log, which are made once and lent. Guarded by itself. */
  private final Deque<LogSession> sessions = new ArrayDeque<>();

  /** Which files for runs are in use, a bit each. Guarded by {@link #sessions}. */
  private int files;

  Loads(
      CatalogCallbacks catalogCallbacks,
      Store store,
      SchemaChanges changes,
      Expirations expirations) {
    this.catalogCallbacks = catalogCallbacks;
    this.store = store;
    this.changes = changes;
    this.expirations = expirations;
  }

  <X extends Exception> LoadResult run(TableCore core, LoadSettings how, LoadFeed<X> feed)
      throws X {
    String what = "load table " + core.shown();
    store.requireOpen();
    store.requireNoTransaction(what);
    store.willWrite();
    if (core.changing.isMine()) {
      throw new InvalidUseException("Can't " + what + " within a load of it.");
    }
    core.changing.lock(what, store::checkWaiting);
    try {
      core.requireThere();
      requireMakers(core, what);
      enter(what);
      try {
        return runAlone(core, how, feed, what);
      } finally {
        leave();
      }
    } finally {
      core.changing.unlock();
    }
  }

  private <X extends Exception> LoadResult runAlone(
      TableCore core, LoadSettings how, LoadFeed<X> feed, String what) throws X {
    return with(
        (session, file) ->
            new TableLoad(
                catalogCallbacks, store, changes, core, how, session, file, counters, what),
        load -> {
          LoadResult done = load.run(feed);
          expirations.leftOut(load.leftOut());
          return done;
        },
        () -> {
          throw new InvalidUseException(
              "Can't "
                  + what
                  + ": "
                  + Storage.LOADS
                  + " tables are being loaded, or indexes of them built, which is the limit.");
        });
  }

  /**
   * Does something that ends when the database does, with a session and a file of its own.
   *
   * @param full is done instead where no file is left
   */
  <W extends Work, R, X extends Exception> R with(
      Maker<W> maker, Task<W, R, X> task, Supplier<R> full) throws X {
    LogSession session = takeSession();
    int number = -1;
    try {
      number = takeFile();
      if (number < 0) {
        return full.get();
      }
      W work = maker.make(session, new SortFile(store.storage(), number, counters));
      active.add(work);
      try {
        return task.run(work);
      } finally {
        active.remove(work);
      }
    } finally {
      give(session, number);
    }
  }

  /** Has pages that nobody knows from here on, until {@link #leave}. */
  void enter(String what) {
    running.lockShared(what, store::checkWaiting);
  }

  void leave() {
    running.unlockShared();
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
        assert !session.begun() : "a session of the log is given back before its end";
        assert !sessions.contains(session) || !session.logging() : "it is given back twice";
        sessions.push(session);
      }
    }
  }

  /** How many loads, and builds of indexes from below, are under way. */
  int running() {
    return active.size();
  }

  /** Does something while no table is being loaded. */
  void none(String what, Runnable work) {
    if (running.isMine()) {
      throw new InvalidUseException("Can't " + what + " within a load.");
    }
    running.lockAlone(what, store::checkWaiting);
    try {
      work.run();
    } finally {
      running.unlockAlone();
    }
  }

  /** Ends all that are under way, and frees what they have made. The store takes no more. */
  void end() {
    Store.closeAll(active.stream().map(w -> (Runnable) w::giveUp).toArray(Runnable[]::new));
  }
}
