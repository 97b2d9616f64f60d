package io.fovea.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.btree.BTree;
import io.fovea.support.Records;
import io.fovea.txn.TxFixture.Client;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The key locations that a transaction caches, and the descents that they save. */
class TxLocationsTest {
  private static final int KEYS = 3000;

  private static TxFixture fixture(boolean placed) {
    TxFixture f =
        new TxFixture(Records.with(Configs.contexts(32), "keepsLocations", placed), 1024, 2);
    f.run(
        c -> {
          for (int i = 0; i < KEYS; i++) {
            c.put(f.tree(), key(i), "value " + i);
          }
          return null;
        });
    assertEquals(2, f.tree().height());
    return f;
  }

  private static String key(int i) {
    return String.format("%05d", 10 * i);
  }

  /** Returns the statistics of a transaction. */
  private static TxStats count(TxFixture f, Consumer<Client> body) {
    TxStats b = f.engine.stats();
    f.run(
        c -> {
          body.accept(c);
          return null;
        });
    TxStats a = f.engine.stats();
    return new TxStats(
        0,
        0,
        new long[0],
        0,
        a.pageAccesses() - b.pageAccesses(),
        a.childSteps() - b.childSteps(),
        a.positionHints() - b.positionHints(),
        a.positionHintsStale() - b.positionHintsStale(),
        0,
        0,
        0,
        0);
  }

  /** A descent in a tree of two levels is one step. */
  private static void expect(long descents, long places, TxFixture f, Consumer<Client> body) {
    TxStats s = count(f, body);
    assertEquals(descents, s.childSteps(), "descents");
    assertEquals(places, s.positionHints(), "places");
    assertEquals(0, s.positionHintsStale(), "stale");
    assertEquals(2 * descents + places, s.pageAccesses(), "pages");
  }

  @Test
  void oneDescentPerRecord() {
    try (TxFixture f = fixture(true)) {
      BTree t = f.tree();
      expect(1, 1, f, c -> assertEquals(c.get(t, key(7)), c.get(t, key(7))));
      // The read, the check whether it exists, and the install.
      expect(
          1,
          2,
          f,
          c -> {
            c.get(t, key(8));
            c.put(t, key(8), "another");
          });
      expect(1, 1, f, c -> c.patch(t, key(9), 0, "V"));
      // The check that it is absent, its successor, and the install.
      expect(1, 2, f, c -> c.insert(t, key(10) + "x", "new"));
      expect(1, 2, f, c -> c.delete(t, key(11)));
      // The check whether it exists, and the install.
      expect(1, 1, f, c -> c.put(t, key(12), "blind"));
      expect(1, 2, f, c -> c.put(t, key(13) + "x", "blind"));
    }
  }

  /** Keys of one gap, with a change in another leaf between them. */
  @Test
  void followersAreInstalledAfterThePreviousKey() {
    try (TxFixture f = fixture(true)) {
      BTree t = f.tree();
      f.run(c -> c.delete(t, key(30)) && c.delete(t, key(31)) && c.delete(t, key(32))); // space
      // Descents: for the first key and for each record that is changed. Locations: to see that the
      // other keys are absent, for the successor of the first one, to change two records, and to
      // put all three where the first one belongs.
      expect(
          3,
          6,
          f,
          c -> {
            c.insert(t, key(20) + "a", "new");
            c.patch(t, key(2000), 0, "V");
            c.insert(t, key(20) + "b", "new");
            c.patch(t, key(1000), 0, "V");
            c.insert(t, key(20) + "c", "new");
          });
      assertEquals("new", f.run(c -> c.get(t, key(20) + "c")));
    }
  }

  @Test
  void withoutLocationsEachAccessDescends() {
    try (TxFixture f = fixture(false)) {
      BTree t = f.tree();
      expect(2, 0, f, c -> assertEquals(c.get(t, key(7)), c.get(t, key(7))));
      expect(
          3,
          0,
          f,
          c -> {
            c.get(t, key(8));
            c.put(t, key(8), "another");
          });
      expect(2, 0, f, c -> c.patch(t, key(9), 0, "V"));
      expect(3, 0, f, c -> c.insert(t, key(10) + "x", "new"));
      expect(3, 0, f, c -> c.delete(t, key(11)));
      expect(2, 0, f, c -> c.put(t, key(12), "blind"));
    }
  }

  /** Between the read and the commit the leaf is split, merged, freed and reused. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void movedRecordsAreFound(boolean placed) {
    try (TxFixture f = fixture(placed)) {
      BTree t = f.tree();
      Client c = new Client(f.begin());
      for (int i = 0; i < KEYS; i += 100) {
        assertEquals("value " + i, c.get(t, key(i)));
        c.patch(t, key(i), 0, "VALUE");
      }
      // Not in the gaps below the keys that were read, since these are read, too.
      f.run(
          o -> {
            for (int i = 0; i < KEYS; i++) {
              if (i % 100 != 99) {
                o.put(t, key(i) + "5", TxFixture.repeat('x', 100));
              }
            }
            return null;
          });
      f.run(
          o -> {
            for (int i = 0; i < KEYS; i++) {
              if (i % 100 != 99) {
                o.delete(t, key(i) + "5");
                if (i % 100 != 0) {
                  o.delete(t, key(i));
                }
              }
            }
            return null;
          });
      // Pages of this tree now belong to another.
      f.run(
          o -> {
            for (int i = 0; i < KEYS; i++) {
              o.put(f.trees.get(1), key(i), TxFixture.repeat('y', 50));
            }
            return null;
          });
      TxStats before = f.engine.stats();
      c.commit();
      TxStats after = f.engine.stats();
      assertEquals(
          placed, after.positionHintsStale() > before.positionHintsStale(), "stale locations");
      List<String> all = f.run(o -> o.all(t));
      assertEquals(2 * KEYS / 100, all.size());
      for (int i = 0; i < KEYS; i += 100) {
        assertTrue(all.contains(key(i) + "=VALUE " + i), all::toString);
      }
      assertNull(f.run(o -> o.get(t, key(1))));
    }
  }
}
