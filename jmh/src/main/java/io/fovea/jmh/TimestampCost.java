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
 * What the timestamps of one key cost in a transaction of 32 keys, in ns for each key: begin, end,
 * making and releasing entries included.
 *
 * <p>{@code hot} accesses keys of a set so small that all are in the exact table; {@code cold} ones
 * of a set far larger than the table, so that nearly each is materialised from the sketch and
 * another one released to it. Rivals: a ConcurrentHashMap from every key to its word (what a store
 * of exact timestamps in memory would be; it never forgets, so it also takes memory for each key
 * there is), and an array of words whose index is known (the ideal, timestamps in the records).
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
    /** What lets an entry go. */
    @Param({"EPOCH", "REFERENCE_COUNT"})
    public Release kind;

    /** How many keys there are. */
    @Param({"2000", "1000000"})
    public int keys;

    Timestamps timestamps;
    long[] items;
    final AtomicInteger contexts = new AtomicInteger();

    /** Makes them. */
    @Setup(Level.Trial)
    public void make() {
      long exact = TimestampConfig.activeTimestampBytes(TimestampStore.FOCUS_SKETCH);
      timestamps = new Timestamps(64, exact, 256L << 20, 2, 2048, kind);
      items = new SplittableRandom(1).longs(keys).map(x -> x | 1).toArray();
    }

    /** Gives the memory back. */
    @TearDown(Level.Trial)
    public void close() {
      timestamps.close();
    }
  }

  /** The keys alone, for the rivals. */
  @State(Scope.Benchmark)
  public static class Rivals {
    /** How many keys there are. */
    @Param({"2000", "1000000"})
    public int keys;

    long[] items;
    ConcurrentHashMap<Long, AtomicLong> map;
    AtomicLongArray words;

    /** Makes them. */
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

  /** One thread's random walk. */
  @State(Scope.Thread)
  public static class Walk {
    private long at = Thread.currentThread().threadId() * 0x9E3779B97F4A7C15L;

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

  /** A read-only transaction: pin and word, then validate. */
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

  /** A map from key to word that knows all keys. */
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

  /** Words at a known index. */
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
