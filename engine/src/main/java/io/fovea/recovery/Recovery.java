package io.fovea.recovery;

import io.fovea.btree.BTree;
import io.fovea.btree.TreeDrop;
import io.fovea.buffer.AllocatorRecord;
import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.BufferPool;
import io.fovea.error.CorruptionException;
import io.fovea.io.BlockDevice;
import io.fovea.memory.LongList;
import io.fovea.memory.Mem;
import io.fovea.wal.Log;
import io.fovea.wal.LogReader;
import io.fovea.wal.LogSession;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

/**
 * Recovers a file that was not closed, from its log.
 *
 * <pre>
 *   double-write area ─► torn pages restored                       before anything reads the file
 *   {@link #analyze}    log from redo to its end: {@link Analysis}         structure and ownership
 *        superblock: incarnation + 1, durable ─► log open for appending at its end
 *   {@link #replay}     the catalog's records, then all others: {@link Replay}
 *   {@link #finish}     unknown trees dropped, unused pages freed
 *        checkpoints may run
 * </pre>
 *
 * <p><b>A crash during recovery leads to another recovery.</b> The redo point moves only at the
 * end, so the next one reads the same log, followed by the records of this one: images of splits
 * caused by the replay, which are applied by page LSN like any other, and frees of pages. All
 * record changes are repeated after all images, in log order, so it does not matter which of them
 * an image or a written page already contained.
 *
 * <p><b>The log must be durable</b> before a page is written because of it: a killed process may
 * have left its end only in the system's cache. So the caller syncs the log's file before a
 * recovery.
 *
 * <p><b>Dropped trees.</b> Records of trees that belong to no table or index at the end are not
 * replayed: their pages may be free or belong to others by now. Pages of trees that the catalog
 * lists as deferred are freed once the database is open. But pages of long values that only such
 * records name are searched for here one by one, since that log may be recycled later. A tree that
 * no catalog knows is dropped here as a whole.
 *
 * <p>One thread, except for the workers of the replay.
 */
public final class Recovery {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  /** Lists the trees of a catalog. */
  public interface Catalog {
    /**
     * Visits all trees.
     *
     * @param catalog the catalog's tree
     * @param visitor receives each tree
     */
    void trees(BTree catalog, TreeVisitor visitor);

    /**
     * Stores counts in the catalog of a file that is closed right after recovery.
     *
     * @param catalog the catalog's tree
     * @param session a session of the log
     * @param number the number of the catalog's counts, if they are valid
     * @param counts the counts of trees
     * @return the number of the counts it has now; 0 for none
     */
    default long save(BTree catalog, LogSession session, long number, RecoveredRowCounts counts) {
      return 0;
    }
  }

  /** Receives the trees of a catalog. */
  public interface TreeVisitor {
    /**
     * Receives one tree.
     *
     * @param treeId its id
     * @param rootPid its root
     */
    void tree(int treeId, long rootPid);

    /**
     * Receives a tree whose pages are to be freed later. If it was bulk-loaded, its pages were
     * durable before the catalog contained it, and have no images in the log.
     *
     * @param treeId its id
     * @param rootPid its root
     * @param from the LSN after which the log allocated the pages of a bulk-loaded tree
     * @param to the LSN before which it did; the tree was not used before the redo point passed
     *     this LSN. 0 for any other tree
     */
    default void deferred(int treeId, long rootPid, long from, long to) {}

    /**
     * Called before the counts of trees.
     *
     * @param number identifies the close that wrote the counts; 0 if there are none
     */
    default void counted(long number) {}

    /**
     * Receives the counts of a tree when the file was closed.
     *
     * @param treeId its id
     * @param records the number of records
     * @param bytes the bytes of their keys and values
     */
    default void counted(int treeId, long records, long bytes) {}
  }

  private final String name;
  private final boolean foreign;
  private final Superblock superblock;
  private final BufferPool pool;
  private final BlockDevice data;
  private final BlockDevice log;
  private final long began = System.nanoTime();
  private final Analysis analysis;
  private final LogReader first;

  /** Trees whose pages are freed later. */
  private final Set<Integer> deferred = new HashSet<>();

  /**
   * Deferred bulk-loaded trees of which the redo point has passed some pages. All of their pages
   * are in the file, and the drop frees them: if recovery freed the pages that the log names, the
   * others could not be found.
   *
   * <p>If the redo point has passed none, the log names all of them, and recovery frees them: a
   * backup that began before they were durable may contain none. If it has passed all, the tree may
   * have been used, and a page that the log allocated since is freed like that of any tree.
   */
  private final Set<Integer> whole = new HashSet<>();

  private long end;
  private long incarnation;
  private long analysisNanos;
  private long replayNanos;
  private long operations;
  private long named;
  private long steps;
  private long readAhead;
  private long treesDropped;
  private long pagesReclaimed;

