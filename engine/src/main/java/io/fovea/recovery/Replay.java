package io.fovea.recovery;

import io.fovea.btree.BTree;
import io.fovea.btree.Position;
import io.fovea.btree.RangeCut;
import io.fovea.error.CorruptionException;
import io.fovea.memory.Hash;
import io.fovea.memory.Mem;
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
 * The second pass over the log: the changes of records, in log order, by several workers.
 *
 * <pre>
 *   log ──► reader: copies commits into chunks,      ──► chunk n, n + 1, n + 2
 *           and says who makes which operation              │  each worker makes its own
 *                                worker 0 ◄────────────────┼────────────► worker 1 ...
 *                                keys of hash 0                           keys of hash 1
 *                                (of the key without its last byte)
 * </pre>
 *
 * <p><b>Order.</b> For each key log order is the order in which its changes were made, since the
 * key was locked from before the append until after the install. A key belongs to one worker, and
 * each worker goes through the log from the beginning to the end, so that a key's last change is
 * made last. Between keys no order is needed: nobody reads before all is done. So the workers need
 * not wait for each other, and a chunk is free again when the last of them is through with it.
 *
 * <p><b>Doing it again</b> is harmless: the structure is final already, upserts and deletes are
 * idempotent, and a patch of a record that is not there, or is another one by now, is settled by a
 * later change of the key, which is in the log too. Nothing is merged, and of long values nothing
 * is followed or freed: that is in the log as well.
 *
 * <p><b>Intervals.</b> A RANGE record removes keys of all workers. So the reader waits until all
 * are through with what comes before, removes them itself, and goes on. What the pages have of the
 * interval may be of later commits, which put it back; and what an earlier one has put there goes.
 * No transaction had anything undecided in the interval, so the place of the record in the log is
 * that of its commit. Doing it again finds little: what images have is done. Here pages are freed,
 * and merged: that is logged as it was when the commit did it, and the next recovery applies it
 * before it repeats all this.
 *
 * <p><b>Cost.</b> Nothing is allocated for an operation, and a worker remembers a position for each
 * tree. After a crash no page is in memory, and a worker waits for each that it needs: so there are
 * more workers than processors. (Going down for eight keys at once, as {@code Table.getAll} does,
 * cost a quarter more here: keys often come in order, where the position is worth more.)
 *
 * <p>Records of trees that are not in the table are passed by.
 */
final class Replay {
  private static final int CHUNK_BYTES = 2 << 20;
  private static final int CHUNK_BYTES_MIN = 64 << 10;

  /** Before each record in a chunk: length and kind, start, end. */
  private static final int ENTRY_BYTES = 24;

  private final TreeTable table;
  private final BTree[] trees;
  private final PidMap complete;
  private final CountsReplay counts;
  private final Log log;
  private final int workers;
  private final long pidLimit;
  private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private long operations;

  /** A run of records, in memory. */
  private static final class Chunk {
    MemorySegment memory = MemorySegment.NULL;
    long used;
    boolean last;

    /** For each worker its operations: where the record begins (32), and the operation (32). */
    final long[][] operations;

    final int[] counts;

    /** Which chunk of the log is in it. Under the lock. */
    long number = -1;

    /** How many workers are not through with it. Under the lock. */
    int pending;

    Chunk(int workers) {
      operations = new long[workers][256];
      counts = new int[workers];
    }

    void add(int worker, long recordAt, long operationAt) {
      long[] own = operations[worker];
      int n = counts[worker]++;
      if (n == own.length) {
        own = Arrays.copyOf(own, 2 * n);
        operations[worker] = own;
      }
      own[n] = recordAt << 32 | operationAt;
    }
  }

  private final Chunk[] chunks;
  private final long[] seeds;
  private final CommitCursor router = new CommitCursor();
  private final RangeRecord ranges = new RangeRecord();
  private @Nullable LogSession rangeSession;

  /**
   * A replay.
   *
   * @param table the trees
   * @param complete the first parts whose commit is complete
   * @param counts gets the commits
   * @param log where changes of structure are logged that come up
   * @param workers how many threads
   * @param pidLimit the high-water mark
   */
  Replay(
      TreeTable table, PidMap complete, CountsReplay counts, Log log, int workers, long pidLimit) {
    this.table = table;
    this.trees = table.all();
    this.complete = complete;
    this.counts = counts;
    this.log = log;
    this.workers = workers;
    this.pidLimit = pidLimit;
    this.chunks = new Chunk[] {new Chunk(workers), new Chunk(workers), new Chunk(workers)};
    this.seeds = new long[trees.length];
    for (int i = 0; i < seeds.length; i++) {
      seeds[i] = Hash.seed(trees[i].treeId());
    }
  }

  /** How many operations were made. */
  long operations() {
    return operations;
  }

