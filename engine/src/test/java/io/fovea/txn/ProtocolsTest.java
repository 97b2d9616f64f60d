package io.fovea.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.btree.BTree;
import io.fovea.error.AbortCause;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.txn.TxFixture.Client;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Interleavings that only some serial order may explain, under every protocol, step by step in one
 * thread. Protocols differ in who is aborted and when, so a step that is refused ends its
 * transaction, and what counts is who has committed and what is there.
 */
class ProtocolsTest {

  /** A transaction of which a step may be refused. */
  private static final class Party {
    final Client client;
    AbortCause refused;
    boolean committed;

    Party(TxFixture f) {
      client = new Client(f.begin());
    }

    Party step(Runnable r) {
      if (refused == null) {
        try {
          r.run();
        } catch (TransactionAbortedException e) {
          refused = e.abortCause();
          client.tx.rollback();
        }
      }
      return this;
    }

    boolean commit() {
      step(
          () -> {
            client.tx.commit();
            committed = true;
          });
      return committed;
    }
  }

  private static TxFixture fixture(ProtocolKind kind, String... pairs) {
    TxFixture f = new TxFixture(Configs.contexts(32).with(kind), 512, 2);
    f.run(
        c -> {
          for (String p : pairs) {
            String[] kv = p.split("=");
            c.put(f.tree(), kv[0], kv[1]);
          }
          return null;
        });
    return f;
  }

  /** Whoever is not locked out of anything can use all of it. */
  private static void atRest(TxFixture f, String... more) {
    assertEquals(0, f.engine.active());
    ProtocolMemory memory = f.engine.protocolMemory();
    switch (f.engine.config().protocol()) {
      case TWO_PHASE_LOCKING -> assertEquals(0, memory.locks.held());
      case OCC -> assertFalse(memory.history.locked());
      case TICTOC, SILO, STO, MVTO -> {
        Timestamps t = f.engine.timestamps();
        t.enter(0);
        for (BTree tree : f.trees) {
          unlocked(t, Tx.itemAtEnd(tree));
          for (char k = 'a'; k <= 'z'; k++) {
            unlocked(t, Tx.item(tree, TxFixture.bytes("" + k), 0, 1));
          }
          for (String k : more) {
            unlocked(t, Tx.item(tree, TxFixture.bytes(k), 0, TxFixture.length(k)));
          }
        }
        t.exit(0);
      }
    }
  }

  private static void unlocked(Timestamps t, long item) {
    long word = t.word(t.pin(0, item));
    assertFalse(Word.isLocked(word), Word.toString(word));
  }

  @ParameterizedTest
  @EnumSource
  void lostUpdate(ProtocolKind kind) {
    try (TxFixture f = fixture(kind, "a=1")) {
      BTree t = f.tree();
      Party one = new Party(f);
      Party two = new Party(f);
      one.step(() -> one.client.get(t, "a"));
      two.step(() -> two.client.get(t, "a"));
      one.step(() -> one.client.put(t, "a", "2"));
      two.step(() -> two.client.put(t, "a", "3"));
      boolean first = one.commit();
      boolean second = two.commit();
      assertFalse(first && second);
      assertEquals(first ? "2" : second ? "3" : "1", f.run(c -> c.get(t, "a")));
      atRest(f);
    }
  }

  @ParameterizedTest
  @EnumSource
  void writeSkew(ProtocolKind kind) {
    try (TxFixture f = fixture(kind, "a=1", "b=1")) {
      BTree t = f.tree();
      Party one = new Party(f);
      Party two = new Party(f);
      for (Party p : List.of(one, two)) {
        p.step(() -> p.client.get(t, "a")).step(() -> p.client.get(t, "b"));
      }
      one.step(() -> one.client.put(t, "a", "0"));
      two.step(() -> two.client.put(t, "b", "0"));
      one.commit();
      two.commit();
      assertFalse(one.committed && two.committed);
      atRest(f);
    }
  }

