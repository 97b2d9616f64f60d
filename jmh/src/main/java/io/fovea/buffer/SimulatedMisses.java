package io.fovea.buffer;

import io.fovea.Markdown;
import io.fovea.config.Replacement;
import io.fovea.config.Translation;
import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Locale;
import java.util.SplittableRandom;

/**
 * Simulates the cache misses of a lookup under each translation, for machines without processor
 * counters: a part of the table in section 6.5 of Zinsmeister et al., Predictive Translation,
 * SIGMOD 2026. With counters, {@code run.sh counters} counts instead.
 *
 * <pre>
 *   java -cp jmh/target/benchmarks.jar io.fovea.buffer.SimulatedMisses [FRAMES [DESCENTS]]
 *
 *   one lookup = one descent, as in TranslationLadder: root ──► inner ··· ──► leaf, fan-out 480,
 *                uniform keys, a half-full pool. At each level
 *
 *     LATCHED              bucket, then header lines of its chain, then the page: the bucket's latch
 *                         is an atomic instruction, which later loads wait for
 *     OPTIMISTIC_CHAINED   bucket, then header lines of its chain and the page
 *     OPTIMISTIC           bucket, then header line and page
 *     PREDICTIVE_HASHED    bucket, header line and page at once; elsewhere as OPTIMISTIC
 *     PREDICTIVE           header line and page at once; elsewhere another header line and page
 *     SWIZZLED, VIRTUAL    header line and page at once
 *
 *   a page = its first line, and then the line of the link
 * </pre>
 *
 * <p>The addresses are the engine's: its tables are filled with these pages, and {@link MemoryPlan}
 * maps accesses to addresses. The caches are simulated: set-associative, LRU, no prefetching.
 * <i>Waits</i> are accesses beyond the second level, with concurrent ones counted once.
 * Instructions and mispredictions are not simulated.
 */
public final class SimulatedMisses {
  private static final int PAGE_SHIFT = 12;
  private static final int FAN_OUT = 480;
  private static final int LINKS = 4096 - 8 * FAN_OUT;
  private static final int HUGE_SHIFT = 21;

  private final Translation translation;
  private final MemoryPlan plan;
  private final Translator t;
  private final int tlbShift;

  // The caches of an EPYC, per core; the third level is shared.
  private final Cache first = new Cache(32 << 10 >>> 6, 8);
  private final Cache second = new Cache(1 << 20 >>> 6, 8);
  private final Cache third = new Cache(32 << 20 >>> 6, 16);
  private final Cache tlbFirst = new Cache(72, 72);
  private final Cache tlbSecond = new Cache(3072, 12);

  /** By level, 0 = leaves. */
  private final long[][] levels = new long[8][];

  private int height;
  private int free;
  private final boolean[] taken;
  private long accesses;
  private long waits;
  private boolean waited;

  private SimulatedMisses(Arena arena, Translation translation, int frames) {
    this.translation = translation;
    boolean own = Translator.isOwn(translation);
    plan =
        MemoryPlan.of(
            1 << PAGE_SHIFT,
            frames,
            own ? Translation.PREDICTIVE : translation,
            Replacement.SECOND_CHANCE);
    MemorySegment headers = arena.allocate((long) frames * FrameHeader.BYTES, FrameHeader.BYTES);
    long table = plan.stackAt() - plan.tableAt();
    t =
        new Translator(
            translation,
            frames,
            headers,
            table == 0 ? headers : arena.allocate(table, FrameHeader.BYTES));
    // If pages can be unmapped one by one, the system uses small pages.
    tlbShift = translation == Translation.VIRTUAL ? PAGE_SHIFT : HUGE_SHIFT;
    taken = new boolean[frames];
    build(frames / 2);
  }

  /** Runs the benchmark. */
  public static void main(String[] args) {
    int frames = args.length > 0 ? Integer.parseInt(args[0]) : 1 << 18;
    int descents = args.length > 1 ? Integer.parseInt(args[1]) : 1_000_000;
    Markdown.head(
        "simulated, for each lookup",
        "lines",
        "L1 misses",
        "L2 misses",
        "L3 misses",
        "dTLB misses",
        "waits");
    for (Translation translation : Translation.values()) {
      if (translation != Translation.DIRECT) {
        try (Arena arena = Arena.ofConfined()) {
          new SimulatedMisses(arena, translation, frames).run(descents);
        }
      }
    }
  }

  // ---------------------------------------------------------------------------------- the pages

  private void build(int pages) {
    long next = 1;
    int n = pages - pages / FAN_OUT - 8;
    while (true) {
      levels[height] = new long[n];
      for (int i = 0; i < n; i++) {
        levels[height][i] = next;
        put(next++);
      }
      if (n == 1) {
        return;
      }
      n = (n + FAN_OUT - 1) / FAN_OUT;
      height++;
    }
  }

