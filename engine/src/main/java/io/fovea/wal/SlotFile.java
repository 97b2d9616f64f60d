package io.fovea.wal;

import io.fovea.error.DurabilityLostException;
import io.fovea.io.BlockDevice;
import io.fovea.io.IoBatch;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.jspecify.annotations.Nullable;

/**
 * The log's file as a row of slots of one size: makes them, cuts them off, and syncs.
 *
 * <p>A slot is filled with zeros once, when it is made, so that a later write changes no metadata
 * and can't run out of space.
 *
 * <p><b>Who is told of a failure.</b> An operating system may tell of a failed write only once, to
 * whoever syncs the file first. Two kinds of threads sync it: writers, a group each, and the maker.
 * So the sync of one that succeeds proves something only if none of the other's failed that may
 * have been told what was meant for it. That sync began before the own one ended, for afterwards
 * there was nothing to tell. Each syncs under a lock, notes a failure there, and takes the other's
 * lock when its own sync has succeeded: a failure of a sync that began before is noted by then.
 *
 * <ul>
 *   <li>The maker's sync takes the failure of the writer's group: {@link #confirm}, before anybody
 *       is told that the group is durable.
 *   <li>The writer's sync takes the failure of the maker's zeros, or of the file's length: {@link
 *       #sync}, before the slot gets a header. A header that is durable while the length is not
 *       makes a file that looks as if it was cut.
 * </ul>
 *
 * <p>Neither holds one of the locks while it waits for the other, and the writer holds none while
 * it waits for a slot.
 *
 * <p><b>Writers among each other.</b> Groups are written at the same time only where no writer's
 * failure is told to another ({@link #writesApart}); else a writer that is not done keeps others
 * from beginning ({@link LogWriter}). So they share a lock.
 *
 * <p>Threads: one at a time makes slots or cuts them off; several write groups, within that rule;
 * any may sync.
 */
final class SlotFile {
  private static final int ZEROS = 1 << 20;
  private static final int SYNC_EVERY = 8 << 20;

  private final BlockDevice device;
  private final LogStart start;
  final long segmentBytes;

  /** Held during a sync that is not a group's. */
  private final ReentrantLock syncing = new ReentrantLock();

  /** Its shared half is held while a group is written and synced. */
  private final ReentrantReadWriteLock writing = new ReentrantReadWriteLock();

  /** Under the lock {@code syncing}. */
  private @Nullable Throwable syncFailure;

  /** One of them; written under the shared half of the lock {@code writing}. */
  private volatile @Nullable Throwable groupFailure;

  SlotFile(BlockDevice device, LogStart start, long segmentBytes) {
    this.device = device;
    this.start = start;
    this.segmentBytes = segmentBytes;
  }

  /** What asks whether to stop. */
  interface Stop {
    boolean now();
  }

  /** How large the file is, in bytes. */
  long bytes() {
    return device.size();
  }

  /** Makes a slot, the file as large as it needs; false where it was stopped. */
  boolean make(int slot, Stop stop) {
    long end = (slot + 1) * segmentBytes;
    if (device.size() < end) {
      device.resize(end);
    }
    return fill(slot, stop);
  }

  /** Fills a slot with zeros; then, durably later, gives it the header of a spare. */
  boolean fill(int slot, Stop stop) {
    long at = slot * segmentBytes;
    try (Arena arena = Arena.ofShared()) {
      int chunk = (int) Math.min(ZEROS, segmentBytes);
      MemorySegment zeros = arena.allocate(chunk, Group.BLOCK);
      for (long done = 0; done < segmentBytes; done += chunk) {
        if (stop.now()) {
          return false;
        }
        device.write(at + done, zeros, 0, (int) Math.min(chunk, segmentBytes - done));
        if ((done + chunk) % SYNC_EVERY == 0) {
          sync();
        }
      }
      sync();
      new SegmentHeader(start.database(), 0, 0, 0, segmentBytes).put(zeros, 0);
      device.write(at, zeros, 0, Group.BLOCK);
      sync();
      return true;
    }
  }

  /** Cuts off all slots from one on; not durably. */
  void cut(int slots) {
    device.resize(slots * segmentBytes);
  }

  /**
   * Syncs the file, where it is not for a group.
   *
   * @throws DurabilityLostException if that fails, or an earlier one has, or one of a group: for
   *     good
   */
  void sync() {
    syncing.lock();
    try {
      require(syncFailure);
      device.sync();
    } catch (Throwable t) {
      // Final, whatever the reason; lack of space included.
      syncFailure = t;
      throw lost(t);
    } finally {
      syncing.unlock();
    }
    writing.writeLock().lock(); // those that began before it ended are over then
    try {
      require(groupFailure);
    } finally {
      writing.writeLock().unlock();
    }
  }

  /** Whether groups may be written at the same time; see {@link BlockDevice#writesApart}. */
  boolean writesApart() {
    return device.writesApart();
  }

  /**
   * A writer: writes a group, with a sync at its end.
   *
   * @throws io.fovea.error.StorageException if that fails, which is final
   */
  void write(IoBatch group) {
    writing.readLock().lock();
    try {
      device.run(group);
      group.throwIfFailed();
    } catch (Throwable t) {
      groupFailure = t;
      throw t;
    } finally {
      writing.readLock().unlock();
    }
  }

  /**
   * A writer, after a group that succeeded and before anybody is told.
   *
   * @throws DurabilityLostException if a sync has failed that may have been told of the group
   */
  void confirm() {
    syncing.lock();
    try {
      require(syncFailure);
    } finally {
      syncing.unlock();
    }
  }

  private static void require(@Nullable Throwable failure) {
    if (failure != null) {
      throw lost(failure);
    }
  }

  private static DurabilityLostException lost(Throwable why) {
    return why instanceof DurabilityLostException told
        ? told
        : new DurabilityLostException("The log could not be synced.", why);
  }
}
