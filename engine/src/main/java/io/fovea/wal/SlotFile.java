package io.fovea.wal;

import io.fovea.error.DurabilityLostException;
import io.fovea.error.FoveaException;
import io.fovea.io.BlockDevice;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The log's file as a row of slots of one size: makes them, cuts them off, and syncs.
 *
 * <p>A slot is filled with zeros once, when it is made, so that a later write changes no metadata
 * and can't run out of space.
 *
 * <p>Threads: one at a time makes slots or cuts them off; any may sync.
 */
final class SlotFile {
  private static final int ZEROS = 1 << 20;
  private static final int SYNC_EVERY = 8 << 20;

  private final BlockDevice device;
  private final LogStart start;
  private final long segmentBytes;
  private final ReentrantLock syncing = new ReentrantLock();

  /** Under the lock {@code syncing}. */
  private @Nullable DurabilityLostException syncFailure;

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
   * Syncs the file.
   *
   * @throws DurabilityLostException if that fails: for good
   */
  void sync() {
    syncing.lock();
    try {
      device.sync();
    } catch (FoveaException e) {
      // Final, whatever the reason; lack of space included.
      syncFailure = new DurabilityLostException("The log could not be synced.", e);
      throw syncFailure;
    } finally {
      syncing.unlock();
    }
  }

  /**
   * The writer, after a sync that succeeded and before anybody is told.
   *
   * <p>An operating system may tell of a failed write only once, to whoever syncs the file first.
   * If that was the maker, about a write of the writer's, the writer's own sync says nothing. The
   * maker's sync began before the writer's ended then; so it is over when the lock can be had, and
   * its failure is seen.
   */
  void confirm() {
    syncing.lock();
    try {
      if (syncFailure != null) {
        throw syncFailure;
      }
    } finally {
      syncing.unlock();
    }
  }
}
