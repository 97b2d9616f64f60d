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
 * Trees whose pages are to be freed: those of dropped tables and indexes, and of failed index
 * builds.
 *
 * <pre>
 *   catalog:  "t" table  ─┐ one SCHEMA record
 *             "d" tree   ◄┘     ─► transactions that may use the tree end (grace period)
 *                                 ─► pages freed in pieces, with a session for each piece
 *                                   ─► "d" tree removed
 * </pre>
 *
 * <ol>
 *   <li>The catalog lists the trees until their last page is free, so neither the redo point nor a
 *       close has to wait, and the next opening continues.
 *   <li>No transaction waits. Transactions that were active when the catalog changed may still
 *       descend the tree, so its pages stay until those transactions have ended ({@link
 *       GracePeriod}).
 *   <li>The redo point is held back, and other threads may wait for a page, only during a piece.
 *       The background thread pauses after each piece for as long as the piece took.
 *   <li>The thread that dropped a small, unused tree frees it directly.
 * </ol>
 *
 * <p>Thread-safe; {@link #work} is held for each piece. Lock order: the schema lock, then {@code
 * work}.
 */
public final class DeferredDrops {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  /** The first byte of the trees' keys in the catalog. */
  static final char KEY = 'd';

  private static final int VERSION = 1;

  /** A record that names the part of the log that contains the allocations of the tree's pages. */
  private static final int BUILT = 2;

  static final int PIECE_PAGES = 64;

  /** The number of pieces that the dropping thread frees itself. */
  private static final int INLINE_PIECES = 4;

  private static final long PAUSE_MIN_NANOS = 1_000_000;
  private static final long PAUSE_MAX_NANOS = 50_000_000;
  private static final long FAILED_NANOS = 500_000_000;

  /** How many consecutive rounds of {@link #finish} may free nothing. */
  private static final int IDLE_ROUNDS_MAX = 100;

  private enum Piece {
    DONE,
    MORE,
    /** Transactions must end first, the lock is held, or a failure may be temporary. */
    LATER
  }

  private static final class Drop {
    final int treeId;
    final long rootPid;

    /** Null for a tree left by an earlier opening, whose root may already be free. */
    final @Nullable BTree tree;

    /** Runs after a grace period; then another grace period begins. */
    @Nullable Runnable then;

    /** The grace period to wait for; null once it is over. */
    @Nullable GracePeriod gracePeriod;

    @Nullable TreeDrop pages;
    boolean pagesFree;
    boolean failureLogged;

    /** Whether a transaction created the tree and may still commit it as part of a table. */
    volatile boolean held;

    /** Holds back the redo point for a tree that the catalog does not list; otherwise null. */
    @Nullable RedoHold unknown;

    Drop(BTree tree) {
      this.treeId = tree.treeId();
      this.rootPid = tree.rootPid();
      this.tree = tree;
    }

    /** Creates the drop of a tree that an earlier opening did not free completely. */
    Drop(int treeId, long rootPid) {
      this.treeId = treeId;
      this.rootPid = rootPid;
      this.tree = null;
    }
  }

  private static final class RedoHold {
    private final LogSession session;
    private final AtomicInteger trees;

    RedoHold(LogSession session, int trees) {
      this.session = session;
      this.trees = new AtomicInteger(trees);
    }

    void freed() {
      if (trees.decrementAndGet() == 0) {
        session.attachToThread();
        session.end();
      }
    }
  }

  /** Removes a tree from the catalog; requires the schema lock. */
  private final Consumer<byte[]> deleteRecord;

  private final Store store;
  private final OrphanPages orphanPages;
  private final OperationLock work = new OperationLock("the lock of drops");
  private final List<Drop> drops = new CopyOnWriteArrayList<>();
  private @Nullable LogSession session;

  /** Guarded by this object's monitor. */
  private @Nullable Thread thread;

  private volatile boolean stopped;

  DeferredDrops(Store store, OrphanPages orphanPages, Consumer<byte[]> deleteRecord) {
    this.store = store;
    this.orphanPages = orphanPages;
    this.deleteRecord = deleteRecord;
  }

  // -------------------------------------------------------------------------------- the catalog

  static byte[] key(int treeId) {
    return ByteBuffer.allocate(5).put((byte) KEY).putInt(treeId).array();
  }

  static byte[] value(BTree tree) {
    return ByteBuffer.allocate(9).put((byte) VERSION).putLong(tree.rootPid()).array();
  }

