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
 * Writes TABLES to the log: which trees are tables, and what these are called.
 *
 * <p>Commits name trees. Who follows changes has to know the tables' names as of each commit, also
 * of tables that are gone by now. So it begins at a TABLES, and follows changes of the catalog from
 * there: they are in the log too, in their place among the commits. A position in the changes has
 * where that TABLES begins.
 *
 * <p>It is written when the file is marked as in use, with checkpoints once the log has grown by so
 * much, and before a close if there is none yet. The log stays from a list on ({@link #keptFrom}).
 *
 * <p><b>In its place.</b> The list is made, and written, while the catalog does not change: a
 * change that is before it in the log is in it, one that is behind it is not.
 *
 * <p>A checkpoint neither waits for the lock of the catalog, whose holder may wait for a
 * checkpoint, nor for room in a log that is full. It goes without then.
 *
 * <p>Any thread.
 */
public final class TablesLog {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  /** The bytes before the operations. */
  public static final int HEADER = 8;

  private static final int RECORD_BYTES_MAX = 32 << 10;

  /** Who knows the tables. */
  public interface Tables {
    /**
     * Lists them while the catalog does not change.
     *
     * @param wait whether to wait until that is possible
     * @param use gets the names by the ids of the trees
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

  /** Where the last list begins; 0: there is none since the log was opened. */
  private volatile long lsn;

  /** Where the lists begin that are kept, of those since the log was opened. */
  private final NavigableSet<Long> lists = new ConcurrentSkipListSet<>();

  /**
   * Writes nothing yet.
   *
   * @param name the database's, for messages
   * @param dueBytes when the log has grown by so much, another list is due
   */
  public TablesLog(String name, Log log, long dueBytes) {
    this.name = name;
    this.log = log;
    this.session = log.session();
    this.maxBytes = Math.min(RECORD_BYTES_MAX, log.recordMax());
    this.dueBytes = dueBytes;
  }

  /** Says who knows the tables. */
  public void of(Tables all) {
    tables = all;
  }

  /** Where the last list begins; 0 where there is none since the log was opened. */
  public long lsn() {
    return lsn;
  }

  /**
   * From where on the log is kept for who follows changes: segments that are kept follow each other
   * without a gap.
   *
   * <p>Who is behind by less than what is kept must find the list that its position rests on. So
   * the log stays from the last list on that is not behind what is kept: that is more by what lies
   * between two lists, which is less than between two checkpoints, or a part of {@link
   * io.fovea.wal.LogConfig#keepBytes}. Lists of before the opening are not known here; until one of
   * later is old enough nothing goes. Where the storage is full there is no room for another list,
   * and all goes that no recovery needs.
   *
   * @param before what the superblock says
   * @param redo no recovery needs what is before it
   */
  public long keptFrom(Superblock before, long redo) {
    long from = log.retainable(redo);
    if (log.mustReleaseRetention()) {
      if (from > lsn) {
        lists.clear();
        lsn = 0; // it goes, and the next one is written when there is room
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

  /** Writes a list if one is due, and if that is possible now; returns where it ends, or 0. */
  long appendIfDue() {
    long last = lsn;
    return last == 0 || log.tail() - last > dueBytes ? append(false) : 0;
  }

  /** Writes a list if there is none yet, and if that is possible now. */
  public void appendFirst() {
    if (lsn == 0) {
      append(false);
    }
  }

  /**
   * Returns where the last list begins, and writes one where there is none.
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
      LOG.log(Level.DEBUG, name + ": tables are not noted, as the log is full", e);
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
