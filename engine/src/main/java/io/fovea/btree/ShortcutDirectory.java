package io.fovea.btree;

import io.fovea.bindings.Errno;
import io.fovea.memory.Granules;
import io.fovea.memory.Granules.RefusedException;
import io.fovea.memory.MappingBudget;
import io.fovea.memory.MemoryFiles;
import io.fovea.memory.Rewiring;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * The sets of a {@link KeyLocationCache} in granules, with an area of virtual memory as their
 * directory: extendible hashing whose directory is resolved by the memory management unit. Source:
 * <i>Taking the Shortcut</i> (CIDR 2024), section 4, here for a table of hints.
 *
 * <pre>
 *   set      hash &amp; mask                   | slot            | set of the granule 10 |
 *   readers  area + set × 64               the same arithmetic as in a flat table
 *   slot s   maps granule s if a split created it; else what the slot without the
 *            highest bit of s maps
 *
 *   depth 2      slot  0  1  2  3           three granules of four: one split is still to come
 *                bit   1  1  1  0
 *                maps  0  1  2  1           two mappings
 *   doubled      slot  0  1  2  3  4  5  6  7
 *                bit   1  1  1  0  0  0  0  0
 *                maps  0  1  2  1  0  1  2  1
 * </pre>
 *
 * <p><b>The directory is a bitmap</b> of the existing granules. Slots are the low bits of the hash
 * (the high ones in the paper), so doubling appends to the area; and the granule created for slot s
 * has number s in the file, so a fully split area is one mapping.
 *
 * <p><b>A split</b> populates granule s, copies its sibling into it, and sets bit s. Ways of the
 * other half are overwritten in time, as after the doubling of a flat table. Then slots are mapped
 * as the bitmap says, in runs, their page tables are populated, and finally the mask is published.
 * A granule is split when an eighth of its ways have been overwritten since it was created or last
 * split.
 *
 * <p><b>Synchronization.</b> The paper compares two versions before each lookup and uses a
 * directory of pointers while the mapper is behind, since its table is exact. Here a slot that is
 * behind maps the sibling granule, which stays valid: a location that it lacks is a miss, and a
 * wrong location fails the usual checks. Stores go to the granule that the bitmap names, through
 * the linear view.
 *
 * <p><b>Bounds.</b> The directory doubles up to eight slots per granule, the paper's bound. If
 * memory or mappings are refused, the granule is not split, which is logged once and retried after
 * another eighth of its ways have been overwritten.
 *
 * <p>Any thread may call {@link #viewOffset} and {@link #countOverwrites}; only one thread at a
 * time may call {@link #tick}. A bit is set with volatile order after the granule has memory; the
 * partner is the read in {@link #viewOffset}. This excludes a store to a granule without memory,
 * which might raise a signal.
 */
final class ShortcutDirectory {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  /** The paper uses 4 KiB; 64 KiB needs a sixteenth of the mappings. */
  static final int GRANULE_SHIFT = 16;

  static final int GRANULE_BYTES = 1 << GRANULE_SHIFT;

  private static final int WAYS = GRANULE_BYTES / Long.BYTES;

  /** A granule is too small if more than one in this many ways was overwritten. */
  private static final int FULL_ONE_IN = 8;

  /** From the paper: beyond this, a shortcut is slower than pointers. */
  private static final int FAN_IN_MAX = 8;

  /** The number of slots in an area of 64 GiB. */
  private static final int SLOTS_MAX = 1 << 20;

  private static final int DEPTH_MIN = 2;

  /** Each split costs a copy and a system call that delays page faults of the process. */
  private static final int SPLITS_A_TICK = 512;

  private final String name;
  private final Granules granules;
  private final Rewiring area;
  private final int granulesMax;

  /** Bit s: granule s exists and belongs to slot s. */
  private final AtomicLongArray own;

  /** Per granule, the approximate number of ways overwritten while in use. */
  private final AtomicIntegerArray lost;

  /** Granules with memory; used by the mapper. */
  private final BitSet made = new BitSet();

  /** The number of granules with memory. */
  private volatile int count;

  /** The binary logarithm of the number of slots in use; used by the mapper. */
  private int depth = DEPTH_MIN;

  private boolean warned;

  /**
   * Creates a directory of four granules; throws {@link RefusedException} if the kernel refuses.
   */
  ShortcutDirectory(String name, long maxBytes, MemoryFiles files, MappingBudget budget)
      throws RefusedException {
    long max = Math.max(1L << DEPTH_MIN, maxBytes >>> GRANULE_SHIFT);
    this.name = name;
    this.granulesMax = (int) Math.min(max, SLOTS_MAX);
    int slots = (int) Math.min(SLOTS_MAX, Long.highestOneBit(max) * FAN_IN_MAX);
    this.own = new AtomicLongArray(Math.max(1, slots >>> 6));
    this.lost = new AtomicIntegerArray(slots);
    this.granules = Granules.make("fovea-locations", GRANULE_BYTES, slots, files);
    Rewiring reserved = null;
    boolean ready = false;
    try {
      int first = 1 << DEPTH_MIN;
      int populated = granules.populate(0, first);
      if (populated < 0) {
        throw new RefusedException(noMemory(populated));
      }
      reserved = Rewiring.reserve(granules, slots, budget);
      if (!reserved.show(0, 0, first)) {
        throw new RefusedException("No memory mapping is available: " + budget + ".");
      }
      reserved.populate(0, first);
      made.set(0, first);
      count = first;
      own.set(0, (1L << first) - 1);
      ready = true;
    } finally {
      if (!ready) {
        if (reserved != null) {
          reserved.close();
        }
        granules.close();
      }
    }
    this.area = reserved;
  }

  private static String noMemory(int errno) {
    return "Cannot allocate a granule: " + Errno.describe(-errno) + ".";
  }

  MemorySegment area() {
    return area.area();
  }

  /** Returns the memory for stores. */
  MemorySegment view() {
    return granules.view();
  }

  /** Returns the number of sets in use, minus one. Called by the mapper. */
  long mask() {
    return ((long) GRANULE_BYTES << depth >>> KeyLocationCache.SET_SHIFT) - 1;
  }

  long bytes() {
    return (long) count << GRANULE_SHIFT;
  }

  long maxBytes() {
    return (long) granulesMax << GRANULE_SHIFT;
  }

  private boolean isOwn(int slot) {
    return (own.get(slot >>> 6) >>> slot & 1) != 0;
  }

  private void setOwn(int slot, boolean value) {
    long bit = 1L << slot;
    long word = own.get(slot >>> 6);
    own.set(slot >>> 6, value ? word | bit : word & ~bit);
  }

  private int granule(int slot) {
    int g = slot;
    while (!isOwn(g)) {
      g ^= Integer.highestOneBit(g); // ends at slot 0, whose granule always exists
    }
    return g;
  }

  /** Returns the offset in the view of a set at an offset in the area. */
  long viewOffset(long at) {
    return (long) granule((int) (at >>> GRANULE_SHIFT)) << GRANULE_SHIFT | at & GRANULE_BYTES - 1;
  }

  /** Counts overwritten ways of a granule; returns whether the mapper has work to do. */
  boolean countOverwrites(long wayOffset, int ways) {
    return count < granulesMax
        && lost.addAndGet((int) (wayOffset >>> GRANULE_SHIFT), ways) > WAYS / FULL_ONE_IN;
  }

  /**
   * Splits granules that are too small and maps the slots. Called by the mapper. Returns whether
   * anything has changed; then {@link #mask} must be published.
   */
  boolean tick() {
    BitSet full = full();
    if (full.isEmpty()) {
      return false;
    }
    int before = depth;
    int deeper = mustDouble(full) ? depth + 1 : depth;
    BitSet split = split(full, deeper);
    if (mapSlots(deeper)) {
      depth = deeper;
    } else {
      revertSplit(split);
    }
    // This includes granules whose split was refused: they are retried after as many overwrites
    // again.
    full.stream().forEach(g -> lost.set(g, 0));
    return !split.isEmpty() || depth > before;
  }

  /** Granules that are too small, at most {@link #SPLITS_A_TICK}. */
  private BitSet full() {
    BitSet full = new BitSet();
    int left = SPLITS_A_TICK;
    for (int g = made.nextSetBit(0); g >= 0 && left > 0; g = made.nextSetBit(g + 1)) {
      if (lost.get(g) > WAYS / FULL_ONE_IN) {
        full.set(g);
        left--;
      }
    }
    return full;
  }

  /** Returns the slot that the next split of a granule creates; too large if there is none. */
  private int sibling(int granule) {
    int bit = Integer.SIZE - Integer.numberOfLeadingZeros(granule);
    while (1 << bit < area.slots() && isOwn(granule | 1 << bit)) {
      bit++;
    }
    return granule | 1 << bit;
  }

  /** Returns whether the directory has to double, and may. */
  private boolean mustDouble(BitSet full) {
    int slots = 1 << depth;
    return 2 * slots <= Math.min((long) FAN_IN_MAX * count, area.slots())
        && count < granulesMax
        && full.stream().anyMatch(g -> sibling(g) >= slots);
  }

  /** Creates the siblings of granules; returns those that were created. */
  private BitSet split(BitSet full, int deeper) {
    BitSet wanted = new BitSet();
    int left = granulesMax - count;
    for (int g = full.nextSetBit(0); g >= 0 && left > 0; g = full.nextSetBit(g + 1)) {
      int s = sibling(g);
      if (s < 1 << deeper) {
        wanted.set(s);
        left -= made.get(s) ? 0 : 1;
      }
    }
    BitSet split = new BitSet();
    for (int s = wanted.nextSetBit(0); s >= 0; s = wanted.nextSetBit(wanted.nextClearBit(s))) {
      int n = wanted.nextClearBit(s) - s;
      int populated = granules.populate(s, n);
      if (populated < 0) {
        warn(noMemory(populated));
        break;
      }
      made.set(s, s + n);
      split.set(s, s + n);
    }
    count = made.cardinality();
    for (int s = split.nextSetBit(0); s >= 0; s = split.nextSetBit(s + 1)) {
      long from = (long) (s ^ Integer.highestOneBit(s)) << GRANULE_SHIFT;
      KeyLocationCache.copyUnseen(view(), from, (long) s << GRANULE_SHIFT, GRANULE_BYTES);
      lost.set(s, 0);
    }
    split.stream().forEach(s -> setOwn(s, true));
    return split;
  }

  /** Maps slots as the bitmap says, in runs; returns whether all are mapped. */
  private boolean mapSlots(int deeper) {
    int slots = 1 << deeper;
    boolean all = true;
    for (int slot = 0; slot < slots && all; ) {
      int granule = granule(slot);
      if (area.shown(slot) == granule) {
        slot++;
        continue;
      }
      int n = 1;
      while (slot + n < slots
          && area.shown(slot + n) != granule + n
          && granule(slot + n) == granule + n) {
        n++;
      }
      all = area.show(slot, granule, n);
      if (all) {
        area.populate(slot, n);
        slot += n;
      } else {
        warn("No memory mapping is available.");
      }
    }
    return all;
  }

  /**
   * Clears the bits of split slots that could not be mapped, so that nothing is stored there. The
   * memory stays, since a store may be under way.
   */
  private void revertSplit(BitSet split) {
    for (int s = split.previousSetBit(split.length()); s >= 0; s = split.previousSetBit(s - 1)) {
      // If one of several slots of a granule is already mapped, that is a copy to which nothing is
      // stored any more.
      if (s >= 1 << depth || area.shown(s) != s) {
        setOwn(s, false);
        split.clear(s);
      }
    }
  }

  private void warn(String reason) {
    if (!warned) {
      warned = true;
      LOG.log(
          Level.WARNING,
          name + ": the key location cache cannot grow beyond " + bytes() + " bytes. " + reason);
    }
  }

  int mappings() {
    return area.mappings();
  }

  /** Frees the memory, after the mapper has ended. Late readers find no locations. */
  void close() {
    area.close();
    granules.close();
  }
}
