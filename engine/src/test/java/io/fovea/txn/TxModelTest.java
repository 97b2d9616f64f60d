package io.fovea.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.btree.BTree;
import io.fovea.buffer.PoolConfig;
import io.fovea.config.Protocol;
import io.fovea.config.Translation;
import io.fovea.error.DuplicateKeyException;
import io.fovea.io.BlockDevice;
import io.fovea.io.MemoryDevice;
import io.fovea.support.Records;
import io.fovea.support.TestEnvironment;
import io.fovea.support.UnreliableDeviceState;
import io.fovea.txn.TxFixture.Client;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.SplittableRandom;
import java.util.TreeMap;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Random transactions in sequence, compared with a TreeMap per tree. */
class TxModelTest {
  private static final int MANY = 1000;

  @net.jqwik.api.Tag("slow")
  @Property(tries = 120)
  void behavesLikeSortedMaps(
      @ForAll long seed,
      @ForAll @IntRange(min = 80, max = 600) int frames,
      @ForAll @IntRange(min = 5, max = 400) int keys,
      @ForAll boolean counting,
      @ForAll Protocol protocol) {
    TimestampConfig.Release release =
        counting ? TimestampConfig.Release.REFERENCE_COUNT : TimestampConfig.Release.EPOCH;
    TestEnvironment plain = TestEnvironment.PLAIN;
    TxConfig config =
        Records.with(
            Configs.of(4, 1, 16, release, false), "protocol", protocol, "protocolBytes", 4L << 10);
    try (TxFixture f = new TxFixture(config, frames, 2)) {
      run(f, seed, keys, 30, plain, plain.deviceState(seed));
    }
  }

  @Tag("slow")
  @ParameterizedTest
  @EnumSource
  void inEnvironment(TestEnvironment environment) {
    environment.each(
        2,
        (deviceState, seed) -> {
          BlockDevice device = deviceState.on(new MemoryDevice());
          PoolConfig pool =
              Records.with(
                  PoolConfig.ofFrames(
                      environment.pageSize(),
                      environment.smallest() ? PoolConfig.FRAMES_MIN : 256,
                      Translation.PREDICTIVE),
                  "frameHints",
                  environment.hints());
          deviceState.faults(false);
          try (TxFixture f =
              environment.making(() -> new TxFixture(config(environment), device, pool, 2, null))) {
            deviceState.faults(true);
            run(f, seed, 1500, environment.steps(60), environment, deviceState);
            assertTrue(!environment.smallest() || f.pool.stats().misses() > 100, "it fits");
          }
          device.close();
        });
  }

  private static TxConfig config(TestEnvironment environment) {
    return Records.with(Configs.contexts(16), "keepsLocations", environment.hints());
  }

  private static void run(
      TxFixture f,
      long seed,
      int keys,
      int transactions,
      TestEnvironment environment,
      UnreliableDeviceState deviceState) {
    SplittableRandom random = new SplittableRandom(seed);
    List<TreeMap<String, String>> committed = List.of(new TreeMap<>(), new TreeMap<>());
    if (keys >= MANY) {
      for (int n = 0; n < keys; n += 100) {
        int from = n;
        environment.patiently(() -> fill(f, from, keys, committed));
      }
    }
    for (int n = 0; n < transactions; n++) {
      long once = random.nextLong();
      // A failing device leaves the trees unchanged, and the next attempt behaves like the first.
      environment.patiently(
          () -> transaction(f, new SplittableRandom(once), keys, committed, environment));
    }
    deviceState.faults(false);
    for (int w = 0; w < 2; w++) {
      BTree tree = f.trees.get(w);
      assertEquals(listed(committed.get(w)), f.run(c -> c.all(tree)));
    }
  }

  /** Some are several times larger than the smallest pool. */
  private static void fill(
      TxFixture f, int from, int keys, List<TreeMap<String, String>> committed) {
    SplittableRandom random = new SplittableRandom(from);
    TreeMap<String, String> put = new TreeMap<>();
    f.run(
        c -> {
          for (int n = 0; n < 100; n++) {
            String key = key(random, keys);
            String value = TxFixture.repeat('f', f.pool.pageSize() / 8 + n);
            c.put(f.tree(), key, value);
            put.put(key, value);
          }
          return null;
        });
    committed.get(0).putAll(put);
  }

