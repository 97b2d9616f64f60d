package io.fovea.store;

import io.fovea.btree.PlaceTable;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The {@link PlaceTable} of a store, from the first tree on that is remembered. Any thread; closed
 * when no transaction runs any more.
 */
final class Places {
  private final long bytesMax;
  private final int pageSize;
  private final ReentrantLock lock = new ReentrantLock();
  private volatile @Nullable PlaceTable table;
  private boolean closed;

  /**
   * None yet.
   *
   * @param bytesMax how much memory it may take; 0: there is never one
   */
  Places(long bytesMax, int pageSize) {
    this.bytesMax = bytesMax;
    this.pageSize = pageSize;
  }

  /** The table, which is made where there is none yet; null where there never is one. */
  @Nullable PlaceTable table() {
    PlaceTable made = table;
    if (made != null || bytesMax == 0) {
      return made;
    }
    lock.lock();
    try {
      if (table == null && !closed) {
        table = new PlaceTable(bytesMax, pageSize);
      }
      return table;
    } finally {
      lock.unlock();
    }
  }

  /** The memory that it has. */
  long bytes() {
    PlaceTable t = table;
    return t == null ? 0 : t.bytes();
  }

  /** The memory that it may have: 0 where no tree is remembered. */
  long bytesMax() {
    PlaceTable t = table;
    return t == null ? 0 : t.bytesMax();
  }

  /** Gives the memory back. */
  void close() {
    lock.lock();
    try {
      closed = true;
      PlaceTable t = table;
      if (t != null) {
        t.close();
      }
    } finally {
      lock.unlock();
    }
  }
}