  /** Puts a page into its preferred frame if that is free, otherwise into the next free one. */
  private void put(long pid) {
    int frame = Translator.isOwn(translation) ? (int) pid : t.preferred(pid);
    while (frame < 0 || taken[frame]) {
      frame = free++;
    }
    taken[frame] = true;
    t.insert(t.bucket(pid), pid, frame);
  }

  // -------------------------------------------------------------------------------- the descents

  private void run(int descents) {
    SplittableRandom r = new SplittableRandom(3);
    for (int i = 0; i < descents / 4; i++) {
      descend(r.nextInt(levels[0].length), r);
    }
    accesses = 0;
    waits = 0;
    for (Cache c : new Cache[] {first, second, third, tlbFirst, tlbSecond}) {
      c.misses = 0;
    }
    for (int i = 0; i < descents; i++) {
      descend(r.nextInt(levels[0].length), r);
    }
    Object[] cells = {
      each(accesses, descents),
      each(first.misses, descents),
      each(second.misses, descents),
      each(third.misses, descents),
      each(tlbSecond.misses, descents),
      each(waits, descents)
    };
    Markdown.line(translation, cells);
  }

  private static String each(long n, int descents) {
    return String.format(Locale.ROOT, "%.2f", (double) n / descents);
  }

  private void descend(int leaf, SplittableRandom r) {
    int divisor = 1;
    for (int i = 0; i < height; i++) {
      divisor *= FAN_OUT;
    }
    for (int level = height; level >= 0; level--, divisor /= FAN_OUT) {
      long pid = levels[level][leaf / Math.max(1, divisor)];
      int slot = level == 0 ? r.nextInt(FAN_OUT) : leaf / (divisor / FAN_OUT) % FAN_OUT;
      page(pid, slot);
    }
  }

  private void page(long pid, int slot) {
    int frame = t.lookup(pid);
    int bucket = t.bucket(pid);
    long table = plan.tableAt() + (long) bucket * Translator.bucketBytes(translation);
    switch (translation) {
      case LATCHED -> {
        access(table);
        step();
        chain(bucket, pid);
        step();
        access(page(frame));
      }
      case OPTIMISTIC_CHAINED -> {
        access(table);
        step();
        chain(bucket, pid);
        access(page(frame));
      }
      case OPTIMISTIC -> {
        access(table);
        step();
        header(frame);
        access(page(frame));
      }
      case PREDICTIVE_HASHED -> {
        access(table);
        if (frame != t.preferred(pid)) {
          step();
        }
        header(frame);
        access(page(frame));
      }
      case PREDICTIVE -> {
        int preferred = t.preferred(pid);
        header(preferred);
        access(page(preferred));
        if (frame != preferred) {
          step();
          header(frame);
          access(page(frame));
        }
      }
      case SWIZZLED, VIRTUAL, DIRECT -> {
        header(frame);
        access(page(frame));
      }
    }
    step();
    access(page(frame) + LINKS + 8L * slot);
    step();
  }

  /** Touches the header lines from the bucket's first frame to the page's. */
  private void chain(int bucket, long pid) {
    int link = Mem.getIntOpaque(t.table, ChainedTranslation.at(bucket));
    while (link != 0) {
      header(link - 1);
      if (FrameHeader.pid(t.headers, link - 1) == pid) {
        return;
      }
      step();
      link = FrameHeader.next(t.headers, link - 1);
    }
  }

  private long page(int frame) {
    return (long) frame << PAGE_SHIFT;
  }

  private void header(int frame) {
    access(plan.headersAt() + FrameHeader.at(frame));
  }

  /** Marks a dependency: later accesses need the result of earlier ones. */
  private void step() {
    waits += waited ? 1 : 0;
    waited = false;
  }

  private void access(long address) {
    accesses++;
    if (tlbFirst.misses(address >>> tlbShift)) {
      tlbSecond.misses(address >>> tlbShift);
    }
    long line = address >>> 6;
    if (first.misses(line) && second.misses(line)) {
      waited = true;
      third.misses(line);
    }
  }

  /** A set-associative LRU cache of lines. */
  private static final class Cache {
    private final int sets;
    private final int ways;
    private final long[] lines;
    private long misses;

    Cache(int lines, int ways) {
      this.sets = lines / ways;
      this.ways = ways;
      this.lines = new long[lines];
      Arrays.fill(this.lines, -1);
    }

    boolean misses(long line) {
      int from = (int) (line % sets) * ways;
      int i = from;
      int last = from + ways - 1;
      while (i < last && lines[i] != line) {
        i++;
      }
      boolean miss = lines[i] != line;
      System.arraycopy(lines, from, lines, from + 1, i - from);
      lines[from] = line;
      misses += miss ? 1 : 0;
      return miss;
    }
  }
}