  private static void transaction(
      TxFixture f,
      SplittableRandom random,
      int keys,
      List<TreeMap<String, String>> committed,
      TestEnvironment environment) {
    List<TreeMap<String, String>> model =
        List.of(new TreeMap<>(committed.get(0)), new TreeMap<>(committed.get(1)));
    Client c = new Client(f.begin());
    try {
      int operations = 1 + random.nextInt(40);
      for (int i = 0; i < operations; i++) {
        int which = random.nextInt(2);
        long once = random.nextLong();
        // An operation on a failing device has no effect, and the transaction continues.
        environment.patiently(
            () -> step(c, f.trees.get(which), model.get(which), new SplittableRandom(once), keys));
      }
      if (random.nextInt(4) == 0) {
        return;
      }
      c.commit();
      for (int w = 0; w < 2; w++) {
        committed.get(w).clear();
        committed.get(w).putAll(model.get(w));
      }
    } finally {
      c.rollback();
    }
  }

  private static void step(
      Client c, BTree tree, TreeMap<String, String> model, SplittableRandom random, int keys) {
    String key = key(random, keys);
    switch (random.nextInt(8)) {
      case 0, 1 -> {
        String value = value(random);
        c.put(tree, key, value);
        model.put(key, value);
      }
      case 2 -> {
        String value = value(random);
        boolean inserted = true;
        try {
          c.insert(tree, key, value);
        } catch (DuplicateKeyException e) {
          inserted = false;
        }
        assertEquals(model.putIfAbsent(key, value) == null, inserted);
      }
      case 3 -> {
        assertEquals(model.containsKey(key), c.delete(tree, key));
        model.remove(key);
      }
      case 4 -> {
        String old = model.get(key);
        if (old != null && !old.isEmpty()) {
          int at = random.nextInt(old.length());
          int length = 1 + random.nextInt(Math.min(8, old.length() - at));
          String patch = TxFixture.repeat((char) ('A' + random.nextInt(26)), length);
          c.patch(tree, key, at, patch);
          model.put(key, old.substring(0, at) + patch + old.substring(at + length));
        }
      }
      case 5 -> assertEquals(model.get(key), c.get(tree, key));
      default -> scan(c, tree, model, random, keys);
    }
  }

  private static void scan(
      Client c, BTree tree, TreeMap<String, String> model, SplittableRandom random, int keys) {
    String a = key(random, keys);
    String b = key(random, keys);
    String low = a.compareTo(b) < 0 ? a : b;
    String high = a.compareTo(b) < 0 ? b : a;
    boolean noLow = random.nextInt(5) == 0;
    boolean noHigh = random.nextInt(5) == 0;
    boolean lowInclusive = random.nextBoolean();
    boolean highInclusive = random.nextBoolean() || low.equals(high);
    boolean descending = random.nextBoolean();
    if (low.equals(high)) {
      lowInclusive = true;
    }
    NavigableMap<String, String> part = model;
    if (!noLow) {
      part = part.tailMap(low, lowInclusive);
    }
    if (!noHigh) {
      part = part.headMap(high, highInclusive);
    }
    List<String> expected = listed(descending ? part.descendingMap() : part);
    assertEquals(
        expected,
        c.scan(
            tree,
            noLow ? null : low,
            lowInclusive,
            noHigh ? null : high,
            highInclusive,
            descending));
  }

  private static List<String> listed(NavigableMap<String, String> map) {
    List<String> all = new ArrayList<>();
    map.forEach((k, v) -> all.add(k + "=" + v));
    return all;
  }

  private static String key(SplittableRandom random, int keys) {
    int k = random.nextInt(keys);
    return (k % 3 == 0 ? "a shared prefix of some length " : "k") + k;
  }

  private static String value(SplittableRandom random) {
    int length = random.nextInt(50) == 0 ? 3000 + random.nextInt(9000) : random.nextInt(300);
    return TxFixture.repeat((char) ('a' + random.nextInt(26)), length);
  }
}
