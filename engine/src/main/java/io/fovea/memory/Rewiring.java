package io.fovea.memory;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Objects;

/**
 * An area of address space in which each slot maps a granule: a directory that the memory
 * management unit follows. <i>Taking the Shortcut</i> (CIDR 2024), sections 2 and 3.
 *
 * <pre>
 *   slot      0   1   2   3   4   5   6   7
 *   shows     0   1   2   3   0   1   6   7       |0..3| |4..5| |6..7|: three mappings
 *   address   area + slot × granule
 * </pre>
 *
 * <ul>
 *   <li><b>Slots are mapped in runs</b>: adjacent slots that show adjacent granules are one
 *       mapping, whether mapped together or one by one, since the kernel merges them. This class
 *       counts the mappings, and takes them from the {@link MappingBudget} before their number
 *       grows.
 *   <li><b>Readers need no protocol.</b> The kernel replaces a mapping under the lock that page
 *       faults take, so an access finds the old granule or the new one. A reader that learns that
 *       {@link #show} has returned finds the new one, because the TLBs of other cores were flushed
 *       before the return.
 *   <li><b>A slot that shows nothing</b> reads as zeros and retains writes.
 * </ul>
 *
 * <p><b>Cost.</b> {@link #show} takes microseconds, blocks all page faults of the process
 * meanwhile, and interrupts every core that runs one of the process's threads. Use a separate
 * thread for it.
 *
 * <p>Only one thread at a time may change an area; any thread may read it.
 *
 * @since 0.1.0
 */
public final class Rewiring {
  private static final int NONE = -1;

  /** The extra mappings while the kernel replaces the middle of a mapping. */
  private static final int PASSING = 2;

  private final Granules granules;
  private final MappingBudget budget;
  private final AddressSpace.Region region;
  private final MemorySegment area;
  private final int granuleBytes;

  /** The granule that each slot shows. */
  private final int[] shown;

  /** The number of mappings of the area, counted by the budget. */
  private int mappings = 1;

  private boolean closed;

  private Rewiring(
      Granules granules,
      MappingBudget budget,
      int slots,
      AddressSpace.Region region,
      MemorySegment area) {
    this.granules = granules;
    this.budget = budget;
    this.granuleBytes = granules.granuleBytes();
    this.region = region;
    this.area = area;
    this.shown = new int[slots];
    Arrays.fill(shown, NONE);
  }

  /**
   * Reserves an area whose slots show nothing.
   *
   * @param granules the granules that its slots may show
   * @param slots the number of slots, each of which takes address space and an int on the heap
   * @param budget the budget for its mappings, shared with other areas
   * @return the area
   * @throws Granules.RefusedException if the budget has no mapping left
   * @throws OutOfMemoryError if there is not enough address space
   */
  public static Rewiring reserve(Granules granules, int slots, MappingBudget budget)
      throws Granules.RefusedException {
    if (slots <= 0) {
      throw new IllegalArgumentException("An area must have at least one slot, not " + slots + ".");
    }
    if (!budget.take(1)) {
      throw new Granules.RefusedException("All mappings are in use: " + budget + ".");
    }
    boolean made = false;
    try {
      long bytes = (long) slots * granules.granuleBytes();
      AddressSpace.Region region = AddressSpace.take(bytes, "area of " + slots + " slots");
      Rewiring rewiring =
          new Rewiring(granules, budget, slots, region, Granules.segment(region.start(), bytes));
      made = true;
      return rewiring;
    } finally {
      if (!made) {
        budget.take(-1);
      }
    }
  }

  /**
   * Returns all slots in order.
   *
   * @return a native segment of global scope
   */
  public MemorySegment area() {
    return area;
  }

  /** Returns the number of slots. */
  public int slots() {
    return shown.length;
  }

  /**
   * Returns the number of mappings of the area.
   *
   * @return mappings, at least 1
   */
  public int mappings() {
    return mappings;
  }

  /**
   * Returns the granule that a slot shows. Must be called by the thread that changes the area.
   *
   * @param slot the slot
   * @return the granule; -1 if the slot shows none
   */
  public int shown(int slot) {
    return shown[slot];
  }

  /**
   * Maps a run of slots to a run of populated granules.
   *
   * @param slot the first slot
   * @param granule the granule of the first slot; the next slot shows the next one, and so on
   * @param n the number of slots
   * @return false if the budget or the kernel has no mapping left; the slots are then unchanged
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

  private int more(int slot, int granule, int n) {
    return borders(slot, granule, n) - borders(slot, n);
  }

  /** Returns the current borders between mappings before, within and after a run of slots. */
  private int borders(int slot, int n) {
    int borders = 0;
    for (int i = Math.max(slot, 1); i <= slot + n && i < shown.length; i++) {
      borders += joined(shown[i - 1], shown[i]) ? 0 : 1;
    }
    return borders;
  }

  /** Returns the borders before and after a run of slots if it showed that run of granules. */
  private int borders(int slot, int granule, int n) {
    int borders = 0;
    if (slot > 0 && !joined(shown[slot - 1], granule)) {
      borders++;
    }
    int after = slot + n;
    if (after < shown.length && !joined(granule + n - 1, shown[after])) {
      borders++;
    }
    return borders;
  }

  private static boolean joined(int left, int right) {
    return left == NONE ? right == NONE : right == left + 1;
  }

  /**
   * Fills the page table of a run of slots, so that no access to them faults.
   *
   * @param slot the first slot
   * @param n the number of slots
   * @return whether the kernel filled it; if not, the first access to each page does
   */
  public boolean populate(int slot, int n) {
    Objects.checkFromIndexSize(slot, n, shown.length);
    return granules.fault(area.address() + (long) slot * granuleBytes, (long) n * granuleBytes)
        >= 0;
  }

  /**
   * Removes all mappings and keeps the addresses, which read as zeros. Idempotent. Must be called
   * by the thread that changes the area, or after that thread has stopped.
   */
  public void close() {
    if (!closed) {
      closed = true;
      region.release();
      budget.take(-mappings);
      mappings = 0;
    }
  }

  @Override
  public String toString() {
    return shown.length + " slots, " + mappings + " mappings";
  }
}
