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
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/**
 * The loads and bulk builds of a database. Operations that exclude them wait until none is running
 * ({@link #whileIdle}); a close ends them ({@link #end}).
 *
 * <p>Lock order: {@link TableCore#changing}, {@link #running}, the step lock of a load, the schema
 * lock. Thread-safe.
 */
final class Loads {
  interface Work {
    /** Stops the work and frees everything unpublished. Thread-safe. */
    void cancel();
  }

  @FunctionalInterface
  interface Maker<W extends Work> {
    /**
     * Creates the work, given a log session and a file for sorted runs that it uses exclusively.
     */
    W make(LogSession session, SortFile file);
  }

  @FunctionalInterface
  interface Task<W extends Work, R, X extends Exception> {
    R run(W work) throws X;
  }

  private final CatalogCallbacks catalogCallbacks;
  private final Store store;
  private final SchemaChanges changes;
  private final Expirations expirations;

  /** Shared by loads; exclusive for operations that exclude them. */
  private final SharedOperationLock running = new SharedOperationLock("the lock of loads");

  final LoadCounters counters = new LoadCounters();

  private final Set<Work> active = ConcurrentHashMap.newKeySet();

  /** Reusable log sessions, guarded by this deque. */
  private final Deque<LogSession> sessions = new ArrayDeque<>();

  /** One bit for each run file in use. Guarded by {@link #sessions}. */
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
    String what = "load table " + core.displayName();
    store.requireOpen();
    store.requireNoTransaction(what);
    store.willWrite();
    core.requireUnchanging(what);
    core.changing.lock(what, store::checkWaiting);
    try {
      core.requireUsable();
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
          expirations.countOmitted(load.omitted());
          return done;
        },
        () -> {
          throw new InvalidUseException(
              "Can't "
                  + what
                  + ": "
                  + Storage.LOADS
                  + " loads and index builds are in progress, which is the limit.");
        });
  }

  /**
   * Runs work, which a close can end, with an exclusive session and file.
   *
   * @param full run instead if no file is left
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
      returnSortFile(session, number);
    }
  }

  /** Announces that there may be pages without an owner, until {@link #leave}. */
  void enter(String what) {
    running.lockShared(what, store::checkWaiting);
  }

  void leave() {
    running.unlockShared();
  }

  /** Requires the extractors of all indexes. */
  private static void requireMakers(TableCore core, String what) {
    for (IndexCore i : core.readable()) {
      if (i.isExtracted() && i.maker == null) {
        throw new InvalidUseException(
            "Can't "
                + what
                + ": its index "
                + i.displayName()
                + " has an extractor, which is not yet known. Open the table "
                + "with the specification of the index first.");
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

  private void returnSortFile(LogSession session, int file) {
    synchronized (sessions) {
      if (file >= 0) {
        files &= ~(1 << file);
      }
      // An incomplete operation holds back the redo point permanently.
      if (store.engine().poison() == null) {
        assert !session.isActive() : "a log session is released before its end";
        assert !sessions.contains(session) || !session.isLogging()
            : "a log session is released twice";
        sessions.push(session);
      }
    }
  }

  /** Returns the number of loads and bulk builds in progress. */
  int running() {
    return active.size();
  }

  /** Runs an action while no load is in progress. */
  void whileIdle(String what, Runnable work) {
    if (running.isHeldByCurrentThread()) {
      throw new InvalidUseException("Can't " + what + " within a load.");
    }
    running.lockAlone(what, store::checkWaiting);
    try {
      work.run();
    } finally {
      running.unlockAlone();
    }
  }

  /** Ends all loads and frees their unpublished pages, once the store is closing. */
  void end() {
    List<Work> all = List.copyOf(active);
    Store.closeAll(all.size(), i -> all.get(i).cancel());
  }
}
