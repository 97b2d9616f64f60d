package io.fovea.shortcut;

import io.fovea.memory.Granules.RefusedException;
import io.fovea.memory.MappingBudget;
import io.fovea.memory.Rewiring;
import io.fovea.memory.Waits;
import java.lang.foreign.MemorySegment;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Shortcut-EH of the paper, section 4.1: {@link ExtendibleHashing} with an area of virtual memory
 * that mirrors the directory. A separate thread, the mapper, keeps it up to date.
 *
 * <pre>
 *   the table's thread      queue, lock-free, FIFO             mapper, every 25 ms
 *   split                   update slots, granule    (twice)   mmap of each, populate, version
 *   doubling                create, all granules               a new area, populate, version
 *                           (pending requests are stale and removed first)
 * </pre>
 *
 * <p>A lookup uses the area if both versions are equal and buckets have at most eight slots on
 * average; otherwise it uses the directory.
 *
 * <p><b>Why it is exact.</b> Only the table's thread changes the directory's version, and only it
 * looks up keys. If it finds the mapper's version equal, every request was executed, or was removed
 * from the queue in favor of a later one. The mapper is then idle, and the area does not change
 * until this thread adds the next request. The version is published (volatile) after the mappings,
 * their page tables and the field of the area; its partner is the read in {@link #get}. Forbidden:
 * a lookup through the area after a request, without comparing again.
 *
 * <p><b>What the paper leaves out.</b> Requests are removed one by one, while the mapper also takes
 * them, so it may get an update whose create request was removed. Such an update refers to slots
 * that the area lacks. Each update states its number of slots, and the mapper skips those for
 * another number, since a create request follows them. An update whose predecessors were removed is
 * executed and harmless: the directory's version was raised before the removals, so the mapper's
 * version does not reach it.
 */
final class ShortcutHashing extends ExtendibleHashing {
  static final int FAN_IN_MAX = 8;
  static final long TICK_NANOS = 25_000_000;

  /**
   * A request for the mapper.
   *
   * @param granules the granules of all slots of a new area; empty for an update of some slots
   */
  private record Request(long version, int slots, int slot, int n, int granule, int[] granules) {}

  private static final int[] NONE = {};

  private final MappingBudget budget;
  private final Queue<Request> queue = new ConcurrentLinkedQueue<>();
  private final Thread mapper;
  private volatile boolean closed;
  private volatile @Nullable Throwable failure;

  /** Written by the table's thread. */
  private long version;

  /** Whether there are few enough slots per bucket. */
  private boolean lowFanIn = true;

  /** The version of the area. Written by the mapper. */
  private volatile long mapped;

  /** Written by the mapper, before {@link #mapped}. */
  private Rewiring area;

  /** The segment through which {@link #area} is read. */
  private MemorySegment shown;

  /** Whether the kernel or the budget has refused a part of the area. */
  private volatile boolean refused;

  /**
   * Creates an empty table.
   *
   * @param tickNanos the interval of the mapper; 0 for none: call {@link #map} instead
   */
  ShortcutHashing(int depthMax, MappingBudget budget, long tickNanos) throws RefusedException {
    super(depthMax);
    this.budget = budget;
    boolean made = false;
    try {
      this.area = Rewiring.reserve(granules(), 1, budget);
      this.shown = area.area();
      if (!area.show(0, bucket(0), 1)) {
        area.close();
        throw new RefusedException("Cannot reserve mappings: " + budget + ".");
      }
      area.populate(0, 1);
      made = true;
    } finally {
      if (!made) {
        super.close();
      }
    }
    this.mapper = Thread.ofPlatform().daemon().name("mapper").unstarted(() -> poll(tickNanos));
    if (tickNanos > 0) {
      mapper.start();
    }
  }

  @Override
  public long get(long key, long otherwise) {
    if (mapped == version && lowFanIn) {
      long slot = Entries.bucketHash(key) >>> 1 >>> slotShift();
      return Entries.get(
          shown,
          slot << BUCKET_SHIFT,
          ENTRY_MASK,
          Entries.entryHash(key) >>> ENTRY_HASH_SHIFT,
          key,
          otherwise);
    }
    return byPointer(key, otherwise);
  }

  // ---------------------------------------------------------------------- by the table's thread

  @Override
  void pointed(int slot, int n, int bucket) {
    lowFanIn = slots() <= FAN_IN_MAX * buckets();
    version++;
    queue.add(new Request(version, slots(), slot, n, bucket, NONE));
  }

  @Override
  void doubled() {
    lowFanIn = slots() <= FAN_IN_MAX * buckets();
    version++;
    queue.clear();
    int[] granules = new int[slots()];
    for (int i = 0; i < granules.length; i++) {
      granules[i] = bucket(i);
    }
    queue.add(new Request(version, slots(), 0, 0, 0, granules));
  }

  /** Tells whether a lookup would use the area. */
  boolean throughShortcut() {
    return mapped == version && lowFanIn;
  }

  /** Tells whether the area matches the directory, whatever lookups use. */
  boolean inSync() {
    return mapped == version;
  }

  /** Tells whether slots could not be mapped; lookups use the directory until the next doubling. */
  boolean isRefused() {
    return refused;
  }

  long version() {
    return version;
  }

  long mappedVersion() {
    return mapped;
  }

  /** Returns the mappings of the area, if it is in sync. */
  int mappings() {
    return area.mappings();
  }

  /** Waits until the area matches the directory, or cannot. */
  void sync() {
    while (!inSync() && !(refused && queue.isEmpty())) {
      Throwable failed = failure;
      if (failed != null) {
        throw new IllegalStateException("The mapper has failed.", failed);
      }
      Waits.sleep(1_000_000);
    }
  }

  // ------------------------------------------------------------------------------- by the mapper

  private void poll(long tickNanos) {
    try {
      while (!closed) {
        map(Integer.MAX_VALUE);
        LockSupport.parkNanos(tickNanos);
      }
    } catch (RuntimeException | Error e) {
      failure = e;
    }
  }

  /** Executes up to {@code most} requests. */
  void map(int most) {
    for (int i = 0; i < most && !closed; i++) {
      Request next = queue.poll();
      if (next == null) {
        return;
      }
      boolean done;
      if (next.granules.length > 0) {
        done = create(next.granules);
      } else if (next.slots == area.slots()) {
        done = !refused && update(next);
      } else {
        continue;
      }
      if (done) {
        mapped = next.version;
      } else {
        refused = true;
      }
    }
  }

  private boolean update(Request next) {
    for (int slot = next.slot; slot < next.slot + next.n; slot++) {
      if (!area.show(slot, next.granule, 1)) {
        return false;
      }
    }
    area.populate(next.slot, next.n);
    return true;
  }

  private boolean create(int[] granulesOfSlots) {
    area.close();
    refused = false;
    try {
      area = Rewiring.reserve(granules(), granulesOfSlots.length, budget);
    } catch (RefusedException e) {
      return false;
    }
    for (int slot = 0; slot < granulesOfSlots.length; ) {
      int n = 1;
      while (slot + n < granulesOfSlots.length
          && granulesOfSlots[slot + n] == granulesOfSlots[slot] + n) {
        n++;
      }
      if (!area.show(slot, granulesOfSlots[slot], n)) {
        return false;
      }
      slot += n;
    }
    area.populate(0, granulesOfSlots.length);
    shown = area.area();
    return true;
  }

  @Override
  public void close() {
    closed = true;
    LockSupport.unpark(mapper);
    Waits.join(mapper);
    area.close();
    super.close();
  }
}
