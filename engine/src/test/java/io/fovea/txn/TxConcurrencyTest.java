package io.fovea.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.btree.BTree;
import io.fovea.config.Protocol;
import io.fovea.support.Records;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Invariants of serializable transactions, with more threads than cores, over exact timestamps,
 * over a sketch of one cell (the worst approximation), with both ways to release an entry, and with
 * pools smaller than the data.
 */
@Tag("slow")
class TxConcurrencyTest {
  private static final int THREADS = 8;

  record Setting(String name, TxConfig config, int frames) {
    @Override
    public String toString() {
      return name;
    }
  }

  static Stream<Setting> settings() {
    int n = THREADS + 4;
    TimestampConfig.Release epoch = TimestampConfig.Release.EPOCH;
    TimestampConfig.Release count = TimestampConfig.Release.REFERENCE_COUNT;
    return Stream.concat(ofTicToc(n, epoch, count), ofOthers(n, count));
  }

  private static Stream<Setting> ofOthers(int n, TimestampConfig.Release count) {
    TxConfig exact = Configs.contexts(n);
    TxConfig coarse = Configs.of(n, 1, 1, count, false);
    return Stream.of(Protocol.values())
        .filter(kind -> kind != Protocol.TICTOC)
        .flatMap(
            kind ->
                Stream.of(
                    new Setting(kind + "", Records.with(exact, "protocol", kind), 1024),
                    new Setting(
                        kind + ", little memory",
                        Records.with(coarse, "protocol", kind, "protocolBytes", 1L << 10),
                        1024),
                    new Setting(kind + ", small pool", Records.with(exact, "protocol", kind), 96)));
  }

  private static Stream<Setting> ofTicToc(
      int n, TimestampConfig.Release epoch, TimestampConfig.Release count) {
    return Stream.of(
        new Setting("epochs", Configs.contexts(n), 1024),
        new Setting("one-cell sketch", Configs.of(n, 1, 1, epoch, false), 1024),
        new Setting("reference counts", Configs.of(n, 2, 2048, count, false), 1024),
        new Setting("reference counts, one-cell sketch", Configs.of(n, 1, 1, count, false), 1024),
        new Setting("small pool", Configs.contexts(n), 96),
        new Setting("strict", Configs.of(n, 2, 2048, epoch, true), 1024));
  }

