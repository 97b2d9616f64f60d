package io.fovea.shortcut;

import io.fovea.Markdown;
import io.fovea.memory.KernelFacts;
import io.fovea.memory.NativeRegion;
import io.fovea.memory.Rewiring;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Figure 2: random accesses to leaves by pointers and through a shortcut, by number of leaves. */
@Command(
    name = "ShortcutAccess",
    mixinStandardHelpOptions = true,
    showDefaultValues = true,
    description = "Random accesses to leaves by pointers and through a shortcut.")
public final class ShortcutAccess implements Callable<Integer> {
  @Option(
      names = "--bits",
      split = ",",
      description = "Logarithm of the number of slots and leaves.")
  private List<Integer> bits = List.of(8, 10, 12, 14, 16, 18, 20);

  @Option(names = "--accesses", description = "Accesses of each kind per round.")
  private long accesses = 4_000_000;

  @Option(
      names = "--rounds",
      description = "Rounds of both kinds in turn, after two warm-up rounds.")
  private int rounds = 9;

  private ShortcutAccess() {}

  /** Runs the benchmark. */
  public static void main(String[] args) {
    System.exit(new CommandLine(new ShortcutAccess()).execute(args));
  }

  @Override
  public Integer call() throws Exception {
    Slots.printFacts();
    Markdown.head(
        "slots = leaves",
        "leaves, MiB",
        "order of leaves",
        "pointers, ns",
        "shortcut, ns",
        "shortcut / pointers");
    for (int b : bits) {
      int n = 1 << b;
      if (n > Slots.leavesMax()) {
        System.out.println("\nNo memory for 2^" + b + " leaves.");
        break;
      }
      // Leaves in file order are one mapping, whatever their number.
      boolean shuffled = n <= KernelFacts.mappingsToSpare() - 2;
      int[] leaves = shuffled ? Slots.shuffled(n) : Slots.inOrder(n);
      try (Slots slots = Slots.ofLeaves(n)) {
        NativeRegion directory = Slots.directory(n);
        Slots.point(directory.segment(), leaves);
        Rewiring area = Rewiring.reserve(slots.granules, n, slots.budget);
        boolean shown = shuffled ? Slots.showEach(area, leaves) : area.show(0, 0, n);
        if (!shown || !area.populate(0, n)) {
          System.out.println("\nThe kernel refused an area of 2^" + b + " slots.");
        } else {
          double[][] nanos = measure(slots, directory, area, n);
          Markdown.line(
              "2^" + b,
              Slots.text("%.1f", n * 4.0 / 1024),
              shuffled ? "random" : "of the file",
              Slots.cell(nanos[0]),
              Slots.cell(nanos[1]),
              Slots.ratio(nanos[1], nanos[0]));
        }
        area.close();
        directory.release();
      }
    }
    return 0;
  }

  private double[][] measure(Slots slots, NativeRegion directory, Rewiring area, int n) {
    double[][] nanos = new double[2][rounds];
    for (int round = -2; round < rounds; round++) {
      long seed = 88172645463325252L + round;
      long begin = System.nanoTime();
      long a = Slots.byPointers(directory.segment(), slots.granules.view(), n - 1, accesses, seed);
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
  }
}
