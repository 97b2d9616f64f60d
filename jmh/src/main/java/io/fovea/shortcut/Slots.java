package io.fovea.shortcut;

import io.fovea.InTurn;
import io.fovea.bindings.Errno;
import io.fovea.memory.Granules;
import io.fovea.memory.Granules.RefusedException;
import io.fovea.memory.KernelFacts;
import io.fovea.memory.MappingBudget;
import io.fovea.memory.Mem;
import io.fovea.memory.NativeRegion;
import io.fovea.memory.Rewiring;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Locale;
import java.util.SplittableRandom;

/**
 * A wide inner node whose slots refer to leaves of 4 KiB, in both forms: pointers, and virtual
 * memory that maps the leaves. Shared by the experiments of sections 1 and 3 of the paper.
 *
 * <p>Each line of a leaf begins with the leaf's number, to check reads. An access reads a random
 * line of a leaf, since the first lines of all leaves would share a set of the processor's cache.
 */
final class Slots implements AutoCloseable {
  static final int LEAF_SHIFT = 12;
  static final int LEAF_BYTES = 1 << LEAF_SHIFT;
  private static final int LINES_SHIFT = 6;

  final Granules granules;
  final MappingBudget budget = new MappingBudget(KernelFacts.mappingsToSpare());

  private Slots(Granules granules) {
    this.granules = granules;
  }

  static Slots ofLeaves(int leaves) throws RefusedException {
    Slots slots = new Slots(Granules.make("fovea-leaves", LEAF_BYTES, leaves));
    int refused = slots.granules.populate(0, leaves);
    if (refused < 0) {
      slots.close();
      throw new RefusedException(
          "Cannot allocate memory for leaves: " + Errno.describe(-refused) + ".");
    }
    MemorySegment view = slots.granules.view();
    for (long off = 0; off < (long) leaves << LEAF_SHIFT; off += 1 << LINES_SHIFT) {
      Mem.putLong(view, off, off >>> LEAF_SHIFT);
    }
    return slots;
  }

  /**
   * Returns the number of leaves that fit into a third of the free memory, rounded down to a power
   * of two.
   */
  static int leavesMax() {
    long bytes = KernelFacts.memoryAvailable().orElse(1L << 30) / 3;
    return (int) Math.min(1 << 22, Long.highestOneBit(bytes >>> LEAF_SHIFT));
  }

  static int[] shuffled(int n) {
    int[] order = inOrder(n);
    SplittableRandom random = new SplittableRandom(n);
    for (int i = n - 1; i > 0; i--) {
      int other = random.nextInt(i + 1);
      int t = order[i];
      order[i] = order[other];
      order[other] = t;
    }
    return order;
  }

  static int[] inOrder(int n) {
    int[] order = new int[n];
    Arrays.setAll(order, i -> i);
    return order;
  }

  static NativeRegion directory(int slots) {
    return NativeRegion.reserveInPieces((long) slots << 3, "directory");
  }

  static void point(MemorySegment directory, int[] leaves) {
    for (int i = 0; i < leaves.length; i++) {
      Mem.putLong(directory, (long) i << 3, (long) leaves[i] << LEAF_SHIFT);
    }
  }

  /** Maps slots to leaves, one call each; false if there are too few mappings. */
  static boolean showEach(Rewiring area, int[] leaves) {
    for (int i = 0; i < leaves.length; i++) {
      if (!area.show(i, leaves[i], 1)) {
        return false;
      }
    }
    return true;
  }

  /** Accesses leaves by pointers, and returns the sum of what it reads. */
  static long byPointers(
      MemorySegment directory, MemorySegment view, long slotMask, long accesses, long seed) {
    long x = seed;
    long sum = 0;
    for (long i = 0; i < accesses; i++) {
      x ^= x << 13;
      x ^= x >>> 7;
      x ^= x << 17;
      long leaf = Mem.peekLong(directory, (x & slotMask) << 3);
      sum += Mem.peekLong(view, leaf + (x >>> 58 << LINES_SHIFT));
    }
    return sum;
  }

  static long byShortcut(MemorySegment area, long slotMask, long accesses, long seed) {
    long x = seed;
    long sum = 0;
    for (long i = 0; i < accesses; i++) {
      x ^= x << 13;
      x ^= x >>> 7;
      x ^= x << 17;
      sum += Mem.peekLong(area, ((x & slotMask) << LEAF_SHIFT) + (x >>> 58 << LINES_SHIFT));
    }
    return sum;
  }

  /** Throws if the two kinds of access read different leaves. */
  static void check(long byPointers, long byShortcut) {
    if (byPointers != byShortcut) {
      throw new IllegalStateException("Pointers and shortcut found different leaves.");
    }
  }

  /** Formats a cell: the median, with minimum and maximum. */
  static String cell(double[] values) {
    return text(
        "%.1f (%.1f to %.1f)",
        InTurn.median(values), InTurn.quantile(values, 0), InTurn.quantile(values, 1));
  }

  /** Formats a cell: the median of the ratios by round. */
  static String ratio(double[] above, double[] below) {
    double[] ratios = new double[above.length];
    Arrays.setAll(ratios, i -> above[i] / below[i]);
    return text("%.2f", InTurn.median(ratios));
  }

  static String text(String format, Object... values) {
    return String.format(Locale.ROOT, format, values);
  }

  /** Prints the kernel's limits, and what they prevent from being measured. */
  static void printFacts() {
    System.out.println(
        "Kernel: vm.max_map_count "
            + MappingBudget.mappingsMax()
            + ", so "
            + KernelFacts.mappingsToSpare()
            + " mappings may be used; huge pages "
            + KernelFacts.hugePages()
            + ", of files in memory "
            + KernelFacts.hugePagesOfFiles()
            + "; vm.overcommit_memory "
            + KernelFacts.overcommit()
            + "; processors "
            + Runtime.getRuntime().availableProcessors()
            + ".");
    System.out.println();
  }

  @Override
  public void close() {
    granules.close();
  }
}
