package io.fovea.catalog;

import io.fovea.btree.BTree;
import io.fovea.buffer.AllocatorRecord;
import io.fovea.error.StorageFullException;
import io.fovea.store.Store;
import io.fovea.wal.LogSession;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Pages of long values that were released and could not be freed then, for one could not be read or
 * had no frame: strays, which their tree keeps. They are tried again.
 *
 * <pre>
 *   with a log:   redo point found ─► {@link #free} ─► superblock      by each checkpoint
 *   always:       {@link #free} ─► pages written ─► clean              by a close
 *   of a tree whose pages are freed:                                   by {@link DeferredDrops} too
 * </pre>
 *
 * <p><b>Why after the redo point was found.</b> Whoever lets pages go holds back the redo point
 * until they are free, or are listed as strays. So of those that the new redo point would have
 * forgotten all are listed when it has been found, and their FREE records lie behind it. What can't
 * be freed now either stays listed; only if the machine dies before a later attempt succeeds it is
 * lost. That a device refuses to read a page for good must not keep the log from being recycled.
 *
 * <p>Any thread.
 */
public final class OrphanPages {
  private final Store store;
  private final ReentrantLock lock = new ReentrantLock();
  private @Nullable LogSession session;

  OrphanPages(Store store) {
    this.store = store;
  }

  /**
   * Frees what can be freed.
   *
   * @param trees all that there are, those that are being dropped and the catalog included
   * @throws io.fovea.error.DurabilityLostException if nothing can become durable any more
   */
  void free(List<BTree> trees) {
    try {
      trees.forEach(this::strays);
    } catch (StorageFullException e) {
      // Not even the log has room. A checkpoint may change that, and must not wait for it.
    }
  }

  /** Frees what can be freed of a tree. */
  void strays(BTree tree) {
    if (!tree.hasStrays()) {
      return;
    }
    lock.lock();
    try {
      LogSession own = session();
      own.begin(AllocatorRecord.FREE_SPACE);
      try {
        tree.freeStrays(own);
      } finally {
        own.end();
      }
    } finally {
      lock.unlock();
    }
  }

  private LogSession session() {
    LogSession own = session;
    if (own == null) {
      own = store.newSession();
      session = own;
    }
    return own;
  }
}
