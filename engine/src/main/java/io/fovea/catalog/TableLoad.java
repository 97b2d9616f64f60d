package io.fovea.catalog;

import io.fovea.btree.BTree;
import io.fovea.config.LoadProgress;
import io.fovea.error.InvalidUseException;
import io.fovea.index.IndexCore;
import io.fovea.index.RecordExpiry;
import io.fovea.index.TableCore;
import io.fovea.store.Store;
import io.fovea.wal.LogSession;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Loads records into a table: builds new trees from existing and new records, and switches to them.
 *
 * <pre>
 *   changes refused, grace ─► source ─► [sorted] ─► merged with the old tree ─► new trees
 *                                                                                 │
 *     few pages:   logged ───────────────────────────────────────────────────────►│
 *     many:        written, synced ─► deferred in the catalog                     │
 *                    ─► redo point past them ─► earlier backups have ended ──────►│
 *                                                                                 ▼
 *                    catalog: new trees in, old ones out ─► switched at a quiescent point
 * </pre>
 *
 * <ol>
 *   <li><b>The table does not change</b> after the grace period, so it is read without a
 *       transaction. Readers see the old tree until the switch.
 *   <li><b>A crash</b> before the catalog lists the new trees as the table's leaves the table
 *       unchanged; see {@link FreshTrees}.
 *   <li><b>The switch</b> takes place at a quiescent point ({@code CommitGate}), after the catalog
 *       record. A commit in between has read the old tree and precedes the load in the serial
 *       order; if it is logged after the catalog record and lost in a crash, it was never
 *       acknowledged. A commit that has seen the new tree is logged after the catalog record, and
 *       durable only with it. Old trees are freed when all transactions that were active at the
 *       switch have ended.
 * </ol>
 *
 * <p>Confined to the loading thread, except {@link #cancel}, which a close calls. Each access to
 * pages is under {@link #step}, but the source's code is not: a close waits for a step, but never
 * for a source.
 */
final class TableLoad implements Loads.Work {
  /** The number of records or entries in a step. */
  private static final int STEP_RECORDS = 1024;

  /** How many records of the source are added to the counters at once. */
  private static final int COUNT_RECORDS = 1 << 8;

  /** The number of source records between two progress reports. */
  private static final int PROGRESS_RECORDS = 1 << 16;

  private final Store store;
  private final SchemaChanges changes;
  private final TableCore core;
  private final LoadSettings how;
  private final LogSession session;
  private final SortFile file;
  private final LoadCounters counters;
  private final String what;
  private final IndexBuild waits;
  private final ReentrantLock step = new ReentrantLock();
  private @Nullable LoadTrees trees;
  private @Nullable SortedRuns sorter;

  /** Rows with expiry times up to this one have expired. */
  private long expiredUpTo;

  private long read;
  private @Nullable Throwable failure;

  /** Whether the work has ended; guarded by {@link #step}. */
  private boolean ended;

  private final FreshTrees fresh;

  /** The change that publishes the trees; null before it is made. */
  private @Nullable CatalogChange publication;

  /**
   * @param session used exclusively by this load
   * @param file used exclusively by this load, which closes it
   */
  TableLoad(
      CatalogCallbacks catalogCallbacks,
      Store store,
      SchemaChanges changes,
      TableCore core,
      LoadSettings how,
      LogSession session,
      SortFile file,
      LoadCounters counters,
      String what) {
    this.counters = counters;
    this.store = store;
    this.changes = changes;
    this.core = core;
    this.how = how;
    this.session = session;
    this.file = file;
    this.what = what;
    this.waits = new IndexBuild(catalogCallbacks, store, core, what);
    this.fresh = new FreshTrees(store, changes, session, what, this::step);
  }

  long omitted() {
    return made(trees).omitted;
  }

  private void check() {
    waits.check();
    if (ended) {
      throw new InvalidUseException("Can't " + what + ": the load has ended.");
    }
  }

  private void step(Runnable work) {
    step.lock();
    try {
      check();
      work.run();
    } finally {
      step.unlock();
    }
  }

  <X extends Exception> LoadResult run(LoadFeed<X> feed) throws X {
    long began = System.nanoTime();
    core.loading(true);
    try {
      waits.awaitOthers();
      step(this::begin);
      feed.run(this::add);
      rethrow();
      reportProgress(LoadProgress.Phase.READING, read, read);
      if (trees == null) {
        step(this::build);
      }
      LoadTrees made = made(trees);
      merge(made);
      index(made);
      reportProgress(LoadProgress.Phase.PUBLISHING, 0, -1);
      long pages = made.pages();
      publish(made);
      return new LoadResult(
          made.added,
          made.replaced,
          made.kept,
          made.records,
          pages,
          file.bytes(),
          System.nanoTime() - began);
    } finally {
      try {
        core.loading(false);
        counters.records.add(read & COUNT_RECORDS - 1);
      } finally {
        end();
      }
    }
  }

  private void begin() {
    RecordExpiry expiry = core.expiry();
    expiredUpTo = expiry == null ? 0 : expiry.hiddenUpToNow();
    if (how.ascending()) {
      build();
    } else {
      long parts = core.readable().size() + 1L;
      sorter = new SortedRuns(how.memoryBytes() / parts, file, this::check);
    }
  }

  /** Begins the build. The redo point is held back only from here, not while a source is sorted. */
  private void build() {
    session.hold(what);
    trees = new LoadTrees(store, core, how, session, file, counters, expiredUpTo, this::check);
  }

  private static LoadTrees made(@Nullable LoadTrees trees) {
    if (trees == null) {
      throw new IllegalStateException("The load has not yet begun.");
    }
    return trees;
  }

  // --------------------------------------------------------------------------------------- source

  private void add(MemorySegment key, long off, int len, MemorySegment value, long vOff, int vLen) {
    rethrow();
    step.lock();
    try {
      if (ended || (read & 0xFF) == 0) {
        check();
      }
      SortedRuns s = sorter;
      if (s != null) {
        s.add(key, off, len, value, vOff, vLen);
      } else {
        made(trees).source(key, off, len, value, vOff, vLen);
      }
    } catch (RuntimeException | Error e) {
      failure = e;
      throw e;
    } finally {
      step.unlock();
    }
    if ((++read & COUNT_RECORDS - 1) == 0) {
      counters.records.add(COUNT_RECORDS);
    }
    if ((read & PROGRESS_RECORDS - 1) == 0) {
      reportProgress(LoadProgress.Phase.READING, read, -1);
    }
  }

  /** Rethrows an exception of the sink if the source has caught it. */
  private void rethrow() {
    Throwable t = failure;
    if (t instanceof RuntimeException e) {
      throw e;
    }
    if (t instanceof Error e) {
      throw e;
    }
  }

  private void reportProgress(LoadProgress.Phase phase, long done, long of) {
    how.progress().accept(new LoadProgress(phase, done, of));
  }

  // ---------------------------------------------------------------------------------------- trees

  private void merge(LoadTrees made) {
    SortedRuns s = sorter;
    if (s != null) {
      SortedRuns.Merged[] all = new SortedRuns.Merged[1];
      step(() -> all[0] = s.merged());
      try (SortedRuns.Merged from = all[0]) {
        long of = s.records();
        boolean[] more = {true};
        for (long done = 0; more[0]; done += STEP_RECORDS) {
          if ((done & PROGRESS_RECORDS - 1) == 0) {
            reportProgress(LoadProgress.Phase.WRITING, done, of);
          }
          step(() -> more[0] = source(made, from));
        }
      }
      step(s::close);
    }
    boolean[] more = {true};
    while (more[0]) {
      step(() -> more[0] = made.writeRest(STEP_RECORDS));
    }
  }

  private static boolean source(LoadTrees made, SortedRuns.Merged from) {
    for (int i = 0; i < STEP_RECORDS; i++) {
      if (!from.next()) {
        return false;
      }
      MemorySegment s = from.segment();
      made.source(s, from.keyOffset(), from.keyLength(), s, from.valueOffset(), from.valueLength());
    }
    return true;
  }

  private void index(LoadTrees made) {
    long of = made.entries();
    long[] done = {0};
    for (int i = 0; i < made.indexes(); i++) {
      int index = i;
      SortedRuns.Merged[] all = new SortedRuns.Merged[1];
      step(() -> all[0] = made.sorted(index));
      try (SortedRuns.Merged from = all[0]) {
        boolean[] more = {true};
        while (more[0]) {
          if ((done[0] & PROGRESS_RECORDS - 1) == 0) {
            reportProgress(LoadProgress.Phase.INDEXING, done[0], of);
          }
          step(() -> more[0] = made.addEntries(index, from, STEP_RECORDS));
          done[0] += STEP_RECORDS;
        }
      }
    }
    step(made::finish);
  }

  // -------------------------------------------------------------------------------- publication

  private void publish(LoadTrees made) {
    if (session.isLogging() && made.pages() > FreshTrees.LOGGED_PAGES) {
      fresh.makeKnown(made::flushAll, made.trees());
    } else {
      step(made::logAll);
    }
    long[] end = new long[1];
    step(
        () -> {
          if (fresh.areKnown()) {
            session.begin(0); // the redo point stays before the trees' counts
          }
          made.logCounts();
          end[0] = changes.locked(what, () -> exchange(made));
        });
    store.awaitDurable(end[0]);
    changes.drops.run();
  }

  private long exchange(LoadTrees made) {
    core.requireUsable();
    List<BTree> built = made.trees();
    List<IndexCore> indexes = core.readable();
    CatalogChange change = new CatalogChange(store);
    for (BTree tree : built) {
      if (fresh.areKnown()) {
        change.delete(DeferredDrops.key(tree.treeId()));
      } else {
        change.publishTree(tree);
      }
    }
    change.dropLater(core.tree);
    indexes.forEach(i -> change.dropLater(i.tree));
    SchemaChanges.saveTrees(core, built, change);
    publication = change; // before the change runs: cleanup must see whether it took effect
    return change.run(() -> exchange(indexes, built));
  }

  private void exchange(List<IndexCore> indexes, List<BTree> fresh) {
    BTree[] old = new BTree[fresh.size()];
    store
        .engine()
        .exchange(
            () -> {
              old[0] = core.tree;
              fresh.get(0).setKeyLocations(core.tree.keyLocations());
              core.tree = fresh.get(0);
              for (int i = 0; i < indexes.size(); i++) {
                old[i + 1] = indexes.get(i).tree;
                fresh.get(i + 1).setKeyLocations(indexes.get(i).tree.keyLocations());
                indexes.get(i).tree = fresh.get(i + 1);
              }
            });
    core.loading(false);
    for (BTree tree : old) {
      changes.drops.add(tree, null);
    }
  }

  // ------------------------------------------------------------------------------------- the end

  private boolean isPublished() {
    CatalogChange change = publication;
    return change != null && change.logged;
  }

  /** Ends the load and frees what is not published. */
  private void end() {
    cancel();
    if (fresh.areKnown() && !isPublished() && store.isOpen()) {
      changes.drops.run();
    }
  }

  /** Stops the load and frees what is not published. Thread-safe. */
  @Override
  public void cancel() {
    step.lock();
    try {
      if (!ended) { // both a close and the loading thread call this
        ended = true;
        session.attachToThread();
        releaseResources();
      }
    } finally {
      step.unlock();
    }
  }

  private void releaseResources() {
    try {
      LoadTrees made = isPublished() ? null : trees;
      if (made != null && !fresh.areKnown()) {
        fresh.free(made::free);
      } else if (made != null) {
        made.trees().forEach(t -> changes.drops.add(t, null));
      }
      fresh.end();
    } finally {
      close();
    }
  }

  private void close() {
    LoadTrees made = trees;
    SortedRuns s = sorter;
    try {
      if (made != null) {
        made.close();
      }
      if (s != null) {
        s.close();
      }
    } finally {
      file.close();
    }
  }
}