  /** Each inserts into the range that the other has scanned. */
  @ParameterizedTest
  @EnumSource
  void writeSkewOfRanges(ProtocolKind kind) {
    for (boolean descending : new boolean[] {false, true}) {
      try (TxFixture f = fixture(kind, "a=1", "e=1", "m=1", "q=1", "z=1")) {
        BTree t = f.tree();
        Party one = new Party(f);
        Party two = new Party(f);
        one.step(() -> one.client.scan(t, "b", true, "g", true, descending));
        two.step(() -> two.client.scan(t, "n", true, "r", true, descending));
        one.step(() -> one.client.insert(t, "o", "1"));
        two.step(() -> two.client.insert(t, "c", "1"));
        one.commit();
        two.commit();
        assertFalse(one.committed && two.committed, "phantoms on both sides");
        atRest(f);
      }
    }
  }

  /** Each deletes from the range that the other has scanned. */
  @ParameterizedTest
  @EnumSource
  void writeSkewOfDeletes(ProtocolKind kind) {
    try (TxFixture f = fixture(kind, "a=1", "c=1", "m=1", "o=1", "z=1")) {
      BTree t = f.tree();
      Party one = new Party(f);
      Party two = new Party(f);
      one.step(() -> one.client.scan(t, "b", true, "d", true, false));
      two.step(() -> two.client.scan(t, "n", true, "p", true, false));
      one.step(() -> one.client.delete(t, "o"));
      two.step(() -> two.client.delete(t, "c"));
      one.commit();
      two.commit();
      assertFalse(one.committed && two.committed);
      atRest(f);
    }
  }

  /** Each inserts the key that the other has found missing. */
  @ParameterizedTest
  @EnumSource
  void writeSkewOfAbsentKeys(ProtocolKind kind) {
    try (TxFixture f = fixture(kind, "m=1")) {
      BTree t = f.tree();
      Party one = new Party(f);
      Party two = new Party(f);
      one.step(() -> assertNull(one.client.get(t, "a")));
      two.step(() -> assertNull(two.client.get(t, "x")));
      one.step(() -> one.client.insert(t, "x", "1"));
      two.step(() -> two.client.insert(t, "a", "1"));
      one.commit();
      two.commit();
      assertFalse(one.committed && two.committed);
      atRest(f);
    }
  }

  @ParameterizedTest
  @EnumSource
  void fracturedRead(ProtocolKind kind) {
    try (TxFixture f = fixture(kind, "a=1", "b=1")) {
      BTree t = f.tree();
      Party reader = new Party(f);
      Party writer = new Party(f);
      String[] seen = new String[2];
      reader.step(() -> seen[0] = reader.client.get(t, "a"));
      writer.step(() -> writer.client.put(t, "a", "2"));
      writer.step(() -> writer.client.put(t, "b", "2"));
      writer.commit();
      reader.step(() -> seen[1] = reader.client.get(t, "b"));
      assertTrue(
          reader.refused != null || seen[0].equals(seen[1]) || !reader.client.tx.readsValid(),
          "what can be told is of one state");
      reader.commit();
      assertTrue(!reader.committed || seen[0].equals(seen[1]));
      atRest(f);
    }
  }

  /** The read-only anomaly: the report sees a state that no order of the two others has. */
  @ParameterizedTest
  @EnumSource
  void readOnlyAnomaly(ProtocolKind kind) {
    try (TxFixture f = fixture(kind, "x=0", "y=0")) {
      BTree t = f.tree();
      Party withdraw = new Party(f);
      Party deposit = new Party(f);
      withdraw.step(() -> withdraw.client.get(t, "x")).step(() -> withdraw.client.get(t, "y"));
      deposit.step(() -> deposit.client.get(t, "y"));
      deposit.step(() -> deposit.client.put(t, "y", "20"));
      deposit.commit();
      Party report = new Party(f);
      String[] seen = new String[2];
      report.step(() -> seen[0] = report.client.get(t, "x"));
      report.step(() -> seen[1] = report.client.get(t, "y"));
      report.commit();
      withdraw.step(() -> withdraw.client.put(t, "x", "-11"));
      withdraw.commit();
      boolean paradox =
          report.committed && "0".equals(seen[0]) && "20".equals(seen[1]) && withdraw.committed;
      assertFalse(paradox && deposit.committed);
      atRest(f);
    }
  }

