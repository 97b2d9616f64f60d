package io.fovea.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.btree.BTree;
import io.fovea.btree.KeyBuffer;
import io.fovea.btree.Position;
import io.fovea.config.Protocol;
import io.fovea.error.PoolExhaustedException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.support.Records;
import io.fovea.txn.FaultInjection.Stage;
import io.fovea.txn.FaultInjection.Step;
import io.fovea.txn.TxFixture.Client;
import io.fovea.wal.LogSession;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Changes of a commit that are installed together, and the second check of a successor. */
class CommitInstallerTest {
  private static final long SEED = Long.getLong("models.seed", 20261126L);

  /** How much one change under a latch advances a version. */
  private static final long STEP = 1L << 9;

  private static final int LINES = 10;

  private static Position at(BTree t, String key) {
    Position p = new Position();
    t.find(TxFixture.bytes(key), 0, TxFixture.length(key), p);
    return p;
  }

  private static void fill(TxFixture f, BTree t, int n) {
    f.run(
        c -> {
          for (int i = 0; i < n; i++) {
            c.put(t, key(i), "value " + i);
          }
          return null;
        });
  }

  private static String key(int i) {
    return String.format("%06d", 100 * i);
  }

  private static String line(int order, int line) {
    return key(order) + "-" + (char) ('a' + line);
  }

  @Test
  void followersAreInstalledUnderOneLatch() {
    try (TxFixture f = new TxFixture()) {
      BTree lines = f.tree();
      BTree stock = f.trees.get(1);
      fill(f, lines, 20);
      fill(f, stock, 20);
      long before = at(lines, key(7)).version;
      f.run(
          c -> {
            for (int i = 0; i < LINES; i++) {
              c.patch(stock, key(i), 0, "V");
              c.insert(lines, line(7, i), "line " + i);
            }
            return null;
          });
      assertEquals(STEP, at(lines, key(7)).version - before, "lines");
      for (int i = 0; i < LINES; i++) {
        int n = i;
        assertEquals("line " + i, f.run(c -> c.get(lines, line(7, n))));
      }
    }
  }

  /** Patches as in a TPC-C delivery, two for each record. */
  @Test
  void neighborsArePatchedUnderOneLatch() {
    try (TxFixture f = new TxFixture()) {
      BTree lines = f.tree();
      fill(f, lines, 20);
      long before = at(lines, key(7)).version;
      f.run(
          c -> {
            for (int i = 5; i < 12; i++) {
              c.patch(lines, key(i), 0, "V");
              c.patch(lines, key(i), 2, "L");
            }
            return null;
          });
      assertEquals(STEP, at(lines, key(7)).version - before);
      assertEquals("VaLue 11", f.run(c -> c.get(lines, key(11))));
    }
  }

  @Test
  void aThousandPutsTakeOneLatchPerSixteen() {
    try (TxFixture f = new TxFixture(Configs.contexts(32), 512, 1)) {
      BTree t = f.tree();
      fill(f, t, 1);
      long before = at(t, key(0)).version;
      int n = 48;
      f.run(
          c -> {
            for (int i = 0; i < n; i++) {
              c.put(t, String.format("000000-%03d", i), "v");
            }
            return null;
          });
      assertEquals(n / 16 * STEP, at(t, key(0)).version - before);
    }
  }

  /** The commit waits for a missing frame, and every change is installed exactly once. */
  @Test
  void missingResourcesAreRetried() {
    AtomicInteger failures = new AtomicInteger();
    FaultInjection.Probe probe =
        (stage, locked) -> {
          if (stage == Stage.INSTALLING && failures.getAndDecrement() > 0) {
            throw new PoolExhaustedException(1, 1);
          }
        };
    try (TxFixture f =
        new TxFixture(Configs.contexts(8), 512, 2, FaultInjection.NONE.with(probe))) {
      BTree t = f.tree();
      fill(f, t, 50);
      for (int order = 1; order < 40; order++) {
        int o = order;
        failures.set(order % 4);
        f.run(
            c -> {
              for (int i = 0; i < LINES; i++) {
                c.insert(t, line(o, i), TxFixture.repeat('x', 60));
              }
              return null;
            });
      }
      assertEquals(50 + 39 * LINES, f.run(c -> c.all(t)).size());
    }
  }

