package io.fovea.buffer;

import io.fovea.Markdown;
import io.fovea.config.Translation;
import java.lang.foreign.Arena;
import java.util.Locale;
import java.util.SplittableRandom;

/**
 * Lengths of the chains of page tables: figure 10 of Zinsmeister et al., Predictive Translation,
 * SIGMOD 2026.
 *
 * <pre>
 *   java -cp jmh/target/benchmarks.jar io.fovea.buffer.ChainLengths [FRAMES]
 *
 *   first table    the paper's experiment: random numbers counted by bucket of the engine's hash, without
 *                 empty buckets. Below it, the zero-truncated Poisson distribution.
 *   second table   the engine's table: a full pool with random pages of a file of 1 to 100 pools. A table
 *                 has two buckets per frame. Under PREDICTIVE, the header line of a frame is the
 *                 bucket: a page in its preferred frame is in no chain, and the line has two
 *                 forwarding entries.
 * </pre>
 *
 * <p>Measures no times, so other load does not matter.
 */
public final class ChainLengths {
  private static final int SHOWN = 4;
  private static final int FRAMES = 1 << 18;

  private ChainLengths() {}

  /** Runs the benchmark. */
  public static void main(String[] args) {
    int frames = args.length > 0 ? Integer.parseInt(args[0]) : FRAMES;
    random(frames);
    System.out.println();
    pools(frames);
  }

  private static Object[] columns() {
    Object[] columns = new Object[SHOWN + 2];
    for (int i = 0; i < SHOWN; i++) {
      columns[i] = "length " + (i + 1);
    }
    columns[SHOWN] = "longer";
    columns[SHOWN + 1] = "longest";
    return columns;
  }

  private static void random(int frames) {
    Markdown.head("random numbers: fill, % of the chains", columns());
    int buckets = Translator.buckets(frames);
    try (Arena arena = Arena.ofConfined()) {
      Translator t = translator(arena, Translation.OPTIMISTIC, frames);
      for (double fill : new double[] {0.25, 0.5, 0.75, 1, 2}) {
        SplittableRandom r = new SplittableRandom(1);
        int[] lengths = new int[buckets];
        for (long n = Math.round(fill * buckets); n > 0; n--) {
          lengths[t.bucket(r.nextLong() & PageRef.PID_MASK)]++;
        }
        print(Double.toString(fill), lengths);
        Object[] expected = new Object[SHOWN + 2];
        double p = Math.exp(-fill) / (1 - Math.exp(-fill));
        double rest = 100;
        for (int k = 1; k <= SHOWN; k++) {
          p *= fill / k;
          expected[k - 1] = percent(100 * p);
          rest -= 100 * p;
        }
        expected[SHOWN] = percent(rest);
        expected[SHOWN + 1] = "";
        Markdown.line("… expected", expected);
      }
    }
  }

  private static Translator translator(Arena arena, Translation translation, int frames) {
    long table = (long) Translator.buckets(frames) * Translator.bucketBytes(translation);
    return new Translator(
        translation,
        frames,
        arena.allocate((long) frames * FrameHeader.BYTES, FrameHeader.BYTES),
        arena.allocate(Math.max(table, FrameHeader.BYTES), FrameHeader.BYTES));
  }

  private static void pools(int frames) {
    Markdown.head("a full pool: translation, file in pools, % of the chains", columns());
    for (Translation translation :
        new Translation[] {
          Translation.OPTIMISTIC_CHAINED, Translation.PREDICTIVE_HASHED, Translation.PREDICTIVE
        }) {
      for (int pools : new int[] {1, 2, 10, 100}) {
        try (Arena arena = Arena.ofConfined()) {
          Translator t = translator(arena, translation, frames);
          int[] lengths = new int[t.buckets];
          for (long pid : resident(frames, pools)) {
            lengths[t.bucket(pid)]++;
          }
          if (translation == Translation.PREDICTIVE) {
            // A page in its preferred frame is in the line; the others are chained to it.
            for (int i = 0; i < lengths.length; i++) {
              lengths[i] = Math.max(0, lengths[i] - 1);
            }
          }
          print(translation + ", " + pools, lengths);
        }
      }
    }
  }

  /** Returns as many pages as frames, one drawn from each run of {@code pools} neighbors. */
  private static long[] resident(int frames, int pools) {
    SplittableRandom r = new SplittableRandom(2);
    long[] pids = new long[frames];
    for (int i = 0; i < frames; i++) {
      pids[i] = 1 + (long) i * pools + r.nextInt(pools);
    }
    return pids;
  }

  private static void print(String name, int[] lengths) {
    long[] of = new long[SHOWN + 1];
    long chains = 0;
    int longest = 0;
    for (int n : lengths) {
      if (n > 0) {
        chains++;
        of[Math.min(n - 1, SHOWN)]++;
        longest = Math.max(longest, n);
      }
    }
    Object[] cells = new Object[SHOWN + 2];
    for (int i = 0; i <= SHOWN; i++) {
      cells[i] = percent(chains == 0 ? 0 : 100.0 * of[i] / chains);
    }
    cells[SHOWN + 1] = longest;
    Markdown.line(name, cells);
  }

  private static String percent(double value) {
    return String.format(Locale.ROOT, "%.1f", value);
  }
}
