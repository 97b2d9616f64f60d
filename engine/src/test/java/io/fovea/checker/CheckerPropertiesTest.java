package io.fovea.checker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.checker.Txn.Outcome;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;

/**
 * Random histories of a model. Serial histories are clean, impossible reads are found, and for
 * small histories without isolation the checker agrees with an exhaustive search over all orders.
 */
class CheckerPropertiesTest {
  /** Tables without transactions: each step sees all earlier ones. */
  private static final class Model {
    final SplittableRandom random;
    final Map<Long, State> state = new TreeMap<>();

    Model(long seed) {
      random = new SplittableRandom(seed);
    }

    State get(long key) {
      return state.getOrDefault(key, State.ABSENT);
    }

    void read(Txn t, long key) {
      t.ops.add(new Op.Read(key, get(key)));
    }

    void append(Txn t, long key, boolean look) {
      if (look) {
        read(t, key);
      }
      long appended = t.ops.stream().filter(op -> op instanceof Op.Append).count();
      long e = Elements.of(t.id, (int) appended);
      State before = get(key);
      State after;
      if (before.present()) {
        after = before.append(e);
      } else {
        int life = 1;
        if (!Keys.isImmortal(key)) {
          read(t, Keys.grave(key));
          life = get(Keys.grave(key)).list().length + 1;
        }
        after = State.of(life, e);
      }
      state.put(key, after);
      t.ops.add(new Op.Append(key, after));
    }

    void delete(Txn t, long key) {
      State before = get(key);
      t.ops.add(new Op.Read(key, before));
      if (before.present() && !Keys.isImmortal(key)) {
        state.remove(key);
        t.ops.add(new Op.Delete(key, before));
        append(t, Keys.grave(key), true);
      }
    }

    void scan(Txn t, long low, long high) {
      Map<Long, State> found = new TreeMap<>();
      state.forEach(
          (k, s) -> {
            if (k >= low && k <= high) {
              found.put(k, s);
            }
          });
      t.ops.add(new Op.Scan(low, high, found));
    }

    void group(Txn t, int generation, int group) {
      Map<Long, State> found = new TreeMap<>();
      state.forEach(
          (k, s) -> {
            if (!Keys.isGrave(k)
                && Keys.generation(k) == generation
                && Keys.group(s.last()) == group) {
              found.put(k, s);
            }
          });
      t.ops.add(new Op.GroupScan(generation, group, found));
    }

    void lookup(Txn t, long key, int group) {
      State now = get(key);
      boolean there = now.present() && Keys.group(now.last()) == group;
      t.ops.add(new Op.Lookup(key, group, there ? now : State.ABSENT));
    }

    /** Does one step of any kind. */
    void step(Txn t, int slots) {
      long key = Keys.list(0, random.nextInt(slots));
      switch (random.nextInt(9)) {
        case 0, 1, 2 -> append(t, key, random.nextBoolean());
        case 3 -> delete(t, key);
        case 4, 5 -> read(t, key);
        case 6 -> scan(t, key, Keys.list(0, random.nextInt(slots)));
        case 7 -> lookup(t, key, random.nextInt(Keys.GROUPS));
        default -> group(t, 0, random.nextInt(Keys.GROUPS));
      }
    }

    /** Does a step that identifies the version it saw: on keys that are never deleted. */
    void exactStep(Txn t, int slots) {
      long key = Keys.list(0, 3 * random.nextInt(slots));
      switch (random.nextInt(4)) {
        case 0, 1 -> append(t, key, random.nextBoolean());
        case 2 -> read(t, key);
        default -> scan(t, Keys.list(0, 0), key);
      }
    }

    /** Reads everything, as the end of a history. */
    Txn last(long id) {
      Txn t = ended(id);
      scan(t, 0, Keys.list(1, 0));
      scan(t, Keys.grave(0), Keys.grave(Keys.list(1, 0)));
      return t;
    }
  }

  private static Txn ended(long id) {
    Txn t = new Txn(id, 0);
    t.outcome = Outcome.OK;
    t.invoked = id;
    return t;
  }

  private static List<Txn> serial(Model m, int count) {
    List<Txn> all = new ArrayList<>();
    for (int i = 1; i <= count; i++) {
      Txn t = ended(i);
      for (int n = m.random.nextInt(4); n >= 0; n--) {
        m.step(t, Keys.SLOTS);
      }
      all.add(t);
    }
    return all;
  }

  @Property(tries = 200, shrinking = ShrinkingMode.OFF)
  void serialHistoriesAreClean(@ForAll long seed) {
    Model m = new Model(seed);
    Checker.check(new History(serial(m, 60))).requireClean("seed " + seed);
  }

  /** Swaps, removes or invents elements. */
  @Property(tries = 200, shrinking = ShrinkingMode.OFF)
  void impossibleReadsAreFound(@ForAll long seed) {
    Model m = new Model(seed);
    List<Txn> all = serial(m, 60);
    List<int[]> places = new ArrayList<>();
    for (int i = 0; i < all.size(); i++) {
      for (int n = 0; n < all.get(i).ops.size(); n++) {
        if (all.get(i).ops.get(n) instanceof Op.Read r && r.state().list().length >= 2) {
          places.add(new int[] {i, n});
        }
      }
    }
    if (places.isEmpty()) {
      return;
    }
    int[] place = places.get(m.random.nextInt(places.size()));
    Txn t = all.get(place[0]);
    Op.Read r = (Op.Read) t.ops.get(place[1]);
    long[] list = r.state().list().clone();
    switch (m.random.nextInt(3)) {
      case 0 -> {
        long e = list[0];
        list[0] = list[1];
        list[1] = e;
      }
      case 1 -> list = Arrays.copyOfRange(list, 1, list.length);
      default -> list[m.random.nextInt(list.length)] = Elements.of(1_000, 0);
    }
    t.ops.set(place[1], new Op.Read(r.key(), new State(r.state().life(), list)));
    assertFalse(Checker.check(new History(all)).clean(), () -> "seed " + seed + ": " + r);
  }

  private List<Txn> mixed(Model m, int count, int steps, boolean exact) {
    List<Txn> all = new ArrayList<>();
    for (int i = 1; i <= count; i++) {
      all.add(ended(i));
    }
    for (int n = 0; n < steps; n++) {
      Txn t = all.get(m.random.nextInt(count));
      if (exact) {
        m.exactStep(t, 3);
      } else {
        m.step(t, 3);
      }
    }
    all.add(m.last(count + 1));
    return all;
  }

  /** Keys that are never deleted, read singly or by intervals: the checker is exact. */
  @Property(tries = 1_000, shrinking = ShrinkingMode.OFF)
  void agreesWithExhaustiveSearch(@ForAll long seed) {
    List<Txn> all = mixed(new Model(seed), 4, 9, true);
    History h = new History(all);
    Checker.Report report = Checker.check(h);
    assertEquals(
        SerialOracle.isSerializable(h),
        report.clean(),
        () -> seed + ": " + report.anomalies() + all);
  }

  /** With deletes and groups the checker reports no false anomaly. */
  @Property(tries = 1_000, shrinking = ShrinkingMode.OFF)
  void reportsNoFalseAnomaly(@ForAll long seed) {
    List<Txn> all = mixed(new Model(seed), 4, 8, false);
    History h = new History(all);
    Checker.Report report = Checker.check(h);
    assertTrue(
        report.clean() || !SerialOracle.isSerializable(h),
        () -> seed + ": " + report.anomalies() + all);
  }
}