  @ParameterizedTest
  @EnumSource(Protocol.class)
  void randomChanges(Protocol protocol) {
    for (boolean placed : new boolean[] {true, false}) {
      TxConfig config =
          Records.with(
              Configs.contexts(8),
              "keepsLocations",
              placed,
              "protocol",
              protocol,
              "protocolBytes",
              16L << 10);
      try (TxFixture f = new TxFixture(config, 1024, 2)) {
        SplittableRandom random = new SplittableRandom(SEED + protocol.ordinal());
        List<TreeMap<String, String>> models = List.of(new TreeMap<>(), new TreeMap<>());
        for (int n = 0; n < 120; n++) {
          long seed = random.nextLong();
          f.run(c -> change(f, c, copy(models), new SplittableRandom(seed)));
          change(null, null, models, new SplittableRandom(seed));
        }
        for (int w = 0; w < 2; w++) {
          BTree t = f.trees.get(w);
          List<String> expected = new ArrayList<>();
          for (Map.Entry<String, String> e : models.get(w).entrySet()) {
            expected.add(e.getKey() + "=" + e.getValue());
          }
          assertEquals(expected, f.run(c -> c.all(t)), "seed " + SEED);
        }
      }
    }
  }

  private static List<TreeMap<String, String>> copy(List<TreeMap<String, String>> models) {
    List<TreeMap<String, String>> copy = new ArrayList<>();
    models.forEach(m -> copy.add(new TreeMap<>(m)));
    return copy;
  }

  /** Changes the models, and the trees if given. */
  private static Void change(
      TxFixture f, Client c, List<TreeMap<String, String>> models, SplittableRandom random) {
    int from = random.nextInt(60);
    int n = random.nextInt(40);
    int inOrder = random.nextInt(3);
    for (int i = 0; i < n; i++) {
      int w = random.nextInt(8) == 0 ? 1 : 0;
      TreeMap<String, String> model = models.get(w);
      BTree t = f == null ? null : f.trees.get(w);
      String key =
          switch (inOrder) {
            case 0 -> key(from + i);
            case 1 -> line(from, i % 26);
            default -> random.nextBoolean() ? key(random.nextInt(80)) : line(from, i % 26);
          };
      String old = model.get(key);
      String value = TxFixture.repeat((char) ('a' + i % 26), length(random));
      int what = random.nextInt(10);
      if (old != null && what < 4) {
        String patch = old.isEmpty() ? "" : "P";
        int at = old.isEmpty() ? 0 : random.nextInt(old.length());
        if (c != null) {
          c.patch(t, key, at, patch);
        }
        model.put(key, old.substring(0, at) + patch + old.substring(at + patch.length()));
      } else if (old != null && what < 6) {
        if (c != null) {
          assertTrue(c.delete(t, key));
        }
        model.remove(key);
      } else {
        if (c != null && old == null && what == 9) {
          c.insert(t, key, value);
        } else if (c != null) {
          c.put(t, key, value);
        }
        model.put(key, value);
      }
    }
    return null;
  }

  private static int length(SplittableRandom random) {
    return switch (random.nextInt(12)) {
      case 0 -> 0;
      case 1 -> 1024;
      case 2 -> 5000; // a chain
      default -> random.nextInt(120);
    };
  }

  /** The last key of its leaf, with the whole gap above, and the first key of the next leaf. */
  private static String[] adjacentKeysInTwoLeaves(TxFixture f, BTree t, int keys) {
    for (int i = 3; i < keys; i++) {
      long pid = at(t, key(i - 1)).pid;
      if (at(t, key(i)).pid != pid && at(t, key(i - 1) + "z").pid == pid) {
        String room = key(i - 3);
        assertEquals(pid, at(t, room).pid);
        f.run(c -> c.delete(t, room));
        return new String[] {key(i - 1), key(i)};
      }
    }
    throw new AssertionError("no leaf has the gap above its last key");
  }

  @Test
  void versionsProtectAGap() {
    try (TxFixture f = new TxFixture()) {
      BTree t = f.tree();
      int keys = 1000;
      fill(f, t, keys);
      KeyBuffer out = new KeyBuffer(t.maxKeySize());
      Position p = new Position();

      String[] two = adjacentKeysInTwoLeaves(f, t, keys);
      assertTrue(successor(t, two[0], p, out));
      assertEquals(two[1], TxFixture.string(out.segment(), 0, out.length()));
      assertNotEquals(p.frame, p.gapFrame);
      assertTrue(stays(t, p));
      f.run(
          c -> {
            c.insert(t, two[0] + "a", "between");
            return null;
          });
      assertTrue(
          t.valid(p), "the successor's leaf does not change when a key is inserted before it");
      assertFalse(stays(t, p));

      assertTrue(successor(t, key(3), p, out));
      assertEquals(p.frame, p.gapFrame);
      f.run(
          c -> {
            c.insert(t, key(3) + "a", "between");
            return null;
          });
      assertFalse(stays(t, p));

      assertFalse(successor(t, key(keys), p, out));
      assertTrue(stays(t, p), "the end of the tree");
      f.run(
          c -> {
            c.insert(t, key(keys) + "a", "behind");
            return null;
          });
      assertFalse(stays(t, p));
    }
  }

