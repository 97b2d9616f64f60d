package io.fovea.jmh;

import io.fovea.btree.BTree;
import io.fovea.btree.BulkLoader;
import io.fovea.btree.KeyLocationCache;
import io.fovea.btree.Position;
import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PageHeader;
import io.fovea.buffer.PoolConfig;
import io.fovea.config.Translation;
import io.fovea.io.MemoryDevice;
import io.fovea.memory.Granules;
import io.fovea.memory.MappingBudget;
import io.fovea.memory.Mem;
import io.fovea.memory.MemoryFiles;
import io.fovea.wal.LogSession;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
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

/**
 * The cost of a point lookup in the tree alone, without transactions and API.
 *
 * <p>Records with keys of 8 and values of 120 bytes, in memory, at random. {@link #descent} finds
 * the record, {@link #lookup} also copies the value and validates, {@link #again} accesses a record
 * just found again through its position, {@link #near} does so through the position of a neighbor.
 * With {@code -prof gc}: 0 B/op. With {@code -p records=100000} the tree is in the caches, and the
 * cost of the instructions remains.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(
    value = 3,
    jvmArgsAppend = {"-Xmx1g", "--enable-native-access=ALL-UNNAMED"})
public class PointLookup {
  private static final int VALUE_BYTES = 120;

  private static final int AT_A_TIME = 100;

  /** The number of records. */
  @Param("10000000")
  public int records;

  /** The page translation. */
  @Param("PREDICTIVE")
  public Translation translation;

  /** The page size in bytes. */
  @Param("4096")
  public int pageSize;

  /**
   * Where lookups begin: {@code ROOT}; {@code FLAT}, at cached key locations; {@code SHORTCUT}, the
   * same behind a directory of virtual memory.
   */
  @Param("ROOT")
  public String begin;

  private MemoryDevice device;
  private BufferPool pool;
  private BTree tree;
  private @Nullable KeyLocationCache places;

  /** Loads the records in order, into a pool a quarter larger. */
  @Setup(Level.Trial)
  public void load() throws Granules.RefusedException {
    long pages = (long) records * (VALUE_BYTES + 12) / (pageSize - 256) * 5 / 4 + 256;
    if (!begin.equals("ROOT")) {
      // A key location has 8 bytes.
      long most = Long.highestOneBit(records * 16L);
      places =
          begin.equals("FLAT")
              ? new KeyLocationCache(most, pageSize)
              : KeyLocationCache.shortcut(
                  "lookup", most, pageSize, MemoryFiles.KERNEL, MappingBudget.ofProcess());
    }
    device = new MemoryDevice();
    pool =
        new BufferPool(
            device,
            PoolConfig.ofFrames(pageSize, Math.toIntExact(pages), translation),
            AllocatorState.EMPTY);
    // Page 2 is the catalog of a database. Allocating it makes later allocations read no pages.
    pool.releaseExclusive(pool.allocateAt(2, 0, PageHeader.LEAF, LogSession.NONE));
    pool.preload();
    tree = BTree.create(pool, 1, LogSession.NONE);
    MemorySegment key = Arena.ofAuto().allocate(8, 8);
    MemorySegment value = Arena.ofAuto().allocate(VALUE_BYTES, 8);
    try (BulkLoader loader = new BulkLoader(tree, 1, LogSession.NONE)) {
      for (long n = 0; n < records; n++) {
        Mem.putLongBE(key, 0, n);
        Mem.putLong(value, 0, n);
        loader.add(key, 0, 8, value, 0, VALUE_BYTES);
      }
      loader.finish();
    }
  }

  /** Releases the tree. */
  @TearDown(Level.Trial)
  public void drop() {
    if (places != null) {
      places.close();
    }
    pool.abandon();
    device.close();
  }

  /** The state of one thread. */
  @State(Scope.Thread)
  public static class Worker {
    private static final AtomicLong SEEDS = new AtomicLong();

    private final MemorySegment key = Arena.ofAuto().allocate(8, 8);
    private final MemorySegment value = Arena.ofAuto().allocate(VALUE_BYTES, 8);
    private final Position position = new Position();
    private long state = SEEDS.incrementAndGet() * 0x9E37_79B9_7F4A_7C15L;

    private int random(int bound) {
      // xorshift64*: no division.
      long x = state;
      x ^= x >>> 12;
      x ^= x << 25;
      x ^= x >>> 27;
      state = x;
      return (int) ((x * 0x2545_F491_4F6C_DD1DL >>> 32) * bound >>> 32);
    }
  }

  /** The cost of drawing and encoding a key, to subtract from the others. */
  @Benchmark
  public long draw(Worker w) {
    Mem.putLongBE(w.key, 0, w.random(records));
    return Mem.getLong(w.key, 0);
  }

  /** Descends from the root to the slot. */
  @Benchmark
  public int descent(Worker w) {
    Mem.putLongBE(w.key, 0, w.random(records));
    tree.find(w.key, 0, 8, w.position);
    return w.position.slot;
  }

  /** Descends, copies, and validates. */
  @Benchmark
  public long lookup(Worker w) {
    Mem.putLongBE(w.key, 0, w.random(records));
    return read(w, false);
  }

  /**
   * Runs lookups until a time, without JMH.
   *
   * @param w the state of the thread
   * @param until a value of {@link System#nanoTime}
   * @return the number of lookups
   */
  public long lookups(Worker w, long until) {
    long n = 0;
    do {
      for (int i = 0; i < AT_A_TIME; i++) {
        lookup(w);
      }
      n += AT_A_TIME;
    } while (System.nanoTime() - until < 0);
    return n;
  }

  /** Looks up a record twice: subtract {@link #lookup}. */
  @Benchmark
  public long again(Worker w) {
    Mem.putLongBE(w.key, 0, w.random(records));
    return read(w, false) + read(w, true);
  }

  /** Looks up a record and its neighbor, usually in the same leaf. */
  @Benchmark
  public long near(Worker w) {
    int n = w.random(records - 1);
    Mem.putLongBE(w.key, 0, n);
    long first = read(w, false);
    Mem.putLongBE(w.key, 0, n + 1);
    return first + read(w, true);
  }

  private long read(Worker w, boolean hint) {
    Position p = w.position;
    if (!hint && places != null) {
      return readByPlace(places, w);
    }
    do {
      if (hint) {
        tree.locate(w.key, 0, 8, p);
      } else {
        tree.find(w.key, 0, 8, p);
      }
      if (!p.found || tree.copyValue(p, w.value, 0, VALUE_BYTES) != VALUE_BYTES) {
        throw new IllegalStateException("A loaded record is missing.");
      }
    } while (!tree.valid(p));
    return Mem.getLong(w.value, 0);
  }

  private long readByPlace(KeyLocationCache known, Worker w) {
    Position p = w.position;
    long hash = tree.keyHash(w.key, 0, 8);
    boolean right;
    do {
      right = known.find(tree, hash, w.key, 0, 8, p, VALUE_BYTES);
      if (!p.found || tree.copyValue(p, w.value, 0, VALUE_BYTES) != VALUE_BYTES) {
        throw new IllegalStateException("A loaded record is missing.");
      }
    } while (!tree.valid(p));
    if (!right) {
      known.cache(tree, hash, p);
    }
    return Mem.getLong(w.value, 0);
  }
}
