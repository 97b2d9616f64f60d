package io.fovea.jmh;

import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.buffer.PageRef;
import io.fovea.buffer.PoolConfig;
import io.fovea.buffer.PoolStats;
import io.fovea.config.Pretouch;
import io.fovea.config.Replacement;
import io.fovea.config.Translation;
import io.fovea.io.MemoryDevice;
import io.fovea.io.ReadRing;
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
 * Question: how much does each step of page translation gain? The ladder of section 6.4 of
 * "Predictive Translation" (SIGMOD 2026), with the prediction before the table, and translations
 * without a table: swizzled references, the system's page table, no translation.
 *
 * <pre>
 *   one operation = one descent:   root ──► inner ··· ──► leaf      up to 240 children, uniform keys
 *   at each level, as in {@code BTree}: predictChild, optimisticChild (slow path if that was wrong), validate the
 *                 parent, two dependent words of the page, the second of which is the reference to the
 *                 child
 *   the next key depends on a word of the leaf: descents do not overlap
 * </pre>
 *
 * <p>Frame hints are off, except for SWIZZLED, whose references are frame hints. {@code fill} is
 * pages over frames (of a pool with 80 bytes of metadata per frame). Above 1, pages come from a
 * device in memory, to measure the pool and not a disk, and DIRECT, which keeps all pages, is
 * refused. {@code io.fovea.translations.Translations ladder} alternates all kinds in separate JVMs;
 * here they run one after another:
 *
 * <pre>{@code
 * java -jar jmh/target/benchmarks.jar TranslationLadder -rf json -rff ladder.json
 * }</pre>
 *
 * <p>The secondary results are the percentage of pages in their predicted frames by level (0 for
 * translations without prediction), and the misses per thousand descents.
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
  private static final int PAGE = 4096;
  private static final int FAN_OUT = 240;

  /** Approximate metadata per frame, so that all kinds get the same number of pages. */
  private static final int BESIDE = 80;

  private static final int AT_A_TIME = 1000;

  /**
   * The translation: the rungs of the ladder, from the traditional pool up, and those without a
   * table.
   */
  @Param({
    "LATCHED",
    "OPTIMISTIC_CHAINED",
    "OPTIMISTIC",
    "PREDICTIVE_HASHED",
    "PREDICTIVE",
    "SWIZZLED",
    "VIRTUAL",
    "DIRECT"
  })
  public Translation translation;

  /** Pages relative to frames. */
  @Param({"0.25", "0.5", "0.75", "0.95", "1.1"})
  public double fill;

  /** The memory of the pool. */
  @Param("1024")
  public int bufferMiB;

  private MemoryDevice device;
  private BufferPool pool;
  private long root;

  /** The last known frame of the root, cached under every kind, as a tree does. */
  private int rootFrame;

  private int height;

  /** By level, 0 = leaves. */
  private long[][] levels;

  /** The state of one thread. */
  @State(Scope.Thread)
  public static class Walker {
    private static final AtomicLong SEEDS = new AtomicLong();

    private long key;

    /** Gives each thread its own keys. */
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

    /** Pages read from the device per thousand descents. */
    public double missesPerThousand;

    private long descents;
    private long missesBefore;

    /** Resets the counters for an iteration. */
    @Setup(Level.Iteration)
    public void setUp(TranslationLadder ladder) {
      descents = 0;
      missesBefore = ladder.pool.stats().misses();
    }

    /** Determines the frames of the pages. */
    @TearDown(Level.Iteration)
    public void tearDown(TranslationLadder ladder, BenchmarkParams params) {
      // JMH sums over iterations and threads; these are averages.
      double share = 1.0 / (params.getMeasurement().getCount() * params.getThreads());
      leafHits = share * ladder.predicted(0, 1);
      innerHits = share * ladder.predicted(1, ladder.height + 1);
      missesPerThousand =
          share * 1000.0 * (ladder.pool.stats().misses() - missesBefore) / Math.max(1, descents);
    }
  }

  /** Builds a tree of pages that contain only links. */
  @Setup
  public void setUp() {
    if (translation == Translation.DIRECT && fill > 1) {
      throw new IllegalStateException("DIRECT keeps all pages in memory; use a fill of at most 1.");
    }
    device = new MemoryDevice();
    PoolConfig config =
        blocking(
            PoolConfig.of(
                PAGE,
                (long) bufferMiB << 20,
                translation,
                Replacement.SECOND_CHANCE,
                ReadRing.DEPTH),
            translation == Translation.SWIZZLED);
    pool = new BufferPool(device, config, AllocatorState.EMPTY);
    // Page 2 is the catalog of a database. Allocating it makes later allocations read no pages.
    pool.releaseExclusive(pool.allocateAt(2, 0, PageHeader.LEAF, LogSession.NONE));
    pool.preload();
    SplittableRandom random = new SplittableRandom(42);
    int pages = (int) (((long) bufferMiB << 20) / (PAGE + BESIDE) * fill);
    int leaves = pages - pages / FAN_OUT - 8;
    levels = new long[8][];
    levels[0] = new long[leaves];
    for (int i = 0; i < leaves; i++) {
      int frame = pool.allocate(1, PageHeader.LEAF, LogSession.NONE);
      levels[0][i] = pool.pid(frame);
      long base = pool.base(frame);
      setReferences(base, FAN_OUT);
      for (int k = 0; k < FAN_OUT; k++) {
        Mem.putLong(pool.pages(), reference(base, k), random.nextLong() >>> 1);
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

  private void setReferences(long base, int count) {
    // As in an inner node: the number of children after the first.
    Mem.putShort(pool.pages(), base + PageRef.COUNT, (short) (count - 1));
  }

  private static long reference(long base, int k) {
    return base + PageRef.FIRST + (long) k * PageRef.STRIDE;
  }

  private long[] parents(long[] children, int level) {
    int n = (children.length + FAN_OUT - 1) / FAN_OUT;
    long[] parents = new long[n];
    for (int i = 0; i < n; i++) {
      int frame = pool.allocate(1, PageHeader.INNER, LogSession.NONE);
      long base = pool.base(frame);
      PageHeader.setLevel(pool.pages(), base, level);
      parents[i] = pool.pid(frame);
      int from = (int) ((long) children.length * i / n);
      int to = (int) ((long) children.length * (i + 1) / n);
      setReferences(base, to - from);
      for (int k = from; k < to; k++) {
        Mem.putLong(pool.pages(), reference(base, k - from), children[k]);
      }
      pool.releaseExclusive(frame);
    }
    return parents;
  }

  /** Releases the memory. */
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

  /** Descends once. */
  @Benchmark
  public long descend(Walker walker, Hits hits) {
    hits.descents++;
    return step(walker);
  }

  /**
   * Runs descents until a time, without JMH.
   *
   * @param walker the state of the thread, set up
   * @param until a value of {@link System#nanoTime}
   * @return the number of descents
   */
  public long descents(Walker walker, long until) {
    long n = 0;
    do {
      for (int i = 0; i < AT_A_TIME; i++) {
        step(walker);
      }
      n += AT_A_TIME;
    } while (System.nanoTime() - until < 0);
    return n;
  }

  private long step(Walker walker) {
    long key = walker.key;
    long word = way(key);
    while (word < 0) {
      word = way(key);
    }
    walker.key = (key + word) * 0x9E3779B97F4A7C15L;
    return word;
  }

  /** Returns a word of the key's leaf, or -1 to restart. */
  private long way(long key) {
    BufferPool pool = this.pool;
    int frame = rootFrame;
    long version = pool.optimistic(frame, root);
    if (version == BufferPool.RESTART) {
      frame = pool.findSlow(root);
      rootFrame = frame;
      version = pool.optimistic(frame, root);
      if (version == BufferPool.RESTART) {
        return -1;
      }
    }
    for (int level = height; ; level--) {
      long at = chosen(pool.base(frame), key, level);
      long word = Mem.getLong(pool.pages(), at);
      if (level == 0) {
        return pool.validate(frame, version) ? word : -1;
      }
      int child = pool.predictChild(word);
      long childVersion = pool.optimisticChild(child, word);
      if (childVersion == BufferPool.RESTART || pool.isStale(word, child)) {
        if (!pool.validate(frame, version)) {
          return -1;
        }
        child = pool.findChild(frame, version, at, word, child);
        childVersion = pool.optimistic(child, PageRef.pid(word));
      }
      if (!pool.validate(frame, version) || childVersion == BufferPool.RESTART) {
        return -1;
      }
      frame = child;
      version = childVersion;
    }
  }

  /** Returns the position of the reference chosen by a word of the header and the key. */
  private long chosen(long base, long key, int level) {
    int count = Mem.getUnsignedShort(pool.pages(), base + PageRef.COUNT) + 1;
    // The upper bits of the key: the lower ones alone would cycle after about 100,000 keys.
    int k = (int) ((key >>> 24 + level * 8 & 0xFFFF) * count >>> 16);
    // Clamped to the page: the header may have been read while the frame changed its page.
    return reference(base, Math.min(k, FAN_OUT - 1));
  }

  /** Returns the configuration with blocking pretouch, and with or without frame hints. */
  static PoolConfig blocking(PoolConfig of, boolean frameHints) {
    return new PoolConfig(
        of.pageSize(),
        of.bufferBytes(),
        of.translation(),
        of.replacement(),
        Pretouch.BLOCKING,
        of.exhaustedMillis(),
        frameHints,
        of.maxInFlightReads(),
        of.share(),
        of.leastBytes(),
        of.hugePages(),
        of.fileBytesMax());
  }
}