  /**
   * Replays the changes of the catalog alone, on the calling thread.
   *
   * @param reader stands before the first record
   * @param end the end of the last record
   */
  void catalog(LogReader reader, long end) {
    SchemaRecord schema = new SchemaRecord();
    Worker worker = new Worker(0);
    // Where the reader stands before its first record it says that it ends there.
    while (reader.end() < end && reader.next()) {
      int type = reader.type();
      if (type == RecordType.SCHEMA
          || type == RecordType.CATALOG && complete.get(reader.start()) != PidMap.ABSENT) {
        schema.open(reader.segment(), reader.body(), reader.bodyLength(), reader.start());
        worker.begin();
        worker.cursor.openOps(reader.segment(), schema.opsBegin(), schema.opsEnd(), schema.ops());
        worker.all(reader.start(), reader.end());
        worker.end();
      }
    }
    requireEnd(reader, end);
  }

  /** The log is as long as it was when it was read first. */
  private static void requireEnd(LogReader reader, long end) {
    if (reader.end() < end) {
      throw new CorruptionException(
          "the log ends earlier than it did a moment ago: LSN", -1, -1, end, reader.end());
    }
  }

  /**
   * Replays commits.
   *
   * @param reader stands before the first record
   * @param end the end of the last record
   */
  void commits(LogReader reader, long end, Progress progress) {
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < workers; i++) {
      Worker worker = new Worker(i);
      Thread t = new Thread(worker::run, "fovea-replay-" + i);
      t.setDaemon(true);
      t.start();
      threads.add(t);
    }
    try {
      read(reader, end, progress);
    } catch (Throwable e) {
      failure.compareAndSet(null, e);
    } finally {
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
    // With room for what is added to each record; a short log needs no large chunks.
    long most = Math.clamp(2 * (end - reader.end()), CHUNK_BYTES_MIN, CHUNK_BYTES);
    Chunk chunk = free();
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
          chunk.memory = Arena.ofAuto().allocate(Math.max(bytes, most), 8);
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

  /** Says who makes which operation of a record. */
  private void route(Chunk chunk, long recordAt, int type, int length) {
    CommitCursor c = router;
    MemorySegment m = chunk.memory;
    c.open(type, m, recordAt + ENTRY_BYTES, length);
    counts.commit(c, Mem.getLong(m, recordAt + 8));
    for (long at = c.position(); c.next(); at = c.position()) {
      int number = table.number(c.treeId());
      if (number >= 0) {
        // Neighbours have all but the last byte in common, and likely a leaf: to the same worker.
        int part = Math.max(0, c.keyLength() - 1);
        long hash = Hash.hash(seeds[number], m, c.keyOffset(), part);
        chunk.add((int) ((hash >>> 32) * workers >>> 32), recordAt, at);
      }
    }
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

  /** Waits for the chunk that comes next to be free. */
  private Chunk free() {
    Chunk chunk = chunks[(int) (next % chunks.length)];
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

  /** Removes the keys of an interval, when everything is done that comes before. */
  private void range(LogReader reader) {
    RangeRecord record = ranges;
    record.open(reader.segment(), reader.body(), reader.bodyLength(), reader.start());
    int number = table.number(record.treeId());
    if (number < 0 || complete.get(record.id()) == PidMap.ABSENT) {
      return;
    }
    lock.lock();
    try {
      for (Chunk chunk : chunks) {
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
      rangeSession = session;
    }
    session.begin(0);
    try {
      session.position(reader.start(), reader.end());
      new RangeCut(trees[number], record.range(), session).run();
    } finally {
      session.end();
    }
  }

  private void publish(Chunk chunk) {
    lock.lock();
    try {
      chunk.number = next++;
      chunk.pending = workers;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Tells the workers that nothing more comes. */
  private void finish() {
    Chunk chunk = free();
    chunk.last = true;
    publish(chunk);
  }

  // --------------------------------------------------------------------------------- the workers

  private final class Worker {
    private final int me;
    final CommitCursor cursor = new CommitCursor();
    private final LogSession session = log.session();
    private final Position[] positions = new Position[trees.length];
    private long done;

    Worker(int me) {
      this.me = me;
      for (int i = 0; i < trees.length; i++) {
        positions[i] = new Position();
      }
    }

    void run() {
      for (long n = 0; ; n++) {
        Chunk chunk = take(n);
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
          give(chunk);
        }
      }
    }

    private Chunk take(long n) {
      Chunk chunk = chunks[(int) (n % chunks.length)];
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

    private void give(Chunk chunk) {
      lock.lock();
      try {
        if (--chunk.pending == 0) {
          changed.signalAll();
        }
        operations += done;
        done = 0;
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

    private void chunk(Chunk chunk) {
      MemorySegment m = chunk.memory;
      long[] own = chunk.operations[me];
      int n = chunk.counts[me];
      begin();
      try {
        for (int i = 0; i < n; i++) {
          long recordAt = own[i] >>> 32;
          cursor.openOps(m, own[i] & 0xFFFF_FFFFL, chunk.used, 1);
          all(Mem.getLong(m, recordAt + 8), Mem.getLong(m, recordAt + 16));
        }
      } finally {
        end();
      }
    }

    /** Makes the operations that the cursor stands before, of a record. */
    void all(long start, long end) {
      CommitCursor c = cursor;
      session.position(start, end);
      while (c.next()) {
        int number = table.number(c.treeId());
        if (number >= 0) {
          operation(trees[number], positions[number], c, start);
          done++;
        }
      }
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
