package io.fovea.shortcut;

import io.fovea.Markdown;
import io.fovea.memory.NativeRegion;
import io.fovea.memory.Rewiring;
import java.util.Arrays;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Figure 4: how many slots may refer to one leaf before pointers are faster.
 *
 * <p>Slot s refers to leaf {@code s mod leaves}; in the paper, neighbors refer to the same leaf.
 * Accesses are random, so page tables, pointers and leaves are touched alike. But neighbors with
 * the same leaf would need a mapping per slot, and this arrangement needs one per repetition of all
 * leaves.
 */
@Command(
    name = "ShortcutFanIn",
    mixinStandardHelpOptions = true,
    showDefaultValues = true,
    description = "Random accesses with many slots per leaf.")
public final class ShortcutFanIn implements Callable<Integer> {
  @Option(names = "--bits", description = "Logarithm of the number of slots; 22 in the paper.")
  private int bits = 20;

  @Option(names = "--accesses", description = "Accesses of each kind per round.")
  private long accesses = 4_000_000;

  @Option(
      names = "--rounds",
      description = "Rounds of both kinds in turn, after two warm-up rounds.")
  private int rounds = 7;

  private ShortcutFanIn() {}

  /** Runs the benchmark. */
  public static void main(String[] args) {
    System.exit(new CommandLine(new ShortcutFanIn()).execute(args));
  }

  @Override
  public Integer call() throws Exception {
    Slots.printFacts();
    int n = 1 << bits;
    System.out.println("2^" + bits + " slots:\n");
    int leavesMax = Math.min(n, Slots.leavesMax());
    Markdown.head(
        "fan-in", "leaves", "pointers, ns", "shortcut, ns", "shortcut / pointers", "paper");
    try (Slots slots = Slots.ofLeaves(leavesMax)) {
      for (int fanIn = 1; fanIn <= 512 && fanIn <= n; fanIn *= 2) {
        int leaves = n / fanIn;
        if (leaves > leavesMax) {
          System.out.println("\nNo memory for " + leaves + " leaves.");
          continue;
        }
        double[][] nanos = measure(slots, n, leaves);
        Markdown.line(
            fanIn,
            leaves,
            Slots.cell(nanos[0]),
            Slots.cell(nanos[1]),
            Slots.ratio(nanos[1], nanos[0]),
            fanIn < 16 ? "below 1" : fanIn == 16 ? "1" : "above 1");
      }
    }
    return 0;
  }

  private double[][] measure(Slots slots, int n, int leaves) throws Exception {
    int[] names = new int[n];
    Arrays.setAll(names, i -> i & leaves - 1);
    NativeRegion directory = Slots.directory(n);
    Slots.point(directory.segment(), names);
    Rewiring area = Rewiring.reserve(slots.granules, n, slots.budget);
    try {
      for (int slot = 0; slot < n; slot += leaves) {
        if (!area.show(slot, 0, leaves)) {
          throw new IllegalStateException("No mapping is left: " + slots.budget + ".");
        }
      }
      area.populate(0, n);
      double[][] nanos = new double[2][rounds];
      for (int round = -2; round < rounds; round++) {
        long seed = 88172645463325252L + round;
        long begin = System.nanoTime();
        long a =
            Slots.byPointers(directory.segment(), slots.granules.view(), n - 1, accesses, seed);
        long middle = System.nanoTime();
        long b = Slots.byShortcut(area.area(), n - 1, accesses, seed);
        long end = System.nanoTime();
        Slots.check(a, b);
        if (round >= 0) {
          nanos[0][round] = (double) (middle - begin) / accesses;
          nanos[1][round] = (double) (end - middle) / accesses;
        }
      }
      return nanos;
    } finally {
      area.close();
      directory.release();
    }
  }
}
