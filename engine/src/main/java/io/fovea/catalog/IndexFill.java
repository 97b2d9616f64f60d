package io.fovea.catalog;

import io.fovea.btree.BTree;
import io.fovea.btree.BulkLoader;
import io.fovea.btree.TreeDrop;
import io.fovea.error.InvalidUseException;
import io.fovea.index.Filling;
import io.fovea.index.IndexCore;
import io.fovea.index.IndexMaintenance;
import io.fovea.index.StatementContext;
import io.fovea.index.TableCore;
import io.fovea.index.UniqueBuildJournal;
import io.fovea.memory.Mem;
import io.fovea.recovery.LoadedRecord;
import io.fovea.store.Store;
import io.fovea.wal.LogSession;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Bulk-builds the tree of an index while transactions change the table. If there is no file for the
 * sort, transactions add the entries instead ({@link IndexBuild#fill}).
 *
 * <pre>
 *   stage JOURNALING  table, leaf by leaf ─► entries, sorted ─► new tree ─► written, in the catalog
 *                     transactions ─► journal: entries added or removed
 *   ─ grace ─
 *   stage BUILDING    each journaled or leftover entry ─► transactions: made to match the record
 *                     transactions ─► new tree
 * </pre>
 *
 * <ol>
 *   <li><b>The table is read without a transaction</b>, each leaf at a different time. If a
 *       transaction has changed an entry since its leaf was copied, it has journaled the entry or
 *       changed the new tree. So checking the journaled entries is enough; docs/internals/schema.md
 *       explains why.
 *   <li><b>No transaction uses the new tree</b> before its pages are written and the redo point is
 *       past them ({@link FreshTrees}).
 *   <li><b>The redo point stays</b> while the tree is written. If the log grows too much meanwhile,
 *       the bulk build ends early, and transactions add the remaining entries.
 *   <li><b>Ties.</b> Several of the records read may have the same entry in a unique index: they
 *       are duplicates, or a value moved from one record to another. The first entry goes into the
 *       new tree; the others are settled like journaled entries, which shows whether they are
 *       duplicates. No transaction can settle them earlier, because it might wait for log space
 *       behind the redo point. With too many ties, which are most likely duplicates, the bulk build
 *       ends early.
 * </ol>
 *
 * <p>Confined to the building thread, except {@link #cancel}, which a close calls. Access to
 * unpublished pages and to the file is under {@link #step}.
 */
final class IndexFill implements Loads.Work {
  private static final int STEP_RECORDS = 256;

  /** How many pages are built before they are written, if the buffer is large. */
  private static final int FLUSH_PAGES = 256;

  private static final long SORT_BYTES_MAX = 64 << 20;
  private static final long SORT_BYTES_MIN = 1 << 20;

  /** The number of ties at which the bulk build ends early. */
  private static final int TIES_MAX = 1 << 16;

  private final CatalogCallbacks catalogCallbacks;
  private final Store store;
  private final SchemaChanges changes;
  private final TableCore core;
  private final LogSession session;
  private final SortFile file;
  private final LoadCounters counters;
  private final String what;
  private final IndexBuild waits;
  private final FreshTrees fresh;
  private final BackgroundThrottle backgroundThrottle;
  private final int flushPages;
  private final ReentrantLock step = new ReentrantLock();

  /** Used for allocation only within steps, because a close may release it. */
  private final Arena arena = Arena.ofShared();

  private @Nullable MemorySegment entry;
  private @Nullable MemorySegment entryValue;
  private @Nullable SortedRuns sorter;
  private @Nullable SortedRuns ties;
  private SortedRuns.@Nullable Merged sorted;
  private @Nullable BTree tree;
  private @Nullable BulkLoader loader;
  private long records;
  private long bytes;

  /** Whether the tree belongs to the index. */
  private boolean taken;

  /** Whether the work has ended; guarded by {@link #step}. */
  private boolean ended;

  /**
   * @param waits the waits of the same build
   * @param session used exclusively by this build
   * @param file used exclusively by this build, which closes it
   */
  IndexFill(
      CatalogCallbacks catalogCallbacks,
      Store store,
      SchemaChanges changes,
      TableCore core,
      IndexBuild waits,
      LogSession session,
      SortFile file,
      LoadCounters counters,
      String what) {
    this.counters = counters;
    this.catalogCallbacks = catalogCallbacks;
    this.store = store;
    this.changes = changes;
    this.core = core;
    this.waits = waits;
    this.session = session;
    this.file = file;
    this.what = what;
    this.fresh = new FreshTrees(store, changes, session, what, this::step);
    this.backgroundThrottle = waits.backgroundThrottle();
    this.flushPages = Math.clamp(store.pool().capacity() / 16, 8, FLUSH_PAGES);
  }

  private void check() {
    waits.check();
    if (ended) {
      throw new InvalidUseException("Can't " + what + ": the database is being closed.");
    }
  }

  /** Called within long steps of the sort, so that a close need not wait for the whole step. */
  private void withinStep() {
    check();
    backgroundThrottle.pause();
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

  /** Runs steps with pauses until one returns false. */
  private void steps(Step work) {
    boolean[] more = {true};
    while (more[0]) {
      step(() -> more[0] = work.run());
      backgroundThrottle.pause();
    }
  }

  @FunctionalInterface
  private interface Step {
    /** Does some work; returns false when there is none left. */
    boolean run();
  }

  private static <T> T requireMade(@Nullable T one) {
    if (one == null) {
      throw new IllegalStateException("The build has not yet reached this step.");
    }
    return one;
  }

  // -------------------------------------------------------------------------------------- entries

  /** Makes and sorts the entries of all records, leaf by leaf. */
  void read(IndexCore index) {
    long buffer = (long) store.pool().capacity() * store.pool().pageSize();
    long max = Math.clamp(buffer / 8, SORT_BYTES_MIN, SORT_BYTES_MAX);
    step(
        () -> {
          sorter = new SortedRuns(max, file, this::withinStep);
          entry = arena.allocate(index.entryBytesMax(), 8);
        });
    SortedRuns runs = requireMade(sorter);
    try (OldRecords all = OldRecords.ofChanging(core)) {
      Entries entries = new Entries(index, runs, requireMade(entry));
      backgroundThrottle.begin();
      steps(() -> entries.next(all));
    }
    step(() -> sorted = runs.merged());
  }

  private final class Entries {
    private final IndexCore index;
    private final SortedRuns to;
    private final StatementContext scratch = new StatementContext();
    private final MemorySegment entry;
    private final int keyMax;

    Entries(IndexCore index, SortedRuns to, MemorySegment entry) {
      this.index = index;
      this.to = to;
      this.entry = entry;
      this.keyMax = index.tree.maxKeySize();
    }

    boolean next(OldRecords from) {
      for (int i = 0; i < STEP_RECORDS; i++) {
        if (!from.next()) {
          counters.indexed.add(i);
          return false;
        }
        from.upgrade(core);
        add(from.key(), from.keyLength(), from.value(), from.valueOffset(), from.valueLength());
      }
      counters.indexed.add(STEP_RECORDS);
      return true;
    }

    private void add(MemorySegment key, int len, MemorySegment value, long at, int length) {
      int n =
          IndexMaintenance.entry(scratch, core, index, key, 0, len, value, at, length, entry, 0);
      if (n > keyMax) {
        throw index.keyTooLong(n);
      }
      if (n >= 0) {
        to.add(entry, 0, n, key, 0, len);
      }
    }
  }

  // ----------------------------------------------------------------------------------------- tree

  /**
   * Builds a tree from the sorted entries, or from as many of them as the log has space for.
   *
   * @param loads excludes operations that need every page to have an owner
   * @return the tree, deferred in the catalog
   */
  BTree build(IndexCore of, Loads loads) {
    loads.enter(what);
    try {
      step(
          () -> {
            session.hold(what);
            boolean frames = of.hints.kind.frames();
            tree = BTree.create(store.pool(), store.nextTreeId(), frames, session);
            loader = BulkLoader.unlogged(requireMade(tree), BulkLoader.FILL, session);
            ties = new SortedRuns(SORT_BYTES_MIN, file, this::withinStep);
            entryValue = arena.allocate(core.keyBytesMax + (long) of.hints.bytes(), 8);
          });
      BTree fill = requireMade(tree);
      BulkLoader to = requireMade(loader);
      SortedRuns same = requireMade(ties);
      long max = store.logTail() + store.logBytesMax() / 2;
      MemorySegment value = requireMade(entryValue);
      backgroundThrottle.beginUrgent();
      steps(
          () ->
              add(to, of.hints.bytes(), value, same)
                  && same.records() < TIES_MAX
                  && store.logTail() < max);
      step(
          () -> {
            to.finish();
            fill.counts().base(records, bytes);
          });
      List<BTree> trees = List.of(fill);
      if (session.isLogging() && to.pages() > FreshTrees.LOGGED_PAGES) {
        fresh.makeKnown(() -> counters.flush(to), trees);
      } else {
        step(
            () -> {
              to.logPages();
              fresh.announce(trees);
            });
      }
      return fill;
    } finally {
      loads.leave();
    }
  }

  private boolean add(BulkLoader to, int hintBytes, MemorySegment value, SortedRuns same) {
    SortedRuns.Merged from = requireMade(sorted);
    for (int i = 0; i < STEP_RECORDS; i++) {
      if (!from.next()) {
        return false;
      }
      MemorySegment s = from.segment();
      int key = from.valueLength();
      if (to.endsWith(s, from.keyOffset(), from.keyLength())) {
        same.add(s, from.keyOffset(), from.keyLength(), s, from.valueOffset(), key);
        continue;
      }
      // A zero hint is ignored; the first lookup replaces it.
      Mem.copy(s, from.valueOffset(), value, 0, key);
      Mem.zero(value, key, hintBytes);
      to.add(s, from.keyOffset(), from.keyLength(), value, 0, key + hintBytes);
      records++;
      bytes += (long) from.keyLength() + key + hintBytes;
    }
    if (session.isLogging() && to.unwritten() >= flushPages) {
      counters.flush(to);
    }
    return true;
  }

  /** Logs the counts of the tree, and runs an action that makes it the tree of the index. */
  void adopt(Runnable then) {
    step(
        () -> {
          // Otherwise a checkpoint in between would have a redo point after LOADED, without the
          // tree's counts.
          session.begin(0);
          if (session.isLogging()) {
            LoadedRecord.append(session, requireMade(tree).treeId(), records, bytes);
          }
          then.run();
          taken = true;
          session.end();
        });
  }

  // ----------------------------------------------------------------------------------- settlement

  /**
   * Makes the index match the records for each tie, leftover entry and journaled entry. Ties come
   * first, so that duplicates are found early.
   *
   * @param journal the journal, no longer changed by transactions
   */
  void settle(IndexCore index, BTree journal) {
    try (EntryBatch batch =
        new EntryBatch(IndexBuild.PIECE_RECORDS, index.entryBytesMax(), core.keyBytesMax)) {
      SortedRuns.Merged[] same = new SortedRuns.Merged[1];
      step(() -> same[0] = requireMade(ties).merged());
      try (SortedRuns.Merged from = same[0]) {
        steps(index, batch, () -> next(from, batch));
      }
      steps(index, batch, () -> next(requireMade(sorted), batch));
      try (OldRecords journaled = OldRecords.ofJournal(journal)) {
        steps(index, batch, () -> next(index, journaled, batch));
      }
    }
  }

  private static boolean next(SortedRuns.Merged from, EntryBatch batch) {
    while (!batch.isFull()) {
      if (!from.next()) {
        return false;
      }
      MemorySegment s = from.segment();
      int key = from.valueLength();
      batch.add(s, from.keyOffset(), from.keyLength(), s, from.valueOffset(), key);
    }
    return true;
  }

  private static boolean next(IndexCore index, OldRecords journaled, EntryBatch batch) {
    while (!batch.isFull()) {
      if (!journaled.next()) {
        return false;
      }
      MemorySegment key = journaled.key();
      MemorySegment value = journaled.value();
      long at = journaled.valueOffset();
      int n = journaled.valueLength();
      if (!index.unique) {
        batch.add(key, 0, journaled.keyLength(), value, at, index.hints.keyLength(n));
      } else if (n == 0) {
        addJournalItem(batch, key, 0, journaled.keyLength());
      } else {
        addJournalItem(batch, value, at, n);
      }
    }
    return true;
  }

  private static void addJournalItem(EntryBatch batch, MemorySegment item, long at, int n) {
    int entry = UniqueBuildJournal.entryLength(item, at, n);
    batch.add(item, at, entry, item, at + entry, UniqueBuildJournal.keyLength(n, entry));
  }

  private void steps(IndexCore index, EntryBatch batch, Step next) {
    boolean[] more = {true};
    backgroundThrottle.begin();
    while (more[0]) {
      batch.clear();
      step(() -> more[0] = next.run());
      for (int done = 0; done < batch.size(); ) {
        check();
        done = settle(index, batch, done);
        backgroundThrottle.pause();
      }
    }
  }

  /**
   * Settles entries in one transaction, with fewer entries after a conflict; returns the index of
   * the next entry.
   */
  private int settle(IndexCore index, EntryBatch batch, int from) {
    int[] to = {from};
    catalogCallbacks.transact(
        (context, tx, attempt) -> {
          int max = Math.max(1, IndexBuild.PIECE_RECORDS >> Math.min(30, attempt - 1));
          to[0] = Math.min(batch.size(), from + max);
          for (int i = from; i < to[0]; i++) {
            Filling.settle(
                context,
                tx,
                core,
                index,
                batch.memory,
                batch.entryAt(i),
                batch.entryLength(i),
                batch.keyAt(i),
                batch.keyLength(i));
          }
        });
    backgroundThrottle.committed();
    return to[0];
  }

  private boolean isLeft() {
    return fresh.areKnown() && !taken;
  }

  /** Stops the build and frees the tree unless the index owns it. Thread-safe. */
  @Override
  public void cancel() {
    step.lock();
    try {
      if (!ended) {
        ended = true;
        session.attachToThread();
        end();
      }
    } finally {
      step.unlock();
    }
  }

  private void end() {
    try {
      BTree fill = tree;
      if (fill != null && isLeft()) {
        changes.drops.add(fill, null);
      } else if (fill != null && !taken) {
        fresh.free(() -> free(fill));
      }
      fresh.end();
    } finally {
      close();
    }
  }

  private void free(BTree fill) {
    BulkLoader pages = loader;
    if (pages != null) {
      pages.freePages();
    }
    fill.freeUnfreedPages(session);
    TreeDrop.freeRoot(fill, session);
  }

  private void close() {
    SortedRuns.Merged from = sorted;
    SortedRuns runs = sorter;
    SortedRuns same = ties;
    try {
      if (from != null) {
        from.close();
      }
      if (runs != null) {
        runs.close();
      }
      if (same != null) {
        same.close();
      }
    } finally {
      arena.close();
      file.close();
    }
  }
}
