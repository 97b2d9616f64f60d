package io.fovea.recovery;

import io.fovea.btree.StructureRecord;
import io.fovea.buffer.AllocatorRecord;
import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.FreeListRecord;
import io.fovea.buffer.PageHeader;
import io.fovea.buffer.PageImages;
import io.fovea.error.CorruptionException;
import io.fovea.memory.LongList;
import io.fovea.memory.Mem;
import io.fovea.txn.CommitCursor;
import io.fovea.txn.CommitRecord;
import io.fovea.wal.LogReader;
import io.fovea.wal.RecordType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

/**
 * The first pass over the log: gives every page its final structure and determines the ownership of
 * pages and trees.
 *
 * <pre>
 *   record        pages                     ownership
 *   ALLOCATE                                orphans += page; allocator := state after
 *   FREE          page := link              orphans -= page; allocator := state after
 *   MOVED         links                     allocator := state after
 *   TRUNCATED     links                     allocator := state after, with a lower mark
 *   STRUCTURE     images                    orphans -= pages of images, += released
 *   CHAIN         images
 *   CREATE_TREE   image                     orphans -= root; unpublished += tree
 *   SCHEMA                                  orphans -= adopted, += released; unpublished -= published;
 *                                           dropped += dropped
 *   DROPPED                                 dropped, unpublished -= tree
 *   CATALOG                                 as SCHEMA, when its COMMIT is there
 *   RANGE                                   {@link Replay}
 *   LOADED                                  {@link CountsReplay}
 *   COUNTS                                  {@link CountsReplay}
 *   COMMIT_PART                             ADOPT and RELEASE: as in the COMMIT, when that is there
 *   COMMIT                                  orphans -= adopted, += released; its parts are complete
 * </pre>
 *
 * <p><b>Orphans</b> are pages that were allocated and, because of the crash, never used. A session
 * holds back the redo point from the ALLOCATE until everything about the page is logged, and from
 * the release of a page until its FREE, so the log after the redo point names all of them.
 *
 * <p><b>The allocator</b> takes its state from the last ALLOCATE or FREE at or after the snapshot,
 * since these are logged in the order in which they happened. Its high-water mark grows one page at
 * a time, which bounds what a hostile log can request; pages of images are below it. If pages were
 * cut off between the redo point and the snapshot, the superblock contains the earlier mark. Such
 * pages are replayed like any other: in the end they are free pages above the mark, until the file
 * is shortened or they are allocated again.
 *
 * <p><b>The last group.</b> Pages with changes from it cannot be written before the log is open
 * ({@link LogGate}), and there may be more of them than frames, since a drop frees a page with 48
 * bytes of log. If there are many, the pass skips the pages of the rest of the group, and {@link
 * #applyDeferred} handles them once the log is open. Nothing else in the pass depends on them.
 *
 * <p>Used by one thread.
 */
final class Analysis implements StructureRecord.Visitor {
  private static final long PID_MIN = Superblock.CATALOG_ROOT_PID;

  /** The fraction of the frames that may hold pages that cannot be written yet. */
  private static final int HELD_PART = 4;

  private final BufferPool pool;
  private final LogGate gate;
  private final int pageSize;
  private final long snapshotLsn;
  private final long snapshotHighWater;

  /** The limit for page ids in records before the snapshot: pages may have been cut off since. */
  private final long highWaterMax;

  private final CommitCursor commit = new CommitCursor();
  private final SchemaRecord schema = new SchemaRecord();
  private final RangeRecord range = new RangeRecord();

  /** The reader, at the record being visited. */
  private LogReader reader;

  private long images;
  private long records;
  private long pageLsnMax;

  /** The number of consecutive unproven page changes; each holds at most one frame. */
  private int unproven;

  /** The position up to which the log is known to be durable. */
  private long proven;

  /**
   * The start of the first record whose pages {@link #applyDeferred} changes; MAX_VALUE for none.
   */
  private long deferredFrom = Long.MAX_VALUE;

  /** Pages that were allocated or released, with no later record about them. */
  final PidMap orphans = new PidMap();

  /** A value in {@link #allocated}: the owner of the page was logged before the redo point. */
  static final int UNKNOWN = 0;

  /**
   * Pages that were allocated, or published as parts of long values, and not freed since, each with
   * its tree: a dropped tree may have pages that are not reachable from its root.
   */
  final PidMap allocated = new PidMap();

