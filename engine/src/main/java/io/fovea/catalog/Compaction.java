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
 * Moves pages towards the front of the file, and cuts off the end that gets free by that.
 *
 * <pre>
 *   drops   pages of dropped tables become free, as far as nobody uses them
 *   look    is there a node in a high page?              under the lock of the schema
 *   raise   low free pages to the top of the free list
 *   piece   some allocated ─► nodes moved there          under the lock of the schema, a session
 *                             {@link TreeCompaction}     of its own
 *   pause   as long as the bandwidth asks for
 *   roots   the same with roots of trees                 {@link RootMoves}
 *   values  the same with pages of long values           {@link LongValueMoves}
 *   end     free pages at the end cut off ─► checkpoint: the file is shorter
 *   punch   runs of free pages in order ─► checkpoint ─► their space given back, some at a time
 * </pre>
 *
 * <p><b>Low</b> is below what the high-water mark would be if there were no free pages. There are
 * as many free pages below it as used ones above.
 *
 * <p><b>The lock of the schema</b> keeps the trees of tables and indexes what they are during a
 * piece: none is dropped, nor exchanged by a load. A tree that is not a table's any more is left.
 * So is one whose index is being built. Walks along the free list, which may take long, are without
 * that lock: a checkpoint makes them as well. A verification holds them off.
 *
 * <p><b>A close</b> waits for the end of a run ({@link #end}), which sees that the store takes no
 * more before each thing that it does to pages, and in the middle of walks.
 *
 * <p>Any thread, one at a time.
 */
public final class Compaction {
  /** How many pages a piece moves at most, and how many inner nodes it looks at. */
  private static final int PIECE_PAGES = 256;

  private static final int PIECE_NODES = 256;

  /** Which part of the frames spare pages take at most. */
  private static final int FRAMES_PART = 16;

  /** How often in a row it looks for low free pages while others are faster. */
  private static final int RAISES = 16;

  private static final long PAUSE_NANOS = 20_000_000;

  /** How many pieces a second there are at least, at any bandwidth. */
  private static final int PIECES_A_SECOND = 10;

  /** At how many high pages it looks for long values between telling how far it is. */
  private static final int LOOKED_PAGES = 1 << 16;

  /** How often the end is cut off in a row: each cut ends at pages that are busy. */
  private static final int CUTS = 16;

  /** How many pages are punched first: then it is known whether the file system can. */
  private static final int FIRST_PUNCH_PAGES = 1024;

  /** How often in a row it asks for a checkpoint that is behind what was gathered. */
  private static final int CHECKPOINTS = 4;

  /** What a look for the next node that is to move has come to. */
  private enum Look {
    /** There is one. */
    FOUND,
    /** None so far. */
    NOTHING_YET,
    /** The tree has no more, or is nobody's any more. */
    DONE
  }

  /**
   * How far it is.
   *
   * @param moved how many pages were moved
   * @param before how many pages the file had
   * @param now how many it has
   * @param needed how many it would have without any free page
   * @param punched of how many free ones among them the space was given back
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

  // Of the run; under the lock.
  private long moved;
  private long punched;
  private long gathered;
  private long before;
  private long began;
  private int failedRaises;

  /** Of a database. */
  Compaction(Store store, Schema schema, SchemaChanges changes, DeferredDrops drops) {
    this.store = store;
    this.schema = schema;
    this.changes = changes;
    this.drops = drops;
    this.roots = new RootMoves(store, schema);
    this.longs = new LongValueMoves(store);
  }

  /** Bytes of a page. */
  public int pageSize() {
    return store.pool().pageSize();
  }

  /**
   * Runs one.
   *
   * @param bytesPerSecond of pages that are moved, at most; 0 for as fast as it can
   * @param moves whether pages are moved
   * @param punch whether the space of free pages that stay is given back
   * @param progress is told after each piece and each step, and at the end; what it throws ends the
   *     compaction
   * @return what has become of it
   */
  public State run(long bytesPerSecond, boolean moves, boolean punch, Consumer<State> progress) {
    String what = "compact " + store.name();
    store.requireNoTransaction(what);
    store.requireOpen();
    if (store.isReadOnly() || store.isSnapshot()) {
      throw new InvalidUseException(
          store.name() + " can't be compacted: that takes a database that is open for writing.");
    }
    if (lock.isMine()) {
      throw new InvalidUseException("Can't " + what + " within a compaction.");
    }
    lock.lock(what, store::checkWaiting);
    try {
      check(what); // a close waits for those that have come so far
      store.willWrite();
      moved = 0;
      punched = 0;
      gathered = 0;
      failedRaises = 0;
      before = store.pool().allocatorState().highWater();
      drops.finish(() -> check(what)); // their pages would not be free, nor moved
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
   * Waits for the end of what goes on. The store takes no more. One that does not end in time is in
   * code of its user, and does nothing to pages any more.
   */
  void end() {
    lock.awaitRelease("close the database", SchemaChanges.CLOSING_NANOS);
  }

  private void check(String what) {
    OperationInterruptedException.check(what);
    store.requireOpen();
    store.engine().checkUsable(false);
  }

  private boolean stops() {
    return Thread.currentThread().isInterrupted() || !store.isOpen();
  }

  /** The trees of tables, of indexes that nobody builds, and the catalog. */
  private List<BTree> trees() {
    List<BTree> all = new ArrayList<>();
    for (TableCore table : schema.tables()) {
      all.addAll(trees(table));
    }
    all.add(store.catalog());
    return all;
  }

  /** Those of a table and of its indexes that nobody builds. */
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

  /** Moves what is to be moved of a tree; false if there are no free pages to move it to. */
  private boolean move(BTree tree, String what, long bytesPerSecond, Consumer<State> progress) {
    TreeCompaction nodes = new TreeCompaction(tree);
    int pages = pieceMax(bytesPerSecond);
    while (true) {
      check(what);
      Look look = changes.locked(what, () -> look(tree, nodes));
      if (look == Look.DONE) {
        return true;
      }
      if (look == Look.NOTHING_YET) {
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
      moved += done;
      space().moved(done);
      progress.accept(state());
      pace(bytesPerSecond, what);
    }
  }

  /** Low free pages to the top of the list; 0 if there are none, or others were faster. */
  private int raise(int pages, String what, Consumer<State> progress) {
    int raised;
    while ((raised = space().raise(session(), low(), pages, this::stops)) == PoolSpace.GOES_ON) {
      progress.accept(state());
      check(what);
    }
    return raised;
  }

  /** Under the lock of the schema. */
  private Look look(BTree tree, TreeCompaction nodes) {
    if (!isLive(tree)) {
      return Look.DONE;
    }
    if (nodes.find(low(), PIECE_NODES)) {
      return Look.FOUND;
    }
    return nodes.isDone() ? Look.DONE : Look.NOTHING_YET;
  }

  /** Whether it is one that nobody drops as long as the schema does not change. */
  private boolean isLive(BTree tree) {
    return trees().contains(tree);
  }

  /** What may be moved in a tenth of a second; a small pool has other uses for its frames. */
  private int pieceMax(long bytesPerSecond) {
    int most = Math.clamp(store.pool().capacity() / FRAMES_PART, 1, PIECE_PAGES);
    long pages = bytesPerSecond / PIECES_A_SECOND / store.pool().pageSize();
    return bytesPerSecond == 0 ? most : Math.clamp(pages, 1, most);
  }

  private void pace(long bytesPerSecond, String what) {
    if (bytesPerSecond > 0) {
      long pages = moved + gathered;
      long due = began + (long) (1e9 * pages * store.pool().pageSize() / bytesPerSecond);
      for (long wait; (wait = due - System.nanoTime()) > 0; ) {
        check(what);
        LockSupport.parkNanos(this, Math.min(wait, PAUSE_NANOS));
      }
    }
  }

  /** Under the lock of the schema; returns how many pages were moved. */
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
        nodes.giveBack(spare, log);
      } finally {
        log.end();
      }
    }
  }

  /** Others may give high pages back meanwhile, which are given out first then: the end of it. */
  static void allocate(TreeCompaction nodes, LongList spare, int pages, long low, LogSession log) {
    for (int n = 0; n < pages; n++) {
      long pid = nodes.spare(spare, log);
      if (pid >= low) {
        LongList one = new LongList();
        one.add(pid);
        spare.removeLast();
        nodes.giveBack(one, log);
        return;
      }
    }
  }

  // ---------------------------------------------------------------------------------- long values

  /**
   * Moves the pages of long values that are in high pages. A look at all high pages comes first: it
   * says which trees have any, and of the others no value is followed.
   */
  private void moveLongValues(String what, long bytesPerSecond, Consumer<State> progress) {
    Map<Integer, Long> high = new HashMap<>();
    int[] looked = {0};
    space()
        .longValues(
            low(),
            tree -> high.merge(tree, 1L, Long::sum),
            () -> {
              if (++looked[0] % LOOKED_PAGES == 0) {
                progress.accept(state()); // no lock is held here
              }
              return stops();
            });
    for (BTree tree : changes.locked(what, this::trees)) {
      long pages = high.getOrDefault(tree.treeId(), 0L);
      if (pages > 0 && !moveLongValues(tree, pages, what, bytesPerSecond, progress)) {
        return;
      }
    }
  }

  /** False if there are no free pages to move them to. */
  private boolean moveLongValues(
      BTree tree, long high, String what, long bytesPerSecond, Consumer<State> progress) {
    ChainWalk walk = new ChainWalk(tree);
    long left = high;
    int most = pieceMax(bytesPerSecond);
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
        if (raise(most, what, progress) > 0) {
          failedRaises = 0;
        } else if (++failedRaises >= RAISES) {
          check(what);
          return false;
        }
        long done =
            changes.locked(
                what, () -> isLive(tree) ? longs.piece(tree, walk, low(), most, session()) : 0L);
        left -= done;
        moved += done;
        space().moved(done);
        progress.accept(state());
        pace(bytesPerSecond, what);
      }
      return true;
    } finally {
      walk.end();
    }
  }

  // ---------------------------------------------------------------------------------------- roots

  /** Moves the roots that are in high pages. */
  private void moveRoots(String what, long bytesPerSecond, Consumer<State> progress) {
    int most = pieceMax(bytesPerSecond);
    for (int failures = 0; failures < RAISES; ) {
      check(what);
      int high = changes.locked(what, () -> roots.high(low(), most).size());
      if (high == 0) {
        return;
      }
      // An only child that became one earlier needs no page, so it goes on without.
      raise(high, what, progress);
      long done = changes.locked(what, () -> roots.piece(low(), most, session()));
      failures = done > 0 ? 0 : failures + 1;
      moved += done;
      space().moved(done);
      progress.accept(state());
      pace(bytesPerSecond, what);
    }
  }

  /** Takes what is free at the end off the file. */
  private void cut(String what) {
    for (int i = 0; i < CUTS; i++) {
      check(what);
      store.checkpoint(); // pages that are written are not busy
      if (space().cutAll(session(), this::stops) == 0) {
        break;
      }
    }
    check(what);
    store.checkpoint();
    store.shrinkUnlogged();
  }

  /**
   * Gives the space of runs of free pages back that are left. What was gathered earlier, by a
   * compaction that ended before it came to this, is punched as well.
   */
  private void punch(String what, long bytesPerSecond, Consumer<State> progress) {
    long second =
        bytesPerSecond == 0
            ? Long.MAX_VALUE
            : Math.max(1, bytesPerSecond / store.pool().pageSize());
    long most = 2 * store.pool().allocatorState().freePages(); // others may free pages all the time
    for (boolean first = true; first || gathered < most; first = false) {
      check(what);
      long max = first ? Math.min(FIRST_PUNCH_PAGES, second) : second;
      long more = space().gather(session(), max, this::stops);
      gathered += more;
      if (more > 0) {
        space().allowHoles();
      } else if (!store.pool().allocatorState().holes()) {
        break;
      }
      long tail = store.logTail();
      for (int i = 0; i < CHECKPOINTS && (i == 0 || store.redoLsn() < tail); i++) {
        check(what);
        store.checkpoint(); // behind allowHoles, so its superblock says that there may be holes
      }
      long pages = space().punch(store.redoWithHoles(), this::stops);
      punched += pages;
      progress.accept(state());
      if (more < max || pages == 0) {
        break; // no more; or the file system can't, a backup runs, or others have used them
      }
      pace(bytesPerSecond, what);
    }
  }
}
