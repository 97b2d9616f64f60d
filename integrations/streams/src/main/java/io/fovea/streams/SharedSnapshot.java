package io.fovea.streams;

import io.fovea.ByteTable;
import io.fovea.Database;
import io.fovea.schema.TableSpec;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.jspecify.annotations.Nullable;

/**
 * A snapshot of the database, which the queries share that are asked while nothing is committed.
 *
 * <p>Any thread.
 */
final class SharedSnapshot {
  /** Those of one database. A snapshot has a buffer of its own: hence a limit. */
  static final class Pool {
    private static final int OPEN_MAX = 16;

    private final Database database;
    private @Nullable SharedSnapshot newest;
    private long newestAt = -1;
    private int open;

    Pool(Database database) {
      this.database = database;
    }

    /**
     * A snapshot that is at least as new as a commit.
     *
     * @param commits how many commits have begun or ended
     */
    synchronized SharedSnapshot take(long commits) {
      SharedSnapshot s = newest;
      if (s == null || newestAt != commits || !s.enter()) {
        if (open >= OPEN_MAX) {
          throw new InvalidStateStoreException(
              "There are "
                  + open
                  + " snapshots open for interactive queries. Close the iterators of range queries"
                  + " that are done with.");
        }
        s = new SharedSnapshot(this, database.snapshot());
        open++;
        newest = s;
        newestAt = commits;
      }
      return s;
    }

    private synchronized void closed() {
      open--;
    }
  }

  private final Pool pool;
  private final Database database;
  private final Map<String, ByteTable> tables = new ConcurrentHashMap<>();
  private int users = 1;

  private SharedSnapshot(Pool pool, Database database) {
    this.pool = pool;
    this.database = database;
  }

  Database database() {
    return database;
  }

  ByteTable table(TableSpec spec) {
    return tables.computeIfAbsent(spec.name(), n -> database.table(spec).bytes());
  }

  private synchronized boolean enter() {
    if (users == 0) {
      return false;
    }
    users++;
    return true;
  }

  void release() {
    synchronized (this) {
      if (--users > 0) {
        return;
      }
    }
    database.close();
    pool.closed();
  }
}