  @ParameterizedTest
  @EnumSource
  void twoInsertsOfOneKey(ProtocolKind kind) {
    try (TxFixture f = fixture(kind, "z=1")) {
      BTree t = f.tree();
      Party one = new Party(f);
      Party two = new Party(f);
      one.step(() -> one.client.insert(t, "k", "1"));
      two.step(() -> two.client.insert(t, "k", "2"));
      one.commit();
      two.commit();
      assertTrue(!one.committed || !two.committed);
      if (one.committed) {
        assertThrows(
            DuplicateKeyException.class,
            () ->
                f.run(
                    c -> {
                      c.insert(t, "k", "3");
                      return null;
                    }));
      }
      atRest(f);
    }
  }

  /** What a rollback, a refusal or a delete of nothing leaves behind is nothing. */
  @ParameterizedTest
  @EnumSource
  void nothingStaysLocked(ProtocolKind kind) {
    try (TxFixture f = fixture(kind, "a=1", "c=1", "e=1")) {
      BTree t = f.tree();
      for (int end = 0; end < 3; end++) {
        Client c = new Client(f.begin());
        c.put(t, "a", "2");
        c.insert(t, "b", "2");
        assertTrue(c.delete(t, "c"));
        assertFalse(c.delete(t, "d"));
        assertThrows(DuplicateKeyException.class, () -> c.insert(t, "e", "2"));
        c.scan(t, null, true, null, true, end == 1);
        switch (end) {
          case 0 -> c.tx.rollback();
          case 1 -> {
            c.tx.abort(AbortCause.VALIDATION, "by the test");
            assertThrows(TransactionAbortedException.class, c.tx::commit);
          }
          default -> c.tx.commit();
        }
        atRest(f);
      }
      Client nothing = new Client(f.begin());
      assertFalse(nothing.delete(t, "q"));
      nothing.tx.commit();
      atRest(f);
      assertEquals(List.of("a=2", "b=2", "e=1"), f.run(c -> c.all(t)));
    }
  }

  /** Blind writes, writes of what was read, several of one item, and a scan over own writes. */
  @ParameterizedTest
  @EnumSource
  void oneTransactionMeetsItself(ProtocolKind kind) {
    // Few places and cells: many keys are one item.
    TxConfig few = Configs.of(8, 1, 1, Timestamps.Release.EPOCH, false).with(kind, 32);
    try (TxFixture f = new TxFixture(few, 256, 1)) {
      BTree t = f.tree();
      for (int round = 0; round < 3; round++) {
        String value = "v" + round;
        List<String> seen =
            f.run(
                c -> {
                  for (char k = 'a'; k <= 'j'; k++) {
                    c.get(t, "" + k);
                    c.put(t, "" + k, value);
                    c.put(t, "" + (char) (k + 10), value);
                    assertEquals(value, c.get(t, "" + k));
                    c.scan(t, "c", true, "o", true, k % 2 == 0);
                  }
                  return c.all(t);
                });
        assertEquals(20, seen.size());
        assertEquals(seen, f.run(c -> c.all(t)));
      }
      atRest(f);
    }
  }

