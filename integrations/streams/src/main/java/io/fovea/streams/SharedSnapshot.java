package io.fovea.streams;

import io.fovea.Database;
import io.fovea.error.FoveaException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A snapshot of the database, shared by the iterators that are open when a commit begins.
 * Thread-safe.
 */
final class SharedSnapshot {
  private static final Logger LOG = LoggerFactory.getLogger(SharedSnapshot.class);

  /**
   * The open snapshots of one database. Each has a buffer, so their number is limited. At the limit
   * the oldest is evicted: a commit must not fail because iterators were left open.
   */
  static final class Pool {
    static final int OPEN_MAX = 16;

    private final Database database;
    private final Deque<SharedSnapshot> open = new ArrayDeque<>();
    private @Nullable SharedSnapshot newest;
    private long newestAt = -1;

    Pool(Database database) {
      this.database = database;
    }

    /**
     * Returns a snapshot that includes all ended commits.
     *
     * @param commits number of commits that have begun plus commits that have ended
     */
    synchronized SharedSnapshot take(long commits) {
      SharedSnapshot s = newest;
      if (s == null || newestAt != commits || !s.enter()) {
        while (open.size() >= OPEN_MAX) {
          evict(open.removeFirst());
        }
        s = new SharedSnapshot(this, database.snapshot());
        open.addLast(s);
        newest = s;
        newestAt = commits;
      }
      return s;
    }

    private void evict(SharedSnapshot oldest) {
      LOG.warn(
          "Iterators were open during {} commits: the oldest ones are closed. Close iterators after"
              + " use.",
          OPEN_MAX);
      oldest.evicted = true;
      oldest.close();
    }

    private synchronized void closed(SharedSnapshot s) {
      open.remove(s);
    }
  }

  private final @Nullable Pool pool;
  private final @Nullable Database database;
  private final @Nullable FoveaException failure;
  private final Map<String, RowTable> tables = new ConcurrentHashMap<>();
  private volatile boolean evicted;
  private int users = 1;

  private SharedSnapshot(Pool pool, Database database) {
    this.pool = pool;
    this.database = database;
    this.failure = null;
  }

  private SharedSnapshot(FoveaException failure) {
    this.pool = null;
    this.database = null;
    this.failure = failure;
  }

  /** Returns a placeholder for a snapshot that could not be opened: reading it throws. */
  static SharedSnapshot failed(FoveaException failure) {
    return new SharedSnapshot(failure);
  }

  /** Returns a table as the snapshot has it. */
  RowTable table(RowTable of) {
    Database d = database;
    if (d == null || evicted) {
      throw lost(failure);
    }
    return tables.computeIfAbsent(of.name(), n -> of.in(d));
  }

  boolean isEvicted() {
    return evicted;
  }

  InvalidStateStoreException lost(@Nullable Throwable cause) {
    return new InvalidStateStoreException(
        cause == null || evicted
            ? "The iterator was open during "
                + Pool.OPEN_MAX
                + " commits, and its snapshot was evicted for those of newer iterators."
                + " Close iterators after use."
            : "No snapshot could be opened for an iterator that was open during a commit.",
        cause);
  }

  private synchronized boolean enter() {
    if (users == 0 || evicted) {
      return false;
    }
    users++;
    return true;
  }

  /** Removes a user; the last one closes the snapshot. */
  void release() {
    synchronized (this) {
      if (--users > 0) {
        return;
      }
    }
    close();
    if (pool != null) {
      pool.closed(this);
    }
  }

  private void close() {
    if (database != null) {
      database.close();
    }
  }
}
