package io.fovea.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.btree.BTree;
import io.fovea.config.Protocol;
import io.fovea.error.AbortCause;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.support.Records;
import io.fovea.txn.TxFixture.Client;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Interleavings under every protocol, in one thread. A refused step ends its transaction; some
 * serial order must explain the commits and the final state.
 */
class ProtocolsTest {

  /** A transaction with steps that may be refused. */
  private static final class Party {
    final Client client;
    AbortCause refused;
    boolean committed;

    Party(TxFixture f) {
      client = new Client(f.begin());
    }

    void step(Runnable r) {
      if (refused == null) {
        try {
          r.run();
        } catch (TransactionAbortedException e) {
          refused = e.abortCause();
          client.rollback();
        }
      }
    }

    /** Returns the value; null if absent or refused. */
    String get(BTree tree, String key) {
      String[] found = new String[1];
      step(() -> found[0] = client.get(tree, key));
      return found[0];
    }

    void put(BTree tree, String key, String value) {
      step(() -> client.put(tree, key, value));
    }

    void insert(BTree tree, String key, String value) {
      step(() -> client.insert(tree, key, value));
    }

    void delete(BTree tree, String key) {
      step(() -> client.delete(tree, key));
    }

    void scan(
        BTree tree, String from, boolean fromToo, String to, boolean toToo, boolean descending) {
      step(() -> client.scan(tree, from, fromToo, to, toToo, descending));
    }

    boolean commit() {
      step(
          () -> {
            client.commit();
            committed = true;
          });
      return committed;
    }
  }

  private static TxFixture fixture(Protocol kind, String... pairs) {
    TxFixture f = new TxFixture(Records.with(Configs.contexts(32), "protocol", kind), 512, 2);
    change(
        f,
        c -> {
          for (String p : pairs) {
            String[] kv = p.split("=");
            c.put(f.tree(), kv[0], kv[1]);
          }
        });
    return f;
  }

  private static void change(TxFixture f, Consumer<Client> change) {
    f.run(
        c -> {
          change.accept(c);
          return null;
        });
  }

  /** Checks that everything can be used, so no lock is left. */
  static void atRest(TxFixture f, String... more) {
    assertEquals(0, f.engine.active());
    ProtocolMemory memory = f.engine.shared.protocolMemory;
    switch (f.engine.shared.config.protocol()) {
      case TWO_PHASE_LOCKING -> assertEquals(0, memory.locks.held());
      case OCC -> assertFalse(memory.history.locked());
      case TICTOC, SILO, STO, MVTO -> {
        Timestamps t = f.engine.timestamps();
        t.enter(0);
        for (BTree tree : f.trees) {
          unlocked(t, tree.endHash());
          for (char k = 'a'; k <= 'z'; k++) {
            unlocked(t, tree.keyHash(TxFixture.bytes("" + k), 0, 1));
          }
          for (String k : more) {
            unlocked(t, tree.keyHash(TxFixture.bytes(k), 0, TxFixture.length(k)));
          }
        }
        t.exit(0);
      }
    }
  }

  private static void unlocked(Timestamps t, long item) {
    long word = t.word(t.pin(0, item));
    assertFalse(TidWord.isLocked(word), TidWord.toString(word));
  }

  @ParameterizedTest
  @EnumSource
  void lostUpdate(Protocol kind) {
    try (TxFixture f = fixture(kind, "a=1")) {
      BTree t = f.tree();
      Party one = new Party(f);
      Party two = new Party(f);
      one.get(t, "a");
      two.get(t, "a");
      one.put(t, "a", "2");
      two.put(t, "a", "3");
      boolean first = one.commit();
      boolean second = two.commit();
      assertFalse(first && second);
      assertEquals(first ? "2" : second ? "3" : "1", f.run(c -> c.get(t, "a")));
      atRest(f);
    }
  }

  @ParameterizedTest
  @EnumSource
  void writeSkew(Protocol kind) {
    try (TxFixture f = fixture(kind, "a=1", "b=1")) {
      BTree t = f.tree();
      Party one = new Party(f);
      Party two = new Party(f);
      for (Party p : List.of(one, two)) {
        p.get(t, "a");
        p.get(t, "b");
      }
      one.put(t, "a", "0");
      two.put(t, "b", "0");
      one.commit();
      two.commit();
      assertFalse(one.committed && two.committed);
      atRest(f);
    }
  }

