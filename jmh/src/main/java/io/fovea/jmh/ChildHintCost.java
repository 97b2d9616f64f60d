package io.fovea.jmh;

import io.fovea.btree.BTree;
import io.fovea.btree.Position;
import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PoolConfig;
import io.fovea.buffer.PoolStats;
import io.fovea.config.Translation;
import io.fovea.faults.FaultAgent;
import io.fovea.io.MemoryDevice;
import io.fovea.memory.Mem;
import io.fovea.txn.FaultInjection;
import io.fovea.wal.LogSession;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
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
 * Question: how much do frame hints in child entries speed up a descent under each page
 * translation, and what do they cost if all of them are wrong?
 *
 * <pre>
 *   one operation = BTree.find of a key of eight bytes, uniform, 100 bytes of value
 *   OFF       every page, including the root, is translated by its id
 *   ON        the hint first, then the translation; wrong hints are repaired
 *   POISONED  every hint is made up, tried, found wrong, and replaced by another wrong one: an upper
 *            bound for stale hints, which would be repaired
 * </pre>
 *
 * <p>{@code fill} is the pages of the tree over frames; above 1, pages come from a device in
 * memory, to measure the pool and not a disk. Run single threaded, and with {@code -t 2}:
 *
 * <pre>{@code
 * java -jar jmh/target/benchmarks.jar ChildHintCost -rf json -rff child-hints.json
 * }</pre>
 *
 * <p>The secondary results are wrong hints, stored hints and page reads per thousand descents.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 4, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(
    value = 2,
    jvmArgsAppend = {
      "--enable-native-access=ALL-UNNAMED",
      "-Xmx1g",
      "-Djdk.attach.allowAttachSelf=true",
      "-XX:+EnableDynamicAgentLoading"
    })
@State(Scope.Benchmark)
public class ChildHintCost {
  private static final int PAGE = 4096;
  private static final int TREE = 7;
  private static final int VALUE = 100;

  /** Bytes of a record in a leaf of a tree loaded in order, including overhead. */
  private static final int RECORD_BYTES = 124;

  /** The page translation. */
  @Param({"LATCHED", "OPTIMISTIC_CHAINED", "PREDICTIVE_HASHED", "PREDICTIVE"})
  public Translation translation;

  /** Whether inner nodes hold frame hints. */
  @Param({"OFF", "ON", "POISONED"})
  public String hints;

  /** Pages relative to frames. */
  @Param({"0.5", "0.95", "1.5"})
  public double fill;

  /** Records of the tree. */
  @Param("1000000")
  public int records;

  private MemoryDevice device;
  private BufferPool pool;
  private BTree tree;

  /** The state of one thread. */
  @State(Scope.Thread)
  public static class Seeker {
    private static final AtomicLong SEEDS = new AtomicLong();

    private final MemorySegment key = Arena.ofAuto().allocate(8, 8);
    private final Position position = new Position();
    private KeyChooser chooser;

    /** Gives each thread its own keys. */
    @Setup
    public void setUp(ChildHintCost state) {
      chooser = new KeyChooser(state.records, "uniform", SEEDS.incrementAndGet());
    }
  }

  /** Secondary results: see the class. */
  @State(Scope.Thread)
  @AuxCounters(AuxCounters.Type.EVENTS)
  public static class Counts {
    /** Hints that led to another page, per thousand descents. */
    public double stalePerThousand;

    /** Hints stored, per thousand descents. */
    public double repairsPerThousand;

    /** Pages read, per thousand descents. */
    public double missesPerThousand;

    private long descents;
    private PoolStats before;

    /** Resets the counters for an iteration. */
    @Setup(Level.Iteration)
    public void setUp(ChildHintCost state) {
      descents = 0;
      before = state.pool.stats();
    }

    /**
     * Computes averages. JMH sums over iterations; the counts of the pool are those of all threads.
     */
    @TearDown(Level.Iteration)
    public void tearDown(ChildHintCost state, BenchmarkParams params) {
      PoolStats now = state.pool.stats();
      double all = (double) Math.max(1, descents) * params.getThreads();
      double share = 1000.0 / all / params.getMeasurement().getCount() / params.getThreads();
      stalePerThousand = share * (now.hintsStale() - before.hintsStale());
      repairsPerThousand = share * (now.hintRepairs() - before.hintRepairs());
      missesPerThousand = share * (now.misses() - before.misses());
    }
  }

  /** Fills the tree. */
  @Setup
  public void setUp() {
    boolean poisoned = hints.equals("POISONED");
    if (poisoned) {
      FaultAgent.loadHints(); // before classes of the pool are loaded
    }
    device = new MemoryDevice();
    long pages = (long) records * RECORD_BYTES / PAGE;
    PoolConfig config =
        TranslationLadder.blocking(
            PoolConfig.ofFrames(
                PAGE, (int) Math.max(PoolConfig.FRAMES_MIN, pages / fill), translation),
            poisoned || hints.equals("ON"));
    pool =
        poisoned
            ? FaultInjection.wrongFrameHints(
                () -> new BufferPool(device, config, AllocatorState.EMPTY))
            : new BufferPool(device, config, AllocatorState.EMPTY);
    tree = BTree.create(pool, TREE, LogSession.NONE);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment key = arena.allocate(8, 8);
      MemorySegment value = arena.allocate(VALUE, 8);
      Position position = new Position();
      for (int n = 0; n < records; n++) {
        Mem.putLongBE(key, 0, n);
        tree.upsertInline(key, 0, 8, value, 0, VALUE, position, LogSession.NONE);
      }
    }
  }

  /** Closes the tree. */
  @TearDown
  public void tearDown() {
    pool.abandon();
    device.close();
  }

  /** Descends once, and checks the result. */
  @Benchmark
  public long find(Seeker seeker, Counts counts) {
    Mem.putLongBE(seeker.key, 0, seeker.chooser.next());
    Position p = seeker.position;
    do {
      tree.find(seeker.key, 0, 8, p);
    } while (!tree.valid(p));
    if (!p.found) {
      throw new IllegalStateException("A record is missing.");
    }
    counts.descents++;
    return p.pid;
  }
}
