package io.fovea.catalog;

import io.fovea.btree.BTree;
import io.fovea.btree.ChainWalk;
import io.fovea.btree.TreeCompaction;
import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.PoolSpace;
import io.fovea.error.InvalidUseException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.index.IndexCore;
import io.fovea.index.TableCore;
import io.fovea.memory.LongList;
import io.fovea.memory.OperationLock;
import io.fovea.store.Store;
import io.fovea.wal.LogSession;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Moves pages towards the front of the file, and truncates the free pages at its end.
 *
 * <pre>
 *   drops   pages of dropped tables are freed if no transaction uses them
 *   find    search for a node in a high page             under the schema lock
 *   raise   low free pages to the top of the free list
 *   piece   pages allocated ─► nodes moved there         under the schema lock, separate session
 *                             {@link TreeCompaction}
 *   pause   as the bandwidth limit requires
 *   roots   likewise for roots of trees                  {@link RootMoves}
 *   values  likewise for pages of long values             {@link LongValueMoves}
 *   end     free pages at the end truncated ─► checkpoint: the file is shorter
 *   punch   sorted runs of free pages ─► checkpoint ─► holes punched, in pieces
 * </pre>
 *
 * <p><b>Low</b> pages are those below what the high-water mark would be without free pages.
 *
 * <p><b>The schema lock</b> keeps the set of trees constant during a piece. Trees that no table or
 * complete index owns are skipped. Traversals of the free list may take long and run without that
 * lock, because a checkpoint also performs them; verification excludes them.
 *
 * <p>Thread-safe; one run at a time.
 */
public final class Compaction {
  /** The maximum number of pages that a piece moves. */
  private static final int PIECE_PAGES = 256;

  private static final int PIECE_NODES = 256;

  /** Spare pages take at most this fraction of the frames. */
  private static final int FRAMES_PART = 16;

  /**
   * How many consecutive searches for low free pages may fail because other threads took the pages.
   */
  private static final int RAISES = 16;

  private static final long PAUSE_NANOS = 20_000_000;

  /** The minimum number of pieces a second, at any bandwidth. */
  private static final int PIECES_A_SECOND = 10;

  /** How many high pages are examined between two progress reports. */
  private static final int PROGRESS_PAGES = 1 << 16;

  /** How many times truncation is attempted; each attempt stops at a busy page. */
  private static final int CUTS = 16;

  /** The size of the first punch, which shows whether the file system supports it. */
  private static final int FIRST_PUNCH_PAGES = 1024;

  /** How many checkpoints to make so that the redo point passes the gathered pages. */
  private static final int CHECKPOINTS = 4;

  private enum SearchStep {
    FOUND,
    /** None so far. */
    CONTINUE,
    /** The tree has no more high nodes, or is no longer live. */
    DONE
  }

  /**
   * Progress of a compaction, in pages.
   *
   * @param moved pages moved so far
   * @param before pages of the file at the beginning
   * @param now pages of the file now
   * @param needed pages that the file would have without free pages
   * @param punched free pages whose space was returned to the file system
   */
  public record State(long moved, long before, long now, long needed, long punched) {}

  private final Store store;
  private final Schema schema;
  private final SchemaChanges changes;
  private final DeferredDrops drops;
  private final RootMoves roots;
  private final LongValueMoves longs;
  private final OperationLock lock = new OperationLock("the lock of compactions");
  private @Nullable LogSession session;

  // State of the current run, guarded by lock.
  private long moved;
  private long punched;
  private long gathered;
  private long before;
  private long began;
  private int failedRaises;

  Compaction(Store store, Schema schema, SchemaChanges changes, DeferredDrops drops) {
    this.store = store;
    this.schema = schema;
    this.changes = changes;
    this.drops = drops;
    this.roots = new RootMoves(store, schema);
    this.longs = new LongValueMoves(store);
  }

