package io.fovea.catalog;

import io.fovea.btree.BTree;
import io.fovea.memory.Waits;
import io.fovea.store.Store;
import io.fovea.wal.LogSession;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Makes the catalog aware of bulk-built trees, whose pages have no images in the log.
 *
 * <pre>
 *   written, synced ─► deferred in the catalog ─► redo point after their allocations
 *                                                  ─► earlier backups have ended ─► usable
 * </pre>
 *
 * <ol>
 *   <li><b>A crash before the catalog has them.</b> The session has held back the redo point, so
 *       recovery sees that each of their pages was allocated and has no owner, and frees the page
 *       whatever it contains. <b>A crash afterwards:</b> the trees are freed like any dropped tree.
 *       The redo point may pass only some of the ALLOCATE records, if another session or an older
 *       page holds it back. So the catalog names the part of the log that contains them; a recovery
 *       that begins within that part leaves all pages to the drop.
 *   <li><b>The redo point.</b> An ALLOCATE record without an image of its page means that the page
 *       has no owner. So a checkpoint must move the redo point past these records before the trees
 *       are used.
 *   <li><b>Backups</b> are restored by recovery, each from its own redo point. A backup that began
 *       before the redo point had passed the trees must end first: its log contains the ALLOCATE
 *       records, and it may have copied earlier contents of the pages.
 * </ol>
 *
 * <p>Confined to the building thread.
 */
final class FreshTrees {
  /** Trees with at most this many pages are logged instead of written. */
  static final int LOGGED_PAGES = 64;

  private static final long PAUSE_NANOS = 1_000_000;

  /** Wait for a checkpoint triggered by log bytes if it is expected within this time. */
  private static final long PATIENCE_NANOS = 20_000_000_000L;

  private static final long FIRST_CHECK_NANOS = 5_000_000;
  private static final long CHECK_NANOS = 100_000_000;

  private final Store store;
  private final SchemaChanges changes;
  private final LogSession session;
  private final String what;
  private final Consumer<Runnable> step;

  /** Whether the catalog lists the trees. */
  private boolean known;

  /**
   * @param session a session that began before the first page of the trees was allocated
   * @param step runs an action that touches pages, or throws if the build is abandoned
   */
  FreshTrees(
      Store store,
      SchemaChanges changes,
      LogSession session,
      String what,
      Consumer<Runnable> step) {
    this.store = store;
    this.changes = changes;
    this.session = session;
    this.what = what;
    this.step = step;
  }

  boolean areKnown() {
    return known;
  }

  /**
   * Makes all pages durable and waits until the trees may be used. Ends the session.
   *
   * @param flush writes all pages
   */
  void makeKnown(Runnable flush, List<BTree> trees) {
    step.accept(
        () -> {
          flush.run();
          store.pool().checkpoint().sync();
        });
    step.accept(() -> announce(trees));
    awaitRedo();
    awaitBackups();
  }

  /**
   * Waits until all backups have ended whose redo point may precede the trees.
   *
   * <p>The set of backups is read after {@link #awaitRedo}: another load may hold back the redo
   * point for a long time, and the log of a backup that begins meanwhile starts at that redo point.
   * That log would contain the allocations of the pages without images, followed by uses of the
   * trees.
   *
   * <p>A backup enters the concurrent set before it requests its checkpoint, and the redo point of
   * the newest superblock never moves back. So a backup that is not in the set when it is read here
   * makes a later checkpoint, with a redo point after the trees. A backup that is in the set ends,
   * as does its log, before any record that uses the trees is appended.
   */
  private void awaitBackups() {
    Set<Object> backups = new HashSet<>(store.backups());
    while (!backups.isEmpty()) {
      backups.retainAll(store.backups());
      pause(!backups.isEmpty());
    }
  }

  /** Records the trees in the catalog as deferred; ends the session. */
  void announce(List<BTree> trees) {
    changes.locked(
        what,
        () -> {
          CatalogChange change = new CatalogChange(store);
          long from = session.beginLsn();
          long to = store.logTail();
          for (BTree tree : trees) {
            byte[] record = DeferredDrops.value(tree, from, to);
            change.publishes(tree).put(DeferredDrops.key(tree.treeId()), record);
          }
          try {
            return change.run();
          } finally {
            known |= change.logged;
          }
        });
    session.end();
  }

  /**
   * Waits until recovery no longer needs any record that is now in the log.
   *
   * <p>A checkpoint on demand writes every dirty page, while other threads may have to wait for log
   * space. If the log grows fast enough, this method waits instead for a checkpoint triggered by
   * log bytes, which writes only pages older than half of the log.
   */
  private void awaitRedo() {
    long lsn = store.logTail();
    if (store.redoLsn() >= lsn) {
      return; // there is no log
    }
    double enough = store.logBytesMax() * 0.625 / PATIENCE_NANOS;
    long window = FIRST_CHECK_NANOS;
    long tail = lsn;
    long began = System.nanoTime();
    while (store.redoLsn() < lsn) {
      pause(true);
      long now = System.nanoTime();
      if (now - began >= window) {
        if ((store.logTail() - tail) / (double) (now - began) < enough) {
          store.checkpoint();
        }
        tail = store.logTail();
        began = System.nanoTime();
        window = CHECK_NANOS;
      }
    }
  }

  /** Frees the pages of abandoned trees. If that fails or is impossible, recovery frees them. */
  void free(Runnable pages) {
    if (store.engine().poison() != null) {
      return;
    }
    try {
      pages.run();
    } catch (RuntimeException | Error e) {
      store.engine().poison(e);
      throw e;
    }
  }

  /**
   * Ends the session, unless an incomplete change has stopped the engine; the redo point is then
   * held back permanently.
   */
  void end() {
    if (store.engine().poison() == null) {
      session.end();
    } else {
      session.abandon();
    }
  }

  private void pause(boolean needed) {
    if (needed) {
      step.accept(() -> {});
      Waits.sleep(PAUSE_NANOS);
    }
  }
}