  /** The starts of first parts whose commit is complete. */
  final PidMap complete = new PidMap();

  /** Catalog changes whose commit is not complete yet, by the starts of their records. */
  private final Map<Long, MemorySegment> changes = new HashMap<>();

  /**
   * Pages named by parts whose commit is not complete yet, by the starts of first parts: published
   * pages, and the complements of released ones.
   */
  private final Map<Long, LongList> pages = new HashMap<>();

  /** Trees that no catalog contains, with their roots. */
  final TreeMap<Integer, Long> unpublished = new TreeMap<>();

  /** Trees that no catalog contains any more and that may still have pages, with their roots. */
  final TreeMap<Integer, Long> dropped = new TreeMap<>();

  /** The record counts of trees. */
  final CountsReplay counts;

  AllocatorState allocator;
  int nextTreeId;
  boolean catalogMade;

  /** The start of the last TRUNCATED; 0 if there is none. */
  long truncated;

  /** The start of the first catalog change and the end of the last one; 0 if there is none. */
  long schemaFrom;

  long schemaTo;

  Analysis(BufferPool pool, Superblock superblock, LogReader reader, LogGate gate) {
    this.pool = pool;
    this.gate = gate;
    this.pageSize = pool.pageSize();
    this.snapshotLsn = superblock.snapshotLsn();
    this.snapshotHighWater = superblock.allocator().highWater();
    this.highWaterMax = superblock.allocator().highWaterMax();
    this.allocator = superblock.allocator();
    this.nextTreeId = superblock.nextTreeId();
    this.reader = reader;
    this.counts = new CountsReplay(superblock);
  }

  long images() {
    return images;
  }

  long records() {
    return records;
  }

  /**
   * Reads to the end of the log.
   *
   * @param ahead prefetches the pages of the next records
   */
  void run(Progress progress, ImageAhead ahead) {
    LogReader r = reader;
    proven(r.provenLsn());
    ahead.at(r.end());
    while (r.next()) {
      ahead.at(r.end());
      records++;
      if (r.provenLsn() > proven) {
        proven(r.provenLsn());
      }
      record(r);
      progress.at(r.end());
    }
    if (pageLsnMax > r.end()) {
      throw new CorruptionException(
          "a page of the file is newer than the log, which was lost, cut or replaced: LSN",
          -1,
          -1,
          r.end(),
          pageLsnMax);
    }
  }

  private void proven(long lsn) {
    proven = lsn;
    unproven = 0;
    gate.proven(lsn);
  }

  /** Returns whether a page change is deferred to {@link #applyDeferred}. */
  private boolean isDeferred(LogReader r) {
    if (deferredFrom != Long.MAX_VALUE || r.end() <= proven) {
      return deferredFrom != Long.MAX_VALUE;
    }
    if (++unproven <= pool.capacity() / HELD_PART) {
      return false;
    }
    proven(r.provenByNext());
    if (r.end() > proven) {
      deferredFrom = r.start();
    }
    return deferredFrom != Long.MAX_VALUE;
  }

  /** Returns where {@link #applyDeferred} begins to read; MAX_VALUE if nothing was deferred. */
  long deferredFrom() {
    return deferredFrom;
  }

  /**
   * Applies the deferred page changes. The log is open, so the pages can be written.
   *
   * @param r a reader at {@link #deferredFrom}
   * @param end the end of the pass
   */
  void applyDeferred(LogReader r, long end) {
    while (r.next() && r.start() < end) {
      switch (r.type()) {
        case RecordType.FREE -> {
          AllocatorRecord record =
              AllocatorRecord.parse(r.type(), r.segment(), r.body(), r.bodyLength());
          if (isKept(record.pid(), r)) {
            pool.recovery().replay(record, r.start(), r.end());
            images++;
          }
        }
        case RecordType.MOVED, RecordType.TRUNCATED ->
            FreeListRecord.visit(
                r.segment(),
                r.body(),
                r.bodyLength(),
                (pid, next) -> {
                  if (isKept(pid, r)) {
                    pool.recovery().replayLink(pid, next, r.start(), r.end());
                    images++;
                  }
                });
        case RecordType.STRUCTURE, RecordType.CHAIN, RecordType.CREATE_TREE ->
            StructureRecord.visit(
                r.type(),
                r.segment(),
                r.body(),
                r.bodyLength(),
                pageSize,
                r.start(),
                applyDeferred(r));
        default -> {} // has no pages
      }
    }
  }