  /** Returns the page size in bytes. */
  public int pageSize() {
    return store.pool().pageSize();
  }

  /**
   * Runs a compaction.
   *
   * @param bytesPerSecond the limit on bytes moved per second; 0 for none
   * @param punch whether to punch holes for the free pages that remain
   * @param progress receives the state after each piece and step; an exception ends the compaction
   */
  public State run(long bytesPerSecond, boolean moves, boolean punch, Consumer<State> progress) {
    String what = "compact " + store.name();
    store.requireNoTransaction(what);
    store.requireOpen();
    if (store.isReadOnly() || store.isSnapshot()) {
      throw new InvalidUseException(
          store.name() + " can't be compacted: it is a snapshot, or is open read-only.");
    }
    if (lock.isHeldByCurrentThread()) {
      throw new InvalidUseException("Can't " + what + " within a compaction.");
    }
    lock.lock(what, store::checkWaiting);
    try {
      check(what); // a close waits for runs that have taken the lock
      store.willWrite();
      moved = 0;
      punched = 0;
      gathered = 0;
      failedRaises = 0;
      before = store.pool().allocatorState().highWater();
      drops.finish(() -> check(what)); // otherwise their pages are neither freed nor moved
      began = System.nanoTime();
      if (moves) {
        move(what, bytesPerSecond, progress);
      }
      progress.accept(state());
      cut(what);
      progress.accept(state());
      if (punch) {
        punch(what, bytesPerSecond, progress);
      }
      State end = state();
      progress.accept(end);
      return end;
    } finally {
      try {
        space().endRaise();
      } finally {
        lock.unlock();
      }
    }
  }

  /**
   * Waits for the current run to end, once the store is closing. A run that does not end in time is
   * in user code and changes no further pages.
   */
  void end() {
    lock.awaitRelease("close the database", SchemaChanges.CLOSING_NANOS);
  }

  private void check(String what) {
    OperationInterruptedException.check(what);
    store.requireOpen();
    store.engine().checkUsable(false);
  }

  private boolean isStopping() {
    return Thread.currentThread().isInterrupted() || !store.isOpen();
  }

  private List<BTree> trees() {
    List<BTree> all = new ArrayList<>();
    for (TableCore table : schema.tables()) {
      all.addAll(trees(table));
    }
    all.add(store.catalog());
    return all;
  }

  /** Returns the trees of a table and its complete indexes. */
  static List<BTree> trees(TableCore table) {
    List<BTree> all = new ArrayList<>();
    all.add(table.tree);
    for (IndexCore index : table.indexes()) {
      if (index.stage.isComplete()) {
        all.add(index.tree);
      }
    }
    return all;
  }

  private State state() {
    AllocatorState s = store.pool().allocatorState();
    return new State(moved, before, s.highWater(), s.highWater() - s.freePages(), punched);
  }

  private long low() {
    AllocatorState s = store.pool().allocatorState();
    return s.highWater() - s.freePages();
  }

  private PoolSpace space() {
    return store.pool().checkpoint().space();
  }

  private LogSession session() {
    LogSession own = session;
    if (own == null) {
      own = store.newSession();
      session = own;
    }
    return own;
  }

  private void move(String what, long bytesPerSecond, Consumer<State> progress) {
    for (BTree tree : changes.locked(what, this::trees)) {
      if (!move(tree, what, bytesPerSecond, progress)) {
        break;
      }
    }
    moveRoots(what, bytesPerSecond, progress); // writes records of the catalog, long ones too
    moveLongValues(what, bytesPerSecond, progress);
  }