  /**
   * Begins a recovery.
   *
   * @param name the database's name, for messages
   * @param foreign whether this is an in-memory copy of a file that another process may have open:
   *     that file is not recovered, so no recovery is logged
   * @param superblock the superblock of the file
   * @param pool its pages, not used by any other thread
   * @param data the file
   * @param log its log, synced since the last write by any other user
   * @param gate stands in for the log until the log is open
   */
  public Recovery(
      String name,
      boolean foreign,
      Superblock superblock,
      BufferPool pool,
      BlockDevice data,
      BlockDevice log,
      LogGate gate) {
    this.name = name;
    this.foreign = foreign;
    this.superblock = superblock;
    this.pool = pool;
    this.data = data;
    this.log = log;
    pool.recovery().unreadFrom(superblock.allocator().highWater());
    pool.recovery().writeAgain(superblock.redoLsn());
    UUID id = superblock.id();
    this.first = LogReader.open(log, id, superblock.redoLsn(), superblock.durable());
    this.analysis = new Analysis(pool, superblock, first, gate);
  }

  // ----------------------------------------------------------------------------------- analysis

  /**
   * Runs the first pass: structure, ownership, the end of the log.
   *
   * @throws CorruptionException if the log or a page is damaged, or they do not belong together
   */
  public void analyze() {
    LOG.log(
        level(),
        foreign
            ? "Reading {0}, which may be open elsewhere: log from LSN {1}"
            : "Recovering {0}, which was not closed: log from LSN {1}",
        name,
        Long.toString(superblock.redoLsn()));
    long start = System.nanoTime();
    long redo = superblock.redoLsn();
    try (LogReader reader = first;
        ImageAhead ahead =
            new ImageAhead(
                pool,
                LogReader.open(log, superblock.id(), redo),
                superblock.allocator().highWater())) {
      analysis.run(new Progress(subject(), "pages", redo, 0), ahead);
      end = reader.end();
      incarnation = Math.max(superblock.incarnation(), reader.incarnation()) + 1;
    }
    if (end < Math.max(superblock.redoLsn(), superblock.snapshotLsn())) {
      throw new CorruptionException(
          "the log ends before the last checkpoint: LSN",
          -1,
          -1,
          Math.max(superblock.redoLsn(), superblock.snapshotLsn()),
          end);
    }
    pool.recovery().requireUpTo(end);
    pool.recovery().recover(analysis.allocator, analysis.truncated);
    Log.writeAgain(log, superblock.id(), superblock.durable().lsn());
    analysisNanos = System.nanoTime() - start;
  }

  private Level level() {
    return foreign ? Level.DEBUG : Level.INFO;
  }

  /** Returns the operation and the database, for messages. */
  private String subject() {
    return (foreign ? "Reading " : "Recovering ") + name;
  }

  /** Returns the end of the log, where it continues. */
  public long end() {
    return end;
  }

  /** Returns the incarnation for new records. */
  public long incarnation() {
    return incarnation;
  }

  /** Returns the first id that no tree ever had. */
  public int nextTreeId() {
    return analysis.nextTreeId;
  }

  // ------------------------------------------------------------------------------------- replay

  /**
   * Runs the second pass: record changes.
   *
   * @param open the log, open for appending at {@link #end}
   * @param catalog lists the trees
   * @param workers the number of threads
   * @return the catalog's tree
   */
  public BTree replay(Log open, Catalog catalog, int workers) {
    final long start = System.nanoTime();
    if (analysis.deferredFrom() < end) {
      try (LogReader reader = LogReader.open(log, superblock.id(), analysis.deferredFrom())) {
        analysis.applyDeferred(reader, end);
      }
    }
    BTree root = catalogTree(open);
    long pidLimit = pool.pidLimit();
    if (analysis.schemaFrom != 0) {
      TreeTable one = new TreeTable();
      one.add(root);
      try (LogReader reader = LogReader.open(log, superblock.id(), analysis.schemaFrom)) {
        Replay replay =
            new Replay(
                pool, one, analysis.complete, analysis.orphans, analysis.counts, open, 1, pidLimit);
        replay.catalog(reader, analysis.schemaTo);
      }
    }
    TreeTable all = new TreeTable();
    catalog.trees(
        root,
        new TreeVisitor() {
          @Override
          public void tree(int id, long pid) {
            all.add(BTree.open(pool, id, pid));
          }

          @Override
          public void deferred(int id, long pid, long from, long to) {
            deferred.add(id);
            if (from < superblock.redoLsn() && superblock.redoLsn() < to) {
              whole.add(id);
            }
          }

          @Override
          public void counted(long number) {
            analysis.counts.stored(number);
          }

          @Override
          public void counted(int id, long records, long bytes) {
            analysis.counts.stored(id, records, bytes);
          }
        });
    long from = superblock.redoLsn();
    if (from < end) {
      try (LogReader reader = LogReader.open(log, superblock.id(), from)) {
        Replay replay =
            new Replay(
                pool,
                all,
                analysis.complete,
                analysis.orphans,
                analysis.counts,
                open,
                workers,
                pidLimit);
        replay.commits(reader, end, new Progress(subject(), "records", from, end));
        operations = replay.operations();
        named = replay.named();
        steps = replay.steps();
        readAhead = replay.readAhead();
      }
    }
    replayNanos = System.nanoTime() - start;
    return root;
  }

