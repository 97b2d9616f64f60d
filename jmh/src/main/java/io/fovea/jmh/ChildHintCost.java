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
 * Question: what do frame hints in child entries bring to a descent, over each way of translating
 * page ids, and what do they cost where all of them are wrong?
 *
 * <pre>
 *   one operation = BTree.find of a key of eight bytes, uniform, 100 bytes of value
 *   OFF       every page, the root among them, is looked up by its id
 *   ON        the hint first, then the translation; what is wrong is put right
 *   POISONED  every hint made up, tried, found wrong, and replaced by another that is made up: more
 *             than stale hints ever cost, since these would be right the next time
 * </pre>
 *
 * <p>{@code fill} is the pages of the tree over frames; above 1 pages come from a device in memory,
 * so that what is measured is the pool and not a disk. Run single threaded, and with {@code -t 2}:
 *
 * <pre>{@code
 * java -jar jmh/target/benchmarks.jar ChildHintCost -rf json -rff child-hints.json
 * }</pre>
 *
 * <p>The secondary results are hints that led astray, hints that were stored and pages that were
 * read, each for a thousand descents.
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

  /** What a record takes in a leaf of a tree that was loaded in order, all in. */
  private static final int RECORD_BYTES = 124;

  /** How pages are found. */
  @Param({"LATCHED", "OPTIMISTIC_CHAINED", "PREDICTIVE_HASHED", "PREDICTIVE"})
  public Translation translation;

  /** Whether inner nodes remember frames. */
  @Param({"OFF", "ON", "POISONED"})
  public String hints;

  /** Pages over frames. */
  @Param({"0.5", "0.95", "1.5"})
  public double fill;

  /** Records of the tree. */
  @Param("1000000")
  public int records;

  private MemoryDevice device;
  private BufferPool pool;
  private BTree tree;

  /** What a thread looks with. */
  @State(Scope.Thread)
  public static class Seeker {
    private static final AtomicLong SEEDS = new AtomicLong();

    private final MemorySegment key = Arena.ofAuto().allocate(8, 8);
    private final Position position = new Position();
    private KeyChooser chooser;

    /** Starts each thread with keys of its own. */
    @Setup
    public void setUp(ChildHintCost state) {
      chooser = new KeyChooser(state.records, "uniform", SEEDS.incrementAndGet());
    }
  }

  /** Secondary results: see the class. */
  @State(Scope.Thread)
  @AuxCounters(AuxCounters.Type.EVENTS)
  public static class Counts {
    /** Hints that led to another page, for a thousand descents. */
    public double stalePerThousand;

    /** Hints that were stored, for a thousand descents. */
    public double repairsPerThousand;

    /** Pages that were read, for a thousand descents. */
    public double missesPerThousand;

    private long descents;
    private PoolStats before;

    /** Forgets the last iteration. */
    @Setup(Level.Iteration)
    public void setUp(ChildHintCost state) {
      descents = 0;
      before = state.pool.stats();
    }

    /** Sums up. JMH adds up iterations; the counts of the pool are those of all threads. */
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
      FaultAgent.loadHints(); // before the pool's classes
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
        tree.upsert(key, 0, 8, value, 0, VALUE, position, LogSession.NONE);
      }
    }
  }

  /** Closes it. */
  @TearDown
  public void tearDown() {
    pool.abandon();
    device.close();
  }

  /** One descent, and whether it found what is there. */
  @Benchmark
  public long find(Seeker seeker, Counts counts) {
    Mem.putLongBE(seeker.key, 0, seeker.chooser.next());
    Position p = seeker.position;
    do {
      tree.find(seeker.key, 0, 8, p);
    } while (!tree.valid(p));
    if (!p.found) {
      throw new IllegalStateException("a record that nobody removed is gone");
    }
    counts.descents++;
    return p.pid;
  }
}
