package io.fovea.jmh;

import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PoolConfig;
import io.fovea.config.TimestampStore;
import io.fovea.config.Translation;
import io.fovea.io.MemoryDevice;
import io.fovea.txn.TidWord;
import io.fovea.txn.TimestampConfig;
import io.fovea.txn.TimestampConfig.Release;
import io.fovea.txn.TimestampPages;
import io.fovea.txn.Timestamps;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The cost of each kind of timestamp store per key of a transaction of 16 keys, in ns: pin, read of
 * the word, extension to the commit timestamp, and a share of begin and end, including creating and
 * releasing entries. Baselines: a ConcurrentHashMap from key to word, the plain store in memory,
 * with a get for the read and a compute for the extension; it boxes, and never removes keys. A
 * second map has keys that wrap a long, and words that are changed in place.
 *
 * <p>With 2,000 keys, all are in the exact table; with a million, nearly every access creates an
 * entry and evicts another, except with {@code MEMORY}. Pages are on a device in memory and in a
 * pool of a tenth of them, so {@code DISK} shows the processor time of an I/O operation.
 *
 * <p>{@code EPOCH}, {@code REFERENCE_COUNT} and {@code IMMEDIATE} compare ways to detect unused
 * entries; two or more threads show the cost of a reference count for the readers of a key.
 *
 * <pre>
 *   java -jar jmh/target/benchmarks.jar TimestampStoreCost
 *   java -jar jmh/target/benchmarks.jar TimestampStoreCost -p kind=FOCUS_SKETCH \
 *       -p release=EPOCH,REFERENCE_COUNT,IMMEDIATE -t 2
 *   java -jar jmh/target/benchmarks.jar 'TimestampStoreCost.(map|wrapped)'
 *   java -jar jmh/target/benchmarks.jar TimestampStoreCost.read -prof gc
 * </pre>
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class TimestampStoreCost {
  private static final int KEYS = 16;
  private static final int CONTEXTS = 64;

  /** Index entries of 16 bytes in pages two thirds full: about 100 per page. */
  private static final int KEYS_PER_FRAME = 1000;

  /** The store and its keys, shared by the threads. */
  @State(Scope.Benchmark)
  public static class Store {
    /** The store for timestamps of inactive keys. */
    @Param public TimestampStore kind;

    /** How unused entries are detected. */
    @Param("EPOCH")
    public Release release;

    /** The number of keys. */
    @Param({"2000", "1000000"})
    public int keys;

    /** The size of the sketch. */
    @Param("32768")
    public int sketchBytes;

    /** The size of the table of exact timestamps; 0 for the store's default. */
    @Param("0")
    public long activeTimestampBytes;

    Timestamps timestamps;
    BufferPool pool;
    long[] items;
    final AtomicInteger contexts = new AtomicInteger();

    /** Creates the store. */
    @Setup(Level.Trial)
    public void make() {
      TimestampPages pages = null;
      if (TimestampConfig.onDisk(kind)) {
        int frames = Math.max(PoolConfig.FRAMES_MIN, keys / KEYS_PER_FRAME);
        pool =
            new BufferPool(
                new MemoryDevice(),
                PoolConfig.ofFrames(4096, frames, Translation.PREDICTIVE),
                AllocatorState.EMPTY);
        pages = new TimestampPages(pool, CONTEXTS);
      }
      long exact =
          activeTimestampBytes != 0
              ? activeTimestampBytes
              : TimestampConfig.activeTimestampBytes(kind);
      timestamps =
          new Timestamps(
              CONTEXTS,
              TimestampConfig.of(kind, release, exact, 256L << 20, sketchBytes, sketchBytes),
              pages);
      items = new SplittableRandom(1).longs(keys).map(x -> x | 1).toArray();
    }

    /** Releases the memory. */
    @TearDown(Level.Trial)
    public void close() {
      timestamps.close();
      if (pool != null) {
        pool.abandon();
      }
    }
  }

  /** The map. */
  @State(Scope.Benchmark)
  public static class Rival {
    /** The number of keys. */
    @Param({"2000", "1000000"})
    public int keys;

    long[] items;
    ConcurrentHashMap<Long, Long> map;

    /** Creates the map with all keys. */
    @Setup(Level.Trial)
    public void make() {
      items = new SplittableRandom(1).longs(keys).map(x -> x | 1).toArray();
      map = new ConcurrentHashMap<>();
      for (long item : items) {
        map.put(item, 0L);
      }
    }
  }

  /** A key that the runtime does not cache as a box: a record over a long. */
  record Key(long item) {
    @Override
    public int hashCode() {
      return Long.hashCode(item);
    }
  }

  /** A map with a mutable word per key. */
  @State(Scope.Benchmark)
  public static class Wrapped {
    /** The number of keys. */
    @Param({"2000", "1000000"})
    public int keys;

    long[] items;
    ConcurrentHashMap<Key, AtomicLong> map;

    /** Creates the map with all keys. */
    @Setup(Level.Trial)
    public void make() {
      items = new SplittableRandom(1).longs(keys).map(x -> x | 1).toArray();
      map = new ConcurrentHashMap<>();
      for (long item : items) {
        map.put(new Key(item), new AtomicLong());
      }
    }
  }

  /** The random walk and transaction of one thread. */
  @State(Scope.Thread)
  public static class Walk {
    private long at = Thread.currentThread().threadId() * 0x9E3779B97F4A7C15L;
    final int[] slots = new int[KEYS];
    final long[] read = new long[KEYS];
    final long[] seen = new long[KEYS];
    final AtomicLong[] words = new AtomicLong[KEYS];

    int next(int bound) {
      at = at * 6364136223846793005L + 1442695040888963407L;
      return (int) ((at >>> 33) * bound >>> 31);
    }
  }

  /** The context of one thread. */
  @State(Scope.Thread)
  public static class Worker extends Walk {
    int ctx;

    /** Acquires a context. */
    @Setup(Level.Trial)
    public void take(Store store) {
      ctx = store.contexts.getAndIncrement();
    }
  }

  /** Pins and reads; commits at the largest wts, so nothing is extended. */
  @Benchmark
  @OperationsPerInvocation(KEYS)
  public long read(Store s, Worker w) {
    return transaction(s, w, 0);
  }

  /** The same, raising the rts of each key by one. */
  @Benchmark
  @OperationsPerInvocation(KEYS)
  public long readAndExtend(Store s, Worker w) {
    return transaction(s, w, 1);
  }

  private static long transaction(Store s, Worker w, int by) {
    Timestamps t = s.timestamps;
    t.enter(w.ctx);
    long ts = 0;
    for (int i = 0; i < KEYS; i++) {
      int slot = t.pin(w.ctx, s.items[w.next(s.keys)]);
      long word = TidWord.withoutLock(t.word(slot));
      w.slots[i] = slot;
      w.seen[i] = word;
      ts = Math.max(ts, TidWord.wts(word));
    }
    for (int i = 0; i < KEYS; i++) {
      long commitTs = by == 0 ? ts : Math.max(ts, TidWord.rts(w.seen[i]) + by);
      t.extend(w.slots[i], w.seen[i], commitTs, false);
    }
    t.exit(w.ctx);
    return ts;
  }

  /** A map: get. */
  @Benchmark
  @OperationsPerInvocation(KEYS)
  public long mapRead(Rival s, Walk w) {
    long ts = 0;
    for (int i = 0; i < KEYS; i++) {
      long word = s.map.get(s.items[w.next(s.keys)]);
      ts = Math.max(ts, TidWord.wts(word));
    }
    return ts;
  }

  /** A map: get, then compute. */
  @Benchmark
  @OperationsPerInvocation(KEYS)
  public long mapReadAndExtend(Rival s, Walk w) {
    long ts = 0;
    for (int i = 0; i < KEYS; i++) {
      long item = s.items[w.next(s.keys)];
      long word = s.map.get(item);
      w.read[i] = item;
      w.seen[i] = word;
      ts = Math.max(ts, TidWord.wts(word));
    }
    for (int i = 0; i < KEYS; i++) {
      long seen = w.seen[i];
      long commitTs = Math.max(ts, TidWord.rts(seen) + 1);
      s.map.compute(
          w.read[i],
          (key, now) ->
              now == null || TidWord.wts(now) != TidWord.wts(seen) || TidWord.rts(now) >= commitTs
                  ? now
                  : TidWord.pack(TidWord.wts(now), commitTs));
    }
    return ts;
  }

  /** A map of words: get. */
  @Benchmark
  @OperationsPerInvocation(KEYS)
  public long wrappedRead(Wrapped s, Walk w) {
    long ts = 0;
    for (int i = 0; i < KEYS; i++) {
      ts = Math.max(ts, TidWord.wts(s.map.get(new Key(s.items[w.next(s.keys)])).get()));
    }
    return ts;
  }

  /** A map of words: get, then a compare-and-set of the value read. */
  @Benchmark
  @OperationsPerInvocation(KEYS)
  public long wrappedReadAndExtend(Wrapped s, Walk w) {
    long ts = 0;
    for (int i = 0; i < KEYS; i++) {
      AtomicLong word = s.map.get(new Key(s.items[w.next(s.keys)]));
      w.words[i] = word;
      w.seen[i] = word.get();
      ts = Math.max(ts, TidWord.wts(w.seen[i]));
    }
    for (int i = 0; i < KEYS; i++) {
      long seen = w.seen[i];
      w.words[i].compareAndSet(
          seen, TidWord.pack(TidWord.wts(seen), Math.max(ts, TidWord.rts(seen) + 1)));
    }
    return ts;
  }
}