  /**
   * Returns the record of a bulk-built tree, whose pages are durable and have no images in the log.
   *
   * @param from the LSN after which its pages are allocated
   * @param to the LSN before which its pages are allocated
   */
  static byte[] value(BTree tree, long from, long to) {
    return ByteBuffer.allocate(25)
        .put((byte) BUILT)
        .putLong(tree.rootPid())
        .putLong(from)
        .putLong(to)
        .array();
  }

  /** Receives the deferred trees. */
  public interface Visitor {
    /** Called as {@link Recovery.TreeVisitor#deferred}. */
    void tree(int treeId, long rootPid, long from, long to);
  }

  /** Visits the deferred trees in the catalog. */
  public static void forEach(BTree catalog, Visitor visitor) {
    TreeWalk.forEach(
        catalog,
        (k, kOff, kLen, v, vOff, vLen) -> {
          if (kLen == 5 && Mem.getByte(k, kOff) == KEY) {
            int id = ByteBuffer.wrap(Mem.bytes(k, kOff + 1, 4)).getInt();
            ByteBuffer value = ByteBuffer.wrap(Mem.bytes(v, vOff, vLen));
            int version = vLen == 0 ? 0 : value.get();
            if (vLen != (version == VERSION ? 9 : version == BUILT ? 25 : -1)) {
              throw new CorruptionException(
                  "the catalog entry of a dropped tree, " + id, -1, -1, VERSION, vLen);
            }
            long root = value.getLong();
            boolean built = version == BUILT;
            visitor.tree(id, root, built ? value.getLong() : 0, built ? value.getLong() : 0);
          }
        });
  }

  // ---------------------------------------------------------------------------------------- trees

  /**
   * Returns the trees dropped during this opening that are not completely free. Safe for use by any
   * thread.
   */
  List<BTree> trees() {
    List<BTree> trees = new ArrayList<>();
    for (Drop drop : drops) {
      if (drop.tree != null) {
        trees.add(drop.tree);
      }
    }
    return trees;
  }

  /**
   * Visits all trees that are not completely free, including those being created. Safe for use by
   * any thread.
   */
  public void forEach(Visitor visitor) {
    drops.forEach(d -> visitor.tree(d.treeId, d.rootPid, 0, 0));
  }

  /**
   * Adds a deferred tree that only active transactions use.
   *
   * @param then runs when those transactions have ended; until then others may use the tree; null
   *     for none
   */
  void add(BTree tree, @Nullable Runnable then) {
    Drop drop = new Drop(tree);
    drop.gracePeriod = store.engine().gracePeriod();
    drop.then = then;
    drops.add(drop);
  }

  /**
   * Adds trees of a table or index whose creation failed. The catalog does not list them, so only a
   * recovery that starts before their creation finds their pages. The redo point is therefore held
   * back until the pages are free. A close before that leaves the file to recovery.
   *
   * @param hold a session that has held back the redo point since before the trees were created;
   *     this object takes ownership of it
   */
  void addUnknown(List<BTree> trees, LogSession hold) {
    RedoHold unknown = new RedoHold(hold, trees.size());
    for (BTree tree : trees) {
      Drop drop = new Drop(tree);
      drop.unknown = unknown;
      drops.add(drop);
    }
  }

  /** Adds a deferred tree that a transaction creates. */
  void hold(BTree tree) {
    Drop drop = new Drop(tree);
    drop.held = true;
    drops.add(drop);
  }

  /** Releases a tree that its transaction did not commit as part of a table. Does not wait. */
  void releaseUncommitted(BTree tree) {
    for (Drop drop : drops) {
      if (drop.tree == tree) {
        drop.held = false;
      }
    }
  }

  /** Removes a tree that a commit has made part of a table. */
  void keep(BTree tree) {
    drops.removeIf(d -> d.tree == tree);
  }

  private boolean isIdle() {
    for (Drop drop : drops) {
      if (!drop.held) {
        return false;
      }
    }
    return true;
  }

  /** Adds a tree that was deferred when the database was opened. */
  void addUnfinished(int treeId, long rootPid) {
    drops.add(new Drop(treeId, rootPid));
  }