  /** Each inserts into the range that the other scanned. */
  @ParameterizedTest
  @EnumSource
  void writeSkewOfRanges(Protocol kind) {
    for (boolean descending : new boolean[] {false, true}) {
      try (TxFixture f = fixture(kind, "a=1", "e=1", "m=1", "q=1", "z=1")) {
        BTree t = f.tree();
        Party one = new Party(f);
        Party two = new Party(f);
        one.scan(t, "b", true, "g", true, descending);
        two.scan(t, "n", true, "r", true, descending);
        one.insert(t, "o", "1");
        two.insert(t, "c", "1");
        one.commit();
        two.commit();
        assertFalse(one.committed && two.committed, "phantoms on both sides");
        atRest(f);
      }
    }
  }

  /** Each deletes from the range that the other scanned. */
  @ParameterizedTest
  @EnumSource
  void writeSkewOfDeletes(Protocol kind) {
    try (TxFixture f = fixture(kind, "a=1", "c=1", "m=1", "o=1", "z=1")) {
      BTree t = f.tree();
      Party one = new Party(f);
      Party two = new Party(f);
      one.scan(t, "b", true, "d", true, false);
      two.scan(t, "n", true, "p", true, false);
      one.delete(t, "o");
      two.delete(t, "c");
      one.commit();
      two.commit();
      assertFalse(one.committed && two.committed);
      atRest(f);
    }
  }

  /** Each inserts the key that the other found absent. */
  @ParameterizedTest
  @EnumSource
  void writeSkewOfAbsentKeys(Protocol kind) {
    try (TxFixture f = fixture(kind, "m=1")) {
      BTree t = f.tree();
      Party one = new Party(f);
      Party two = new Party(f);
      assertNull(one.get(t, "a"));
      assertNull(two.get(t, "x"));
      one.insert(t, "x", "1");
      two.insert(t, "a", "1");
      one.commit();
      two.commit();
      assertFalse(one.committed && two.committed);
      atRest(f);
    }
  }

  @ParameterizedTest
  @EnumSource
  void fracturedRead(Protocol kind) {
    try (TxFixture f = fixture(kind, "a=1", "b=1")) {
      BTree t = f.tree();
      Party reader = new Party(f);
      Party writer = new Party(f);
      String a = reader.get(t, "a");
      writer.put(t, "a", "2");
      writer.put(t, "b", "2");
      writer.commit();
      String b = reader.get(t, "b");
      assertTrue(
          reader.refused != null || a.equals(b) || !reader.client.tx.readsValid(),
          "both reads see the same state");
      reader.commit();
      assertTrue(!reader.committed || a.equals(b));
      atRest(f);
    }
  }

  /** The read-only anomaly: the report sees a state that no order of the other two can produce. */
  @ParameterizedTest
  @EnumSource
  void readOnlyAnomaly(Protocol kind) {
    try (TxFixture f = fixture(kind, "x=0", "y=0")) {
      BTree t = f.tree();
      Party withdraw = new Party(f);
      Party deposit = new Party(f);
      withdraw.get(t, "x");
      withdraw.get(t, "y");
      deposit.get(t, "y");
      deposit.put(t, "y", "20");
      deposit.commit();
      Party report = new Party(f);
      String x = report.get(t, "x");
      String y = report.get(t, "y");
      report.commit();
      withdraw.put(t, "x", "-11");
      withdraw.commit();
      boolean paradox = report.committed && "0".equals(x) && "20".equals(y) && withdraw.committed;
      assertFalse(paradox && deposit.committed);
      atRest(f);
    }
  }

  @ParameterizedTest
  @EnumSource
  void twoInsertsOfOneKey(Protocol kind) {
    try (TxFixture f = fixture(kind, "z=1")) {
      BTree t = f.tree();
      Party one = new Party(f);
      Party two = new Party(f);
      one.insert(t, "k", "1");
      two.insert(t, "k", "2");
      one.commit();
      two.commit();
      assertTrue(!one.committed || !two.committed);
      if (one.committed) {
        assertThrows(DuplicateKeyException.class, () -> change(f, c -> c.insert(t, "k", "3")));
      }
      atRest(f);
    }
  }

