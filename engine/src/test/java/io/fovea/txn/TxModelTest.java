package io.fovea.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.fovea.btree.BTree;
import io.fovea.error.DuplicateKeyException;
import io.fovea.txn.TxFixture.Client;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.SplittableRandom;
import java.util.TreeMap;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

/** Random transactions, one after the other, against a TreeMap for each tree. */
class TxModelTest {

  @Property(tries = 60)
  void behavesLikeSortedMaps(
      @ForAll long seed,
      @ForAll @IntRange(min = 80, max = 600) int frames,
      @ForAll @IntRange(min = 5, max = 400) int keys,
      @ForAll boolean counting) {
    SplittableRandom random = new SplittableRandom(seed);
    Timestamps.Release release =
        counting ? Timestamps.Release.REFERENCE_COUNT : Timestamps.Release.EPOCH;
    try (TxFixture f = new TxFixture(Configs.of(4, 1, 16, release, false), frames, 2)) {
      List<TreeMap<String, String>> committed = List.of(new TreeMap<>(), new TreeMap<>());
      for (int n = 0; n < 30; n++) {
        List<TreeMap<String, String>> model =
            List.of(new TreeMap<>(committed.get(0)), new TreeMap<>(committed.get(1)));
        Client c = new Client(f.begin());
        int operations = 1 + random.nextInt(40);
        for (int i = 0; i < operations; i++) {
          int which = random.nextInt(2);
          step(c, f.trees.get(which), model.get(which), random, keys);
        }
        if (random.nextInt(4) == 0) {
          c.tx.rollback();
        } else {
          c.tx.commit();
          for (int w = 0; w < 2; w++) {
            committed.get(w).clear();
            committed.get(w).putAll(model.get(w));
          }
        }
      }
      for (int w = 0; w < 2; w++) {
        BTree tree = f.trees.get(w);
        assertEquals(listed(committed.get(w)), f.run(c -> c.all(tree)));
      }
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
        if (model.containsKey(key)) {
          assertThrows(DuplicateKeyException.class, () -> c.insert(tree, key, value));
        } else {
          c.insert(tree, key, value);
          model.put(key, value);
        }
      }
      case 3 -> assertEquals(model.remove(key) != null, c.delete(tree, key));
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