  @Test
  void aLockIsRefusedAtOnce() {
    try (TxFixture f = fixture(ProtocolKind.TWO_PHASE_LOCKING, "a=1", "m=1")) {
      BTree t = f.tree();
      Party writer = new Party(f);
      writer.step(() -> writer.client.put(t, "a", "2"));
      Party reader = new Party(f);
      reader.step(() -> reader.client.get(t, "a"));
      assertEquals(AbortCause.LOCK, reader.refused);
      Party scanner = new Party(f);
      scanner.step(() -> scanner.client.scan(t, "b", true, "c", true, false));
      Party inserter = new Party(f);
      inserter.step(() -> inserter.client.insert(t, "d", "1"));
      inserter.commit();
      assertEquals(AbortCause.PHANTOM, inserter.refused);
      assertTrue(scanner.commit());
      assertTrue(writer.commit());
      assertEquals(1, f.engine.stats().aborts()[AbortCause.PHANTOM.ordinal()]);
      atRest(f);
    }
  }

  /** Two share; neither can write; when one has gone the other could have. */
  @Test
  void upgradesNeedToBeAlone() {
    try (TxFixture f = fixture(ProtocolKind.TWO_PHASE_LOCKING, "a=1")) {
      BTree t = f.tree();
      Party one = new Party(f);
      Party two = new Party(f);
      one.step(() -> one.client.get(t, "a"));
      two.step(() -> two.client.get(t, "a"));
      two.step(() -> two.client.put(t, "a", "2"));
      assertEquals(AbortCause.LOCK, two.refused);
      one.step(() -> one.client.put(t, "a", "3"));
      assertTrue(one.commit());
      atRest(f);
    }
  }

  @Test
  void theOrderIsThatOfTheBegins() {
    try (TxFixture f = fixture(ProtocolKind.STO, "a=1", "b=1")) {
      BTree t = f.tree();
      Party early = new Party(f);
      Party late = new Party(f);
      late.step(() -> late.client.get(t, "a"));
      early.step(() -> early.client.put(t, "a", "2"));
      assertEquals(AbortCause.ORDER, early.refused);
      assertTrue(late.commit());

      Party second = new Party(f);
      f.run(
          c -> {
            c.put(t, "b", "2");
            return null;
          });
      second.step(() -> second.client.get(t, "b"));
      assertEquals(AbortCause.ORDER, second.refused);

      // Written, uncommitted: nobody reads it, or past it.
      Party writer = new Party(f);
      writer.step(() -> writer.client.put(t, "a", "3"));
      Party reader = new Party(f);
      reader.step(() -> reader.client.get(t, "a"));
      assertEquals(AbortCause.LOCK, reader.refused);
      assertTrue(writer.commit());
      atRest(f);
    }
  }

  @Test
  void whoIsOlderThanTheHistoryAborts() {
    try (TxFixture f = new TxFixture(Configs.contexts(8).with(ProtocolKind.OCC, 8 * 16), 256, 1)) {
      BTree t = f.tree();
      Party old = new Party(f);
      Party writes = new Party(f);
      for (Party p : List.of(old, writes)) {
        p.step(() -> assertNull(p.client.get(t, "zz")));
      }
      writes.step(() -> writes.client.put(t, "zz", "1"));
      for (int i = 0; i < 20; i++) {
        String k = "k" + i;
        f.run(
            c -> {
              c.put(t, k, "1");
              return null;
            });
      }
      assertFalse(old.client.tx.readsValid());
      old.commit();
      assertEquals(AbortCause.HISTORY, old.refused);
      writes.commit();
      assertEquals(AbortCause.HISTORY, writes.refused);

      // One that is larger than the history, and one that begins after it.
      f.run(
          c -> {
            for (int i = 0; i < 50; i++) {
              c.put(t, "k" + i, "2");
            }
            return null;
          });
      assertEquals(50, f.run(c -> c.all(t)).size());
      atRest(f);
    }
  }

  /**
   * Who has read something before it was written has seen what went with it, also where that is the
   * first key of a later batch, which a later leaf begins with.
   */
  @ParameterizedTest
  @EnumSource
  void aKeyGoesBetweenTwoBatches(ProtocolKind kind) {
    for (int passed = 1; passed <= 8; passed++) {
      aKeyGoes(kind, passed, false);
      aKeyGoes(kind, passed, true);
    }
  }