  /** A rollback, a refusal and a delete of an absent key leave nothing locked. */
  @ParameterizedTest
  @EnumSource
  void nothingStaysLocked(Protocol kind) {
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
          case 0 -> c.rollback();
          case 1 -> {
            c.tx.life().abort(AbortCause.VALIDATION, "by the test");
            assertThrows(TransactionAbortedException.class, c::commit);
          }
          default -> c.commit();
        }
        atRest(f);
      }
      Client nothing = new Client(f.begin());
      assertFalse(nothing.delete(t, "q"));
      nothing.commit();
      atRest(f);
      assertEquals(List.of("a=2", "b=2", "e=1"), f.run(c -> c.all(t)));
    }
  }

  /** Blind writes, writes of read keys, several writes of one item, and a scan over own writes. */
  @ParameterizedTest
  @EnumSource
  void aTransactionDoesNotConflictWithItself(Protocol kind) {
    // Few slots and cells: many keys share an item.
    TxConfig few =
        Records.with(
            Configs.of(8, 1, 1, TimestampConfig.Release.EPOCH, false),
            "protocol",
            kind,
            "protocolBytes",
            32L);
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
    try (TxFixture f = fixture(Protocol.TWO_PHASE_LOCKING, "a=1", "m=1")) {
      BTree t = f.tree();
      Party writer = new Party(f);
      writer.put(t, "a", "2");
      Party reader = new Party(f);
      reader.get(t, "a");
      assertEquals(AbortCause.LOCK, reader.refused);
      Party scanner = new Party(f);
      scanner.scan(t, "b", true, "c", true, false);
      Party inserter = new Party(f);
      inserter.insert(t, "d", "1");
      inserter.commit();
      assertEquals(AbortCause.PHANTOM, inserter.refused);
      assertTrue(scanner.commit());
      assertTrue(writer.commit());
      assertEquals(1, f.engine.stats().aborts()[AbortCause.PHANTOM.ordinal()]);
      atRest(f);
    }
  }

  /** Two transactions share a lock; neither can write until the other has ended. */
  @Test
  void anUpgradeNeedsTheOnlySharedLock() {
    try (TxFixture f = fixture(Protocol.TWO_PHASE_LOCKING, "a=1")) {
      BTree t = f.tree();
      Party one = new Party(f);
      Party two = new Party(f);
      one.get(t, "a");
      two.get(t, "a");
      two.put(t, "a", "2");
      assertEquals(AbortCause.LOCK, two.refused);
      one.put(t, "a", "3");
      assertTrue(one.commit());
      atRest(f);
    }
  }

  @Test
  void serialOrderIsTheOrderOfBegins() {
    try (TxFixture f = fixture(Protocol.STO, "a=1", "b=1")) {
      BTree t = f.tree();
      Party early = new Party(f);
      Party late = new Party(f);
      late.get(t, "a");
      early.put(t, "a", "2");
      assertEquals(AbortCause.ORDER, early.refused);
      assertTrue(late.commit());

      Party second = new Party(f);
      change(f, c -> c.put(t, "b", "2"));
      second.get(t, "b");
      assertEquals(AbortCause.ORDER, second.refused);

      // Written but uncommitted: not readable, and scans do not pass it.
      Party writer = new Party(f);
      writer.put(t, "a", "3");
      Party reader = new Party(f);
      reader.get(t, "a");
      assertEquals(AbortCause.LOCK, reader.refused);
      assertTrue(writer.commit());
      atRest(f);
    }
  }

  @Test
  void aTransactionOlderThanTheHistoryAborts() {
    try (TxFixture f =
        new TxFixture(
            Records.with(Configs.contexts(8), "protocol", Protocol.OCC, "protocolBytes", 8L * 16),
            256,
            1)) {
      BTree t = f.tree();
      Party old = new Party(f);
      Party writes = new Party(f);
      for (Party p : List.of(old, writes)) {
        assertNull(p.get(t, "zz"));
      }
      writes.put(t, "zz", "1");
      for (int i = 0; i < 20; i++) {
        String k = "k" + i;
        change(f, c -> c.put(t, k, "1"));
      }
      assertFalse(old.client.tx.readsValid());
      old.commit();
      assertEquals(AbortCause.HISTORY, old.refused);
      writes.commit();
      assertEquals(AbortCause.HISTORY, writes.refused);

      // One transaction larger than the history, and one that begins after it.
      change(
          f,
          c -> {
            for (int i = 0; i < 50; i++) {
              c.put(t, "k" + i, "2");
            }
          });
      assertEquals(50, f.run(c -> c.all(t)).size());
      atRest(f);
    }
  }

  /** A transaction that read a key before a write must see what was written together with it. */
  @ParameterizedTest
  @EnumSource
  void aKeyIsDeletedBetweenTwoBatches(Protocol kind) {
    for (int passed = 1; passed <= 8; passed++) {
      aKeyGoes(kind, passed, false);
      aKeyGoes(kind, passed, true);
    }
  }

  private static void aKeyGoes(Protocol kind, int passed, boolean descending) {
    String all = descending ? "jihgfedcba" : "abcdefghij";
    try (TxFixture f = fixture(kind)) {
      BTree t = f.tree();
      BTree log = f.trees.get(1);
      change(
          f,
          c -> {
            all.chars()
                .forEach(k -> c.put(t, "" + (char) k, TxFixture.repeat('x', 900))); // 4 to a leaf
          });
      // All timestamps are valid for long, so an early commit needs no validation.
      for (int i = 0; i < 20; i++) {
        change(f, c -> c.put(log, "z", "1"));
      }
      f.run(c -> c.get(log, "z") + c.get(log, "k") + c.all(t));
      Party scanner = new Party(f);
      Party deleter = new Party(f);
      TxScan[] open = new TxScan[1];
      StringBuilder seen = new StringBuilder();
      assertNull(scanner.get(log, "k"));
      scanner.step(
          () -> {
            open[0] = scanner.client.open(t, null, true, null, true, descending);
            while (seen.length() < passed && next(open[0], seen)) {}
          });
      deleter.delete(t, all.substring(passed, passed + 1));
      deleter.insert(log, "k", "deleted");
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

  /** Updates, deletes, inserts and neighbors of deleted keys: none is visible. */
  @Test
  void oldTransactionsSeeOldVersions() {
    for (boolean descending : new boolean[] {false, true}) {
      try (TxFixture f = fixture(Protocol.MVTO, "a=1", "c=1", "e=1", "g=1", "i=1")) {
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
        change(
            f,
            c -> {
              c.put(t, "a", "2");
              c.insert(t, "b", "2");
              c.delete(t, "c");
              c.delete(t, "e");
              c.insert(t, "h", "2");
              c.delete(t, "i");
              c.put(t, "g", big);
            });
        change(
            f,
            c -> {
              c.delete(t, "b");
              c.insert(t, "d", "3");
              c.put(t, "g", "3");
              c.put(t, "c", "3");
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
        assertNull(old.get(t, "d"));
        assertNull(old.get(t, "b"));
        assertNull(old.refused);
        assertTrue(old.commit());
        assertNull(passing.refused);
        assertEquals(String.join("", order.subList(1, 5)), rest.toString());
        assertTrue(passing.commit());
        assertEquals(List.of("a=2", "c=3", "d=3", "g=3", "h=2"), f.run(c -> c.all(t)));
        // A transaction too old to be the newest writer aborts.
        Party late = new Party(f);
        change(f, c -> c.put(t, "a", "4"));
        late.step(() -> assertEquals("2", late.client.get(t, "a")));
        late.put(t, "a", "5");
        late.commit();
        assertEquals(AbortCause.ORDER, late.refused);
        atRest(f);
      }
    }
  }

  /**
   * A scan of many records, all of which are later changed, moved or deleted, sees the old state.
   */
  @Test
  void manyOldRecords() {
    for (boolean descending : new boolean[] {false, true}) {
      try (TxFixture f = fixture(Protocol.MVTO)) {
        BTree t = f.tree();
        for (int i = 0; i < 600; i += 2) {
          String k = String.format("%05d", i);
          change(f, c -> c.insert(t, k, "before"));
        }
        Party old = new Party(f);
        List<String> before = f.run(c -> c.scan(t, null, true, null, true, descending));
        for (int i = 0; i < 600; i++) {
          String k = String.format("%05d", i);
          int n = i;
          change(
              f,
              c -> {
                if (n % 2 == 1) {
                  c.insert(t, k, "new");
                } else if (n % 3 == 0) {
                  c.delete(t, k);
                } else {
                  c.put(t, k, "after");
                }
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
    TxConfig little =
        Records.with(Configs.contexts(8), "protocol", Protocol.MVTO, "protocolBytes", 1L << 10);
    try (TxFixture f = new TxFixture(little, 256, 1)) {
      BTree t = f.tree();
      change(f, c -> c.put(t, "a", "1"));
      for (int size : new int[] {10, 4000}) {
        Party old = new Party(f);
        Party scanner = new Party(f);
        for (int i = 0; i < 30; i++) {
          change(f, c -> c.put(t, "a", TxFixture.repeat('v', size)));
        }
        old.get(t, "a");
        assertEquals(AbortCause.HISTORY, old.refused);
        scanner.step(() -> scanner.client.all(t));
        assertEquals(AbortCause.HISTORY, scanner.refused);
      }
      atRest(f);
    }
  }

  /** Under TicToc a reader may commit in the past; Silo validates reads against the present. */
  @Test
  void siloValidatesAgainstThePresent() {
    for (Protocol kind : Set.of(Protocol.SILO, Protocol.TICTOC)) {
      try (TxFixture f = fixture(kind, "a=1", "b=1")) {
        BTree t = f.tree();
        Party reader = new Party(f);
        reader.get(t, "a");
        change(
            f,
            c -> {
              c.get(t, "a");
              c.put(t, "a", "2");
            });
        reader.get(t, "b");
        assertEquals(kind == Protocol.TICTOC, reader.commit());
        atRest(f);
      }
    }
  }
}
