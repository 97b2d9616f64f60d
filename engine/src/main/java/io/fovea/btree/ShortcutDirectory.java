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
 * The sets of a {@link KeyLocationCache} in granules, and an area of virtual memory as the
 * directory of them: extendible hashing whose directory is followed by the memory management unit.
 * <i>Taking the Shortcut</i> (CIDR 2024), section 4, for a table of guesses.
 *
 * <pre>
 *   set      hash & mask                   | slot            | set of the granule 10 |
 *   readers  area + set × 64               the same arithmetic as in a flat table
 *   slot s   shows granule s where that was made by a split; else what the slot without the
 *            highest bit of s shows
 *
 *   depth 2      slot  0  1  2  3           three granules of four: one split is still to come
 *                bit   1  1  1  0
 *                shows 0  1  2  1           two mappings
 *   doubled      slot  0  1  2  3  4  5  6  7
 *                bit   1  1  1  0  0  0  0  0
 *                shows 0  1  2  1  0  1  2  1
 * </pre>
 *
 * <p><b>A bitmap is all of the directory</b>: which granules were made. Slots are the low bits of
 * the hash (the paper takes the high ones), so a doubling appends to the area and destroys nothing;
 * and the granule that a split makes for slot s has number s in the file, so where all are split
 * the area is one mapping.
 *
 * <p><b>A split</b> gives granule s its memory, copies its sibling into it, and sets bit s. What
 * belongs into the other half goes in time, as after the doubling of a flat table. Then slots are
 * made to show what the bitmap says, in runs, and their page table is filled; at last the mask is
 * published. Who asks for it is the granule: an eighth of its ways were overwritten since it was
 * made or split last.
 *
 * <p><b>Nothing of the paper's synchronisation is needed.</b> The paper compares two versions
 * before each lookup, and answers from a directory of pointers while the mapper is behind; for its
 * table is exact. Here a slot that is behind shows the sibling's granule as it was and goes on
 * being: places that are missing there are missing, and those that are wrong are found out, as
 * always. Learners write to the granule that the bitmap names, through the linear view.
 *
 * <p><b>Bounds.</b> The directory doubles up to eight slots a granule (the paper's bound for its
 * use). Where memory or mappings are refused, the granule is not split, a line of the log says so
 * once, and it is tried again when an eighth of its ways were overwritten once more.
 *
 * <p>Threads: any for {@link #home} and {@link #lose}; one at a time for {@link #tick}. The bits
 * are set with volatile order, after the memory of the granule: the partner is the read in {@link
 * #home}. Forbidden is a store to a granule that has no memory yet, which would be a signal where
 * there is none to be had.
 */
final class ShortcutDirectory {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  /** The paper has 4 KiB. Sixteen times as much needs a sixteenth of the mappings. */
  static final int GRANULE_SHIFT = 16;

  static final int GRANULE_BYTES = 1 << GRANULE_SHIFT;

  private static final int WAYS = GRANULE_BYTES / Long.BYTES;

  /** A granule of which more than one in so many ways were overwritten is too small. */
  private static final int FULL_ONE_IN = 8;

  /** The paper's: beyond, a shortcut is slower than pointers. */
  private static final int FAN_IN_MAX = 8;

  /** Of the area: 64 GiB. */
  private static final int SLOTS_MAX = 1 << 20;

  private static final int DEPTH_MIN = 2;

  /** Each costs a copy and a call that holds up page faults of the process. */
  private static final int SPLITS_A_TICK = 512;

  private final String name;
  private final Granules granules;
  private final Rewiring area;
  private final int granulesMax;

  /** Bit s: granule s is the one of slot s. */
  private final AtomicLongArray own;

  /** Of each granule, ways that were overwritten with something in them, about. */
  private final AtomicIntegerArray lost;

  /** Granules that have memory; for the mapper. */
  private final BitSet made = new BitSet();

  /** How many those are. */
  private volatile int count;

  /** Two to the power of it is how many slots are in use; for the mapper. */
  private int depth = DEPTH_MIN;

  private boolean warned;

  /**
   * Makes one of four granules.
   *
   * @param name of the database, for the log
   * @param maxBytes the memory that granules may take
   * @throws RefusedException if the kernel does not allow it
   */
  ShortcutDirectory(String name, long maxBytes, MemoryFiles files, MappingBudget budget)
      throws RefusedException {
    long most = Math.max(1L << DEPTH_MIN, maxBytes >>> GRANULE_SHIFT);
    this.name = name;
    this.granulesMax = (int) Math.min(most, SLOTS_MAX);
    int slots = (int) Math.min(SLOTS_MAX, Long.highestOneBit(most) * FAN_IN_MAX);
    this.own = new AtomicLongArray(Math.max(1, slots >>> 6));
    this.lost = new AtomicIntegerArray(slots);
    this.granules = Granules.make("fovea-places", GRANULE_BYTES, slots, files);
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
        throw new RefusedException("No mapping is to be had: " + budget + ".");
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
    return "There is no memory for a granule: " + Errno.describe(-errno) + ".";
  }

  /** What readers read. */
  MemorySegment area() {
    return area.area();
  }

  /** What learners write to. */
  MemorySegment view() {
    return granules.view();
  }

  /** The sets in use, less one. By the mapper. */
  long mask() {
    return ((long) GRANULE_BYTES << depth >>> KeyLocationCache.SET_SHIFT) - 1;
  }

  /** The memory that granules have. */
  long bytes() {
    return (long) count << GRANULE_SHIFT;
  }

  /** The memory that they may have. */
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

  /** The granule of a slot. */
  private int granule(int slot) {
    int g = slot;
    while (!isOwn(g)) {
      g ^= Integer.highestOneBit(g); // ends at slot 0, whose granule is always there
    }
    return g;
  }

  /**
   * Where a set is in the view.
   *
   * @param at where it is in the area
   */
  long home(long at) {
    return (long) granule((int) (at >>> GRANULE_SHIFT)) << GRANULE_SHIFT | at & GRANULE_BYTES - 1;
  }

  /**
   * Ways of a granule were overwritten that had something in them.
   *
   * @param home where, in the view
   * @param ways how many
   * @return whether the mapper has something to do
   */
  boolean lose(long home, int ways) {
    return count < granulesMax
        && lost.addAndGet((int) (home >>> GRANULE_SHIFT), ways) > WAYS / FULL_ONE_IN;
  }

  /**
   * Splits what is too small, and lets slots show what they should. By the mapper.
   *
   * @return whether anything has changed; then {@link #mask} is to be published
   */
  boolean tick() {
    BitSet full = full();
    if (full.isEmpty()) {
      return false;
    }
    int before = depth;
    int deeper = doubles(full) ? depth + 1 : depth;
    BitSet split = split(full, deeper);
    if (show(deeper)) {
      depth = deeper;
    } else {
      takeBack(split);
    }
    // Where it was refused as well: it is asked for again when as much was overwritten once more.
    full.stream().forEach(g -> lost.set(g, 0));
    return !split.isEmpty() || depth > before;
  }

  /** Granules of which too much was overwritten; not more than a tick has time for. */
  private BitSet full() {
    BitSet full = new BitSet();
    int room = SPLITS_A_TICK;
    for (int g = made.nextSetBit(0); g >= 0 && room > 0; g = made.nextSetBit(g + 1)) {
      if (lost.get(g) > WAYS / FULL_ONE_IN) {
        full.set(g);
        room--;
      }
    }
    return full;
  }

  /** The slot that the next split of a granule is for; too large a one if there can be none. */
  private int sibling(int granule) {
    int bit = Integer.SIZE - Integer.numberOfLeadingZeros(granule);
    while (1 << bit < area.slots() && isOwn(granule | 1 << bit)) {
      bit++;
    }
    return granule | 1 << bit;
  }

  /** Whether the directory has to double, and may. */
  private boolean doubles(BitSet full) {
    int slots = 1 << depth;
    return 2 * slots <= Math.min((long) FAN_IN_MAX * count, area.slots())
        && count < granulesMax
        && full.stream().anyMatch(g -> sibling(g) >= slots);
  }

  /** Makes the siblings of granules; those that were made. */
  private BitSet split(BitSet full, int deeper) {
    BitSet wanted = new BitSet();
    int room = granulesMax - count;
    for (int g = full.nextSetBit(0); g >= 0 && room > 0; g = full.nextSetBit(g + 1)) {
      int s = sibling(g);
      if (s < 1 << deeper) {
        wanted.set(s);
        room -= made.get(s) ? 0 : 1;
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

  /** Lets slots show what the bitmap says, in runs; whether all of them do. */
  private boolean show(int deeper) {
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
        warn("All mappings are in use.");
      }
    }
    return all;
  }

  /**
   * Slots could not be made to show what was split for them: nobody is to write there. The memory
   * stays, for a learner may be about to.
   */
  private void takeBack(BitSet split) {
    for (int s = split.previousSetBit(split.length()); s >= 0; s = split.previousSetBit(s - 1)) {
      // Of those slots, if there are several, one may show it already: then it is a copy, which
      // is not written to any more.
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
          name + ": the places of records can't grow, and have " + bytes() + " bytes. " + reason);
    }
  }

  /** Mappings of the area. */
  int mappings() {
    return area.mappings();
  }

  /** Gives the memory back. When no mapper runs any more; who comes late finds no places. */
  void close() {
    area.close();
    granules.close();
  }
}
