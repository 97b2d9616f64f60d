package io.fovea.recovery;

import io.fovea.btree.BTree;
import io.fovea.error.StorageFullException;
import io.fovea.wal.Log;
import io.fovea.wal.LogSession;
import io.fovea.wal.RecordType;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/**
 * Writes COUNTS to the log: with each checkpoint, since recovery will not see the commits before
 * the redo point, and when a closed file is first changed.
 *
 * <p><b>Why no quiescent point is needed.</b> The counts of a tree are read while commits continue,
 * from per-context cells, each with the LSN of its last commit. Consider a commit that is missing
 * from the cells that were read. Its session's log slot stays set until it has changed its cells.
 * When the redo point was determined, earlier, the slot either held it back or was not set yet; in
 * both cases the commit's record begins at or after the redo point. So recovery finds it, and knows
 * by context and LSN whether the counts include it. Commits from before the log was opened are in
 * all of them.
 *
 * <p><b>If the log is full</b>, a checkpoint is made without COUNTS: it must not wait for the space
 * that it may free. A recovery without a record that reaches back to its redo point reports the
 * counts as unknown ({@link CountsReplay}).
 *
 * <p>Safe for use by any thread.
 */
final class CountsLog {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  private static final int RECORD_BYTES_MAX = 32 << 10;

  private final String name;
  private final Log log;
  private final LogSession session;
  private final Supplier<List<BTree>> trees;
  private final int maxBytes;
  private final ReentrantLock lock = new ReentrantLock();

  /** All commits that recovery has found begin before this, and are in the initial counts. */
  private final long opened;

  /** The redo point that the last record reaches back to. */
  private long written = -1;

  CountsLog(String name, Log log, Supplier<List<BTree>> trees) {
    this.name = name;
    this.log = log;
    this.session = log.session();
    this.trees = trees;
    this.maxBytes = Math.min(RECORD_BYTES_MAX, log.recordMax());
    this.opened = log.tail();
  }

  /**
   * Writes the counts of all trees.
   *
   * @param redo the position where replay will begin; determined before this call
   * @return the position up to which the log must be durable before that redo point is valid; 0 for
   *     none
   */
  long append(long redo) {
    lock.lock();
    try {
      return redo == written ? 0 : appendAll(redo); // the last record may reach back to here
    } finally {
      lock.unlock();
    }
  }

  private long appendAll(long redo) {
    long from = Math.max(redo, opened);
    long end = 0;
    try {
      List<CountsRecord.Captured> some = new ArrayList<>();
      int bytes = CountsRecord.HEADER;
      for (BTree tree : trees.get()) {
        CountsRecord.Captured c = CountsRecord.Captured.of(tree, from);
        if (c == null || CountsRecord.HEADER + c.bytes() > maxBytes) {
          continue;
        }
        if (bytes + c.bytes() > maxBytes) {
          end = append(from, some, bytes);
          some.clear();
          bytes = CountsRecord.HEADER;
        }
        some.add(c);
        bytes += c.bytes();
      }
      if (!some.isEmpty()) {
        end = append(from, some, bytes);
      }
      written = redo;
    } catch (StorageFullException e) {
      LOG.log(Level.DEBUG, name + ": checkpoint without record counts, as the log is full", e);
    }
    return end;
  }

  private long append(long from, List<CountsRecord.Captured> some, int bytes) {
    session.begin(LogSession.space(bytes));
    try {
      long at = session.reserve(RecordType.COUNTS, bytes);
      long next = CountsRecord.put(session.buffer(), at, from, some.size());
      for (CountsRecord.Captured c : some) {
        next = c.put(session.buffer(), next);
      }
      session.complete();
      return session.recordEnd();
    } finally {
      session.end();
    }
  }
}
