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
 * Trees that were built from below, and whose pages have no images in the log: how the catalog gets
 * to know them.
 *
 * <pre>
 *   written, synced ─► in the catalog among those to be freed ─► redo point behind them
 *                                                  ─► backups from before have ended ─► usable
 * </pre>
 *
 * <ol>
 *   <li><b>A crash before the catalog knows them</b>: the session has held back the redo point, so
 *       recovery knows of each of their pages that it was given out and has no owner, and frees it,
 *       whatever its bytes are. After that they are freed as any tree that was dropped. The redo
 *       point may pass some of those ALLOCATE and not all, where another session or an older page
 *       holds it back: so the catalog has the part of the log in which they are, and where recovery
 *       begins within it, it leaves all pages to the drop.
 *   <li><b>The redo point.</b> An ALLOCATE in the log whose page has no image there says that
 *       nobody owns the page. So the redo point must have passed those records before anybody uses
 *       the trees; a checkpoint does that. Then the pages are like any that were written long ago.
 *   <li><b>Backups</b> are recovered from as crashes are, and each has a redo point of its own.
 *       Those that began before the redo point had passed the trees have their records in the log,
 *       and may have copied what was in the pages before: such backups must have ended, too. One
 *       that begins later finds the pages in the file, and has a log that begins behind them.
 * </ol>
 *
 * <p>The thread that builds.
 */
final class FreshTrees {
  /** Trees with no more pages are logged instead of written. */
  static final int LOGGED_PAGES = 64;

  private static final long PAUSE_NANOS = 1_000_000;

  /** How soon a checkpoint by log bytes has to come if it is to be waited for. */
  private static final long PATIENCE_NANOS = 20_000_000_000L;

  private static final long FIRST_LOOK_NANOS = 5_000_000;
  private static final long LOOK_NANOS = 100_000_000;

  private final Store store;
  private final SchemaChanges changes;
  private final LogSession session;
  private final String what;
  private final Consumer<Runnable> step;

  /** Whether the catalog knows them. */
  private boolean known;

  /**
   * Trees that are not known yet.
   *
   * @param session has begun before the first of their pages was allocated
   * @param step does something that touches pages, or throws where all is given up
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

  /** Whether the catalog knows them, if only as trees that are to be freed. */
  boolean areKnown() {
    return known;
  }

  /**
   * Has all pages in the file, and waits until the trees may be used. The session has ended then.
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
   * Waits until each backup has ended that may have a redo point before the trees.
   *
   * <p>They are noted here, behind {@link #awaitRedo}, and not before: the redo point may be held
   * back for long, by another load, and a backup that begins meanwhile has a log from there on. In
   * it the pages were given out and have no image, and what uses them would come before its end.
   *
   * <p>A backup is in the set of those that run before it asks for its checkpoint, and the redo
   * point of the newest superblock never goes back. So one that is not in the set when it is read
   * here makes its checkpoint behind that, and its redo point is one behind the trees. One that is
   * in the set has ended, and has the end of its log, before anything is appended that uses the
   * trees. The set is concurrent: a backup that is added before it is read is seen.
   */
  private void awaitBackups() {
    Set<Object> backups = new HashSet<>(store.backups());
    while (!backups.isEmpty()) {
      backups.retainAll(store.backups());
      pause(!backups.isEmpty());
    }
  }

  /** From here on the catalog knows the trees, as those that are to be freed; ends the session. */
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
            known |= change.happened;
          }
        });
    session.end();
  }

  /**
   * Waits until no record that is in the log now is needed after a crash.
   *
   * <p>A checkpoint on demand writes every page that is dirty, and others may have to wait
   * meanwhile for room in the log. Where they write so much that those by log bytes come soon,
   * these are waited for: they write what is older than half of the log.
   */
  private void awaitRedo() {
    long lsn = store.logTail();
    if (store.redoLsn() >= lsn) {
      return; // there is no log
    }
    double enough = store.logBytesMax() * 0.625 / PATIENCE_NANOS;
    long window = FIRST_LOOK_NANOS;
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
        window = LOOK_NANOS;
      }
    }
  }

  /** Frees pages of trees that are given up. Where that fails, or can't be, recovery frees them. */
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

  /** Ends the session. What has stopped the engine halfway holds back the redo point for good. */
  void end() {
    if (store.engine().poison() == null) {
      session.end();
    }
  }

  private void pause(boolean needed) {
    if (needed) {
      step.accept(() -> {});
      Waits.sleep(PAUSE_NANOS);
    }
  }
}