  /** Moves the high nodes of a tree; returns false if no free pages are left. */
  private boolean move(BTree tree, String what, long bytesPerSecond, Consumer<State> progress) {
    TreeCompaction nodes = new TreeCompaction(tree);
    int pages = pieceMax(bytesPerSecond);
    while (true) {
      check(what);
      SearchStep step = changes.locked(what, () -> searchStep(tree, nodes));
      if (step == SearchStep.DONE) {
        return true;
      }
      if (step == SearchStep.CONTINUE) {
        continue;
      }
      if (raise(pages, what, progress) > 0) {
        failedRaises = 0;
      } else if (++failedRaises >= RAISES) {
        check(what);
        return false;
      } else {
        continue;
      }
      long done = changes.locked(what, () -> isLive(tree) ? piece(nodes, pages) : 0L);
      moved(done, what, bytesPerSecond, progress);
    }
  }

  /** Counts and reports moved pages, and waits as the limit requires. */
  private void moved(long done, String what, long bytesPerSecond, Consumer<State> progress) {
    moved += done;
    space().moved(done);
    progress.accept(state());
    throttle(bytesPerSecond, what);
  }

  /** Raises low free pages to the top of the list; returns 0 if other threads took them. */
  private int raise(int pages, String what, Consumer<State> progress) {
    int raised;
    while ((raised = space().raise(session(), low(), pages, this::isStopping)) == PoolSpace.MORE) {
      progress.accept(state());
      check(what);
    }
    return raised;
  }

  /** Requires the schema lock. */
  private SearchStep searchStep(BTree tree, TreeCompaction nodes) {
    if (!isLive(tree)) {
      return SearchStep.DONE;
    }
    if (nodes.find(low(), PIECE_NODES)) {
      return SearchStep.FOUND;
    }
    return nodes.isDone() ? SearchStep.DONE : SearchStep.CONTINUE;
  }

  /**
   * Returns whether the tree belongs to a table or complete index. The answer cannot change under
   * the schema lock.
   */
  private boolean isLive(BTree tree) {
    return trees().contains(tree);
  }

  /** Returns the pages to move in a tenth of a second, limited in small pools. */
  private int pieceMax(long bytesPerSecond) {
    int max = Math.clamp(store.pool().capacity() / FRAMES_PART, 1, PIECE_PAGES);
    long pages = bytesPerSecond / PIECES_A_SECOND / store.pool().pageSize();
    return bytesPerSecond == 0 ? max : Math.clamp(pages, 1, max);
  }

  private void throttle(long bytesPerSecond, String what) {
    if (bytesPerSecond > 0) {
      long pages = moved + gathered;
      long due = began + (long) (1e9 * pages * store.pool().pageSize() / bytesPerSecond);
      for (long wait; (wait = due - System.nanoTime()) > 0; ) {
        check(what);
        LockSupport.parkNanos(this, Math.min(wait, PAUSE_NANOS));
      }
    }
  }

  /** Moves nodes under the schema lock; returns the number of pages moved. */
  private long piece(TreeCompaction nodes, int pages) {
    store.engine().checkUsable(false);
    LogSession log = session();
    LongList spare = new LongList();
    long low = low();
    log.begin(0);
    try {
      allocate(nodes, spare, pages, low, log);
      return nodes.step(spare, low, PIECE_NODES, log);
    } finally {
      try {
        nodes.freeSpare(spare, log);
      } finally {
        log.end();
      }
    }
  }

  /** Allocates until the list is full or concurrently freed high pages are returned. */
  static void allocate(TreeCompaction nodes, LongList spare, int pages, long low, LogSession log) {
    for (int n = 0; n < pages; n++) {
      long pid = nodes.spare(spare, log);
      if (pid >= low) {
        LongList one = new LongList();
        one.add(pid);
        spare.removeLast();
        nodes.freeSpare(one, log);
        return;
      }
    }
  }

  // ---------------------------------------------------------------------------------- long values

