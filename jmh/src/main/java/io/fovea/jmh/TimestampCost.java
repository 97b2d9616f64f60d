package io.fovea.jmh;

import io.fovea.config.TimestampStore;
import io.fovea.txn.TidWord;
import io.fovea.txn.TimestampConfig;
import io.fovea.txn.TimestampConfig.Release;
import io.fovea.txn.Timestamps;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
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
 * The cost of the timestamps of a key in a transaction of 32 keys, in ns per key, including begin,
 * end, and creating and releasing entries.
 *
 * <p>{@code hot} accesses a set of keys that fits in the exact table; {@code cold} one far larger,
 * so that nearly every key is materialized from the sketch and another one is released to it.
 * Baselines: a ConcurrentHashMap from every key to its word (a store of exact timestamps in memory,
 * which needs memory for every key), and an array of words with known index (ideal: timestamps in
 * the records).
 *
 * <pre>
 *   java -jar jmh/target/benchmarks.jar TimestampCost
 *   java -jar jmh/target/benchmarks.jar TimestampCost -t 2 -prof gc
 * </pre>
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class TimestampCost {
  private static final int KEYS = 32;

  /** The store and the keys, shared by the threads. */
  @State(Scope.Benchmark)
  public static class Store {
    /** When an entry is released. */
    @Param({"EPOCH", "REFERENCE_COUNT"})
    public Release kind;

    /** The number of keys. */
    @Param({"2000", "1000000"})
    public int keys;

    Timestamps timestamps;
    long[] items;
    final AtomicInteger contexts = new AtomicInteger();

    /** Creates the store. */
    @Setup(Level.Trial)
    public void make() {
      long exact = TimestampConfig.activeTimestampBytes(TimestampStore.FOCUS_SKETCH);
      timestamps = new Timestamps(64, exact, 256L << 20, 2, 2048, kind);
      items = new SplittableRandom(1).longs(keys).map(x -> x | 1).toArray();
    }

    /** Releases the memory. */
    @TearDown(Level.Trial)
    public void close() {
      timestamps.close();
    }
  }

  /** The keys alone, for the baselines. */
  @State(Scope.Benchmark)
  public static class Rivals {
    /** The number of keys. */
    @Param({"2000", "1000000"})
    public int keys;

    long[] items;
    ConcurrentHashMap<Long, AtomicLong> map;
    AtomicLongArray words;

    /** Creates the keys. */
    @Setup(Level.Trial)
    public void make() {
      items = new SplittableRandom(1).longs(keys).map(x -> x | 1).toArray();
      words = new AtomicLongArray(keys);
      map = new ConcurrentHashMap<>();
      for (long item : items) {
        map.put(item, new AtomicLong());
      }
    }
  }

  /** The random walk of one thread. */
  @State(Scope.Thread)
  public static class Walk {
    private long at = Thread.currentThread().threadId() * 0x9E3779B97F4A7C15L;

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

  /** A read-only transaction: pins, reads words, and validates. */
  @Benchmark
  @OperationsPerInvocation(KEYS)
  public long read(Store s, Worker w) {
    Timestamps t = s.timestamps;
    t.enter(w.ctx);
    long ts = 0;
    for (int i = 0; i < KEYS; i++) {
      int slot = t.pin(w.ctx, s.items[w.next(s.keys)]);
      ts = Math.max(ts, TidWord.wts(t.word(slot)));
    }
    t.exit(w.ctx);
    return ts;
  }

  /** The same with every fourth key locked and published. */
  @Benchmark
  @OperationsPerInvocation(KEYS)
  public long write(Store s, Worker w) {
    Timestamps t = s.timestamps;
    t.enter(w.ctx);
    long ts = 0;
    for (int i = 0; i < KEYS; i++) {
      int slot = t.pin(w.ctx, s.items[w.next(s.keys)]);
      long word = t.word(slot);
      ts = Math.max(ts, TidWord.wts(word));
      if ((i & 3) == 0 && t.tryLock(slot)) {
        t.publish(slot, TidWord.rts(t.word(slot)) + 1);
      }
    }
    t.exit(w.ctx);
    return ts;
  }

  /** A map from every key to its word. */
  @Benchmark
  @OperationsPerInvocation(KEYS)
  public long mapRead(Rivals s, Walk w) {
    long ts = 0;
    for (int i = 0; i < KEYS; i++) {
      ts = Math.max(ts, TidWord.wts(s.map.get(s.items[w.next(s.keys)]).get()));
    }
    return ts;
  }

  /** The same with every fourth key locked and published. */
  @Benchmark
  @OperationsPerInvocation(KEYS)
  public long mapWrite(Rivals s, Walk w) {
    long ts = 0;
    for (int i = 0; i < KEYS; i++) {
      AtomicLong cell = s.map.get(s.items[w.next(s.keys)]);
      long word = cell.get();
      ts = Math.max(ts, TidWord.wts(word));
      if ((i & 3) == 0
          && !TidWord.isLocked(word)
          && cell.compareAndSet(word, TidWord.withLock(word))) {
        cell.setRelease(TidWord.pack(TidWord.rts(word) + 1, TidWord.rts(word) + 1));
      }
    }
    return ts;
  }

  /** An array of words. */
  @Benchmark
  @OperationsPerInvocation(KEYS)
  public long idealRead(Rivals s, Walk w) {
    long ts = 0;
    for (int i = 0; i < KEYS; i++) {
      int key = w.next(s.keys);
      ts = Math.max(ts, TidWord.wts(s.words.get(key) + (s.items[key] & 0)));
    }
    return ts;
  }
}