  /** Returns the record counts of trees, according to the log and the catalog. */
  public RecoveredRowCounts counts() {
    return analysis.counts.result();
  }

  /** Opens the catalog's tree, or creates it if a crash came before it was in a new file's log. */
  private BTree catalogTree(Log open) {
    long root = superblock.catalogRootPid();
    if (!analysis.catalogMade
        && analysis.allocator.equals(AllocatorState.EMPTY)
        && neverWritten(root)) {
      LogSession session = open.session();
      session.begin(BTree.rootSpace(pool));
      try {
        return BTree.createAt(pool, Superblock.CATALOG_TREE_ID, root, session);
      } finally {
        session.end();
      }
    }
    return BTree.open(pool, Superblock.CATALOG_TREE_ID, root);
  }

  private boolean neverWritten(long pid) {
    int size = superblock.pageSize();
    if (pid * size + size > data.size()) {
      return true;
    }
    try (Arena arena = Arena.ofShared()) {
      MemorySegment page = arena.allocate(size, 4096);
      data.read(pid * size, page, 0, size);
      return Mem.isZero(page, 0, size);
    }
  }

  // ------------------------------------------------------------------------------------- finish

  /**
   * Drops the trees that no catalog knows and frees unused pages.
   *
   * @param open the log, open for appending
   */
  public void finish(Log open) {
    LogSession session = open.session();
    // Pages first: a leaf of a dropped tree may name a long value that is among them.
    analysis.orphans.forEach(
        (pid, unused) -> {
          if (whole.contains(analysis.allocated.get(pid))) {
            return;
          }
          session.begin(AllocatorRecord.FREE_SPACE);
          try {
            pool.recovery().reclaim(pid, session);
            pagesReclaimed++;
          } finally {
            session.end();
          }
        });
    freeUnreferenced(session);
    analysis.dropped.keySet().removeAll(deferred);
    drop(session, analysis.unpublished);
    drop(session, analysis.dropped);
    pool.recovery().writeAgain(0);
  }

  /** Frees long values that leaves of deferred trees may not reference. */
  private void freeUnreferenced(LogSession session) {
    if (deferred.isEmpty()) {
      return;
    }
    analysis.allocated.forEach(
        (pid, tree) -> {
          if (tree == Analysis.UNKNOWN || deferred.contains(tree) && !whole.contains(tree)) {
            session.begin(AllocatorRecord.FREE_SPACE);
            try {
              TreeDrop.freeUnreferenced(pool, pid, deferred, session);
            } finally {
              session.end();
            }
          }
        });
  }

  private void drop(LogSession session, Map<Integer, Long> trees) {
    trees.forEach(
        (id, root) -> {
          // One session until the DROPPED record, up to which all of the log is needed.
          session.begin(0);
          try {
            LongList allocated = new LongList();
            analysis.allocated.forEach(
                (pid, tree) -> {
                  if (tree == id || tree == Analysis.UNKNOWN) {
                    allocated.add(pid);
                  }
                });
            TreeDrop.freeRest(pool, id, root, allocated, session);
            treesDropped++;
          } finally {
            session.end();
          }
        });
  }

  /**
   * Returns and logs the result.
   *
   * @param pagesRestored the number of torn pages restored earlier
   */
  public RecoveryReport report(long pagesRestored) {
    RecoveryReport r =
        new RecoveryReport(
            superblock.redoLsn(),
            end,
            pagesRestored,
            analysis.records(),
            analysis.images(),
            operations,
            named,
            steps,
            readAhead,
            treesDropped,
            pagesReclaimed,
            analysisNanos,
            replayNanos,
            System.nanoTime() - began);
    LOG.log(
        level(),
        () ->
            String.format(
                (foreign ? "Read" : "Recovered")
                    + " %s in %.1f s: %.1f MiB of log, %d changes of records, %d images of"
                    + " pages, %d torn pages restored, %d pages reclaimed",
                name,
                r.nanos() / 1e9,
                r.logBytes() / 1048576.0,
                r.operations(),
                r.images(),
                r.pagesRestored(),
                r.pagesReclaimed()));
    return r;
  }
}
