package io.fovea.jmh;

import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.buffer.PoolConfig;
import io.fovea.buffer.PoolStats;
import io.fovea.buffer.Pretouch;
import io.fovea.buffer.Translation;
import io.fovea.io.MemoryDevice;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;
import org.openjdk.jmh.infra.BenchmarkParams;

/**
 * Question: what does each step of page translation bring? The ladder of section 6.4 of "Predictive
 * Translation" (SIGMOD 2026), with the prediction before the table as its last rung.
 *
 * <pre>
 *   one operation = one descent:   root ──► inner ··· ──► leaf      fan-out 480, uniform keys
 *   at each level: predict, optimistic (slow path where the prediction was wrong), validate the parent,
 *                  two dependent words of the page, of which the second is the child's page id
 *   the next key depends on a word of the leaf: nothing overlaps from one descent to the next
 * </pre>
 *
 * <p>{@code fill} is pages over frames; above 1 pages come from a device in memory, so that what is
 * measured is the pool and not a disk. Run single threaded, and with {@code -t 2}:
 *
 * <pre>{@code
 * java -jar jmh/target/benchmarks.jar TranslationLadder -rf json -rff ladder.json
 * }</pre>
 *
 * <p>The secondary results say how many pages of each level are where they are predicted, in
 * percent (0 for translations that predict nothing), and the misses per thousand descents.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(
    value = 1,
    jvmArgsAppend = {"--enable-native-access=ALL-UNNAMED", "-Xmx1g"})
@State(Scope.Benchmark)
public class TranslationLadder {
  private static final int FAN_OUT = 480;
  private static final int LINKS = 4096 - 8 * FAN_OUT;

  /** The rungs, from the traditional pool up. */
  @Param({"LATCHED", "OPTIMISTIC_CHAINED", "OPTIMISTIC", "PREDICTIVE_HASHED", "PREDICTIVE"})
  public Translation translation;

  /** Pages over frames. */
  @Param({"0.25", "0.5", "0.75", "0.95", "1.1"})
  public double fill;

  /** The pool's memory. */
  @Param("1024")
  public int bufferMiB;

  private MemoryDevice device;
  private BufferPool pool;
  private long root;
  private int height;

  /** By level, 0 = leaves. */
  private long[][] levels;

  /** What a thread goes on with. */
  @State(Scope.Thread)
  public static class Walker {
    private static final AtomicLong SEEDS = new AtomicLong();

    private long key;

    /** Starts each thread with keys of its own. */
    @Setup
    public void setUp() {
      key = new SplittableRandom(SEEDS.incrementAndGet()).nextLong();
    }
  }

  /** Secondary results: see the class. */
  @State(Scope.Thread)
  @AuxCounters(AuxCounters.Type.EVENTS)
  public static class Hits {
    /** Leaves in their predicted frames, in percent. */
    public double leafHits;

    /** Inner nodes in their predicted frames, in percent. */
    public double innerHits;

    /** Pages read from the device for a thousand descents. */
    public double missesPerThousand;

    private long descents;
    private long missesBefore;

    /** Forgets the last iteration. */
    @Setup(Level.Iteration)
    public void setUp(TranslationLadder ladder) {
      descents = 0;
      missesBefore = ladder.pool.stats().misses();
    }

    /** Looks where the pages are. */
    @TearDown(Level.Iteration)
    public void tearDown(TranslationLadder ladder, BenchmarkParams params) {
      // JMH adds up iterations and threads; what it adds up here is an average.
      double share = 1.0 / (params.getMeasurement().getCount() * params.getThreads());
      leafHits = share * ladder.predicted(0, 1);
      innerHits = share * ladder.predicted(1, ladder.height + 1);
      missesPerThousand =
          share * 1000.0 * (ladder.pool.stats().misses() - missesBefore) / Math.max(1, descents);
    }
  }

  /** Builds a tree of pages that holds nothing but links. */
  @Setup
  public void setUp() {
    device = new MemoryDevice();
    PoolConfig config =
        PoolConfig.of(4096, (long) bufferMiB << 20).with(translation).with(Pretouch.ALL);
    pool = new BufferPool(device, config, AllocatorState.EMPTY);
    SplittableRandom random = new SplittableRandom(42);
    int pages = (int) (pool.frames() * fill);
    int leaves = pages - pages / FAN_OUT - 8;
    levels = new long[8][];
    levels[0] = new long[leaves];
    for (int i = 0; i < leaves; i++) {
      int frame = pool.allocate(1, PageHeader.LEAF, LogSession.NONE);
      levels[0][i] = pool.pid(frame);
      for (int at = LINKS; at < 4096; at += 8) {
        Mem.putLong(pool.pages(), pool.base(frame) + at, random.nextLong() >>> 1);
      }
      pool.releaseExclusive(frame);
    }
    height = 0;
    while (levels[height].length > 1) {
      levels[height + 1] = parents(levels[height], height + 1);
      height++;
    }
    root = levels[height][0];
  }

  private long[] parents(long[] children, int level) {
    int n = (children.length + FAN_OUT - 1) / FAN_OUT;
    long[] parents = new long[n];
    for (int i = 0; i < n; i++) {
      int frame = pool.allocate(1, PageHeader.INNER, LogSession.NONE);
      PageHeader.setLevel(pool.pages(), pool.base(frame), level);
      parents[i] = pool.pid(frame);
      // All parents have all links: the last ones begin again, so that keys need no bounds.
      for (int k = 0; k < FAN_OUT; k++) {
        long child = children[(int) ((long) (i * FAN_OUT + k) % children.length)];
        Mem.putLong(pool.pages(), pool.base(frame) + LINKS + 8L * k, child);
      }
      pool.releaseExclusive(frame);
    }
    return parents;
  }

  /** Gives the memory back. */
  @TearDown
  public void tearDown() {
    PoolStats stats = pool.stats();
    System.out.println();
    System.out.println(translation + " fill " + fill + ", height " + height + ": " + stats);
    pool.abandon();
    device.close();
  }

  private double predicted(int from, int to) {
    if (!translation.name().startsWith("PREDICTIVE")) {
      return 0;
    }
    long pages = 0;
    long hits = 0;
    for (int level = from; level < to; level++) {
      for (long pid : levels[level]) {
        pages++;
        hits += pool.predicted(pid) ? 1 : 0;
      }
    }
    return 100.0 * hits / pages;
  }

  /** One descent. */
  @Benchmark
  public long descend(Walker walker, Hits hits) {
    hits.descents++;
    long key = walker.key;
    long word = descend(key);
    while (word < 0) {
      word = descend(key);
    }
    walker.key = (key + word) * 0x9E3779B97F4A7C15L;
    return word;
  }

  /** A word of the leaf that the key leads to, or -1 to start over. */
  private long descend(long key) {
    long pid = root;
    int parent = -1;
    long parentVersion = 0;
    for (int level = height; ; level--) {
      int frame = pool.predict(pid);
      long version = pool.optimistic(frame, pid);
      if (version == BufferPool.RESTART) {
        if (parent >= 0 && !pool.validate(parent, parentVersion)) {
          return -1;
        }
        frame = pool.findSlow(pid);
        version = pool.optimistic(frame, pid);
        if (version == BufferPool.RESTART) {
          return -1;
        }
      }
      if (parent >= 0 && !pool.validate(parent, parentVersion)) {
        return -1;
      }
      long word = visit(pool.base(frame), key, level);
      if (level == 0) {
        return pool.validate(frame, version) ? word : -1;
      }
      pid = word;
      parent = frame;
      parentVersion = version;
    }
  }

  /** Two dependent words: one of the header, and the one that it and the key choose. */
  private long visit(long base, long key, int level) {
    int zero = PageHeader.level(pool.pages(), base) - level;
    // The upper bits of the key: the lower ones alone would walk in a circle of some 100,000 keys.
    int slot = (int) ((key >>> 24 + level * 9 & 0xFFFF) * FAN_OUT >>> 16) + zero;
    // Masked to the page: the header may have been read while the frame changed its page.
    return Mem.getLong(pool.pages(), base + (LINKS + 8L * slot & 4088));
  }
}