  private StructureRecord.Visitor applyDeferred(LogReader r) {
    return new StructureRecord.Visitor() {
      @Override
      public void image(long pid, long at, long end) {
        if (isKept(pid, r)) {
          PageImages.apply(pool, r.segment(), at, end, r.start(), r.end());
          images++;
        }
      }

      @Override
      public void released(long pid) {}
    };
  }

  /** Returns whether a page still exists at the end: pages that were cut off must not come back. */
  private boolean isKept(long pid, LogReader r) {
    return pid < allocator.highWater() && !isGone(pid, r);
  }

  /**
   * Returns whether a page was cut off between a record and the snapshot. It was free by then, and
   * if it was allocated again, later records contain all of it. So the file need not have space for
   * it.
   */
  private boolean isGone(long pid, LogReader r) {
    return r.start() < snapshotLsn && pid >= snapshotHighWater;
  }

  private void record(LogReader r) {
    MemorySegment s = r.segment();
    long at = r.body();
    int length = r.bodyLength();
    switch (r.type()) {
      case RecordType.COMMIT -> commit(s, at, length, r.start());
      case RecordType.ALLOCATE, RecordType.FREE -> allocator(s, at, length, r);
      case RecordType.MOVED, RecordType.TRUNCATED -> freeList(s, at, length, r);
      case RecordType.STRUCTURE, RecordType.CHAIN ->
          StructureRecord.visit(r.type(), s, at, length, pageSize, r.start(), this);
      case RecordType.CREATE_TREE -> createTree(s, at, length, r);
      case RecordType.SCHEMA -> schema(s, at, length, r.start(), r.end());
      case RecordType.DROPPED -> {
        int tree = StructureRecord.treeId(s, at, length, r.start());
        dropped.remove(tree);
        unpublished.remove(tree);
      }
      case RecordType.CATALOG -> changes.put(r.start(), copy(s, at, length));
      case RecordType.RANGE -> range.open(s, at, length, r.start());
      case RecordType.LOADED -> LoadedRecord.read(s, at, length, r.start(), counts::loaded);
      case RecordType.COUNTS -> counts.counts(s, at, length, r.start());
      case RecordType.COMMIT_PART -> part(s, at, length, r.start());
      case RecordType.VOID, RecordType.TABLES -> {}
      default ->
          throw new CorruptionException(
              "kind of a log record at LSN " + r.start(), -1, -1, RecordType.COMMIT, r.type());
    }
  }

  // ------------------------------------------------------------------------------------ commits

  private void commit(MemorySegment s, long at, int length, long lsn) {
    commit.open(RecordType.COMMIT, s, at, length);
    if (commit.id() > 0) {
      complete.put(commit.id(), 1);
      MemorySegment change = changes.remove(commit.id());
      if (change != null) {
        schema(change, 0, (int) change.byteSize(), commit.id(), reader.end());
      }
      LongList named = pages.remove(commit.id());
      for (int i = 0; named != null && i < named.size(); i++) {
        long pid = named.get(i);
        if (pid >= 0) {
          adopt(pid, lsn);
        } else {
          orphans.put(page(~pid, lsn), 0);
        }
      }
    }
    for (long i = 0; i < commit.adopted(); i++) {
      adopt(commit.adopted(i), lsn);
    }
    for (long i = 0; i < commit.released(); i++) {
      orphans.put(page(commit.released(i), lsn), 0);
    }
  }

  /** Handles a part of a commit; only its page ids matter. */
  private void part(MemorySegment s, long at, int length, long lsn) {
    commit.open(RecordType.COMMIT_PART, s, at, length);
    if (!commit.next() || !commit.isPages()) {
      return;
    }
    long id = commit.id() == 0 ? lsn : commit.id();
    LongList named = pages.computeIfAbsent(id, k -> new LongList());
    boolean adopts = commit.kind() == CommitRecord.ADOPT;
    for (int i = 0; i < commit.pages(); i++) {
      long pid = page(commit.page(i), lsn);
      named.add(adopts ? pid : ~pid);
    }
  }

  private void adopt(long pid, long lsn) {
    orphans.remove(page(pid, lsn));
    if (allocated.get(pid) == PidMap.ABSENT) {
      allocated.put(pid, UNKNOWN); // it was allocated before the redo point
    }
  }

  /** Copies a part of a commit that may not be complete. */
  private static MemorySegment copy(MemorySegment s, long at, int length) {
    MemorySegment copy = Arena.ofAuto().allocate(length, 8);
    Mem.copy(s, at, copy, 0, length);
    return copy;
  }

