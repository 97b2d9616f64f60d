package io.fovea.catalog;

import io.fovea.btree.BTree;
import io.fovea.btree.TreeDrop;
import io.fovea.btree.TreeWalk;
import io.fovea.buffer.AllocatorRecord;
import io.fovea.error.CorruptionException;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DurabilityLostException;
import io.fovea.error.FoveaException;
import io.fovea.memory.Mem;
import io.fovea.memory.OperationLock;
import io.fovea.memory.Threads;
import io.fovea.memory.Waits;
import io.fovea.recovery.Recovery;
import io.fovea.store.Store;
import io.fovea.txn.GracePeriod;
import io.fovea.wal.LogSession;
import java.lang.System.Logger.Level;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The trees whose pages are to be freed: of dropped tables and indexes, and of indexes whose
 * building did not end.
 *
 * <pre>
 *   catalog:  "t" table  ─┐ one SCHEMA record
 *             "d" tree   ◄┘     ─► transactions that may use the tree end (grace)
 *                                 ─► pages freed, some at a time, each piece a session of its own
 *                                   ─► "d" tree removed
 * </pre>
 *
 * <ol>
 *   <li><b>The catalog knows them</b> from the record on with which they stop being a table's, and
 *       until their last page is free: so neither the redo point nor a close has to wait, and who
 *       opens the database goes on.
 *   <li><b>Nobody is held up.</b> Transactions that were active when the catalog changed may still
 *       go down the tree: its pages stay until those have ended ({@link GracePeriod}). Meanwhile
 *       others begin, and do what they like.
 *   <li><b>A piece</b> frees some pages: it holds back the redo point, and keeps others waiting for
 *       single pages, for so long only. Between pieces of the background thread as much time passes
 *       as the last one took.
 *   <li>What is small, and what nobody else can use, is freed by the thread that has dropped it.
 * </ol>
 *
 * <p>Threads: any; {@link #work} is held for each piece. Order of locks: the schema's, then this.
 */
public final class DeferredDrops {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  /** The first byte of their keys in the catalog. */
  static final char KEY = 'd';

  private static final int VERSION = 1;

  /** The version of a record that says which part of the log gave out the tree's pages. */
  private static final int BUILT = 2;

  /** How many pages a piece frees. */
  static final int PIECE_PAGES = 64;

  /** How many pages the thread that has dropped a tree frees itself. */
  private static final int OWN_PIECES = 4;

  private static final long PAUSE_MIN_NANOS = 1_000_000;
  private static final long PAUSE_MAX_NANOS = 50_000_000;
  private static final long FAILED_NANOS = 500_000_000;

  /** How often in a row {@link #finish} finds nothing that can be freed before it gives up. */
  private static final int LOOKS_MAX = 100;

  /** What became of a piece. */
  private enum Piece {
    /** The tree has no pages any more. */
    DONE,
    /** There are more. */
    MORE,
    /** Transactions must end first, another thread is at it, or what has failed may pass. */
    LATER
  }

  /** A tree. */
  private static final class Drop {
    final int treeId;
    final long rootPid;

    /** Null where the database was opened since, so that the root may be free already. */
    final @Nullable BTree tree;

    /** What follows when no transaction knows of a change any more; then another grace begins. */
    @Nullable Runnable then;

    /** Over, or null. */
    @Nullable GracePeriod gracePeriod;

    @Nullable TreeDrop pages;
    boolean pagesFree;
    boolean told;

    /** A transaction makes the tree, and may yet make a table of it. */
    volatile boolean held;

    /** What holds back the redo point for a tree that the catalog does not know; else null. */
    @Nullable RedoHold unknown;

    Drop(BTree tree, GracePeriod gracePeriod, @Nullable Runnable then) {
      this.treeId = tree.treeId();
      this.rootPid = tree.rootPid();
      this.tree = tree;
      this.gracePeriod = gracePeriod;
      this.then = then;
    }

    /** Of one that the catalog does not know. */
    Drop(BTree tree, RedoHold unknown) {
      this.treeId = tree.treeId();
      this.rootPid = tree.rootPid();
      this.tree = tree;
      this.unknown = unknown;
    }

    /** Of one that a transaction makes. */
    Drop(BTree tree) {
      this.treeId = tree.treeId();
      this.rootPid = tree.rootPid();
      this.tree = tree;
      this.held = true;
    }

    /** Of one that a close or a crash has cut short. */
    Drop(int treeId, long rootPid) {
      this.treeId = treeId;
      this.rootPid = rootPid;
      this.tree = null;
    }
  }

  /** Holds back the redo point until the last of some trees is free. */
  private static final class RedoHold {
    private final LogSession session;
    private final AtomicInteger trees;

    RedoHold(LogSession session, int trees) {
      this.session = session;
      this.trees = new AtomicInteger(trees);
    }

    /** One more is free. */
    void freed() {
      if (trees.decrementAndGet() == 0) {
        session.takeOver();
        session.end();
      }
    }
  }

  /** Removes a tree from the catalog; under the lock of the schema. */
  private final Consumer<byte[]> forget;

  private final Store store;
  private final OrphanPages orphanPages;
  private final OperationLock work = new OperationLock("the lock of drops");
  private final List<Drop> drops = new CopyOnWriteArrayList<>();
  private @Nullable LogSession session;

  /** Guarded by this object's monitor. */
  private @Nullable Thread thread;

  private volatile boolean stopped;

  DeferredDrops(Store store, OrphanPages orphanPages, Consumer<byte[]> forget) {
    this.store = store;
    this.orphanPages = orphanPages;
    this.forget = forget;
  }

  // -------------------------------------------------------------------------------- the catalog

  /** The key of a tree in the catalog. */
  static byte[] key(int treeId) {
    return ByteBuffer.allocate(5).put((byte) KEY).putInt(treeId).array();
  }

  /** Its record. */
  static byte[] value(BTree tree) {
    return ByteBuffer.allocate(9).put((byte) VERSION).putLong(tree.rootPid()).array();
  }

  /**
   * The record of a tree that was built from below: its pages are durable, and have no images in
   * the log.
   *
   * @param from the LSN behind which the log gave out its pages
   * @param to the LSN before which it did
   */
  static byte[] value(BTree tree, long from, long to) {
    return ByteBuffer.allocate(25)
        .put((byte) BUILT)
        .putLong(tree.rootPid())
        .putLong(from)
        .putLong(to)
        .array();
  }

  /** Gets a tree that the catalog has. */
  public interface Visitor {
    /** As {@link Recovery.TreeVisitor#deferred}. */
    void tree(int treeId, long rootPid, long from, long to);
  }

  /** Finds those that the catalog has. */
  public static void forEach(BTree catalog, Visitor visitor) {
    TreeWalk.forEach(
        catalog,
        (k, kOff, kLen, v, vOff, vLen) -> {
          if (kLen == 5 && Mem.getByte(k, kOff) == KEY) {
            int id = ByteBuffer.wrap(TreeWalk.bytes(k, kOff + 1, 4)).getInt();
            ByteBuffer value = ByteBuffer.wrap(TreeWalk.bytes(v, vOff, vLen));
            int version = vLen == 0 ? 0 : value.get();
            if (vLen != (version == VERSION ? 9 : version == BUILT ? 25 : -1)) {
              throw new CorruptionException(
                  "the catalog's entry of a dropped tree, " + id, -1, -1, VERSION, vLen);
            }
            long root = value.getLong();
            boolean built = version == BUILT;
            visitor.tree(id, root, built ? value.getLong() : 0, built ? value.getLong() : 0);
          }
        });
  }

  // ---------------------------------------------------------------------------------------- trees

  /** Those of this opening whose pages are not all free. Any thread. */
  List<BTree> trees() {
    List<BTree> trees = new ArrayList<>();
    for (Drop drop : drops) {
      if (drop.tree != null) {
        trees.add(drop.tree);
      }
    }
    return trees;
  }

  /** All whose pages are not all free, those that transactions make included. Any thread. */
  public void forEach(Visitor visitor) {
    drops.forEach(d -> visitor.tree(d.treeId, d.rootPid, 0, 0));
  }

  /**
   * Takes over a tree that is in the catalog so from now on, and that only transactions use which
   * are active.
   *
   * @param then what follows when those have ended, after which others may use it still; null for
   *     nothing
   */
  void add(BTree tree, @Nullable Runnable then) {
    drops.add(new Drop(tree, store.engine().gracePeriod(), then));
  }

  /**
   * Takes over trees of a table or an index that was not created, and that could not be freed at
   * once. The catalog does not name them, so only a recovery from before their creation finds their
   * pages: the redo point stays there until they are free. A close that comes earlier leaves the
   * file to recovery.
   *
   * @param hold what holds back the redo point since before the trees were made; it belongs to this
   *     from now on
   */
  void addUnknown(List<BTree> trees, LogSession hold) {
    RedoHold unknown = new RedoHold(hold, trees.size());
    trees.forEach(tree -> drops.add(new Drop(tree, unknown)));
  }

  /** Takes over a tree that is in the catalog so from now on, while a transaction uses it. */
  void hold(BTree tree) {
    drops.add(new Drop(tree));
  }

  /** The transaction has ended, and the tree is no table's. Waits for nobody. */
  void letGo(BTree tree) {
    for (Drop drop : drops) {
      if (drop.tree == tree) {
        drop.held = false;
      }
    }
  }

  /** The transaction commits, and the tree is a table's: the catalog has it so. */
  void keep(BTree tree) {
    drops.removeIf(d -> d.tree == tree);
  }

  /** Whether there is nothing to be freed, nor will there be by itself. */
  private boolean isIdle() {
    for (Drop drop : drops) {
      if (!drop.held) {
        return false;
      }
    }
    return true;
  }

  /** Those that the catalog had when the database was opened. */
  void addRest(int treeId, long rootPid) {
    drops.add(new Drop(treeId, rootPid));
  }

  /**
   * Frees what is small and what nobody uses, and leaves the rest to the background. Ends early
   * when the thread is interrupted. Without the lock of the schema.
   */
  void run() {
    if (isIdle() || stopped) {
      return;
    }
    try {
      int pieces = OWN_PIECES;
      for (Drop drop : drops) {
        Piece piece = Piece.MORE;
        while (piece == Piece.MORE && pieces-- > 0 && !Thread.currentThread().isInterrupted()) {
          piece = piece(drop);
        }
      }
    } catch (DurabilityLostException | DatabaseClosedException e) {
      return;
    }
    if (!isIdle()) {
      start();
    }
  }

  /**
   * Frees what was dropped so far and can be freed, on the calling thread and beside the
   * background. What transactions that are active keep, or what fails, is left. Without the lock of
   * the schema.
   *
   * @param check is asked before each piece; what it throws ends this
   */
  void finish(Runnable check) {
    List<Drop> due = new ArrayList<>(drops);
    for (int inVain = 0; inVain < LOOKS_MAX && !stopped; inVain++) {
      due.removeIf(d -> d.held || !drops.contains(d));
      if (due.isEmpty()) {
        return;
      }
      if (inVain > 0) {
        Waits.sleep(PAUSE_MIN_NANOS);
      }
      for (Drop drop : due) {
        check.run();
        if (piece(drop) != Piece.LATER) {
          inVain = 0;
        }
      }
    }
  }

  // --------------------------------------------------------------------------------------- pieces

  /** Nothing is freed while this does something. */
  void paused(String what, Runnable then) {
    work.lock(what, store::checkWaiting);
    try {
      then.run();
    } finally {
      work.unlock();
    }
  }

  private Piece piece(Drop drop) {
    if (!work.tryLock("free pages of a dropped tree")) {
      return Piece.LATER; // another may wait for a page: no reason to wait with it
    }
    try {
      if (stopped) {
        return Piece.LATER; // asked under the lock, behind which a close goes on: see join
      }
      // A change of the catalog may be in the log though it failed: then the tree that was taken
      // back here is a table's or an index's after all. Such a failure stops the engine first.
      store.engine().checkUsable(false);
      if (!isUnused(drop)) {
        return Piece.LATER;
      }
      if (!drop.pagesFree) {
        drop.pagesFree = freed(drop);
      }
      BTree tree = drop.tree;
      if (tree != null) {
        orphanPages.strays(tree);
      }
      if (!drop.pagesFree) {
        return Piece.MORE;
      }
      if (tree != null && tree.hasStrays()) {
        return Piece.LATER;
      }
    } catch (DurabilityLostException | DatabaseClosedException e) {
      throw e;
    } catch (FoveaException e) {
      failed(drop, e);
      return Piece.LATER;
    } finally {
      work.unlock();
    }
    RedoHold unknown = drop.unknown;
    if (unknown != null) {
      if (drops.remove(drop)) {
        unknown.freed();
      }
      return Piece.DONE;
    }
    try {
      forget.accept(key(drop.treeId));
    } catch (DurabilityLostException | DatabaseClosedException e) {
      throw e;
    } catch (FoveaException e) {
      failed(drop, e);
      return Piece.LATER;
    }
    drops.remove(drop);
    return Piece.DONE;
  }

  private boolean isUnused(Drop drop) {
    if (drop.held) {
      return false;
    }
    GracePeriod gracePeriod = drop.gracePeriod;
    while (gracePeriod != null && gracePeriod.isOver()) {
      Runnable then = drop.then;
      gracePeriod = null;
      if (then != null) {
        // Forgotten when both are done: were it forgotten before and had failed, the pages would
        // be freed without the second grace. It may run twice: it takes something off a list.
        then.run();
        gracePeriod = store.engine().gracePeriod();
      }
      drop.gracePeriod = gracePeriod;
      drop.then = null;
    }
    return gracePeriod == null;
  }

  private boolean freed(Drop drop) {
    LogSession own = session();
    TreeDrop pages = drop.pages;
    if (pages == null) {
      pages =
          drop.tree == null || drop.unknown != null // which may be free in part
              ? TreeDrop.rest(store.pool(), drop.treeId, drop.rootPid, own)
              : TreeDrop.of(drop.tree, own);
      drop.pages = pages;
    }
    own.begin(drop.unknown == null ? AllocatorRecord.FREE_SPACE : 0);
    try {
      if (drop.unknown != null) {
        own.undoes(); // it holds back the redo point: without it there may never be room
      }
      return pages.step(PIECE_PAGES);
    } catch (CorruptionException e) {
      LOG.log(Level.WARNING, "Pages of a dropped tree of " + store.name() + " are lost", e);
      pages.skip();
      return false;
    } finally {
      own.end();
    }
  }

  private LogSession session() {
    LogSession own = session;
    if (own == null) {
      store.willWrite();
      own = store.newSession();
      session = own;
    }
    return own;
  }

  private void failed(Drop drop, Throwable e) {
    if (!drop.told) {
      drop.told = true;
      Threads.tell(
          LOG,
          Level.WARNING,
          "Not all pages of a dropped tree of ",
          store.name(),
          " could be freed yet",
          e);
    }
  }

  // ----------------------------------------------------------------------------------- background

  private synchronized void start() {
    if (thread == null && !stopped) {
      try {
        thread = Threads.start("fovea-reclaim " + store.name(), this::background);
      } catch (OutOfMemoryError none) {
        // What was dropped is dropped. The next change or the next opening starts a thread.
        Threads.tell(
            LOG,
            Level.WARNING,
            "No thread could be started that frees pages of dropped trees of ",
            store.name(),
            "",
            none);
      }
    }
  }

  private void background() {
    long pause = PAUSE_MIN_NANOS;
    while (pause > 0) {
      try {
        Threads.turn();
        pause = turn(pause);
      } catch (DurabilityLostException | DatabaseClosedException e) {
        return; // who opens the database again goes on
      } catch (Throwable t) {
        // The thread goes on: it is noted, so nobody would start another.
        pause = FAILED_NANOS;
      }
      if (pause > 0 && !stopped) {
        LockSupport.parkNanos(this, pause);
      }
    }
  }

  /** A piece of each; how long to wait then, 0 to end. */
  private long turn(long pause) {
    if (stopped || store.engine().poison() != null || ends()) {
      return 0;
    }
    long began = System.nanoTime();
    boolean freed = false;
    boolean failed = false;
    for (Drop drop : drops) {
      if (!stopped) {
        freed |= pieceOrLater(drop) != Piece.LATER;
        failed |= drop.told;
      }
    }
    return freed
        ? Math.clamp(System.nanoTime() - began, PAUSE_MIN_NANOS, PAUSE_MAX_NANOS)
        : Math.min(2 * pause, failed ? FAILED_NANOS : PAUSE_MAX_NANOS);
  }

  /** A piece; one that fails in an unexpected way keeps no other tree waiting. */
  private Piece pieceOrLater(Drop drop) {
    try {
      return piece(drop);
    } catch (DurabilityLostException | DatabaseClosedException e) {
      throw e;
    } catch (Throwable t) {
      failed(drop, t);
      return Piece.LATER;
    }
  }

  /** Whether there is nothing left; then the thread is none any more. */
  private synchronized boolean ends() {
    if (!isIdle()) {
      return false;
    }
    thread = null;
    return true;
  }

  /** No further piece begins. */
  void cancel() {
    Thread t;
    synchronized (this) {
      stopped = true;
      t = thread;
    }
    LockSupport.unpark(t);
  }

  /**
   * Waits for the thread to end, and for a piece of any other thread that has dropped something and
   * frees it now, after {@link #cancel}. No page is freed from then on, and what a close writes
   * stays true. An interrupt does not end the wait.
   */
  void join() {
    Thread t;
    synchronized (this) {
      t = thread;
    }
    Waits.join(t);
    work.awaitRelease("close the database", Long.MAX_VALUE); // a close must not overtake a piece
  }
}
