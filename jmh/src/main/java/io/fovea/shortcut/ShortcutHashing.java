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
 * Shortcut-EH of the paper, section 4.1: {@link ExtendibleHashing}, with an area of virtual memory
 * beside its directory that a thread of its own, the mapper, keeps up with it.
 *
 * <pre>
 *   the table's thread      queue, lock-free, FIFO             mapper, every 25 ms
 *   split                   update slots, granule    (twice)   mmap of each, populate, version
 *   doubling                create, all granules               a new area, populate, version
 *                           (what was pending is out of date and is taken out first)
 * </pre>
 *
 * <p>A lookup goes through the area where both versions are the same, and there are at most eight
 * slots a bucket on average; else through the directory.
 *
 * <p><b>Why it is exact.</b> The table's thread is the only one that changes the directory's
 * version, and it is also the only one that looks keys up. If it finds the mapper's version equal,
 * then every request that it ever made was carried out, or was taken out of the queue in favour of
 * a later one: the mapper has nothing to do, and the area stays as it is until this thread makes
 * the next request. The version is published (volatile) after the mappings, their page tables and
 * the field of the area: the partner is the read in {@link #get}. Forbidden would be to look a key
 * up through the area after a request without having compared again.
 *
 * <p><b>What the paper leaves out.</b> Requests are taken out of the queue one by one, while the
 * mapper takes them too: so it may get an update whose create request is gone. Such an update names
 * slots that the area does not have. Each one says for how many slots it is, and the mapper passes
 * over those that are for another number: a create request follows them. One whose predecessors are
 * gone is carried out, and does no harm: the directory's version was raised before any was taken
 * out, so the mapper's does not reach it.
 */
final class ShortcutHashing extends ExtendibleHashing {
  static final int FAN_IN_MAX = 8;
  static final long TICK_NANOS = 25_000_000;

  /**
   * What the mapper is to do.
   *
   * @param version of the directory, when this was done to it
   * @param slots how many the directory has
   * @param granules of all slots of a new area; empty for an update of some slots
   */
  private record Request(long version, int slots, int slot, int n, int granule, int[] granules) {}

  private static final int[] NONE = {};

  private final MappingBudget budget;
  private final Queue<Request> queue = new ConcurrentLinkedQueue<>();
  private final Thread mapper;
  private volatile boolean closed;
  private volatile @Nullable Throwable failure;

  /** By the table's thread. */
  private long version;

  /** Whether there are few enough slots a bucket. */
  private boolean lowFanIn = true;

  /** What the area shows. By the mapper. */
  private volatile long mapped;

  /** By the mapper, before {@link #mapped}. */
  private Rewiring area;

  /** What {@link #area} is read by. */
  private MemorySegment shown;

  /** The area lacks something that the kernel, or the budget, has refused. */
  private volatile boolean refused;

  /**
   * An empty one.
   *
   * @param depthMax as of {@link ExtendibleHashing}
   * @param tickNanos how often the mapper looks; 0 for no mapper: {@link #map} does it then
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
        throw new RefusedException("No mapping is to be had: " + budget + ".");
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

  /** Whether a lookup would go through the area. */
  boolean throughShortcut() {
    return mapped == version && lowFanIn;
  }

  /** Whether the area is what the directory is, however they are routed. */
  boolean inSync() {
    return mapped == version;
  }

  /** Whether slots could not be shown; until the next doubling lookups go through the directory. */
  boolean isRefused() {
    return refused;
  }

  long version() {
    return version;
  }

  long mappedVersion() {
    return mapped;
  }

  /** Mappings of the area; when it is in sync. */
  int mappings() {
    return area.mappings();
  }

  /** Waits until the area is what the directory is, or can't be. */
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

  /** Carries requests out, up to so many. */
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
