package io.fovea.wal;

import io.fovea.error.StorageFullException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The free space of the log's file, the threads that wait for more, and the preallocator's answers.
 *
 * <pre>
 *   available = rest of the current segment + free slots
 *
 *        0 ............ low / 2 ............ low ............ low + segment / 4
 *          committed to     in progress        the next slot
 *          finish, groups                      is made ahead
 * </pre>
 *
 * <p>{@code low} must be left for an operation to begin, so that operations in progress find space
 * for their records. On full storage no operation may begin ({@link #requireSpace}) until a segment
 * is recycled or the file grows. Half of it ({@link #hasReserve}) is reserved for operations that
 * can no longer be undone and for the groups that make the ring durable: a large operation does not
 * use up the space that a checkpoint needs to recycle segments.
 *
 * <p><b>Claims.</b> An operation may log more after its record than {@code low} allows for: a long
 * interval of keys that is cut out of a tree, or long values whose pages become free. It claims
 * that space before its record, while it can still be refused ({@link #claim}), since afterwards
 * nothing could free space: the operation holds back the redo point until its end. Meanwhile, other
 * operations begin only if that much more is left. The logged part is released ({@link #unclaim}).
 *
 * <p><b>Requests.</b> A thread that needs a slot increments {@code requests} and waits until {@code
 * completedRequests} has reached its number. The answer is a slot, or why there is none.
 *
 * <p>Threads: any. Numbers that one thread writes are volatile, and claims are released without the
 * lock; everything else is under the lock, which {@link SegmentSlots} shares.
 */
final class SegmentSpace {
  /** How long a refused claim is refused again without another attempt. */
  private static final long DENIED_NANOS = TimeUnit.SECONDS.toNanos(1);

  final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final SlotFile file;
  private final long segmentBytes;

  /** The largest group in the file, in bytes. */
  private final long groupBytes;

  /** The space required for an operation to begin, without and with the sessions' blocks. */
  private final long lowAlone;

  private volatile long low;

  /** Space claimed for operations that can no longer be undone. Raised under the lock. */
  private final AtomicLong claimed = new AtomicLong();

  /** Space about to be claimed: slots are made for it. Written under the lock. */
  private volatile long wanted;

  /** The rest of the current segment, in bytes. Written by the writer. */
  private volatile long currentRemaining;

  /** The number of free slots. Written under the lock. */
  private volatile int freeSlots;

  // Under the lock.
  private long requests;
  private long completedRequests;
  private boolean ended;
  private boolean writerWaits;

  /** The writer's last question; other threads keep asking while the storage is full. */
  private long writerAsked;

  /** The size, time and reason of the last refused claim; null for none. */
  private long deniedBytes;

  private long deniedNanos;
  private @Nullable StorageFullException denied;
  private @Nullable StorageFullException full;

  SegmentSpace(SlotFile file, long segmentBytes, long groupBytes, long low) {
    this.file = file;
    this.segmentBytes = segmentBytes;
    this.groupBytes = groupBytes;
    this.lowAlone = low;
    this.low = low;
  }

  // ----------------------------------------------------------------------------------- how much

  /** Returns the bytes that can be written before another slot must be made. */
  long available() {
    return currentRemaining + freeSlots * SegmentHeader.capacity(segmentBytes);
  }

  /** Returns the size of the file, in bytes. */
  long fileBytes() {
    return file.bytes();
  }

  /** Returns whether an operation may begin. */
  boolean isEnough() {
    return isEnough(0);
  }

  /** Returns whether an operation may begin and claim a number of bytes. */
  private boolean isEnough(long claim) {
    return available() >= low + claimed.get() + claim;
  }

  /** Returns whether another slot is to be made ahead of need. */
  boolean isScarce() {
    return available() < needed() + segmentBytes / 4;
  }

  private long needed() {
    return low + claimed.get() + wanted;
  }

  /** Returns whether there is space for operations in progress that can still fail. */
  boolean hasReserve() {
    return available() >= (low >> 1) + claimed.get();
  }

  /** Returns how many free slots there should be: one more than the preallocator would make. */
  long ready() {
    return (needed() + segmentBytes / 4) / SegmentHeader.capacity(segmentBytes) + 2;
  }

  /** Returns how many free slots could be removed without being needed again soon. */
  long spare() {
    long spare = available() - needed() - segmentBytes / 4;
    return Math.max(0, spare) / SegmentHeader.capacity(segmentBytes);
  }

  /** Returns the minimum number of slots: a new current segment plus free ones. */
  int least() {
    long capacity = SegmentHeader.capacity(segmentBytes);
    return (int) ((needed() + segmentBytes / 4 + capacity - 1) / capacity);
  }

  /** Sets the number of sessions: each may need a separate block for a short record. */
  void sessions(int n) {
    low = lowAlone + (long) n * Group.BLOCK;
  }

  /** Called by the writer: sets the rest of the current segment. */
  void currentRemaining(long bytes) {
    currentRemaining = bytes;
  }

  /** Sets the number of free slots; under the lock. */
  void freeSlots(int n) {
    freeSlots = n;
  }

  // ------------------------------------------------------------------------------------- waiters

  /** Makes waiting threads check again. */
  void signalWaiters() {
    lock.lock();
    try {
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Asks for another slot if there is too little space, without waiting for the answer. */
  void requestSlot() {
    lock.lock();
    try {
      if (!isEnough() && completedRequests >= requests && full == null) {
        requests++;
        changed.signalAll();
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * Returns when there is space for an operation to begin.
   *
   * @throws StorageFullException if there is none and the file cannot grow
   */
  void requireSpace() {
    if (isEnough()) {
      return;
    }
    lock.lock();
    try {
      requireSpace(0);
    } finally {
      lock.unlock();
    }
  }

  /** Waits for space for an operation to begin and for its claim; under the lock. */
  private void requireSpace(long claim) {
    while (!isEnough(claim) && !ended) {
      long mine = ++requests;
      changed.signalAll();
      while (completedRequests < mine && !isEnough(claim) && !ended) {
        await(1000);
      }
      if (!isEnough(claim) && full != null) {
        throw isFull(full);
      }
    }
  }

  /**
   * Claims space for an operation's later records, until {@link #unclaim}. Claims nothing for an
   * amount so small that every operation in progress finds space for it.
   *
   * @param payload the number of bytes of records
   * @return the number of bytes of the file, 0 if nothing was claimed
   * @throws StorageFullException if there is too little space and the file cannot grow: nothing was
   *     claimed
   */
  long claim(long payload) {
    if (payload <= lowAlone >> 4) {
      return 0;
    }
    long bytes = inFile(payload);
    lock.lock();
    try {
      failFastIfDenied(bytes);
      wanted += bytes;
      try {
        requireSpace(bytes);
        claimed.addAndGet(bytes);
      } catch (StorageFullException e) {
        denied = e;
        deniedBytes = bytes;
        deniedNanos = System.nanoTime();
        throw e;
      } finally {
        wanted -= bytes;
      }
    } finally {
      lock.unlock();
    }
    return bytes;
  }

  /** Keeps immediate retries from filling the storage with slots again; under the lock. */
  private void failFastIfDenied(long bytes) {
    StorageFullException e = denied;
    if (e != null
        && !isEnough(bytes)
        && bytes >= deniedBytes
        && System.nanoTime() - deniedNanos < DENIED_NANOS) {
      throw isFull(e);
    }
    denied = null;
  }

  long claimed() {
    return claimed.get();
  }

  /**
   * Releases file space that was claimed. Must not fail: space that is not released here blocks all
   * other operations.
   */
  void unclaim(long bytes) {
    claimed.addAndGet(-bytes);
  }

  /**
   * Returns the maximum file space that records take: with half-full groups, space lost at the end
   * of each segment where the next group does not fit, and the rest of the current segment lost
   * too.
   */
  private long inFile(long payload) {
    long groups = payload / (groupBytes / 2) + 1;
    long written = payload + groups * Group.BLOCK;
    long capacity = SegmentHeader.capacity(segmentBytes);
    long lost = Math.min(groupBytes, capacity / 2);
    return written + (written / (capacity - lost) + 2) * lost;
  }

  /** Returns why the file cannot grow, if it is too small and cannot; otherwise null. */
  @Nullable StorageFullException whyFull() {
    lock.lock();
    try {
      return !isEnough() && full != null ? isFull(full) : null;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Returns why nothing more can be written, because the writer waits for a slot and the file
   * cannot grow; otherwise null. Checkpoints free slots; so a checkpoint, and a thread that would
   * wait for one, must not wait for the writer then.
   */
  @Nullable StorageFullException whyBlocked() {
    lock.lock();
    try {
      boolean stuck = writerWaits && freeSlots == 0 && completedRequests >= writerAsked;
      return stuck && full != null ? isFull(full) : null;
    } finally {
      lock.unlock();
    }
  }

  private StorageFullException isFull(StorageFullException why) {
    StorageFullException e =
        new StorageFullException(
            "another segment of " + segmentBytes + " bytes", "the log", file.bytes(), "no space");
    e.initCause(why);
    return e;
  }

  /**
   * Called by the writer under the lock: requests a slot and waits until one is free.
   *
   * @param pauseNanos the minimum time before it asks again
   * @param stop ends the wait
   * @return whether a slot is free
   */
  boolean awaitSlot(long pauseNanos, SlotFile.Stop stop) {
    writerWaits = true;
    try {
      return awaitAnySlot(pauseNanos, stop);
    } finally {
      writerWaits = false;
    }
  }

  private boolean awaitAnySlot(long pauseNanos, SlotFile.Stop stop) {
    while (freeSlots == 0) {
      long mine = ++requests;
      writerAsked = mine;
      changed.signalAll();
      // First the answer, then a pause: do not retry on a full disk at every signal.
      long again = System.nanoTime() + pauseNanos;
      while (freeSlots == 0 && (completedRequests < mine || System.nanoTime() < again)) {
        if (ended || stop.now()) {
          return false;
        }
        await(20);
      }
    }
    return true;
  }

  /** Waits for a signal or a timeout; the interrupt flag is kept. Under the lock. */
  private void await(long millis) {
    boolean interrupted = Thread.interrupted();
    try {
      changed.await(millis, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      interrupted = true;
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Ends all waits. */
  void end() {
    lock.lock();
    try {
      ended = true;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  // -------------------------------------------------------------------------------- answers

  /** Returns whether all waits have ended; under the lock. */
  boolean hasEnded() {
    return ended;
  }

  /** Called by the preallocator under the lock: waits up to a second, then forgets its answer. */
  void awaitRequests() {
    await(1000);
    full = null; // try again from time to time
  }

  /** Returns whether another slot is needed or a thread waits for an answer; under the lock. */
  boolean isShort() {
    return completedRequests < requests || (isScarce() && full == null);
  }

  /** Returns, for the preallocator, whether another slot is needed or an answer is due. */
  boolean isShort(long questions) {
    lock.lock();
    try {
      return completedRequests < questions || isShort();
    } finally {
      lock.unlock();
    }
  }

  /** Returns the number of requests so far; a slot made now completes them. */
  long requests() {
    lock.lock();
    try {
      return requests;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Called by the preallocator under the lock: completes requests, perhaps with a reason why there
   * is no slot.
   */
  void completeRequests(long upTo, @Nullable StorageFullException why) {
    full = why;
    completedRequests = Math.max(completedRequests, upTo);
  }
}
