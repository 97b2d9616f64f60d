package io.fovea.io;

import io.fovea.bindings.NativeException;
import io.fovea.memory.NativeRegion;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * The rings of a device for reading threads: created when they are first needed, kept until the
 * device is closed.
 *
 * <p>Because rings are pooled, not owned by a thread, their number is bounded by the threads that
 * read many pages at the same time, and a thread leaves nothing behind when it ends. A thread
 * starts its search at a slot that depends on its id, so it tends to get the same ring again.
 *
 * <p>A thread that has a ring is inside the device's gate, and so is a thread that ends the reads
 * of others: no ring is in use when the rings are closed.
 */
final class RingPool {
  private static final System.Logger LOG = System.getLogger("io.fovea.io");

  /**
   * The maximum number of rings. Each takes 256 KiB for reads to land in, and about 20 KiB more.
   * When all are in use, a thread uses the pollers.
   */
  private static final int RINGS_MAX = 16;

  private final UringDevice device;
  private final DeviceFile file;
  private final AtomicReferenceArray<@Nullable ReadRing> rings =
      new AtomicReferenceArray<>(RINGS_MAX);

  /** The memory that reads land in, in ring order. Guarded by this. */
  private @Nullable NativeRegion landing;

  /** The kernel has refused a ring, so no more are requested. */
  private volatile boolean refused;

  RingPool(UringDevice device, DeviceFile file) {
    this.device = device;
    this.file = file;
  }

  /** Acquires a ring; see {@link BlockDevice#acquireReadRing}. */
  @Nullable ReadRing acquire(IoBatch.Completion completion) {
    Thread thread = Thread.currentThread();
    if (thread.isVirtual() || !device.tryEnter()) {
      return null;
    }
    ReadRing ring = null;
    try {
      ring = free((int) Long.remainderUnsigned(thread.threadId(), RINGS_MAX), completion);
    } finally {
      if (ring == null) {
        device.leave();
      }
    }
    return ring;
  }

  private @Nullable ReadRing free(int first, IoBatch.Completion completion) {
    for (int i = 0; i < RINGS_MAX; i++) {
      ReadRing ring = at((first + i) % RINGS_MAX);
      if (ring != null && ring.borrow(completion)) {
        return ring;
      }
    }
    return null;
  }

  private @Nullable ReadRing at(int i) {
    ReadRing ring = rings.get(i);
    if (ring != null || refused) {
      return ring;
    }
    try {
      ring = new ReadRing(device, file, landing(i));
    } catch (NativeException e) {
      refused = true;
      LOG.log(Level.DEBUG, "No more rings for " + device.name() + ": " + e.getMessage());
      return null;
    }
    if (rings.compareAndSet(i, null, ring)) {
      return ring;
    }
    ring.close();
    return rings.get(i);
  }

  private synchronized MemorySegment landing(int i) {
    if (landing == null) {
      long bytes = (long) RINGS_MAX * ReadRing.LANDING_BYTES;
      landing = NativeRegion.reserve(bytes, false, "landing reads");
    }
    return landing.segment().asSlice((long) i * ReadRing.LANDING_BYTES, ReadRing.LANDING_BYTES);
  }

  /** Ends finished reads; see {@link BlockDevice#reapReadRings}. */
  void endReads() {
    if (!device.tryEnter()) {
      return;
    }
    try {
      for (int i = 0; i < RINGS_MAX; i++) {
        ReadRing ring = rings.get(i);
        if (ring != null) {
          ring.endReads();
        }
      }
    } finally {
      device.leave();
    }
  }

  /** Closes the rings, when no thread has one. */
  synchronized void close() {
    for (int i = 0; i < RINGS_MAX; i++) {
      ReadRing ring = rings.getAndSet(i, null);
      if (ring != null) {
        ring.close();
      }
    }
    if (landing != null) {
      landing.release();
    }
  }
}
