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
 * A wide inner node whose slots name leaves of 4 KiB, in both forms: pointers, and virtual memory
 * that shows the leaves. What the experiments of the paper's sections 1 and 3 have in common.
 *
 * <p>Each line of a leaf begins with the number of the leaf, so that what was read can be checked;
 * an access reads a random line of a leaf, for the first lines of all leaves would share a set of
 * the processor's cache.
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

  /** So many leaves, with memory. */
  static Slots ofLeaves(int leaves) throws RefusedException {
    Slots slots = new Slots(Granules.make("fovea-leaves", LEAF_BYTES, leaves));
    int refused = slots.granules.populate(0, leaves);
    if (refused < 0) {
      slots.close();
      throw new RefusedException("No memory for leaves: " + Errno.describe(-refused) + ".");
    }
    MemorySegment view = slots.granules.view();
    for (long off = 0; off < (long) leaves << LEAF_SHIFT; off += 1 << LINES_SHIFT) {
      Mem.putLong(view, off, off >>> LEAF_SHIFT);
    }
    return slots;
  }

  /** How many leaves of 4 KiB fit into a third of the memory that is free, a power of two. */
  static int leavesMax() {
    long bytes = KernelFacts.memoryAvailable().orElse(1L << 30) / 3;
    return (int) Math.min(1 << 22, Long.highestOneBit(bytes >>> LEAF_SHIFT));
  }

  /** Numbers in a random order. */
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

  /** Numbers in their order. */
  static int[] inOrder(int n) {
    int[] order = new int[n];
    Arrays.setAll(order, i -> i);
    return order;
  }

  /** A directory of pointers, that have not been set. */
  static NativeRegion directory(int slots) {
    return NativeRegion.reserveInPieces((long) slots << 3, "directory");
  }

  /** Sets pointers to leaves. */
  static void point(MemorySegment directory, int[] leaves) {
    for (int i = 0; i < leaves.length; i++) {
      Mem.putLong(directory, (long) i << 3, (long) leaves[i] << LEAF_SHIFT);
    }
  }

  /** Lets slots show leaves, one call for each; false where there are not so many mappings. */
  static boolean showEach(Rewiring area, int[] leaves) {
    for (int i = 0; i < leaves.length; i++) {
      if (!area.show(i, leaves[i], 1)) {
        return false;
      }
    }
    return true;
  }

  /** Accesses by pointers; the sum of what they find. */
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

  /** The same accesses through an area. */
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

  /** Refuses a measurement whose two ways found different leaves. */
  static void check(long byPointers, long byShortcut) {
    if (byPointers != byShortcut) {
      throw new IllegalStateException("Pointers and shortcut found different leaves.");
    }
  }

  /** For a cell: the median, with the least and the most. */
  static String cell(double[] values) {
    return text(
        "%.1f (%.1f to %.1f)",
        InTurn.median(values), InTurn.quantile(values, 0), InTurn.quantile(values, 1));
  }

  /** For a cell: the median of the ratios of one round each. */
  static String ratio(double[] above, double[] below) {
    double[] ratios = new double[above.length];
    Arrays.setAll(ratios, i -> above[i] / below[i]);
    return text("%.2f", InTurn.median(ratios));
  }

  static String text(String format, Object... values) {
    return String.format(Locale.ROOT, format, values);
  }

  /** What the kernel allows here, and what that keeps from being measured. */
  static void printFacts() {
    System.out.println(
        "Kernel: vm.max_map_count "
            + KernelFacts.mappingsMax()
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
