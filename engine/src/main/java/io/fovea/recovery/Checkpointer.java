package io.fovea.recovery;

import io.fovea.btree.BTree;
import io.fovea.buffer.AllocatorSnapshot;
import io.fovea.buffer.BufferPool;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.FoveaException;
import io.fovea.error.StorageException;
import io.fovea.memory.Threads;
import io.fovea.memory.Waits;
import io.fovea.wal.Log;
import java.lang.System.Logger.Level;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Advances the redo point, so that a crash never needs more than a given amount of log, while the
 * database is in use.
 *
 * <pre>
 *   redo                target                        tail
 *    |--- flush pages ----|-------- half of max --------|          begin when tail - redo > 5/8 max
 *    |           changed before the target              |          wait  when tail - redo >     max
 *
 *   0  free pages at the end of the file cut off, if there are many
 *   1  log durable up to the tail; pages older than the target written, in steps
 *   2  redo := min(tail, sessions, frames)               in this order; deferred frees are retried
 *   3  snapshot of the allocator, at A; COUNTS, at C     {@link CountsLog}
 *   4  log durable up to the tail of 2, A and C          the superblock must not be ahead of the log
 *   5  data file synced
 *   6  superblock {redo, snapshot, A, next tree, log's watermark} into the other slot, synced
 *   7  segments below redo recycled; the file shortened if pages were cut off its end
 * </pre>
 *
 * <p>With change subscribers, 3 writes TABLES from time to time ({@link TablesLog}), 6 records the
 * start of the retained log, and 7 recycles no segment after it. Full storage also triggers a
 * checkpoint, which releases retained log.
 *
 * <p><b>Order.</b> An appender publishes its slot before it reserves, and clears it after setting
 * recLsn on every page that it changed. A checkpoint reads the tail, then the slots, then the
 * frames: a record below the tail whose pages were not yet marked when the frames were read had its
 * slot set when the slots were read. Forbidden: frames before slots, as the pages could be marked
 * and the slot cleared between the two reads, and the redo point would pass the record. 5 before 6:
 * the file must contain everything that recovery no longer replays. 6 before 7: while the old
 * superblock is valid, its log is needed.
 *
 * <p><b>Rate.</b> A checkpoint triggered by log bytes writes only pages older than half of the
 * maximum, so a constantly changing page is written twice per maximum of log, and the next
 * checkpoint comes an eighth of the maximum later: many small checkpoints. Checkpoints by time, on
 * demand and at close write everything.
 *
 * <p><b>Bytes</b> are those of the log, which determine the recovery time, or of its file, which
 * fill the disk, whichever are more ({@link LogSpaceAccounting}).
 *
 * <p><b>Idle databases.</b> If nothing was logged for a while, one checkpoint writes everything,
 * and then the files are shortened ({@link IdleLogTrimmer}).
 *
 * <p><b>Requests</b> get the result of the first checkpoint that begins after them.
 *
 * <p><b>Log space.</b> Commits that are about to begin call {@link #awaitLogSpace}: they wait while
 * more than the maximum is needed, but throw if checkpoints keep failing. They sleep until an event
 * that may end the wait:
 *
 * <pre>
 *   event                                          woken by
 *   the redo point moved, or a checkpoint failed   the checkpointer, after each attempt
 *   the log takes less of its file than assumed    the checkpointer, after each sample
 *   the checkpointer has ended                     the checkpointer, close
 *   durability was lost, the log was closed        the log        ({@link Log#onEnd})
 *   the engine has stopped, or refuses to wait     the engine     ({@link #wakeWaiters})
 *   a time limit, an interrupt                     the sleep itself, which has a limit
 * </pre>
 *
 * <p>No wake-up is lost. A waiter reads {@link #wakes}, checks these conditions, and sleeps while
 * wakes is unchanged; a waker changes a condition, then increments wakes under the lock of the
 * sleep. So a change that the check missed is followed by a value of wakes that the waiter did not
 * read, and it does not sleep. The sample of the file wakes only if {@link #waiting} is not 0: it
 * stores {@link #writtenMax} before it reads waiting, and a waiter increments waiting before it
 * reads writtenMax. All four are volatile, so one of the two sees the other.
 *
 * <p><b>Failures.</b> If a page or a superblock cannot be written, the checkpoint ends and the next
 * one tries again: the old superblock is still valid. A failed sync is final: {@link Log#fail}.
 *
 * <p>Any thread may request a checkpoint; the thread "fovea-checkpoint" makes all of them.
 */
public final class Checkpointer implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  private static final long POLL_NANOS = 20_000_000;

  /** How long commits wait for log space while checkpoints fail. */
  private static final long FAILING_NANOS = 5_000_000_000L;

  private static final int STEPS = 2;

  /** The limits, in time and pages, of cutting free pages off the end of the file. */
  private static final long CUT_NANOS = 100_000_000;

  private static final long CUT_PAGES = 1 << 16;

  /**
   * Counters of checkpoints.
   *
   * @param checkpoints the number of checkpoints made
   * @param failures the number of failed checkpoints
   * @param nanos the total time of the checkpoints that were made
   * @param spaceWaits how often a commit waited for log space
   * @param redoBytes the log that a crash would need now
   */
  public record Stats(
      long checkpoints, long failures, long nanos, long spaceWaits, long redoBytes) {}

  private final String name;
  private final Log log;
  private final BufferPool pool;
  private final SuperblockFile superblocks;
  private final IntSupplier nextTreeId;
  private final Runnable leftovers;
  private final CountsLog counts;

  /** Null without change subscribers. */
  private final @Nullable TablesLog tables;

  private final long maxBytes;
  private final long intervalNanos;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition wake = lock.newCondition();
  private final Condition done = lock.newCondition();

  /** Taken after {@link #lock}; no thread waits under it except on {@link #spaceFreed}. */
  private final ReentrantLock spaceLock = new ReentrantLock();

  private final Condition spaceFreed = spaceLock.newCondition();

  /** A request for a checkpoint, and its result. Guarded by the lock. */
  private static final class Request {
    private boolean done;

    /** Why the checkpoint failed; null if it did not. */
    private @Nullable Throwable failure;
  }

  // Guarded by the lock.

  /** Unanswered requests, oldest first. */
  private final ArrayDeque<Request> requests = new ArrayDeque<>();

  private boolean stop;
  private long checkpoints;
  private long failures;
  private long nanos;
  private long spaceWaits;

  // Written under the lock of that condition.

  /** The number of wake-ups of threads that wait for log space. */
  private volatile long wakes;

  /** The number of threads that wait for log space. */
  private volatile int waiting;

  // Used by the checkpoint thread.
  private final LogSpaceAccounting use;
  private final IdleLogTrimmer idleTrimmer;
  private final FileEnd end;
  private long lastTail;
  private long lastNanos;

  private volatile long redoLsn;

  /** If more than this is written, the file between the redo point and the tail is too large. */
  private volatile long writtenMax = Long.MAX_VALUE;

  private volatile boolean started;
  private volatile boolean stopped;
  private volatile @Nullable Throwable failing;

  /** Null before {@link #begin}: no checkpoint is made until then. */
  private @Nullable Thread thread;

  /**
   * Creates a checkpointer that is not running yet.
   *
   * @param name the database's name, for messages
   * @param log its log
   * @param pool its pages
   * @param superblocks the file of the redo point
   * @param nextTreeId returns the first id that no tree ever had; any thread
   * @param leftovers frees pages that could not be freed when they were released. Called after a
   *     new redo point was found and before it is valid, since recovery from there does not know
   *     about them
   * @param trees returns the trees whose records are counted; any thread
   * @param tables logs the tables for change subscribers; null without subscribers
   * @param maxBytes the maximum amount of log that a crash may need
   * @param intervalNanos the longest time between checkpoints; 0 to trigger them by bytes only
   * @param quietNanos the time without records after which the files are made small; 0 for never
   */
  public Checkpointer(
      String name,
      Log log,
      BufferPool pool,
      SuperblockFile superblocks,
      IntSupplier nextTreeId,
      Runnable leftovers,
      Supplier<List<BTree>> trees,
      @Nullable TablesLog tables,
      long maxBytes,
      long intervalNanos,
      long quietNanos) {
    this.name = name;
    this.log = log;
    this.pool = pool;
    this.superblocks = superblocks;
    this.nextTreeId = nextTreeId;
    this.leftovers = leftovers;
    this.counts = new CountsLog(name, log, trees);
    this.tables = tables;
    this.maxBytes = maxBytes;
    this.intervalNanos = intervalNanos;
    this.use = new LogSpaceAccounting(Math.max(4096, maxBytes / 64));
    this.end = new FileEnd(name, pool, superblocks, log::session, CUT_NANOS, CUT_PAGES);
    this.idleTrimmer =
        new IdleLogTrimmer(
            log, pool.checkpoint().space()::shouldShorten, intervalNanos == 0 ? 0 : quietNanos);
    this.redoLsn = Long.MAX_VALUE;
    log.onEnd(this::wakeWaiters);
  }

  /**
   * Starts making checkpoints. The file is marked as in use, and recovery has ended.
   *
   * @throws OutOfMemoryError if the thread cannot be started; may be called again
   */
  public void begin() {
    lock.lock();
    try {
      if (thread != null || stop) {
        return;
      }
      // Set after the start, which may fail: then no caller waits for this thread, and the next
      // call tries again. The thread waits for the lock, so it sees these writes.
      Thread t = Threads.start("fovea-checkpoint", this::work);
      redoLsn = superblocks.current().redoLsn();
      lastTail = redoLsn;
      lastNanos = System.nanoTime();
      thread = t;
      started = true;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Logs the record counts of trees, when a file that was closed is changed again. The catalog's
   * counts become invalid once a close has begun to rewrite them. Safe for use by any thread.
   *
   * @param redo the position where replay begins
   */
  public void counts(long redo) {
    counts.append(redo);
  }

  /** Returns the maximum amount of log that a crash may need. */
  public long maxBytes() {
    return maxBytes;
  }

  /** Returns the position at which replay would begin. */
  public long redoLsn() {
    return redoLsn;
  }

  // ----------------------------------------------------------------------------------- callers

  /**
   * Makes a checkpoint of everything that was done before the call, and waits for it. An interrupt
   * does not end the wait; the flag is kept.
   *
   * @throws StorageException if it failed
   * @throws io.fovea.error.DurabilityLostException if a sync failed, now or earlier
   */
  public void checkpoint() {
    if (!started) {
      return;
    }
    boolean interrupted = false;
    Request mine = new Request();
    lock.lock();
    try {
      requests.add(mine);
      wake.signal();
      while (!mine.done && !stopped) {
        try {
          done.await();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
      if (!mine.done) {
        throw new DatabaseClosedException("Database " + name + " is closed.");
      }
    } finally {
      lock.unlock();
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
    if (mine.failure != null) {
      throw asException(mine.failure);
    }
  }

  private static RuntimeException asException(Throwable failure) {
    return failure instanceof FoveaException e
        ? e
        : new IllegalStateException("A checkpoint failed: " + failure, failure);
  }

  /**
   * Waits, before a commit begins, while a crash would need too much log.
   *
   * <p>The operation that holds back the redo point may wait for the schema lock, so a thread that
   * holds that lock must not wait here. The thread that holds back the redo point itself, such as
   * the source of a load, does not wait.
   *
   * <p>An interrupt does not end the wait; the flag is kept.
   *
   * @param check ends the wait: the transaction is too old, or the database is being closed. Code
   *     that makes it throw must then call {@link #wakeWaiters}, except for the time limit that
   *     {@code check} reports
   */
  public void awaitLogSpace(Waits.Check check) {
    if (isCrowded() && !log.isHeldByMe()) {
      awaitLogSpaceSlowly(check);
    }
  }

  private boolean isCrowded() {
    return log.tail() - redoLsn > maxBytes || log.bytesWritten() > writtenMax;
  }

  private void awaitLogSpaceSlowly(Waits.Check check) {
    long began = System.nanoTime();
    lock.lock();
    try {
      spaceWaits++;
      wake.signal();
    } finally {
      lock.unlock();
    }
    boolean interrupted = false;
    waiting(1);
    try {
      while (true) {
        long seen = wakes;
        if (!isCrowded() || stopped) {
          return;
        }
        log.requireAlive();
        Throwable f = failing;
        long failingLeft = FAILING_NANOS - (System.nanoTime() - began);
        if (f != null && failingLeft <= 0) {
          throw asException(f);
        }
        check.checkWait(() -> "space in the log (LogOptions.maxBytes), held up by " + log.holder());
        long left = check.nanosLeft();
        try {
          sleep(seen, f == null ? left : Math.min(left, failingLeft));
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      waiting(-1);
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private void waiting(int more) {
    spaceLock.lock();
    try {
      waiting += more;
    } finally {
      spaceLock.unlock();
    }
  }

  /** Sleeps until the next wake-up after those already seen. */
  private void sleep(long seen, long nanos) throws InterruptedException {
    spaceLock.lock();
    try {
      long left = nanos;
      while (wakes == seen && left > 0) {
        left = spaceFreed.awaitNanos(left);
      }
    } finally {
      spaceLock.unlock();
    }
  }

  /**
   * Makes all threads that wait for log space check again, after a change of what their checks
   * depend on. Any thread; the lock is held for a few instructions.
   */
  public void wakeWaiters() {
    spaceLock.lock();
    try {
      wakes++;
      spaceFreed.signalAll();
    } finally {
      spaceLock.unlock();
    }
  }

  public Stats stats() {
    lock.lock();
    try {
      long redo = redoLsn;
      return new Stats(
          checkpoints,
          failures,
          nanos,
          spaceWaits,
          redo == Long.MAX_VALUE ? 0 : Math.max(0, log.tail() - redo));
    } finally {
      lock.unlock();
    }
  }

  /** Prevents further checkpoints; does not wait for the current one. */
  public void cancel() {
    lock.lock();
    try {
      stop = true;
      wake.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Ends the thread, after the current checkpoint. */
  @Override
  public void close() {
    Thread t;
    lock.lock();
    try {
      stop = true;
      t = thread;
      wake.signalAll();
    } finally {
      lock.unlock();
    }
    Waits.join(t);
    ended();
  }

  /** Notifies callers that no more checkpoints are made. */
  private void ended() {
    stopped = true;
    lock.lock();
    try {
      done.signalAll();
    } finally {
      lock.unlock();
    }
    wakeWaiters();
  }

  // ---------------------------------------------------------------------------------- the thread

  private void work() {
    try {
      while (iterate()) {}
    } finally {
      ended();
    }
  }

  /**
   * Makes one checkpoint; returns false to end. Continues after any exception, since commits wait
   * for this thread. A request is then answered by a later iteration, since {@link #attempt}
   * answers last.
   */
  private boolean iterate() {
    try {
      Threads.beginIteration();
      int asked = awaitReason();
      return asked >= 0 && attempt(asked);
    } catch (Throwable t) {
      failing = t;
      LockSupport.parkNanos(POLL_NANOS);
      return true;
    }
  }

  /** Returns the number of requests to answer, oldest first, perhaps 0; -1 to end. */
  private int awaitReason() {
    lock.lock();
    try {
      while (true) {
        if (stop) {
          return -1;
        }
        if (!requests.isEmpty() || isDue()) {
          return requests.size();
        }
        wake.awaitNanos(POLL_NANOS);
      }
    } catch (InterruptedException e) {
      return -1; // this thread is interrupted only to end it
    } finally {
      lock.unlock();
    }
  }

  private boolean isDue() {
    long distance = sampleLog();
    return distance > maxBytes - maxBytes / 8 * 3
        || isOverdue()
        || idleTrimmer.isDue(lastTail)
        || log.mustReleaseRetention();
  }

  /** Samples the log; returns the distance between the redo point and the tail. */
  private long sampleLog() {
    long redo = redoLsn;
    long tail = log.tail();
    long written = log.bytesWritten();
    use.sample(redo, tail, written);
    long inFile = use.bytesAfter(redo);
    writtenMax = written - inFile + maxBytes;
    if (waiting > 0 && !isCrowded()) {
      wakeWaiters();
    }
    return Math.max(tail - redo, inFile);
  }

  private boolean isOverdue() {
    return intervalNanos > 0
        && System.nanoTime() - lastNanos > intervalNanos
        && log.tail() != lastTail;
  }

  private boolean attempt(int asked) {
    long began = System.nanoTime();
    boolean resting = idleTrimmer.isDue(lastTail);
    boolean all = asked > 0 || resting || isOverdue();
    long redo = redoLsn;
    Throwable failure = null;
    try {
      log.requireAlive();
      make(all, resting);
    } catch (RuntimeException | Error e) {
      failure = e;
    }
    boolean first = failing == null;
    failing = failure;
    if (failure != null && first && !stop()) {
      Threads.logSafely(
          LOG, Level.WARNING, name, ": a checkpoint failed and will be retried", "", failure);
    }
    if (resting) {
      idleTrimmer.tried(failure == null);
    }
    long now = System.nanoTime();
    lock.lock();
    try {
      if (failure == null) {
        checkpoints++;
        nanos += now - began;
      } else {
        failures++;
      }
      for (int i = 0; i < asked; i++) {
        Request answered = requests.remove();
        answered.failure = failure;
        answered.done = true;
      }
      done.signalAll();
      wakeWaiters();
      // If an operation holds back the redo point, another attempt would gain nothing now.
      if ((failure != null || redoLsn == redo) && !stop && requests.isEmpty()) {
        wake.await(POLL_NANOS * 5, TimeUnit.NANOSECONDS);
      }
    } catch (InterruptedException e) {
      stop = true;
    } finally {
      lock.unlock();
    }
    return true;
  }

  private void make(boolean all, boolean resting) {
    end.cut(this::stop);
    long tail = log.tail();
    lastNanos = System.nanoTime();
    lastTail = tail;
    flush(all ? tail : target(tail), tail);

    final long now = log.tail();
    final long active = log.minActive();
    final long dirty = pool.checkpoint().minRecLsn();
    final long redo = Math.max(redoLsn, Math.min(now, Math.min(active, dirty)));
    // After reading the sessions: a session that fails stops the pool before it ends, leaving pages
    // that only a recovery from its begin finds. So either it was still active, or this throws.
    pool.checkpoint().requireRunning();
    leftovers.run();
    final AllocatorSnapshot pages = pool.checkpoint().snapshot(log, redo);
    final long counted = counts(redo, tail);
    log.awaitDurableUnlessFull(Math.max(Math.max(now, counted), Math.max(redo, pages.lsn())));
    sync();
    final long changes = tables == null ? 0 : tables.keptFrom(superblocks.current(), redo);
    Superblock staged =
        superblocks.stage(
            superblocks
                .current()
                .logged(redo, pages.state(), pages.lsn(), nextTreeId.getAsInt(), log.watermark())
                .withChangesFrom(changes));
    try {
      superblocks.sync(staged);
    } catch (StorageException e) {
      log.fail(e);
      throw e;
    }
    redoLsn = redo;
    log.recycleBelow(redo, changes);
    sampleLog();
    end.shrink(resting);
  }

  /** Logs counts after the redo point was found. These records alone do not cause a checkpoint. */
  private long counts(long redo, long tail) {
    boolean idle = log.tail() == tail;
    long end = counts.append(redo);
    if (tables != null) {
      end = Math.max(end, tables.appendIfDue());
    }
    if (idle && end > 0 && log.tail() == end) {
      lastTail = end;
    }
    return end;
  }

  /** Returns a position with at most half of the maximum after it. */
  private long target(long tail) {
    return Math.min(tail, Math.max(tail - maxBytes / 2, use.position(maxBytes / 2, tail)));
  }

  /** Writes pages older than the target, in steps, oldest first. */
  private void flush(long target, long tail) {
    log.awaitDurableUnlessFull(tail);
    long from = Math.min(redoLsn, target);
    for (int i = 1; i <= STEPS && !stop(); i++) {
      pool.checkpoint().flushOlder(i == STEPS ? target : from + (target - from) / STEPS * i);
    }
    if (pool.checkpoint().minRecLsn() < target) {
      // Pages that changed again, and were not yet in the durable log when they were reached.
      log.awaitDurableUnlessFull(log.tail());
      pool.checkpoint().flushOlder(target);
    }
  }

  private boolean stop() {
    lock.lock();
    try {
      return stop;
    } finally {
      lock.unlock();
    }
  }

  private void sync() {
    try {
      pool.checkpoint().sync();
    } catch (StorageException e) {
      log.fail(e);
      throw e;
    }
  }
}
