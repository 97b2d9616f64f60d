package io.fovea.memory;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Objects;

/**
 * An area of address space in which each slot shows a granule: a directory that the memory
 * management unit follows. <i>Taking the Shortcut</i> (CIDR 2024), sections 2 and 3.
 *
 * <pre>
 *   slot      0   1   2   3   4   5   6   7
 *   shows     0   1   2   3   0   1   6   7       |0..3| |4..5| |6..7|: three mappings
 *   address   area + slot × granule
 * </pre>
 *
 * <ul>
 *   <li><b>Slots are shown in runs</b>: neighbours that show neighbours are one mapping, whether
 *       they were shown at once or one by one, for the kernel joins them. Their number is counted
 *       here, and {@link MappingBudget} is asked before it grows.
 *   <li><b>Readers need no protocol.</b> The kernel replaces a mapping under the lock that a page
 *       fault takes as well: an access finds the old granule or the new one, and never nothing. So
 *       a reader that comes while its slot changes sees one of the two, and after {@link #show} has
 *       returned, and something was published by it, the new one: the translations that other cores
 *       keep were cleared before the call returned.
 *   <li><b>A slot that shows nothing</b> reads as zeros, and takes what is written to it.
 * </ul>
 *
 * <p><b>Cost.</b> {@link #show} takes microseconds, holds up every page fault of the process
 * meanwhile, and interrupts every core that runs one of its threads. It is for a thread of its own.
 *
 * <p>One thread at a time changes an area; any thread reads it.
 *
 * @since 0.1.0
 */
public final class Rewiring {
  private static final int NOTHING = -1;

  /** What a mapping that is replaced in its middle costs while the kernel is about it. */
  private static final int PASSING = 2;

  private final Granules granules;
  private final MappingBudget budget;
  private final AddressSpace.Place place;
  private final MemorySegment area;
  private final int granuleBytes;

  /** What each slot shows. */
  private final int[] shown;

  /** Mappings that the area has, and that the budget counts. */
  private int mappings = 1;

  private boolean closed;

  private Rewiring(
      Granules granules,
      MappingBudget budget,
      int slots,
      AddressSpace.Place place,
      MemorySegment area) {
    this.granules = granules;
    this.budget = budget;
    this.granuleBytes = granules.granuleBytes();
    this.place = place;
    this.area = area;
    this.shown = new int[slots];
    Arrays.fill(shown, NOTHING);
  }

  /**
   * Reserves an area whose slots show nothing.
   *
   * @param granules what its slots may show
   * @param slots how many: address space, and an int of the heap
   * @param budget the mappings that it may use, with others
   * @return the area
   * @throws Granules.RefusedException if the budget has no mapping left
   * @throws OutOfMemoryError where there is not that much address space
   */
  public static Rewiring reserve(Granules granules, int slots, MappingBudget budget)
      throws Granules.RefusedException {
    if (slots <= 0) {
      throw new IllegalArgumentException("An area of " + slots + " slots.");
    }
    if (!budget.take(1)) {
      throw new Granules.RefusedException("All mappings are in use: " + budget + ".");
    }
    boolean made = false;
    try {
      long bytes = (long) slots * granules.granuleBytes();
      AddressSpace.Place place = AddressSpace.take(bytes, "area of " + slots + " slots");
      Rewiring rewiring =
          new Rewiring(granules, budget, slots, place, Granules.segment(place.start(), bytes));
      made = true;
      return rewiring;
    } finally {
      if (!made) {
        budget.take(-1);
      }
    }
  }

  /**
   * All slots in their order.
   *
   * @return a native segment of global scope
   */
  public MemorySegment area() {
    return area;
  }

  /**
   * How many slots there are.
   *
   * @return slots
   */
  public int slots() {
    return shown.length;
  }

  /**
   * How many mappings the area has.
   *
   * @return mappings, at least 1
   */
  public int mappings() {
    return mappings;
  }

  /**
   * What a slot shows. By the thread that changes the area.
   *
   * @param slot which
   * @return the granule; -1 for none
   */
  public int shown(int slot) {
    return shown[slot];
  }

  /**
   * Lets a run of slots show a run of granules. The granules have been populated.
   *
   * @param slot the first slot
   * @param granule what that shows; the next one shows the next, and so on
   * @param n how many
   * @return whether it was done; if not, either the budget or the kernel has no mapping left, and
   *     the slots show what they did
   */
  public boolean show(int slot, int granule, int n) {
    Objects.checkFromIndexSize(slot, n, shown.length);
    Objects.checkFromIndexSize(granule, n, granules.max());
    if (n == 0) {
      return true;
    }
    int more = more(slot, granule, n);
    int passing = Math.max(more, 0) + PASSING;
    if (closed || !budget.take(passing)) {
      return false;
    }
    long mapped = granules.map(area.address() + (long) slot * granuleBytes, granule, n);
    if (mapped < 0) {
      budget.take(-passing);
      return false;
    }
    for (int i = 0; i < n; i++) {
      shown[slot + i] = granule + i;
    }
    mappings += more;
    budget.take(more - passing);
    return true;
  }

  /** How many more mappings there would be. */
  private int more(int slot, int granule, int n) {
    return borders(slot, granule, n) - borders(slot, n);
  }

  /** The borders between mappings in front of, within and behind a run of slots, as it is. */
  private int borders(int slot, int n) {
    int borders = 0;
    for (int i = Math.max(slot, 1); i <= slot + n && i < shown.length; i++) {
      borders += joined(shown[i - 1], shown[i]) ? 0 : 1;
    }
    return borders;
  }

  /** Those in front of and behind a run of slots, if it showed that run of granules. */
  private int borders(int slot, int granule, int n) {
    int borders = 0;
    if (slot > 0 && !joined(shown[slot - 1], granule)) {
      borders++;
    }
    int behind = slot + n;
    if (behind < shown.length && !joined(granule + n - 1, shown[behind])) {
      borders++;
    }
    return borders;
  }

  private static boolean joined(int left, int right) {
    return left == NOTHING ? right == NOTHING : right == left + 1;
  }

  /**
   * Fills the page table of a run of slots, so that no access to them faults.
   *
   * @param slot the first slot
   * @param n how many
   * @return whether the kernel did it; if not, the first access to each page does
   */
  public boolean populate(int slot, int n) {
    Objects.checkFromIndexSize(slot, n, shown.length);
    return granules.fault(area.address() + (long) slot * granuleBytes, (long) n * granuleBytes)
        >= 0;
  }

  /**
   * Takes all mappings away and keeps the addresses: they read as zeros. May be called again. By
   * the thread that changes the area, or when none does any more.
   */
  public void close() {
    if (!closed) {
      closed = true;
      place.release();
      budget.take(-mappings);
      mappings = 0;
    }
  }

  @Override
  public String toString() {
    return shown.length + " slots, " + mappings + " mappings";
  }
}
