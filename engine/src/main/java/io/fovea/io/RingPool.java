package io.fovea.io;

import io.fovea.bindings.NativeException;
import io.fovea.memory.NativeRegion;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * The rings that a device lends to threads that read: made when they are first needed, kept until
 * the device is closed.
 *
 * <p>Lent, not owned: so their number has a bound, which is that of threads that read many pages at
 * the same moment, and no thread leaves anything behind when it ends. A thread begins to look at a
 * place that depends on its id, so that it gets the same one again and again.
 *
 * <p>Any thread that has a ring is inside the device's gate, and so is who ends reads of others:
 * nobody has one when the rings are closed.
 */
final class RingPool {
  private static final System.Logger LOG = System.getLogger("io.fovea.io");

  /**
   * 256 KiB each to land in, and some 20 more. A thread that comes when all are lent goes to the
   * pollers.
   */
  private static final int RINGS_MAX = 16;

  private final UringDevice device;
  private final DeviceFile file;
  private final AtomicReferenceArray<@Nullable ReadRing> rings =
      new AtomicReferenceArray<>(RINGS_MAX);

  /** What their reads land in, from the first ring on. Under the lock of this. */
  private @Nullable NativeRegion landing;

  /** The kernel has refused one: there is no use in asking it again and again. */
  private volatile boolean refused;

  RingPool(UringDevice device, DeviceFile file) {
    this.device = device;
    this.file = file;
  }

  /** See {@link BlockDevice#lend}. */
  @Nullable ReadRing lend(IoBatch.Completion completion) {
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

  /** See {@link BlockDevice#endLent}. */
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

  /** Nobody has a ring any more. */
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
