package io.fovea.recovery;

import io.fovea.error.StorageFullException;
import io.fovea.memory.Mem;
import io.fovea.txn.CommitRecord;
import io.fovea.wal.Log;
import io.fovea.wal.LogSession;
import io.fovea.wal.RecordType;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Writes TABLES to the log: which trees are tables, and their names.
 *
 * <p>Commits name trees. A change subscriber needs the tables' names at the time of each commit,
 * including dropped tables. So it begins at a TABLES record and follows the catalog changes in the
 * log. A change position includes the start of that record.
 *
 * <p>A list is written when the file is marked as in use, with checkpoints once the log has grown
 * by a given amount, and before a close if there is none yet. The retained log begins with a list
 * ({@link #keptFrom}).
 *
 * <p><b>Consistency.</b> The list is created and written while the catalog does not change: a
 * change before it in the log is in it, a change after it is not.
 *
 * <p>A checkpoint is made without a list if writing one would have to wait for the catalog's lock,
 * whose holder may wait for a checkpoint, or for space in a full log.
 *
 * <p>Safe for use by any thread.
 */
public final class TablesLog {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  /** The size of the header before the operations. */
  public static final int HEADER = 8;

  private static final int RECORD_BYTES_MAX = 32 << 10;

  /** Provides the tables. */
  public interface Tables {
    /**
     * Lists the tables while the catalog does not change.
     *
     * @param wait whether to wait until that is possible
     * @param use receives the names by tree id
     * @return false if it is not possible now
     */
    boolean list(boolean wait, Consumer<Map<Integer, String>> use);
  }

  private final String name;
  private final Log log;
  private final LogSession session;
  private final int maxBytes;
  private final long dueBytes;
  private final ReentrantLock lock = new ReentrantLock();
  private volatile @Nullable Tables tables;

  /** The start of the last list; 0 if there is none since the log was opened. */
  private volatile long lsn;

  /** The starts of the retained lists written since the log was opened. */
  private final NavigableSet<Long> lists = new ConcurrentSkipListSet<>();

  /**
   * Creates an instance that has written nothing yet.
   *
   * @param name the database's name, for messages
   * @param dueBytes the growth of the log after which another list is due
   */
  public TablesLog(String name, Log log, long dueBytes) {
    this.name = name;
    this.log = log;
    this.session = log.session();
    this.maxBytes = Math.min(RECORD_BYTES_MAX, log.recordMax());
    this.dueBytes = dueBytes;
  }

  /** Sets the source of the tables. */
  public void of(Tables all) {
    tables = all;
  }

  /**
   * Returns the start of the log retained for change subscribers. Retained segments have no gaps.
   *
   * <p>A subscriber within the retained log must find the list that its position refers to. So that
   * start moves back to the last list that is not after it. That adds the distance between two
   * lists, which is less than that between two checkpoints, or a part of {@link
   * io.fovea.wal.LogConfig#keepBytes}. Lists from before the opening are unknown here; until a
   * later one is old enough, nothing is released. On full storage there is no space for another
   * list, and everything that recovery does not need is released.
   *
   * @param before the current superblock
   * @param redo recovery needs nothing before it
   */
  public long keptFrom(Superblock before, long redo) {
    long from = log.retainable(redo);
    if (log.mustReleaseRetention()) {
      if (from > lsn) {
        lists.clear();
        lsn = 0; // it is released, and the next one is written when there is space
      }
      return Math.max(before.changes(), from);
    }
    Long list = lists.floor(from);
    if (list == null) {
      return before.changes() > 0 ? before.changes() : Math.min(from, lsn);
    }
    lists.headSet(list).clear();
    return Math.max(before.changes(), list);
  }

  /** Writes a list if one is due and it is possible now; returns its end, or 0. */
  long appendIfDue() {
    long last = lsn;
    return last == 0 || log.tail() - last > dueBytes ? append(false) : 0;
  }

  /** Writes a list if there is none yet and it is possible now. */
  public void appendFirst() {
    if (lsn == 0) {
      append(false);
    }
  }

  /**
   * Returns the start of the last list, writing one if there is none.
   *
   * @throws StorageFullException if the log is full
   */
  public long require() {
    if (lsn == 0) {
      append(true);
    }
    return lsn;
  }

  private long append(boolean wait) {
    Tables all = tables;
    long[] end = new long[1];
    try {
      if (all != null) {
        all.list(wait, names -> end[0] = append(names));
      }
    } catch (StorageFullException e) {
      if (wait) {
        throw e;
      }
      LOG.log(Level.DEBUG, name + ": the list of tables was not logged, as the log is full", e);
    }
    return end[0];
  }

  private long append(Map<Integer, String> names) {
    lock.lock();
    try {
      long first = 0;
      List<Map.Entry<Integer, byte[]>> some = new ArrayList<>();
      int bytes = HEADER;
      for (Map.Entry<Integer, String> e : names.entrySet()) {
        byte[] utf8 = e.getValue().getBytes(StandardCharsets.UTF_8);
        int need = CommitRecord.tableBytes(utf8.length);
        if (bytes + need > maxBytes) {
          append(some, bytes, first == 0, false);
          first = first == 0 ? session.recordStart() : first;
          some.clear();
          bytes = HEADER;
        }
        some.add(Map.entry(e.getKey(), utf8));
        bytes += need;
      }
      long end = append(some, bytes, first == 0, true);
      long begin = first == 0 ? session.recordStart() : first;
      lists.add(begin);
      lsn = begin;
      return end;
    } finally {
      lock.unlock();
    }
  }

  private long append(
      List<Map.Entry<Integer, byte[]>> some, int bytes, boolean first, boolean last) {
    session.begin(LogSession.space(bytes));
    try {
      long at = session.reserve(RecordType.TABLES, bytes);
      MemorySegment to = session.buffer();
      Mem.putInt(to, at, some.size());
      Mem.putInt(to, at + 4, (first ? 1 : 0) | (last ? 2 : 0));
      long next = at + HEADER;
      for (Map.Entry<Integer, byte[]> e : some) {
        next = CommitRecord.table(to, next, e.getKey(), e.getValue(), CommitRecord.IS);
      }
      session.complete();
      return session.recordEnd();
    } finally {
      session.end();
    }
  }
}
