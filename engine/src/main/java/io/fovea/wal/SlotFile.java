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
 * The log's file as an array of slots of equal size: makes them, cuts them off, and syncs.
 *
 * <p>A slot is filled with zeros when it is made, so later writes change no metadata and cannot run
 * out of space.
 *
 * <p><b>Consumed errors.</b> An operating system may report a failed write only once, to the first
 * thread that syncs the file afterwards. Two kinds of threads sync it: writers, once per group, and
 * the preallocator. So a successful sync proves something only if no failed sync of the other kind
 * may have consumed the error. Such a sync began before this one ended, since afterwards there was
 * nothing to report. Each kind syncs under its lock, records a failure under it, and takes the
 * other's lock after its own sync has succeeded: by then any failure of a sync that began earlier
 * is recorded.
 *
 * <ul>
 *   <li>The preallocator's sync consumes the failure of the writer's group: {@link #confirm} checks
 *       that before the group is acknowledged.
 *   <li>The writer's sync consumes the failure of the preallocator's zeros, or of the file's
 *       length: {@link #sync} checks that before the slot gets a header. A durable header without
 *       the length would make the file look as if it had been cut.
 * </ul>
 *
 * <p>No thread holds one of the locks while it waits for the other, and the writer holds none while
 * it waits for a slot.
 *
 * <p><b>Concurrent writers.</b> Groups are written concurrently only if one writer's failure is
 * never reported to another ({@link #writesApart}); otherwise a writer keeps others from starting
 * until it is done ({@link LogWriter}). So they share a lock.
 *
 * <p>Threads: one at a time makes or cuts off slots; several write groups, within that rule; any
 * may sync.
 */
final class SlotFile {
  private static final int ZEROS = 1 << 20;
  private static final int SYNC_EVERY = 8 << 20;

  private final BlockDevice device;
  private final LogStart start;
  final long segmentBytes;

  /** Held during a sync that is not a group's. */
  private final ReentrantLock syncing = new ReentrantLock();

  /** The shared half is held while a group is written and synced. */
  private final ReentrantReadWriteLock writing = new ReentrantReadWriteLock();

  /** Guarded by {@code syncing}. */
  private @Nullable Throwable syncFailure;

  /** Any one failure; written under the shared half of {@code writing}. */
  private volatile @Nullable Throwable groupFailure;

  SlotFile(BlockDevice device, LogStart start, long segmentBytes) {
    this.device = device;
    this.start = start;
    this.segmentBytes = segmentBytes;
  }

  /** Returns whether to stop. */
  interface Stop {
    boolean now();
  }

  /** Returns the size of the file, in bytes. */
  long bytes() {
    return device.size();
  }

  /** Makes a slot, growing the file if necessary; returns false if stopped. */
  boolean make(int slot, Stop stop) {
    long end = (slot + 1) * segmentBytes;
    if (device.size() < end) {
      device.resize(end);
    }
    return fill(slot, stop);
  }

  /** Fills a slot with zeros and syncs, then gives it the header of a spare and syncs. */
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

  /** Shortens the file to a number of slots, without a sync. */
  void cut(int slots) {
    device.resize(slots * segmentBytes);
  }

  /**
   * Syncs the file, except for groups.
   *
   * @throws DurabilityLostException permanently, if this sync, an earlier sync or the sync of a
   *     group failed
   */
  void sync() {
    syncing.lock();
    try {
      require(syncFailure);
      device.sync();
    } catch (Throwable t) {
      // Final, whatever the reason, including lack of space.
      syncFailure = t;
      throw lost(t);
    } finally {
      syncing.unlock();
    }
    writing.writeLock().lock(); // waits for group syncs that began before this one ended
    try {
      require(groupFailure);
    } finally {
      writing.writeLock().unlock();
    }
  }

  /** Returns whether groups may be written concurrently; see {@link BlockDevice#writesApart}. */
  boolean writesApart() {
    return device.writesApart();
  }

  /**
   * Writes a group, with a sync at its end.
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
   * Confirms a successful group before it is acknowledged.
   *
   * @throws DurabilityLostException if a failed sync may have consumed an error of the group
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
    return why instanceof DurabilityLostException known
        ? known
        : new DurabilityLostException("The log could not be synced.", why);
  }
}