  private static void aKeyGoes(ProtocolKind kind, int passed, boolean descending) {
    String all = descending ? "jihgfedcba" : "abcdefghij";
    try (TxFixture f = fixture(kind)) {
      BTree t = f.tree();
      BTree log = f.trees.get(1);
      f.run(
          c -> {
            all.chars()
                .forEach(k -> c.put(t, "" + (char) k, TxFixture.repeat('x', 900))); // 4 to a leaf
            return null;
          });
      // All is known to be valid for long, so that whoever commits early need not look at it again.
      for (int i = 0; i < 20; i++) {
        f.run(
            c -> {
              c.put(log, "z", "1");
              return null;
            });
      }
      f.run(c -> c.get(log, "z") + c.get(log, "k") + c.all(t));
      Party scanner = new Party(f);
      Party deleter = new Party(f);
      TxScan[] open = new TxScan[1];
      StringBuilder seen = new StringBuilder();
      scanner.step(() -> assertNull(scanner.client.get(log, "k")));
      scanner.step(
          () -> {
            open[0] = scanner.client.open(t, null, true, null, true, descending);
            while (seen.length() < passed && next(open[0], seen)) {}
          });
      deleter.step(() -> deleter.client.delete(t, all.substring(passed, passed + 1)));
      deleter.step(() -> deleter.client.insert(log, "k", "deleted"));
      deleter.commit();
      scanner.step(
          () -> {
            while (next(open[0], seen)) {}
          });
      if (scanner.commit() && deleter.committed) {
        assertEquals(all, seen.toString());
      }
      atRest(f);
    }
  }

  private static boolean next(TxScan scan, StringBuilder seen) {
    if (!scan.next()) {
      return false;
    }
    seen.append(TxFixture.string(scan.keySegment(), scan.keyOffset(), scan.keyLength()));
    return true;
  }

  /** Updated, deleted, inserted, and the neighbour of what was deleted: none of it is seen. */
  @Test
  void theOldSeeThePast() {
    for (boolean descending : new boolean[] {false, true}) {
      try (TxFixture f = fixture(ProtocolKind.MVTO, "a=1", "c=1", "e=1", "g=1", "i=1")) {
        BTree t = f.tree();
        String big = TxFixture.repeat('x', 20_000);
        Party old = new Party(f);
        Party passing = new Party(f);
        TxScan[] open = new TxScan[1];
        passing.step(
            () -> {
              open[0] = passing.client.open(t, null, true, null, true, descending);
              assertTrue(open[0].next());
            });
        f.run(
            c -> {
              c.put(t, "a", "2");
              c.insert(t, "b", "2");
              c.delete(t, "c");
              c.delete(t, "e");
              c.insert(t, "h", "2");
              c.delete(t, "i");
              c.put(t, "g", big);
              return null;
            });
        f.run(
            c -> {
              c.delete(t, "b");
              c.insert(t, "d", "3");
              c.put(t, "g", "3");
              c.put(t, "c", "3");
              return null;
            });
        List<String> before = List.of("a=1", "c=1", "e=1", "g=1", "i=1");
        List<String> reversed = List.of("i=1", "g=1", "e=1", "c=1", "a=1");
        List<String> order = descending ? reversed : before;
        StringBuilder rest = new StringBuilder();
        passing.step(
            () -> {
              while (open[0].next()) {
                rest.append(
                    TxFixture.string(
                        open[0].keySegment(), open[0].keyOffset(), open[0].keyLength()));
                rest.append('=');
                rest.append(
                    TxFixture.string(
                        open[0].valueSegment(), open[0].valueOffset(), open[0].valueLength()));
              }
            });
        old.step(() -> assertEquals(order, old.client.scan(t, null, true, null, true, descending)));
        old.step(
            () ->
                assertEquals(
                    List.of("c=1"), old.client.scan(t, "a", false, "e", false, descending)));
        old.step(() -> assertEquals("1", old.client.get(t, "c")));
        old.step(() -> assertEquals("1", old.client.get(t, "g")));
        old.step(() -> assertNull(old.client.get(t, "d")));
        old.step(() -> assertNull(old.client.get(t, "b")));
        assertNull(old.refused);
        assertTrue(old.commit());
        assertNull(passing.refused);
        assertEquals(String.join("", order.subList(1, 5)), rest.toString());
        assertTrue(passing.commit());
        assertEquals(List.of("a=2", "c=3", "d=3", "g=3", "h=2"), f.run(c -> c.all(t)));
        // Who is too old to be the newest writer aborts.
        Party late = new Party(f);
        f.run(
            c -> {
              c.put(t, "a", "4");
              return null;
            });
        late.step(() -> assertEquals("2", late.client.get(t, "a")));
        late.step(() -> late.client.put(t, "a", "5"));
        late.commit();
        assertEquals(AbortCause.ORDER, late.refused);
        atRest(f);
      }
    }
  }

