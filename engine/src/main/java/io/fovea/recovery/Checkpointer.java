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
 * Moves the redo point on, so that a crash never needs more than so much of the log, while
 * everything goes on.
 *
 * <pre>
 *   redo                target                        tail
 *    |--- flush pages ----|-------- half of max --------|          begin when tail - redo > 5/8 max
 *    |           changed before the target              |          wait  when tail - redo >     max
 *
 *   0  free pages at the end of the file cut off, if there are many
 *   1  log durable up to the tail; pages older than the target written, in steps
 *   2  redo := min(tail, sessions, frames)               in this order; what could not be freed: again
 *   3  snapshot of the allocator, at A; COUNTS, at C     {@link CountsLog}
 *   4  log durable up to the tail of 2, A and C          the superblock must not be ahead of the log
 *   5  data file synced
 *   6  superblock {redo, snapshot, A, next tree, log's watermark} into the other slot, synced
 *   7  segments below redo recycled; the file shorter, where pages were cut off its end
 * </pre>
 *
 * <p>Where changes are followed, 3 writes TABLES now and then ({@link TablesLog}), 6 has from where
 * on the log is kept for that, and 7 recycles no segment behind it. There is a checkpoint, too,
 * when the storage is full: it lets go of what is kept.
 *
 * <p><b>Why in this order.</b> An appender publishes its slot before it reserves, and clears it
 * after it has set recLsn on every page that it changed. Read tail, slots, frames: a record below
 * the tail whose pages were not marked when the frames were read had its slot set when the slots
 * were read. Frames before slots: the record's pages are looked at, then marked, then the slot is
 * cleared, then looked at, and the redo point passes the record. 5 before 6: what recovery will not
 * replay any more must be in the file. 6 before 7: as long as the old superblock counts, its log is
 * needed.
 *
 * <p><b>Pace.</b> Each checkpoint by log bytes only writes what is older than half of the maximum,
 * so that a page that changes all the time is written twice for each maximum of log, and the next
 * one comes an eighth of the maximum later: many small ones rather than a few large. Those by time,
 * on demand and at close write everything.
 *
 * <p><b>Bytes</b> are those of the log or of its file, whichever are more ({@link
 * LogSpaceAccounting}): the first make a recovery long, the second fill the disk.
 *
 * <p><b>Quiet.</b> Where nothing was logged for a while there is one that writes everything, and
 * then the files are made as small as they may be ({@link IdleLogTrimmer}).
 *
 * <p><b>Requests.</b> A caller that asks for a checkpoint gets the result of the first one that
 * begins after it has asked, and of no other.
 *
 * <p><b>Room.</b> {@link #awaitRoom} is for commits that are about to begin: they wait while more
 * than the maximum is needed, except for a checkpoint that keeps failing, which they throw. They
 * sleep, and are woken by all that may end the wait:
 *
 * <pre>
 *   what                                        who wakes
 *   the redo point moved, or a checkpoint failed   the checkpointer, after each attempt
 *   the log takes less of its file than thought    the checkpointer, after each look
 *   the checkpointer has ended                     the checkpointer, close
 *   durability was lost, the log was closed        the log        ({@link Log#onEnd})
 *   the engine has stopped, or refuses to wait     the engine     ({@link #wakeWaiters})
 *   a time limit, an interrupt                     nobody: the sleep has a limit, and ends
 * </pre>
 *
 * <p>No wake-up is lost. A waiter reads {@link #wakes}, then looks at all of these, then sleeps
 * while wakes is what it has read; who wakes has changed one of these, and then changes wakes under
 * the lock of the sleep. So a change that the look has missed is followed by a change of wakes that
 * the waiter has not read, and it does not sleep. The look at the file wakes only where {@link
 * #waiting} is not 0: it stores {@link #writtenMax} before it reads that, and a waiter counts
 * itself before it reads writtenMax. All four are volatile, so one of the two sees the other.
 *
 * <p><b>Failures.</b> A page or a superblock that can't be written ends the checkpoint, and the
 * next one tries again: the old superblock still counts. A sync that failed is final: {@link
 * Log#fail}.
 *
 * <p>Any thread may ask for one; all are made by the thread "fovea-checkpoint".
 */
public final class Checkpointer implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  private static final long POLL_NANOS = 20_000_000;

  /** How long commits wait for room while checkpoints fail. */
  private static final long FAILING_NANOS = 5_000_000_000L;

  private static final int STEPS = 2;

  /**
   * How long a checkpoint looks for free pages at the end of the file, and how many it cuts off.
   */
  private static final long CUT_NANOS = 100_000_000;

  private static final long CUT_PAGES = 1 << 16;

  /**
   * What was done so far.
   *
   * @param checkpoints how many checkpoints were made
   * @param failures how many failed
   * @param nanos how long those that were made took, together
   * @param roomWaits how often a commit waited for room in the log
   * @param redoBytes how much log a crash would need now
   */
  public record Stats(
      long checkpoints, long failures, long nanos, long roomWaits, long redoBytes) {}

  private final String name;
  private final Log log;
  private final BufferPool pool;
  private final SuperblockFile superblocks;
  private final IntSupplier nextTreeId;
  private final Runnable leftovers;
  private final CountsLog counts;

  /** Null where nobody follows changes. */
  private final @Nullable TablesLog tables;

  private final long maxBytes;
  private final long intervalNanos;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition wake = lock.newCondition();
  private final Condition done = lock.newCondition();

  /** Behind {@link #lock}; nothing is waited for under it but {@link #room}. */
  private final ReentrantLock roomLock = new ReentrantLock();

  private final Condition room = roomLock.newCondition();

  /** What a caller asks for, and what it got. Under the lock. */
  private static final class Request {
    private boolean done;

    /** Why the checkpoint failed; null where it did not. */
    private @Nullable Throwable failure;
  }

  // Under the lock.

  /** Those that have no answer yet, in the order in which they came. */
  private final ArrayDeque<Request> requests = new ArrayDeque<>();

  private boolean stop;
  private long checkpoints;
  private long failures;
  private long nanos;
  private long roomWaits;

  // Written under the lock of the room.

  /** How often those that wait for room were told to look again. */
  private volatile long wakes;

  /** How many wait for room. */
  private volatile int waiting;

  // The thread's.
  private final LogSpaceAccounting use;
  private final IdleLogTrimmer rest;
  private final FileEnd end;
  private long lastTail;
  private long lastNanos;

  private volatile long redoLsn;

  /** With more written than this, the file between the redo point and the tail is too large. */
  private volatile long writtenMax = Long.MAX_VALUE;

  private volatile boolean started;
  private volatile boolean stopped;
  private volatile @Nullable Throwable failing;

  /** No checkpoint is made before {@link #begin}. */
  private @Nullable Thread thread;

  /**
   * A checkpointer that does nothing yet.
   *
   * @param name the database's, for messages
   * @param log its log
   * @param pool its pages
   * @param superblocks where the redo point is kept
   * @param nextTreeId the first id that no tree ever had; any thread
   * @param leftovers frees pages that were released and could not be freed then, once a new redo
   *     point was found and before it counts: recovery does not know of them any more
   * @param trees those whose records are counted; any thread
   * @param tables notes the tables for who follows changes; null where nobody does
   * @param maxBytes how much log a crash may need
   * @param intervalNanos how often there is one at least; 0 for by bytes alone
   * @param quietNanos after how long without any record the files are made small; 0 for never
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
    this.rest =
        new IdleLogTrimmer(
            log, pool.checkpoint().space()::hasRoomAhead, intervalNanos == 0 ? 0 : quietNanos);
    this.redoLsn = Long.MAX_VALUE;
    log.onEnd(this::wakeWaiters);
  }

  /**
   * Starts making checkpoints; the file says that it is in use, and recovery is over.
   *
   * @throws OutOfMemoryError if there is no thread to be had; may be called again
   */
  public void begin() {
    lock.lock();
    try {
      if (thread != null || stop) {
        return;
      }
      // Noted behind the start, which may fail: then nobody waits for this thread, and the next
      // call tries again. The thread waits for the lock, so it sees what is set here.
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
   * When a file that was closed is changed again: says in the log how many records trees have. What
   * the catalog says of that does not hold any more once a close has begun to write it anew. Any
   * thread.
   *
   * @param redo where replay begins
   */
  public void counts(long redo) {
    counts.append(redo);
  }

  /** How much log a crash may need. */
  public long maxBytes() {
    return maxBytes;
  }

  /** Replay would begin here. */
  public long redoLsn() {
    return redoLsn;
  }

  // ----------------------------------------------------------------------------------- callers

  /**
   * Makes a checkpoint of everything that was done before the call, and waits for it. An interrupt
   * does not end the wait, and is kept.
   *
   * @throws StorageException if it failed
   * @throws io.fovea.error.DurabilityLostException if a sync failed, now or before
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
      throw thrown(mine.failure);
    }
  }

  private static RuntimeException thrown(Throwable failure) {
    return failure instanceof FoveaException e
        ? e
        : new IllegalStateException("A checkpoint failed: " + failure, failure);
  }

  /**
   * For a commit that is about to begin: waits while the log that a crash would need is too long.
   *
   * <p>Whoever holds the redo point back may wait for the lock of the schema, so a thread that has
   * that lock must not wait here. The source of a load that holds it back does not wait for it.
   *
   * <p>An interrupt does not end the wait, and is kept.
   *
   * @param check ends the wait: the transaction is too old, or the database is being closed.
   *     Whoever makes it throw calls {@link #wakeWaiters} then, unless it is the time that {@code
   *     check} says is left
   */
  public void awaitRoom(Waits.Check check) {
    if (isCrowded() && !log.isHeldByMe()) {
      awaitRoomSlowly(check);
    }
  }

  private boolean isCrowded() {
    return log.tail() - redoLsn > maxBytes || log.bytesWritten() > writtenMax;
  }

  private void awaitRoomSlowly(Waits.Check check) {
    long began = System.nanoTime();
    lock.lock();
    try {
      roomWaits++;
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
          throw thrown(f);
        }
        check.goOn(() -> "room in the log (LogOptions.maxBytes), held up by " + log.holder());
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
    roomLock.lock();
    try {
      waiting += more;
    } finally {
      roomLock.unlock();
    }
  }

  /** Sleeps until the next wake-up after those that were seen. */
  private void sleep(long seen, long nanos) throws InterruptedException {
    roomLock.lock();
    try {
      long left = nanos;
      while (wakes == seen && left > 0) {
        left = room.awaitNanos(left);
      }
    } finally {
      roomLock.unlock();
    }
  }

  /**
   * Has all that wait for room look again whether they may, or have to wait any longer. For who has
   * changed what their check says. Any thread; the lock is held for some instructions.
   */
  public void wakeWaiters() {
    roomLock.lock();
    try {
      wakes++;
      room.signalAll();
    } finally {
      roomLock.unlock();
    }
  }

  /** What was done so far. */
  public Stats stats() {
    lock.lock();
    try {
      long redo = redoLsn;
      return new Stats(
          checkpoints,
          failures,
          nanos,
          roomWaits,
          redo == Long.MAX_VALUE ? 0 : Math.max(0, log.tail() - redo));
    } finally {
      lock.unlock();
    }
  }

  /** Begins no further checkpoint; does not wait for the one that is being made. */
  public void cancel() {
    lock.lock();
    try {
      stop = true;
      wake.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Ends the thread, after the checkpoint that it is at. */
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

  /** No checkpoint is made any more: no caller waits for one. */
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
      while (turn()) {}
    } finally {
      ended();
    }
  }

  /**
   * One checkpoint; false to end. Whatever is thrown, the thread goes on: commits wait for it. A
   * caller that has asked is answered by a later turn, since {@link #attempt} answers last.
   */
  private boolean turn() {
    try {
      Threads.turn();
      int asked = awaitReason();
      return asked >= 0 && attempt(asked);
    } catch (Throwable t) {
      failing = t;
      LockSupport.parkNanos(POLL_NANOS);
      return true;
    }
  }

  /** How many requests are to be answered, the first ones, perhaps none; -1 to end. */
  private int awaitReason() {
    lock.lock();
    try {
      while (true) {
        if (stop) {
          return -1;
        }
        if (!requests.isEmpty() || due()) {
          return requests.size();
        }
        wake.awaitNanos(POLL_NANOS);
      }
    } catch (InterruptedException e) {
      return -1; // nobody does that to this thread but to end it
    } finally {
      lock.unlock();
    }
  }

  private boolean due() {
    long behind = look();
    return behind > maxBytes - maxBytes / 8 * 3
        || overdue()
        || rest.isDue(lastTail)
        || log.mustReleaseRetention();
  }

  /** How much lies between the redo point and the tail. */
  private long look() {
    long redo = redoLsn;
    long tail = log.tail();
    long written = log.bytesWritten();
    use.sample(redo, tail, written);
    long inFile = use.behind(redo);
    writtenMax = written - inFile + maxBytes;
    if (waiting > 0 && !isCrowded()) {
      wakeWaiters();
    }
    return Math.max(tail - redo, inFile);
  }

  private boolean overdue() {
    return intervalNanos > 0
        && System.nanoTime() - lastNanos > intervalNanos
        && log.tail() != lastTail;
  }

  private boolean attempt(int asked) {
    long began = System.nanoTime();
    boolean resting = rest.isDue(lastTail);
    boolean all = asked > 0 || resting || overdue();
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
      Threads.tell(
          LOG, Level.WARNING, name, ": a checkpoint failed, and is tried again", "", failure);
    }
    if (resting) {
      rest.tried(failure == null);
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
      // One that gained nothing, for an operation holds the redo point back, would gain nothing
      // now.
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
    // Behind the look at the sessions: one that fails stops the pool before it ends, with pages
    // that only a recovery from where it began finds. So either it was active still, or this
    // throws.
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
                .changes(changes));
    try {
      superblocks.sync(staged);
    } catch (StorageException e) {
      log.fail(e);
      throw e;
    }
    redoLsn = redo;
    log.recycleBelow(redo, changes);
    look();
    end.shrink(resting);
  }

  /** After the redo point was found. What is written here alone is no reason for a checkpoint. */
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

  /** What lies behind it is half of the maximum, or less. */
  private long target(long tail) {
    return Math.min(tail, Math.max(tail - maxBytes / 2, use.position(maxBytes / 2, tail)));
  }

  /** Writes what is older than the target, in steps, the oldest first. */
  private void flush(long target, long tail) {
    log.awaitDurableUnlessFull(tail);
    long from = Math.min(redoLsn, target);
    for (int i = 1; i <= STEPS && !stop(); i++) {
      pool.checkpoint().flushOlder(i == STEPS ? target : from + (target - from) / STEPS * i);
    }
    if (pool.checkpoint().minRecLsn() < target) {
      // Pages that changed again, and were not yet in the log on disk when it was their turn.
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
