package io.fovea;

import io.fovea.btree.BTree;
import io.fovea.buffer.AllocatorRecord;
import io.fovea.error.CorruptionException;
import io.fovea.error.FoveaException;
import io.fovea.error.StorageFullException;
import io.fovea.wal.LogSession;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Pages that were let go and could not be freed then, for one could not be read or had no frame:
 * they are tried again.
 *
 * <pre>
 *   strays of a tree        chains that a commit has let go          kept by the tree
 *   rest of a dropped tree  what hangs on its root still             kept here, with its strays
 *
 *   with a log:   redo point found ─► {@link #free} ─► superblock      by each checkpoint
 *   always:       {@link #free} ─► pages written ─► clean              by a close
 * </pre>
 *
 * <p><b>Why after the redo point was found.</b> Whoever lets pages go holds back the redo point
 * until they are free, or are listed here. So of those that the new redo point would have forgotten
 * all are listed when it has been found, and their FREE records lie behind it. What can't be freed
 * now either stays listed; only if the machine dies before a later attempt succeeds it is lost.
 * That a device refuses to read a page for good must not keep the log from being recycled.
 *
 * <p>Threads: {@link #free} is the checkpointer's, and after its end who closes; the rest is under
 * the lock of the schema.
 */
final class Leftovers {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  private final Store store;

  /** Trees that no catalog knows any more, and whether a drop of them has failed. */
  private final Map<BTree, Boolean> dropped = new ConcurrentHashMap<>();

  private @Nullable LogSession session;

  Leftovers(Store store) {
    this.store = store;
  }

  /** A tree is about to leave the catalog: its strays are looked for here from now on. */
  void leaves(BTree tree) {
    dropped.put(tree, false);
  }

  /** All pages of a tree are free, but for strays. */
  void dropped(BTree tree) {
    if (!tree.hasStrays()) {
      dropped.remove(tree);
    }
  }

  /** A drop of a tree has failed. Before the redo point may go on. */
  void undropped(BTree tree) {
    dropped.put(tree, true);
  }

  /**
   * Frees what can be freed.
   *
   * @param trees those that the catalog knows, and itself
   * @throws io.fovea.error.DurabilityLostException if nothing can become durable any more
   */
  void free(List<BTree> trees) {
    try {
      trees.forEach(this::strays);
      dropped.forEach(
          (tree, unfinished) -> {
            strays(tree);
            if ((!unfinished || rest(tree)) && !tree.hasStrays()) {
              // Unless the drop, which may be under way, has failed meanwhile.
              dropped.remove(tree, unfinished);
            }
          });
    } catch (StorageFullException e) {
      // Not even the log has room. A checkpoint may change that, and must not wait for it.
    }
  }

  private LogSession session() {
    LogSession own = session;
    if (own == null) {
      Journal journal = store.journal();
      own = journal == null ? LogSession.NONE : journal.log().session();
      session = own;
    }
    return own;
  }

  private void strays(BTree tree) {
    if (!tree.hasStrays()) {
      return;
    }
    LogSession own = session();
    own.begin(AllocatorRecord.FREE_SPACE);
    try {
      tree.freeStrays(own);
    } finally {
      own.end();
    }
  }

  /** Goes on with a drop; whether there is nothing left to be done. */
  private boolean rest(BTree tree) {
    LogSession own = session();
    own.begin(AllocatorRecord.FREE_SPACE);
    try {
      BTree.dropRest(store.pool(), tree.treeId(), tree.rootPid(), own);
      return true;
    } catch (CorruptionException e) {
      LOG.log(Level.WARNING, "Pages of a dropped tree of " + store.name() + " are lost", e);
      return true;
    } catch (FoveaException e) {
      return false;
    } finally {
      own.end();
    }
  }
}