  /** Moves high pages of long values, in the trees in which a scan of all high pages found any. */
  private void moveLongValues(String what, long bytesPerSecond, Consumer<State> progress) {
    Map<Integer, Long> high = new HashMap<>();
    int[] examined = {0};
    space()
        .longValues(
            low(),
            tree -> high.merge(tree, 1L, Long::sum),
            () -> {
              if (++examined[0] % PROGRESS_PAGES == 0) {
                progress.accept(state()); // no lock is held here
              }
              return isStopping();
            });
    for (BTree tree : changes.locked(what, this::trees)) {
      long pages = high.getOrDefault(tree.treeId(), 0L);
      if (pages > 0 && !moveLongValues(tree, pages, what, bytesPerSecond, progress)) {
        return;
      }
    }
  }

  /** Moves long values of a tree; returns false if no free pages are left. */
  private boolean moveLongValues(
      BTree tree, long high, String what, long bytesPerSecond, Consumer<State> progress) {
    ChainWalk walk = new ChainWalk(tree);
    long left = high;
    int max = pieceMax(bytesPerSecond);
    try {
      while (left > 0) {
        check(what);
        boolean found =
            changes.locked(what, () -> isLive(tree) && walk.find(low(), LongValueMoves.PIECE));
        if (!found && (walk.isDone() || !changes.locked(what, () -> isLive(tree)))) {
          return true;
        }
        if (!found) {
          continue;
        }
        if (raise(max, what, progress) > 0) {
          failedRaises = 0;
        } else if (++failedRaises >= RAISES) {
          check(what);
          return false;
        }
        long done =
            changes.locked(
                what, () -> isLive(tree) ? longs.piece(tree, walk, low(), max, session()) : 0L);
        left -= done;
        moved(done, what, bytesPerSecond, progress);
      }
      return true;
    } finally {
      walk.end();
    }
  }

  // ---------------------------------------------------------------------------------------- roots

  private void moveRoots(String what, long bytesPerSecond, Consumer<State> progress) {
    int max = pieceMax(bytesPerSecond);
    for (int failures = 0; failures < RAISES; ) {
      check(what);
      int high = changes.locked(what, () -> roots.high(low(), max).size());
      if (high == 0) {
        return;
      }
      // A root that replaces itself by its only child needs no page, so a failed raise is ignored.
      raise(high, what, progress);
      long done = changes.locked(what, () -> roots.piece(low(), max, session()));
      failures = done > 0 ? 0 : failures + 1;
      moved(done, what, bytesPerSecond, progress);
    }
  }

  private void cut(String what) {
    for (int i = 0; i < CUTS; i++) {
      check(what);
      store.checkpoint(); // written pages are not busy
      if (space().cutAll(session(), this::isStopping) == 0) {
        break;
      }
    }
    check(what);
    store.checkpoint();
    store.shrinkUnlogged();
  }

  /** Punches holes for free pages, including those that an earlier compaction gathered. */
  private void punch(String what, long bytesPerSecond, Consumer<State> progress) {
    long second =
        bytesPerSecond == 0
            ? Long.MAX_VALUE
            : Math.max(1, bytesPerSecond / store.pool().pageSize());
    long most =
        2
            * store
                .pool()
                .allocatorState()
                .freePages(); // a limit, because others may keep freeing pages
    for (boolean first = true; first || gathered < most; first = false) {
      check(what);
      long max = first ? Math.min(FIRST_PUNCH_PAGES, second) : second;
      long more = space().gather(session(), max, this::isStopping);
      gathered += more;
      if (more > 0) {
        space().allowHoles();
      } else if (!store.pool().allocatorState().holes()) {
        break;
      }
      long tail = store.logTail();
      for (int i = 0; i < CHECKPOINTS && (i == 0 || store.redoLsn() < tail); i++) {
        check(what);
        store.checkpoint(); // after allowHoles, so that its superblock allows holes
      }
      long pages = space().punch(store.redoWithHoles(), this::isStopping);
      punched += pages;
      progress.accept(state());
      if (more < max || pages == 0) {
        break; // no pages left, holes unsupported, a backup in progress, or the pages were reused
      }
      throttle(bytesPerSecond, what);
    }
  }
}
