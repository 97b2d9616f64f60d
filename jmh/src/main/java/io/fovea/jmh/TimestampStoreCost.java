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
 * What each kind of timestamp store costs for one key of a transaction of 16 keys, in ns: its pin,
 * the read of its word, the extension of that to the commit timestamp, and its share of begin and
 * end, entries made and released included. Beside it the same done to a ConcurrentHashMap from key
 * to word, which is what a store in memory would be without all this: a get for the read, and a
 * compute for the extension. The map boxes and never forgets. A second map has keys that wrap a
 * long, and words that are changed in place.
 *
 * <p>With 2,000 keys all of them are in the exact table; with a million nearly each is made anew
 * and another one goes, except in memory. Pages are on a device in memory, and a pool that has a
 * tenth of them, so that {@code DISK} shows what the processor has to do for an I/O.
 *
 * <p>{@code EPOCH}, {@code REFERENCE_COUNT} and {@code IMMEDIATE} compare how it is known that an
 * entry is out of use; two threads or more show what a reference count costs the readers of a key.
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

  /** Index entries of 16 bytes in pages that are two thirds full: some 100 to a page. */
  private static final int KEYS_PER_FRAME = 1000;

  /** The store and its keys, shared by the threads. */
  @State(Scope.Benchmark)
  public static class Store {
    /** Where timestamps are that nobody uses. */
    @Param public TimestampStore kind;

    /** How it is known that nobody uses them. */
    @Param("EPOCH")
    public Release release;

    /** How many keys there are. */
    @Param({"2000", "1000000"})
    public int keys;

    /** The size of the sketch. */
    @Param("32768")
    public int sketchBytes;

    /** The region of exact timestamps; 0 for what suits the store. */
    @Param("0")
    public long activeTimestampBytes;

    Timestamps timestamps;
    BufferPool pool;
    long[] items;
    final AtomicInteger contexts = new AtomicInteger();

    /** Makes them. */
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

    /** Gives the memory back. */
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
    /** How many keys there are. */
    @Param({"2000", "1000000"})
    public int keys;

    long[] items;
    ConcurrentHashMap<Long, Long> map;

    /** Makes it, with all keys in it. */
    @Setup(Level.Trial)
    public void make() {
      items = new SplittableRandom(1).longs(keys).map(x -> x | 1).toArray();
      map = new ConcurrentHashMap<>();
      for (long item : items) {
        map.put(item, 0L);
      }
    }
  }

  /** A key that is no box from the caches of the runtime: a record over a long. */
  record Key(long item) {
    @Override
    public int hashCode() {
      return Long.hashCode(item);
    }
  }

  /**
   * The map as a store of timestamps would have it: a word for each key that is changed in place.
   */
  @State(Scope.Benchmark)
  public static class Wrapped {
    /** How many keys there are. */
    @Param({"2000", "1000000"})
    public int keys;

    long[] items;
    ConcurrentHashMap<Key, AtomicLong> map;

    /** Makes it, with all keys in it. */
    @Setup(Level.Trial)
    public void make() {
      items = new SplittableRandom(1).longs(keys).map(x -> x | 1).toArray();
      map = new ConcurrentHashMap<>();
      for (long item : items) {
        map.put(new Key(item), new AtomicLong());
      }
    }
  }

  /** One thread's random walk and its transaction. */
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

  /** One thread's context. */
  @State(Scope.Thread)
  public static class Worker extends Walk {
    int ctx;

    /** Takes a context. */
    @Setup(Level.Trial)
    public void take(Store store) {
      ctx = store.contexts.getAndIncrement();
    }
  }

  /** Pins and reads; commits at the largest wts, where nothing is to be extended any more. */
  @Benchmark
  @OperationsPerInvocation(KEYS)
  public long read(Store s, Worker w) {
    return transaction(s, w, 0);
  }

  /** The same, and the rts of each key is raised by one. */
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

  /** A map of words: get, then a CAS of what was got. */
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