  private static void parallel(int threads, Callable<Void> work) throws Exception {
    try (ExecutorService pool = Executors.newFixedThreadPool(threads)) {
      List<Future<Void>> all = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        all.add(pool.submit(work));
      }
      for (Future<Void> f : all) {
        try {
          f.get();
        } catch (ExecutionException e) {
          throw e.getCause() instanceof Exception x ? x : e;
        }
      }
    }
  }

  private static String key(int i) {
    return String.format("%06d", i);
  }

  @ParameterizedTest
  @MethodSource("settings")
  void moneyIsConserved(Setting setting) throws Exception {
    int accounts = 60;
    try (TxFixture f = new TxFixture(setting.config, setting.frames, 1)) {
      BTree t = f.tree();
      f.run(
          c -> {
            for (int i = 0; i < accounts; i++) {
              c.insert(t, key(i), "0000001000");
            }
            return null;
          });
      AtomicInteger seeds = new AtomicInteger();
      AtomicInteger sums = new AtomicInteger();
      parallel(
          THREADS,
          () -> {
            int me = seeds.getAndIncrement();
            SplittableRandom random = new SplittableRandom(me);
            for (int n = 0; n < 300; n++) {
              if (random.nextInt(6) == 0) {
                boolean descending = random.nextBoolean();
                long sum =
                    f.run(
                        c -> {
                          long s = 0;
                          for (String kv : c.scan(t, null, true, null, true, descending)) {
                            s += Long.parseLong(kv.substring(kv.indexOf('=') + 1));
                          }
                          return s;
                        });
                assertEquals(accounts * 1000L, sum);
                sums.incrementAndGet();
              } else {
                int from = random.nextInt(accounts);
                int to = random.nextInt(accounts);
                int amount = random.nextInt(100);
                f.run(
                    c -> {
                      long a = Long.parseLong(c.get(t, key(from)));
                      c.put(t, key(from), String.format("%010d", a - amount));
                      long b = Long.parseLong(c.get(t, key(to)));
                      c.put(t, key(to), String.format("%010d", b + amount));
                      return null;
                    });
              }
            }
            return null;
          });
      assertTrue(sums.get() > 0);
      assertEquals(0, f.engine.active());
    }
  }

  @ParameterizedTest
  @MethodSource("settings")
  void counterValuesAreUnique(Setting setting) throws Exception {
    try (TxFixture f = new TxFixture(setting.config, setting.frames, 2)) {
      BTree t = f.tree();
      BTree log = f.trees.get(1);
      f.run(
          c -> {
            c.insert(t, "counter", "000000");
            return null;
          });
      int each = 200;
      Set<String> taken = java.util.concurrent.ConcurrentHashMap.newKeySet();
      parallel(
          THREADS,
          () -> {
            for (int n = 0; n < each; n++) {
              String v =
                  f.run(
                      c -> {
                        String now = c.get(t, "counter");
                        assertNotNull(now);
                        c.put(t, "counter", key(Integer.parseInt(now) + 1));
                        c.insert(log, now, "x");
                        return now;
                      });
              assertTrue(taken.add(v), v);
            }
            return null;
          });
      assertEquals(key(THREADS * each), f.run(c -> c.get(t, "counter")));
      int logged = f.run(c -> c.all(log).size());
      assertEquals(THREADS * each, logged);
    }
  }

  /** Tokens move between two trees; a scan of both, in either order, finds each exactly once. */
  @ParameterizedTest
  @MethodSource("settings")
  void movingKeysAreSeenOnce(Setting setting) throws Exception {
    int tokens = 120;
    try (TxFixture f = new TxFixture(setting.config, setting.frames, 2)) {
      BTree a = f.trees.get(0);
      BTree b = f.trees.get(1);
      String pad = TxFixture.repeat('p', 200);
      f.run(
          c -> {
            for (int i = 0; i < tokens; i++) {
              c.insert(a, key(i * 10), pad);
            }
            return null;
          });
      AtomicInteger seeds = new AtomicInteger(100);
      parallel(
          THREADS,
          () -> {
            SplittableRandom random = new SplittableRandom(seeds.getAndIncrement());
            for (int n = 0; n < 150; n++) {
              if (random.nextInt(4) == 0) {
                boolean aFirst = random.nextBoolean();
                boolean descending = random.nextBoolean();
                List<String> seen =
                    f.run(
                        c -> {
                          List<String> all =
                              new ArrayList<>(
                                  c.scan(aFirst ? a : b, null, true, null, true, descending));
                          all.addAll(c.scan(aFirst ? b : a, null, true, null, true, !descending));
                          return all;
                        });
                assertEquals(tokens, seen.size());
                assertEquals(tokens, new HashSet<>(seen).size());
              } else {
                int token = random.nextInt(tokens) * 10;
                f.run(
                    c -> {
                      boolean inA = c.get(a, key(token)) != null;
                      assertTrue(c.delete(inA ? a : b, key(token)));
                      c.insert(inA ? b : a, key(token), pad);
                      return null;
                    });
              }
            }
            return null;
          });
      int left = f.run(c -> c.all(a).size() + c.all(b).size());
      assertEquals(tokens, left);
    }
  }

  /** Each transaction keeps a range below eleven keys: a phantom shows up as an eleventh. */
  @ParameterizedTest
  @MethodSource("settings")
  void aRangeNeverOverflows(Setting setting) throws Exception {
    try (TxFixture f = new TxFixture(setting.config, setting.frames, 1)) {
      BTree t = f.tree();
      AtomicInteger seeds = new AtomicInteger(7);
      parallel(
          THREADS,
          () -> {
            SplittableRandom random = new SplittableRandom(seeds.getAndIncrement());
            for (int n = 0; n < 200; n++) {
              int range = random.nextInt(3);
              int k = random.nextInt(1000);
              boolean descending = random.nextBoolean();
              f.run(
                  c -> {
                    List<String> there =
                        c.scan(
                            t, key(range * 1000), true, key(range * 1000 + 999), true, descending);
                    assertTrue(there.size() <= 10, "found " + there.size());
                    String key = key(range * 1000 + k);
                    if (there.size() == 10) {
                      c.delete(t, there.get(k % 10).substring(0, 6));
                    } else if (c.get(t, key) == null) {
                      c.insert(t, key, "v");
                    }
                    return null;
                  });
            }
            return null;
          });
    }
  }

  /** Write skew: each transaction reads two rows and clears one only if both are set. */
  @ParameterizedTest
  @MethodSource("settings")
  void oneOfTwoStaysOnCall(Setting setting) throws Exception {
    try (TxFixture f = new TxFixture(setting.config, setting.frames, 1)) {
      BTree t = f.tree();
      f.run(
          c -> {
            c.insert(t, "a", "1");
            c.insert(t, "b", "1");
            return null;
          });
      AtomicInteger seeds = new AtomicInteger(31);
      parallel(
          4,
          () -> {
            SplittableRandom random = new SplittableRandom(seeds.getAndIncrement());
            for (int n = 0; n < 500; n++) {
              String mine = random.nextBoolean() ? "a" : "b";
              f.run(
                  c -> {
                    boolean both = "1".equals(c.get(t, "a")) && "1".equals(c.get(t, "b"));
                    boolean none = "0".equals(c.get(t, "a")) && "0".equals(c.get(t, "b"));
                    c.put(t, mine, both ? "0" : "1");
                    return none;
                  });
              boolean none = f.run(c -> "0".equals(c.get(t, "a")) && "0".equals(c.get(t, "b")));
              assertTrue(!none, "both are off");
            }
            return null;
          });
    }
  }
}