  /** A gap that spans a leaf without keys is searched again. */
  @Test
  void aGapOverThreeLeavesHasNoVersion() {
    try (TxFixture f = new TxFixture()) {
      BTree t = f.tree();
      int keys = 1000;
      fill(f, t, keys);
      KeyBuffer out = new KeyBuffer(t.maxKeySize());
      Position p = new Position();
      int seen = 0;
      for (int i = 0; i < keys; i++) {
        // Without a merge, so that empty leaves stay.
        if (i % 500 != 0) {
          MemorySegment key = TxFixture.bytes(key(i));
          t.remove(key, 0, TxFixture.length(key(i)), false, p, LogSession.NONE);
        }
      }
      for (int i = 0; i < keys - 500; i += 500) {
        assertTrue(successor(t, key(i), p, out));
        assertEquals(key(i + 500), TxFixture.string(out.segment(), 0, out.length()));
        seen += p.gapFrame == -1 ? 1 : 0;
      }
      assertTrue(seen > 0, "no gap spans a leaf");
    }
  }

  private static boolean stays(BTree t, Position p) {
    return p.gapFrame >= 0 && t.valid(p) && t.pool().validate(p.gapFrame, p.gapVersion);
  }

  private static boolean successor(BTree t, String key, Position p, KeyBuffer out) {
    p.clear();
    return t.successor(TxFixture.bytes(key), 0, TxFixture.length(key), p, out);
  }

  /**
   * U finds the successor of its new key. Before U has locked it, V inserts a key between, and T
   * scans the rest of the gap. Returns whether T committed, although it has seen one of U's other
   * writes.
   */
  private static boolean aGapIsSplit(FaultInjection faults, boolean inOneLeaf) {
    AtomicReference<Runnable> then = new AtomicReference<>();
    FaultInjection.Probe probe =
        (stage, locked) -> {
          if (stage == Stage.SUCCESSOR_FOUND) {
            Runnable todo = then.getAndSet(null);
            if (todo != null) {
              todo.run();
            }
          }
        };
    try (TxFixture f = new TxFixture(Configs.contexts(8), 512, 2, faults.with(probe))) {
      BTree t = f.tree();
      BTree other = f.trees.get(1);
      int keys = 1000;
      fill(f, t, keys);
      fill(f, other, 1);
      String low = inOneLeaf ? key(3) : adjacentKeysInTwoLeaves(f, t, keys)[0];
      Client u = new Client(f.begin());
      u.insert(t, low + "b", "U");
      u.patch(other, key(0), 0, "U");
      Client[] scanner = new Client[1];
      then.set(
          () -> {
            f.run(
                v -> {
                  v.insert(t, low + "d", "V");
                  return null;
                });
            scanner[0] = new Client(f.begin());
            assertEquals(List.of(), scanner[0].scan(t, low + "a", true, low + "c", true, false));
          });
      u.commit();
      assertNull(then.get(), "the successor was searched");
      try {
        String seen = scanner[0].get(other, key(0));
        assertNotEquals("value 0", seen);
        scanner[0].commit();
        return true;
      } catch (TransactionAbortedException e) {
        return false;
      }
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void theSecondCheckDetectsASplitGap(boolean inOneLeaf) {
    assertFalse(aGapIsSplit(FaultInjection.NONE, inOneLeaf));
    // Proves that the test can fail.
    assertTrue(aGapIsSplit(FaultInjection.without(Step.SUCCESSOR_RECHECK), inOneLeaf));
  }

  @Test
  void theVersionOfAnotherLeafIsNotASecondCheck() {
    FaultInjection skipsLockCheck = FaultInjection.without(Step.GAP_LEAF);
    assertTrue(aGapIsSplit(skipsLockCheck, false));
    assertFalse(aGapIsSplit(skipsLockCheck, true), "within a leaf the version suffices");
  }

  /** One search is saved: the leaf is unchanged. */
  @Test
  void oneSearchFindsASuccessor() {
    try (TxFixture f = new TxFixture()) {
      BTree t = f.tree();
      fill(f, t, 20);
      TxStats before = f.engine.stats();
      f.run(
          c -> {
            c.insert(t, key(3) + "a", "new");
            return null;
          });
      TxStats after = f.engine.stats();
      assertEquals(
          2, after.positionHints() - before.positionHints(), "the successor, and the install");
    }
  }
}
