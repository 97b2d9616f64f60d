package io.fovea.shortcut;

import io.fovea.Markdown;
import io.fovea.memory.Mem;
import io.fovea.memory.Rewiring;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Figure 5: the cost of changing a slot while other cores read the area, and the cost for them.
 *
 * <p>A slot is remapped to its neighbor's leaf, and then back to its own, so an area of any size
 * needs only a few mappings. In the paper, pages stay remapped, and each needs two more mappings.
 */
@Command(
    name = "ShortcutShootdown",
    mixinStandardHelpOptions = true,
    showDefaultValues = true,
    description = "Changes of slots while others read.")
public final class ShortcutShootdown implements Callable<Integer> {
  private static final int CHUNK = 4096;

  @Option(names = "--bits", description = "Logarithm of the number of slots; 21 in the paper.")
  private int bits = 18;

  @Option(names = "--remaps", description = "Changes per round; 2^19 in the paper.")
  private int remaps = 1 << 15;

  @Option(
      names = "--readers",
      description = "Largest number of readers; by default all processors but one.")
  private int readers = Math.min(7, Runtime.getRuntime().availableProcessors() - 1);

  @Option(
      names = "--rounds",
      description = "Rounds of all numbers of readers in turn, after one warm-up round.")
  private int rounds = 5;

  private volatile boolean stop;

  private ShortcutShootdown() {}

  /** Runs the benchmark. */
  public static void main(String[] args) {
    System.exit(new CommandLine(new ShortcutShootdown()).execute(args));
  }

  @Override
  public Integer call() throws Exception {
    Slots.printFacts();
    int n = Math.min(1 << bits, Slots.leavesMax());
    double[][][] nanos = new double[3][readers + 1][rounds];
    try (Slots slots = Slots.ofLeaves(n)) {
      Rewiring area = Rewiring.reserve(slots.granules, n, slots.budget);
      if (!area.show(0, 0, n)) {
        throw new IllegalStateException("No mapping is left: " + slots.budget + ".");
      }
      area.populate(0, n);
      for (int round = -1; round < rounds; round++) {
        for (int r = 0; r <= readers; r++) {
          double[] found = measure(area, n, r, round);
          for (int i = 0; i < 3 && round >= 0; i++) {
            nanos[i][r][round] = found[i];
          }
        }
      }
      area.close();
    }
    System.out.println(n + " slots, " + remaps + " changes a round:\n");
    Markdown.head(
        "readers",
        "(a) a change, ns",
        "of that without readers",
        "paper",
        "(b) a page read during changes, ns",
        "(c) the same without changes, ns",
        "(b) / (c)",
        "paper");
    for (int r = 0; r <= readers; r++) {
      Markdown.line(
          r,
          Slots.cell(nanos[0][r]),
          Slots.ratio(nanos[0][r], nanos[0][0]),
          r == 0 ? "1" : r == 7 ? "1.67" : "-",
          r == 0 ? "-" : Slots.cell(nanos[1][r]),
          r == 0 ? "-" : Slots.cell(nanos[2][r]),
          r == 0 ? "-" : Slots.ratio(nanos[1][r], nanos[2][r]),
          r == 0 ? "-" : "little above 1");
    }
    return 0;
  }

  /** Measures a change, a page read during changes, and a page read without changes. */
  private double[] measure(Rewiring area, int n, int r, int round) throws Exception {
    stop = false;
    List<Reader> all = new ArrayList<>();
    for (int i = 0; i < r; i++) {
      all.add(new Reader(area.area(), n, (long) n / (i + 1) - 1, Long.MAX_VALUE));
    }
    all.forEach(Thread::start);
    SplittableRandom random = new SplittableRandom(round);
    long begin = System.nanoTime();
    for (int i = 0; i < remaps; i += 2) {
      int slot = random.nextInt(n);
      if (!area.show(slot, slot ^ 1, 1)
          || !area.populate(slot, 1)
          || !area.show(slot, slot, 1)
          || !area.populate(slot, 1)) {
        throw new IllegalStateException("The kernel refused a change.");
      }
    }
    double change = (double) (System.nanoTime() - begin) / remaps;
    stop = true;
    double with = join(all);
    stop = false;
    List<Reader> again = new ArrayList<>();
    for (Reader reader : all) {
      again.add(new Reader(area.area(), n, reader.first, reader.pages));
    }
    again.forEach(Thread::start);
    return new double[] {change, with, join(again)};
  }

  private static double join(List<Reader> readers) throws InterruptedException {
    double nanos = 0;
    double pages = 0;
    for (Reader reader : readers) {
      reader.join();
      nanos += reader.nanos;
      pages += reader.pages;
    }
    return nanos / pages;
  }

  /** Reads one slot after another. */
  private final class Reader extends Thread {
    private final MemorySegment area;
    private final long slots;
    private final long first;
    private final long most;

    long pages;
    long nanos;
    long sum;

    Reader(MemorySegment area, long slots, long first, long most) {
      super("reader");
      setDaemon(true);
      this.area = area;
      this.slots = slots;
      this.first = first;
      this.most = most;
    }

    @Override
    public void run() {
      long begin = System.nanoTime();
      long slot = first;
      while (!stop && pages < most) {
        sum += read(area, slots, slot);
        slot = slot + CHUNK & slots - 1;
        pages += CHUNK;
      }
      nanos = System.nanoTime() - begin;
    }
  }

  private static long read(MemorySegment area, long slots, long first) {
    long sum = 0;
    for (long i = first; i < first + CHUNK; i++) {
      sum += Mem.peekLong(area, (i & slots - 1) << Slots.LEAF_SHIFT);
    }
    return sum;
  }
}
