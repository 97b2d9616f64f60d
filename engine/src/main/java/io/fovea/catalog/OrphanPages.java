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
 * Retries freeing <i>unfreed pages</i>: released pages of long values that could not be freed
 * because one of them could not be read or no frame was available. Each tree lists its unfreed
 * pages.
 *
 * <pre>
 *   with a log:   redo point found ─► {@link #free} ─► superblock      by each checkpoint
 *   always:       {@link #free} ─► pages written ─► clean              by a close
 *   of a tree whose pages are freed:                                   by {@link DeferredDrops} too
 * </pre>
 *
 * <p><b>Why after the redo point is found.</b> A thread that releases pages holds back the redo
 * point until they are free or listed as unfreed. So once the new redo point is found, every page
 * that it would lose is listed, and the FREE record of a freed page comes after it. Pages that
 * cannot be freed stay listed; they are lost only if the machine fails before a later attempt
 * succeeds. A page that can never be read must not prevent the log from being recycled.
 *
 * <p>Thread-safe.
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
   * @param trees all trees, including the catalog and those being dropped
   * @throws io.fovea.error.DurabilityLostException if nothing can become durable any more
   */
  void free(List<BTree> trees) {
    try {
      trees.forEach(this::freeDeferred);
    } catch (StorageFullException e) {
      // Even the log has no space. A checkpoint may free some, so the checkpoint must not wait for
      // it.
    }
  }

  void freeDeferred(BTree tree) {
    if (!tree.hasUnfreedPages()) {
      return;
    }
    lock.lock();
    try {
      LogSession own = session();
      own.begin(AllocatorRecord.FREE_SPACE);
      try {
        tree.freeUnfreedPages(own);
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