  /**
   * Frees small, unused trees and leaves the rest to the background thread. An interrupt ends the
   * call early. The caller must not hold the schema lock.
   */
  void run() {
    if (isIdle() || stopped) {
      return;
    }
    try {
      int pieces = INLINE_PIECES;
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
   * Frees, on this thread, all dropped trees that are unused. The caller must not hold the schema
   * lock.
   *
   * @param check runs before each piece; an exception ends the call
   */
  void finish(Runnable check) {
    List<Drop> due = new ArrayList<>(drops);
    for (int idleRounds = 0; idleRounds < IDLE_ROUNDS_MAX && !stopped; idleRounds++) {
      due.removeIf(d -> d.held || !drops.contains(d));
      if (due.isEmpty()) {
        return;
      }
      if (idleRounds > 0) {
        Waits.sleep(PAUSE_MIN_NANOS);
      }
      for (Drop drop : due) {
        check.run();
        if (piece(drop) != Piece.LATER) {
          idleRounds = 0;
        }
      }
    }
  }

  // --------------------------------------------------------------------------------------- pieces

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
      return Piece.LATER; // its holder may be waiting for a page: do not wait too
    }
    try {
      if (stopped) {
        return Piece.LATER; // under the lock, which join awaits
      }
      // A failed catalog change may still be in the log; the tree added here then belongs to a
      // table or index. Such a failure stops the engine first.
      store.engine().checkUsable(false);
      if (!isUnused(drop)) {
        return Piece.LATER;
      }
      if (!drop.pagesFree) {
        drop.pagesFree = tryFree(drop);
      }
      BTree tree = drop.tree;
      if (tree != null) {
        orphanPages.freeDeferred(tree);
      }
      if (!drop.pagesFree) {
        return Piece.MORE;
      }
      if (tree != null && tree.hasUnfreedPages()) {
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
      deleteRecord.accept(key(drop.treeId));
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
        // Cleared only after both succeed: if it were cleared first and the action failed, the
        // pages would be freed without the second grace period. The action may run twice, which is
        // safe: it removes an element from a list.
        then.run();
        gracePeriod = store.engine().gracePeriod();
      }
      drop.gracePeriod = gracePeriod;
      drop.then = null;
    }
    return gracePeriod == null;
  }

  private boolean tryFree(Drop drop) {
    LogSession own = session();
    TreeDrop pages = drop.pages;
    if (pages == null) {
      pages =
          drop.tree == null || drop.unknown != null // some pages may be free already
              ? TreeDrop.ofUnfinished(store.pool(), drop.treeId, drop.rootPid, own)
              : TreeDrop.of(drop.tree, own);
      drop.pages = pages;
    }
    own.begin(drop.unknown == null ? AllocatorRecord.FREE_SPACE : 0);
    try {
      if (drop.unknown != null) {
        own.beginUndo(); // it holds back the redo point, so there might never be enough log space
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
    if (!drop.failureLogged) {
      drop.failureLogged = true;
      Threads.logSafely(
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
        // The drop itself is complete. The next change or the next opening starts a thread.
        Threads.logSafely(
            LOG,
            Level.WARNING,
            "Could not start the thread that frees pages of dropped trees of ",
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
        Threads.beginIteration();
        pause = freeRound(pause);
      } catch (DurabilityLostException | DatabaseClosedException e) {
        return; // the next opening continues
      } catch (Throwable t) {
        // Keep the thread: while the field names it, no other is started.
        pause = FAILED_NANOS;
      }
      if (pause > 0 && !stopped) {
        LockSupport.parkNanos(this, pause);
      }
    }
  }

  /** Frees a piece of each tree; returns how long to wait, or 0 to end the thread. */
  private long freeRound(long pause) {
    if (stopped || store.engine().poison() != null || endIfIdle()) {
      return 0;
    }
    long began = System.nanoTime();
    boolean freed = false;
    boolean failed = false;
    for (Drop drop : drops) {
      if (!stopped) {
        freed |= pieceOrLater(drop) != Piece.LATER;
        failed |= drop.failureLogged;
      }
    }
    return freed
        ? Math.clamp(System.nanoTime() - began, PAUSE_MIN_NANOS, PAUSE_MAX_NANOS)
        : Math.min(2 * pause, failed ? FAILED_NANOS : PAUSE_MAX_NANOS);
  }

  /** Frees a piece; an unexpected failure does not delay other trees. */
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

  private synchronized boolean endIfIdle() {
    if (!isIdle()) {
      return false;
    }
    thread = null;
    return true;
  }

  /** Prevents further pieces. */
  void cancel() {
    Thread t;
    synchronized (this) {
      stopped = true;
      t = thread;
    }
    LockSupport.unpark(t);
  }

  /**
   * After {@link #cancel}, waits for the thread, and for pieces on other threads, to end. No page
   * is freed afterwards, so what a close writes stays valid. An interrupt does not end the wait.
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