  private void schema(MemorySegment s, long at, int length, long start, long end) {
    if (schemaFrom == 0) {
      schemaFrom = start;
    }
    schemaTo = end;
    schema.open(s, at, length, start);
    for (int i = 0; i < schema.published(); i++) {
      unpublished.remove(schema.published(i));
      counts.published(tree(schema.published(i), start));
    }
    for (int i = 0; i < schema.dropped(); i++) {
      dropped.put(tree(schema.droppedId(i), start), page(schema.droppedRoot(i), start));
    }
    for (long i = 0; i < schema.adopted(); i++) {
      adopt(schema.adopted(i), start);
    }
    for (long i = 0; i < schema.released(); i++) {
      orphans.put(page(schema.released(i), start), 0);
    }
  }

  private int tree(int id, long lsn) {
    if (id <= Superblock.CATALOG_TREE_ID || id == Integer.MAX_VALUE) {
      throw new CorruptionException(
          "id of a tree in the log record at LSN " + lsn, -1, -1, nextTreeId, id);
    }
    nextTreeId = Math.max(nextTreeId, id + 1);
    return id;
  }

  // -------------------------------------------------------------------------------------- pages

  /** Checks that a page id is below the high-water mark: pages above it were never allocated. */
  private long page(long pid, long lsn) {
    if (pid < PID_MIN || pid >= Math.max(allocator.highWater(), highWaterMax)) {
      throw new CorruptionException(
          "page id in the log record at LSN " + lsn, -1, -1, allocator.highWater(), pid);
    }
    return pid;
  }

  private void state(long lsn, AllocatorState after) {
    boolean counts = lsn >= snapshotLsn;
    long limit = counts ? allocator.highWater() + 1 : highWaterMax;
    if (after.highWater() > limit) {
      throw new CorruptionException(
          "high-water mark in the log record at LSN " + lsn, -1, -1, limit, after.highWater());
    }
    if (counts) {
      allocator = after;
    }
  }

  private void allocator(MemorySegment s, long at, int length, LogReader r) {
    AllocatorRecord record = AllocatorRecord.parse(r.type(), s, at, length);
    state(r.start(), record.after());
    if (r.type() == RecordType.ALLOCATE) {
      orphans.put(page(record.pid(), r.start()), 0);
      allocated.put(record.pid(), Math.max(UNKNOWN, record.treeId()));
    } else {
      allocated.remove(record.pid());
      orphans.remove(page(record.pid(), r.start()));
      if (!isGone(record.pid(), r) && !isDeferred(r)) {
        pool.recovery().replay(record, r.start(), r.end());
        images++;
      }
    }
  }

  private void freeList(MemorySegment s, long at, int length, LogReader r) {
    AllocatorState after =
        FreeListRecord.visit(
            s,
            at,
            length,
            (pid, next) -> {
              page(pid, r.start());
              if (!isGone(pid, r) && !isDeferred(r)) {
                pool.recovery().replayLink(pid, next, r.start(), r.end());
                images++;
              }
            });
    state(r.start(), after);
    if (r.type() == RecordType.TRUNCATED) {
      truncated = r.start();
    }
  }

  private void createTree(MemorySegment s, long at, int length, LogReader r) {
    int id = StructureRecord.treeId(s, at, length, r.start());
    StructureRecord.visit(r.type(), s, at, length, pageSize, r.start(), this);
    if (id == Superblock.CATALOG_TREE_ID) {
      catalogMade = true;
    } else {
      unpublished.put(tree(id, r.start()), Mem.getLong(s, at + 8));
    }
  }

  @Override
  public void image(long pid, long at, long end) {
    LogReader r = reader;
    page(pid, r.start());
    if (!isGone(pid, r) && !isDeferred(r)) {
      PageImages.apply(pool, r.segment(), at, end, r.start(), r.end());
      images++;
      if (pid < snapshotHighWater) {
        int frame = pool.fixShared(pid);
        pageLsnMax = Math.max(pageLsnMax, PageHeader.pageLsn(pool.pages(), pool.base(frame)));
        pool.releaseShared(frame);
      }
    }
    if (r.type() != RecordType.CHAIN) {
      orphans.remove(pid);
    }
  }

  @Override
  public void released(long pid) {
    orphans.put(page(pid, reader.start()), 0);
  }
}
