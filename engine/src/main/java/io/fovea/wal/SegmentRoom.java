package io.fovea.wal;

import io.fovea.error.StorageFullException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * How much room the log's file has, who waits for more, and what the maker answers.
 *
 * <pre>
 *   room = rest of the current segment + free slots
 *
 *        0 ............ low / 2 ............ low ............ low + segment / 4
 *          those that can't    those that have    the next slot is
 *          go back, groups     begun              made ahead
 * </pre>
 *
 * <p>{@code low} is what must be left for an operation to begin, so that those that have begun find
 * room for what they log. Where the storage is full, nobody may begin ({@link #requireRoom}) until
 * there is room, by a recycled segment or a larger file. Half of it ({@link #hasReserve}) is for
 * those that can't go back any more, and for the groups that make durable what is in the ring: a
 * large operation does not use up what a checkpoint needs to recycle segments.
 *
 * <p><b>Claims.</b> An operation may have more to log behind its record than {@code low} is meant
 * for: a long interval of keys that is cut out of a tree, or long values whose pages become free.
 * It claims room for that before its record, while it can be refused ({@link #claim}), since nobody
 * could make room later: it holds back the redo point until its end. Until then others begin only
 * where so much more is left. What has been logged of it is claimed no more ({@link #unclaim}).
 *
 * <p><b>Questions.</b> A thread that needs a slot raises {@code asked} and waits until {@code
 * answered} has reached its number. The answer is a slot, or why there is none.
 *
 * <p>Threads: any. Numbers that one thread writes are volatile, and claims are given back without
 * the lock; everything else is under the lock, which {@link SegmentSlots} shares.
 */
final class SegmentRoom {
  /** How long what was refused is refused again, without another attempt. */
  private static final long DENIED_NANOS = TimeUnit.SECONDS.toNanos(1);

  final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final SlotFile file;
  private final long segmentBytes;

  /** How large a group of the log may be in the file. */
  private final long groupBytes;

  /** What must be left for an operation to begin, without the sessions' blocks; and with them. */
  private final long lowAlone;

  private volatile long low;

  /** What is claimed for operations that can't go back any more. Raised under the lock. */
  private final AtomicLong claimed = new AtomicLong();

  /** What is about to be claimed: slots are made for it. Written under the lock. */
  private volatile long wanted;

  /** What is left of the current segment, in bytes. The writer's. */
  private volatile long rest;

  /** How many slots are free. Written under the lock. */
  private volatile int freeSlots;

  // Under the lock.
  private long asked;
  private long answered;
  private boolean ended;
  private boolean writerWaits;

  /** The writer's last question: those of others come all the time where the storage is full. */
  private long writerAsked;

  /** A claim of so many bytes was refused, when, and why; null for none. */
  private long deniedBytes;

  private long deniedNanos;
  private @Nullable StorageFullException denied;
  private @Nullable StorageFullException full;

  SegmentRoom(SlotFile file, long segmentBytes, long groupBytes, long low) {
    this.file = file;
    this.segmentBytes = segmentBytes;
    this.groupBytes = groupBytes;
    this.lowAlone = low;
    this.low = low;
  }

  // ----------------------------------------------------------------------------------- how much

  /** How many bytes can be written before another slot must be made. */
  long room() {
    return rest + freeSlots * SegmentHeader.capacity(segmentBytes);
  }

  /** How large the file is, in bytes. */
  long fileBytes() {
    return file.bytes();
  }

  /** Whether an operation may begin. */
  boolean isEnough() {
    return isEnough(0);
  }

  /** The same, and for so many bytes to be claimed. */
  private boolean isEnough(long claim) {
    return room() >= low + claimed.get() + claim;
  }

  /** Whether another slot is to be made ahead of need. */
  boolean isScarce() {
    return room() < needed() + segmentBytes / 4;
  }

  /** What should be left. */
  private long needed() {
    return low + claimed.get() + wanted;
  }

  /** Whether there is room for those that have begun and can still give up. */
  boolean hasReserve() {
    return room() >= (low >> 1) + claimed.get();
  }

  /** How many free slots there should be: one more than the maker would make. */
  long ready() {
    return (needed() + segmentBytes / 4) / SegmentHeader.capacity(segmentBytes) + 2;
  }

  /** How many free slots could go, and none would be made in their place at once. */
  long spare() {
    long spare = room() - needed() - segmentBytes / 4;
    return Math.max(0, spare) / SegmentHeader.capacity(segmentBytes);
  }

  /** How many slots there are at least where the current segment is a new one: it and free ones. */
  int least() {
    long capacity = SegmentHeader.capacity(segmentBytes);
    return (int) ((needed() + segmentBytes / 4 + capacity - 1) / capacity);
  }

  /** There are so many sessions: each of them may need a block of its own for a short record. */
  void sessions(int n) {
    low = lowAlone + (long) n * Group.BLOCK;
  }

  /** The writer: so many bytes of the current segment are left. */
  void rest(long bytes) {
    rest = bytes;
  }

  /** So many slots are free; under the lock. */
  void freeSlots(int n) {
    freeSlots = n;
  }

  // ------------------------------------------------------------------------------------- who waits

  /** A thread that waits looks again. */
  void tell() {
    lock.lock();
    try {
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Asks for another slot where there is too little room, and does not wait for the answer. */
  void ask() {
    lock.lock();
    try {
      if (!isEnough() && answered >= asked && full == null) {
        asked++;
        changed.signalAll();
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * Returns when there is room for an operation to begin.
   *
   * @throws StorageFullException where there is none and the file can't be made larger
   */
  void requireRoom() {
    if (isEnough()) {
      return;
    }
    lock.lock();
    try {
      requireRoom(0);
    } finally {
      lock.unlock();
    }
  }

  /** For an operation to begin, and for so many bytes that it claims; under the lock. */
  private void requireRoom(long claim) {
    while (!isEnough(claim) && !ended) {
      long mine = ++asked;
      changed.signalAll();
      while (answered < mine && !isEnough(claim) && !ended) {
        await(1000);
      }
      if (!isEnough(claim) && full != null) {
        throw isFull(full);
      }
    }
  }

  /**
   * Claims room for what an operation logs behind its record, until {@link #unclaim}. Nothing where
   * it is so little that all who have begun find room for as much.
   *
   * @param payload how many bytes of records
   * @return how many bytes of the file, which may be less than it would take, or 0
   * @throws StorageFullException where there is no such room, and the file can't be made larger:
   *     nothing was claimed
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
        requireRoom(bytes);
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

  /** Who tries again at once does not fill the storage with slots again; under the lock. */
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

  /** How many bytes are claimed. */
  long claimed() {
    return claimed.get();
  }

  /**
   * So many bytes of the file that were claimed are used, or not needed any more. Nothing that can
   * fail: what is not given back here keeps all out.
   */
  void unclaim(long bytes) {
    claimed.addAndGet(-bytes);
  }

  /**
   * What records take of the file where groups are half full, the rest of a segment is lost that
   * the next group does not fit, and the first segment is lost as well.
   */
  private long inFile(long payload) {
    long groups = payload / (groupBytes / 2) + 1;
    long written = payload + groups * Group.BLOCK;
    long capacity = SegmentHeader.capacity(segmentBytes);
    long lost = Math.min(groupBytes, capacity / 2);
    return written + (written / (capacity - lost) + 2) * lost;
  }

  /** Why the file can't be made larger, if it is too small and can't. */
  @Nullable StorageFullException whyFull() {
    lock.lock();
    try {
      return !isEnough() && full != null ? isFull(full) : null;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Why nothing more can be written: the writer waits for a slot, and the file can't be made
   * larger. Null where that is not so. Slots become free by checkpoints; so a checkpoint, and
   * whoever would wait for one, must not wait for the writer then.
   */
  @Nullable StorageFullException whyStuck() {
    lock.lock();
    try {
      boolean stuck = writerWaits && freeSlots == 0 && answered >= writerAsked;
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
   * The writer, under the lock: asks for a slot, and waits until one is free.
   *
   * @param pauseNanos how long to wait at least until it asks again
   * @param stop whether to wait no longer
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
      long mine = ++asked;
      writerAsked = mine;
      changed.signalAll();
      // First the answer, then a pause: a full disk is not asked at every signal.
      long again = System.nanoTime() + pauseNanos;
      while (freeSlots == 0 && (answered < mine || System.nanoTime() < again)) {
        if (ended || stop.now()) {
          return false;
        }
        await(20);
      }
    }
    return true;
  }

  /** Waits a while, or until something changed; the interrupt flag is kept. Under the lock. */
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

  /** Nobody waits any more. */
  void end() {
    lock.lock();
    try {
      ended = true;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  // -------------------------------------------------------------------------------- who answers

  /** Whether nobody waits any more; under the lock. */
  boolean hasEnded() {
    return ended;
  }

  /** The maker, under the lock: waits for questions, a second at most, then forgets its answer. */
  void awaitQuestions() {
    await(1000);
    full = null; // another attempt from time to time
  }

  /** Whether another slot is needed, or somebody waits for an answer; under the lock. */
  boolean isShort() {
    return answered < asked || (isScarce() && full == null);
  }

  /** The maker: whether another slot is needed, or somebody waits for an answer. */
  boolean isShort(long questions) {
    lock.lock();
    try {
      return answered < questions || isShort();
    } finally {
      lock.unlock();
    }
  }

  /** How many questions there are; what is made now answers them. */
  long asked() {
    lock.lock();
    try {
      return asked;
    } finally {
      lock.unlock();
    }
  }

  /** The maker, under the lock: so many questions have an answer, perhaps why there is no slot. */
  void answered(long questions, @Nullable StorageFullException why) {
    full = why;
    answered = Math.max(answered, questions);
  }
}
