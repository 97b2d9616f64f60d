package io.fovea.shortcut;

import io.fovea.Markdown;
import io.fovea.memory.KernelFacts;
import io.fovea.memory.NativeRegion;
import io.fovea.memory.Rewiring;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Table 1: the cost of creating an inner node in three forms, and of using it twice. Times per
 * slot, or per access.
 */
@Command(
    name = "ShortcutCreation",
    mixinStandardHelpOptions = true,
    showDefaultValues = true,
    description = "Measures the creation of a directory of pointers, and of a shortcut.")
public final class ShortcutCreation implements Callable<Integer> {
  /** The paper's: 10 million accesses to 2^22 slots. */
  private static final double ACCESSES_A_SLOT = 1e7 / (1 << 22);

  private static final String[] PHASES = {
    "allocate", "set indirections", "populate", "first accesses", "second accesses"
  };

  private static final String[][] PAPER = {
    {"0.0", "0.0", "0.0"},
    {"2.1", "447.5", "449.4"},
    {"-", "-", "74.1"},
    {"22.6", "50.4", "16.5"},
    {"23.0", "18.6", "16.7"}
  };

  @Option(
      names = "--bits",
      description = "Logarithm of the number of slots, with leaves in random order.")
  private int bits = 15;

  @Option(names = "--bits-in-order", description = "The same, with leaves in file order.")
  private int bitsInOrder = 18;

  @Option(
      names = "--rounds",
      description = "Rounds of the three forms in turn, after two warm-up rounds.")
  private int rounds = 9;

  private ShortcutCreation() {}

  /** Runs the benchmark. */
  public static void main(String[] args) {
    System.exit(new CommandLine(new ShortcutCreation()).execute(args));
  }

  @Override
  public Integer call() throws Exception {
    Slots.printFacts();
    if (1 << bits <= KernelFacts.mappingsToSpare() - 4) {
      measure(bits, true);
    } else {
      System.out.println("2^" + bits + " slots in random order need as many mappings.\n");
    }
    measure(bitsInOrder, false);
    return 0;
  }

  private void measure(int b, boolean random) throws Exception {
    int n = 1 << b;
    if (n > Slots.leavesMax()) {
      System.out.println("No memory for 2^" + b + " leaves.");
      return;
    }
    System.out.println(
        "2^"
            + b
            + " slots, leaves in "
            + (random ? "random order" : "the order of the file")
            + ":\n");
    int[] leaves = random ? Slots.shuffled(n) : Slots.inOrder(n);
    double[][][] nanos = new double[3][PHASES.length][rounds];
    try (Slots slots = Slots.ofLeaves(n)) {
      for (int round = -2; round < rounds; round++) {
        long sum = 0;
        for (int form = 0; form < 3; form++) {
          double[] found = new double[PHASES.length + 1];
          if (form == 0) {
            pointers(slots, leaves, found);
            sum = (long) found[PHASES.length];
          } else {
            if (!shortcut(slots, leaves, form == 2, found)) {
              System.out.println("The kernel refused an area of 2^" + b + " slots.");
              return;
            }
            Slots.check(sum, (long) found[PHASES.length]);
          }
          for (int phase = 0; phase < PHASES.length && round >= 0; phase++) {
            nanos[form][phase][round] = found[phase];
          }
        }
      }
    }
    Markdown.head(
        "ns a slot, or an access",
        "pointers",
        "paper",
        "shortcut, lazy",
        "paper",
        "shortcut, eager",
        "paper",
        "lazy / pointers",
        "paper");
    for (int phase = 0; phase < PHASES.length; phase++) {
      boolean both = phase != 0 && phase != 2;
      Markdown.line(
          PHASES[phase],
          phase == 2 ? "-" : Slots.cell(nanos[0][phase]),
          PAPER[phase][0],
          phase == 2 ? "-" : Slots.cell(nanos[1][phase]),
          PAPER[phase][1],
          Slots.cell(nanos[2][phase]),
          PAPER[phase][2],
          both ? Slots.ratio(nanos[1][phase], nanos[0][phase]) : "-",
          both
              ? Slots.text(
                  "%.2f", Double.parseDouble(PAPER[phase][1]) / Double.parseDouble(PAPER[phase][0]))
              : "-");
    }
    System.out.println();
  }

  private static void pointers(Slots slots, int[] leaves, double[] found) {
    int n = leaves.length;
    long accesses = (long) (n * ACCESSES_A_SLOT);
    long t = System.nanoTime();
    NativeRegion directory = Slots.directory(n);
    t = lap(t, found, 0, n);
    Slots.point(directory.segment(), leaves);
    t = lap(t, found, 1, n);
    long sum = 0;
    for (int phase = 3; phase < 5; phase++) {
      sum +=
          Slots.byPointers(
              directory.segment(), slots.granules.view(), n - 1, accesses, 4711 + phase);
      t = lap(t, found, phase, accesses);
    }
    found[PHASES.length] = sum;
    directory.release();
  }

  private static boolean shortcut(Slots slots, int[] leaves, boolean eager, double[] found)
      throws Exception {
    int n = leaves.length;
    long accesses = (long) (n * ACCESSES_A_SLOT);
    long t = System.nanoTime();
    Rewiring area = Rewiring.reserve(slots.granules, n, slots.budget);
    try {
      t = lap(t, found, 0, n);
      if (!Slots.showEach(area, leaves)) {
        return false;
      }
      t = lap(t, found, 1, n);
      if (eager) {
        area.populate(0, n);
        t = lap(t, found, 2, n);
      }
      long sum = 0;
      for (int phase = 3; phase < 5; phase++) {
        sum += Slots.byShortcut(area.area(), n - 1, accesses, 4711 + phase);
        t = lap(t, found, phase, accesses);
      }
      found[PHASES.length] = sum;
      return true;
    } finally {
      area.close();
    }
  }

  private static long lap(long since, double[] found, int phase, long of) {
    found[phase] = (double) (System.nanoTime() - since) / of;
    return System.nanoTime();
  }
}
