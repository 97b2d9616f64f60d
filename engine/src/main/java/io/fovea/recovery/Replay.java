package io.fovea.recovery;

import io.fovea.btree.BTree;
import io.fovea.btree.LeafAhead;
import io.fovea.btree.Position;
import io.fovea.btree.RangeCut;
import io.fovea.buffer.BufferPool;
import io.fovea.error.CorruptionException;
import io.fovea.memory.Hash;
import io.fovea.memory.Mem;
import io.fovea.memory.Threads;
import io.fovea.memory.Waits;
import io.fovea.txn.CommitCursor;
import io.fovea.txn.CommitRecord;
import io.fovea.wal.Log;
import io.fovea.wal.LogReader;
import io.fovea.wal.LogSession;
import io.fovea.wal.RecordType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The second pass over the log: record changes, in log order, by several workers.
 *
 * <pre>
 *   log ──► reader: copies commits into chunks,      ──► chunk n, n + 1, n + 2
 *           and assigns operations to workers               │  each worker makes its own
 *                                worker 0 ◄────────────────┼────────────► worker 1 ...
 *                                keys of hash 0                           keys of hash 1
 *                                (of the key without its last byte)
 *                                 │ ▲
 *                 {@link LeafAhead}: │ └─ the leaf that the operation names, else from the root
 *                 next 8, next 1024┘
 * </pre>
 *
 * <p><b>Order.</b> The changes of a key were made in log order, since the key was locked from
 * before the append until after the install. A key belongs to one worker, and each worker processes
 * the log in order, so a key's last change is made last. Between keys no order is needed, since
 * nothing is read before the end. So workers do not wait for each other, and a chunk is free when
 * the last of them has finished it.
 *
 * <p><b>Repetition</b> is harmless: the structure is already final, upserts and deletes are
 * idempotent, and a patch of a missing or different record is superseded by a later change of the
 * key in the log. Nothing is merged, and long values are neither followed nor freed: the log has
 * records for that.
 *
 * <p><b>Named leaves.</b> An operation names the page on which its author saw the key ({@link
 * CommitCursor#leaf}). The worker starts there, with the usual check of a position: if the page is
 * a leaf of the tree whose fences bracket the key, it is the key's leaf. Otherwise (it was split,
 * moved or freed later, or the log is wrong) the worker descends from the root. An operation that
 * names the same page as the previous one in its tree starts where that one ended: a commit may
 * have appended keys there before the page was split.
 *
 * <p><b>Orphans.</b> The check also requires that no other page of the tree looks like the key's
 * leaf. All pages are as the first pass left them. An unreachable page is free, which its type
 * shows, or belongs to a tree that is not replayed, or was allocated or released without a later
 * record about it ({@link Analysis#orphans}). A page released by a merge is still a leaf, with its
 * old fences, and a change made there would be freed with it. So the reader ignores named pages
 * that are orphans. No page becomes one during the replay: splits release none, and pages released
 * by a RANGE are free before the workers continue.
 *
 * <p><b>Intervals.</b> A RANGE record removes keys of all workers. So the reader waits until all
 * have finished everything before it, removes the keys itself, and continues. Keys that later
 * commits inserted may be removed and are then replayed. No transaction had undecided changes in
 * the interval, so the record's position in the log is that of its commit. Images contain most of
 * the removals, so the repetition finds little. Freed and merged pages are logged as by the commit,
 * and the next recovery applies these records before it repeats the removal.
 *
 * <p><b>Cost.</b> Operations allocate nothing, and a worker keeps a position per tree. After a
 * crash few pages are in memory and workers wait for reads, so there are more workers than
 * processors, and named pages are prefetched in groups. Keys often come in order, so a kept
 * position gains more than descending for several keys at once.
 *
 * <p>Records of trees that are not in the table are skipped.
 */
final class Replay {
  private static final int CHUNK_BYTES = 2 << 20;
  private static final int CHUNK_BYTES_MIN = 64 << 10;

  /** The header of each record in a chunk: length and type, start, end. */
  private static final int ENTRY_BYTES = 24;

  private final BufferPool pool;
  private final TreeTable table;
  private final BTree[] trees;
  private final PidMap complete;
  private final PidMap orphans;
  private final CountsReplay counts;
  private final Log log;
  private final int workers;
  private final long pidLimit;
  private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private long operations;

  /** The number of nodes that workers visited on descents. Guarded by the lock. */
  private long steps;

  /** The number of operations that named a leaf. Written by the reader. */
  private long named;

  /** The number of pages prefetched. Guarded by the lock. */
  private long readAhead;

  private final ReplayChunk[] chunks;
  private final long[] seeds;
  private final CommitCursor router = new CommitCursor();
  private final RangeRecord ranges = new RangeRecord();
  private @Nullable LogSession rangeSession;

  /**
   * Creates a replay.
   *
   * @param pool the pages
   * @param table the trees
   * @param complete the first parts whose commit is complete
   * @param orphans unreachable pages that may look reachable; never used as named leaves
   * @param counts receives the commits
   * @param log receives structure changes caused by the replay
   * @param workers the number of threads
   * @param pidLimit the high-water mark
   */
  Replay(
      BufferPool pool,
      TreeTable table,
      PidMap complete,
      PidMap orphans,
      CountsReplay counts,
      Log log,
      int workers,
      long pidLimit) {
    this.pool = pool;
    this.table = table;
    this.trees = table.all();
    this.complete = complete;
    this.orphans = orphans;
    this.counts = counts;
    this.log = log;
    this.workers = workers;
    this.pidLimit = pidLimit;
    this.chunks = new ReplayChunk[3];
    Arrays.setAll(chunks, i -> new ReplayChunk(workers));
    this.seeds = new long[trees.length];
    for (int i = 0; i < seeds.length; i++) {
      seeds[i] = Hash.seed(trees[i].treeId());
    }
  }

  /** Returns the number of operations performed. */
  long operations() {
    return operations;
  }

  /** Returns how many of them named a possible leaf. */
  long named() {
    return named;
  }

  /**
   * Returns the number of nodes visited on descents: levels minus one for each descent to a leaf.
   */
  long steps() {
    return steps;
  }

  /** Returns the number of pages prefetched because operations named them. */
  long readAhead() {
    return readAhead;
  }

  /**
   * Replays the changes of the catalog alone, on the calling thread.
   *
   * @param reader a reader before the first record
   * @param end the end of the last record
   */
  void catalog(LogReader reader, long end) {
    SchemaRecord schema = new SchemaRecord();
    Worker worker = new Worker(0);
    // Before its first record, the reader's end is the start of that record.
    while (reader.end() < end && reader.next()) {
      int type = reader.type();
      if (type == RecordType.SCHEMA
          || type == RecordType.CATALOG && complete.get(reader.start()) != PidMap.ABSENT) {
        schema.open(reader.segment(), reader.body(), reader.bodyLength(), reader.start());
        worker.begin();
        worker.cursor.openOps(reader.segment(), schema.opsBegin(), schema.opsEnd(), schema.ops());
        worker.performAll(reader.start(), reader.end(), 0);
        worker.end();
      }
    }
    requireEnd(reader, end);
  }

  /** Throws if the log is shorter than when it was first read. */
  private static void requireEnd(LogReader reader, long end) {
    if (reader.end() < end) {
      throw new CorruptionException(
          "the log ends earlier than when it was first read: LSN", -1, -1, end, reader.end());
    }
  }

  /**
   * Replays commits.
   *
   * @param reader a reader before the first record
   * @param end the end of the last record
   */
  void commits(LogReader reader, long end, Progress progress) {
    List<Thread> threads = new ArrayList<>();
    try {
      for (int i = 0; i < workers; i++) {
        Worker worker = new Worker(i);
        threads.add(Threads.start("fovea-replay-" + i, worker::run));
      }
      read(reader, end, progress);
    } catch (Throwable e) {
      failure.compareAndSet(null, e);
    } finally {
      // Also if not all have started: nothing was published then, so this does not wait, and the
      // running workers take the last chunk.
      finish();
      threads.forEach(Waits::join);
    }
    Throwable f = failure.get();
    if (f instanceof RuntimeException e) {
      throw e;
    }
    if (f instanceof Error e) {
      throw e;
    }
  }

  // --------------------------------------------------------------------------------- the reader

  private long next;

  private void read(LogReader reader, long end, Progress progress) {
    // With space for each record's header; a short log needs no large chunks.
    long max = Math.clamp(2 * (end - reader.end()), CHUNK_BYTES_MIN, CHUNK_BYTES);
    ReplayChunk chunk = free();
    while (reader.end() < end && reader.next() && failure.get() == null) {
      int type = reader.type();
      if (type == RecordType.RANGE) {
        if (chunk.used > 0) {
          publish(chunk);
          chunk = free();
        }
        range(reader);
        continue;
      }
      if (type != RecordType.COMMIT && type != RecordType.COMMIT_PART
          || type == RecordType.COMMIT_PART && !isComplete(reader)) {
        continue;
      }
      int length = reader.bodyLength();
      long bytes = ENTRY_BYTES + (length + 7 & ~7L);
      if (chunk.used + bytes > chunk.memory.byteSize()) {
        if (chunk.used > 0) {
          publish(chunk);
          chunk = free();
        }
        if (bytes > chunk.memory.byteSize()) {
          chunk.memory = Arena.ofAuto().allocate(Math.max(bytes, max), 8);
        }
      }
      MemorySegment m = chunk.memory;
      long at = chunk.used;
      Mem.putInt(m, at, length);
      Mem.putInt(m, at + 4, type);
      Mem.putLong(m, at + 8, reader.start());
      Mem.putLong(m, at + 16, reader.end());
      Mem.copy(reader.segment(), reader.body(), m, at + ENTRY_BYTES, length);
      chunk.used = at + bytes;
      route(chunk, at, type, length);
      progress.at(reader.end());
    }
    publish(chunk);
    if (failure.get() == null) {
      requireEnd(reader, end);
    }
  }

  /** Assigns the operations of a record to workers. */
  private void route(ReplayChunk chunk, long recordAt, int type, int length) {
    CommitCursor c = router;
    MemorySegment m = chunk.memory;
    c.open(type, m, recordAt + ENTRY_BYTES, length);
    counts.commit(c, Mem.getLong(m, recordAt + 8));
    for (long at = c.position(); c.next(); at = c.position()) {
      int number = table.number(c.treeId());
      if (number >= 0) {
        // Adjacent keys share all but the last byte, and probably a leaf: same worker.
        int part = Math.max(0, c.keyLength() - 1);
        long hash = Hash.hash(seeds[number], m, c.keyOffset(), part);
        chunk.add((int) ((hash >>> 32) * workers >>> 32), recordAt, at, plausibleLeaf(c.leaf()));
      }
    }
  }

  /** Returns a page that may be a leaf, and is reachable if it is one; otherwise 0. */
  private long plausibleLeaf(long leaf) {
    if (leaf <= Superblock.CATALOG_ROOT_PID
        || leaf >= pidLimit
        || orphans.size() > 0 && orphans.get(leaf) != PidMap.ABSENT) {
      return 0;
    }
    named++;
    return leaf;
  }

  private boolean isComplete(LogReader reader) {
    if (reader.bodyLength() < CommitRecord.PART_HEADER) {
      throw new CorruptionException(
          "length of the log record at LSN " + reader.start(),
          -1,
          -1,
          CommitRecord.PART_HEADER,
          reader.bodyLength());
    }
    long id = Mem.getLong(reader.segment(), reader.body());
    long first = id == 0 ? reader.start() : id;
    return first > 0 && complete.get(first) != PidMap.ABSENT;
  }

  private ReplayChunk free() {
    ReplayChunk chunk = chunks[(int) (next % chunks.length)];
    lock.lock();
    try {
      while (chunk.pending > 0) {
        changed.awaitUninterruptibly();
      }
      chunk.used = 0;
      Arrays.fill(chunk.counts, 0);
      return chunk;
    } finally {
      lock.unlock();
    }
  }

  /** Removes the keys of an interval, once everything before it is done. */
  private void range(LogReader reader) {
    RangeRecord record = ranges;
    record.open(reader.segment(), reader.body(), reader.bodyLength(), reader.start());
    int number = table.number(record.treeId());
    if (number < 0 || complete.get(record.id()) == PidMap.ABSENT) {
      return;
    }
    lock.lock();
    try {
      for (ReplayChunk chunk : chunks) {
        while (chunk.pending > 0) {
          changed.awaitUninterruptibly();
        }
      }
    } finally {
      lock.unlock();
    }
    if (failure.get() != null) {
      return;
    }
    LogSession session = rangeSession;
    if (session == null) {
      session = log.session();
      session.failWhenFull();
      rangeSession = session;
    }
    session.begin(0);
    try {
      RangeCut cut = new RangeCut(trees[number], record.range(), session);
      session.claim(cut.logBytes()); // nothing recycles segments during a recovery
      session.position(reader.start(), reader.end());
      cut.run();
    } finally {
      session.end();
    }
  }

  private void publish(ReplayChunk chunk) {
    lock.lock();
    try {
      chunk.number = next++;
      chunk.pending = workers;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private void finish() {
    ReplayChunk chunk = free();
    chunk.last = true;
    publish(chunk);
  }

  // --------------------------------------------------------------------------------- the workers

  private final class Worker {
    private final int me;
    final CommitCursor cursor = new CommitCursor();
    private final LogSession session = log.session();
    private final Position[] positions = new Position[trees.length];

    /** For each tree, the page that its last operation named; 0 for none. */
    private final long[] lastNamed = new long[trees.length];

    private final LeafAhead ahead;
    private long done;

    Worker(int me) {
      this.me = me;
      session.failWhenFull();
      for (int i = 0; i < trees.length; i++) {
        positions[i] = new Position();
      }
      ahead = new LeafAhead(pool, workers);
    }

    void run() {
      try {
        chunks();
      } finally {
        ahead.finish();
      }
    }

    private void chunks() {
      for (long n = 0; ; n++) {
        ReplayChunk chunk = take(n);
        try {
          if (chunk.last) {
            return;
          }
          if (failure.get() == null) {
            chunk(chunk);
          }
        } catch (Throwable e) {
          failure.compareAndSet(null, e);
        } finally {
          accept(chunk);
        }
      }
    }

    private ReplayChunk take(long n) {
      ReplayChunk chunk = chunks[(int) (n % chunks.length)];
      lock.lock();
      try {
        while (chunk.number != n) {
          changed.awaitUninterruptibly();
        }
        return chunk;
      } finally {
        lock.unlock();
      }
    }

    private void accept(ReplayChunk chunk) {
      lock.lock();
      try {
        if (--chunk.pending == 0) {
          changed.signalAll();
        }
        operations += done;
        done = 0;
        if (chunk.last) {
          for (Position p : positions) {
            steps += p.childSteps;
          }
          readAhead += ahead.read();
        }
      } finally {
        lock.unlock();
      }
    }

    void begin() {
      session.begin(0);
    }

    void end() {
      session.end();
    }

    private void chunk(ReplayChunk chunk) {
      MemorySegment m = chunk.memory;
      long[] own = chunk.operations[me];
      long[] leaves = chunk.leaves[me];
      int n = chunk.counts[me];
      begin();
      ahead.begin(leaves, n);
      try {
        for (int i = 0; i < n; i++) {
          ahead.at(i);
          long recordAt = own[i] >>> 32;
          cursor.openOps(m, own[i] & 0xFFFF_FFFFL, chunk.used, 1);
          performAll(Mem.getLong(m, recordAt + 8), Mem.getLong(m, recordAt + 16), leaves[i]);
        }
      } finally {
        end();
      }
    }

    /**
     * Performs the operations at the cursor, which belong to one record.
     *
     * @param leaf the page that they name, 0 for none
     */
    void performAll(long start, long end, long leaf) {
      CommitCursor c = cursor;
      session.position(start, end);
      while (c.next()) {
        int number = table.number(c.treeId());
        if (number >= 0) {
          moveTo(number, leaf);
          operation(trees[number], positions[number], c, start);
          done++;
        }
      }
    }

    /** Moves to the named page, unless the previous operation in the tree named it too. */
    private void moveTo(int number, long leaf) {
      if (leaf != 0 && leaf != lastNamed[number] && leaf != positions[number].pid) {
        ahead.hint(leaf, positions[number]);
      }
      lastNamed[number] = leaf;
    }

    private void operation(BTree tree, Position p, CommitCursor c, long lsn) {
      MemorySegment s = c.segment();
      long key = c.keyOffset();
      int keyLength = c.keyLength();
      if (keyLength > tree.maxKeySize()) {
        throw damaged("length of a key", lsn, tree.maxKeySize(), keyLength);
      }
      switch (c.kind()) {
        case CommitRecord.PUT -> {
          if (c.valueLength() > tree.inlineMax()) {
            throw damaged("length of a value", lsn, tree.inlineMax(), c.valueLength());
          }
          tree.upsertInline(s, key, keyLength, s, c.valueOffset(), c.valueLength(), p, session);
        }
        case CommitRecord.PATCH ->
            tree.patch(
                s, key, keyLength, c.patchAt(), s, c.valueOffset(), c.valueLength(), p, session);
        case CommitRecord.DELETE -> tree.remove(s, key, keyLength, false, p, session);
        case CommitRecord.CHAIN, CommitRecord.MOVED -> {
          if (c.first() >= pidLimit || c.valueLength() <= tree.inlineMax()) {
            throw damaged("a long value", lsn, pidLimit, c.first());
          }
          tree.upsertChain(s, key, keyLength, c.first(), c.valueLength(), p, session);
        }
        default -> throw damaged("kind of an operation", lsn, CommitRecord.PUT, c.kind());
      }
    }

    private static CorruptionException damaged(String what, long lsn, long expected, long found) {
      return new CorruptionException(
          what + " in the log record at LSN " + lsn, -1, -1, expected, found);
    }
  }
}