  /** A scan of many records, all of them changed, moved or gone: as if nothing had happened. */
  @Test
  void manyOldRecords() {
    for (boolean descending : new boolean[] {false, true}) {
      try (TxFixture f = fixture(ProtocolKind.MVTO)) {
        BTree t = f.tree();
        for (int i = 0; i < 600; i += 2) {
          String k = String.format("%05d", i);
          f.run(
              c -> {
                c.insert(t, k, "before");
                return null;
              });
        }
        Party old = new Party(f);
        List<String> before = f.run(c -> c.scan(t, null, true, null, true, descending));
        for (int i = 0; i < 600; i++) {
          String k = String.format("%05d", i);
          int n = i;
          f.run(
              c -> {
                if (n % 2 == 1) {
                  c.insert(t, k, "new");
                } else if (n % 3 == 0) {
                  c.delete(t, k);
                } else {
                  c.put(t, k, "after");
                }
                return null;
              });
        }
        old.step(
            () -> assertEquals(before, old.client.scan(t, null, true, null, true, descending)));
        assertNull(old.refused);
        assertTrue(old.commit());
        atRest(f);
      }
    }
  }

  @Test
  void versionsAreBounded() {
    TxConfig little = Configs.contexts(8).with(ProtocolKind.MVTO, 1 << 10);
    try (TxFixture f = new TxFixture(little, 256, 1)) {
      BTree t = f.tree();
      f.run(
          c -> {
            c.put(t, "a", "1");
            return null;
          });
      for (int size : new int[] {10, 4000}) {
        Party old = new Party(f);
        Party scanner = new Party(f);
        for (int i = 0; i < 30; i++) {
          f.run(
              c -> {
                c.put(t, "a", TxFixture.repeat('v', size));
                return null;
              });
        }
        old.step(() -> old.client.get(t, "a"));
        assertEquals(AbortCause.HISTORY, old.refused);
        scanner.step(() -> scanner.client.all(t));
        assertEquals(AbortCause.HISTORY, scanner.refused);
      }
      atRest(f);
    }
  }

  /** Under TicToc a reader may commit in the past; Silo holds every read to now. */
  @Test
  void siloLooksAtNow() {
    for (ProtocolKind kind : Set.of(ProtocolKind.SILO, ProtocolKind.TICTOC)) {
      try (TxFixture f = fixture(kind, "a=1", "b=1")) {
        BTree t = f.tree();
        Party reader = new Party(f);
        reader.step(() -> reader.client.get(t, "a"));
        f.run(
            c -> {
              c.get(t, "a");
              c.put(t, "a", "2");
              return null;
            });
        reader.step(() -> reader.client.get(t, "b"));
        assertEquals(kind == ProtocolKind.TICTOC, reader.commit());
        atRest(f);
      }
    }
  }
}
