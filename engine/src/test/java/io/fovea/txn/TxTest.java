package io.fovea.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.btree.BTree;
import io.fovea.error.AbortCause;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.txn.TxFixture.Client;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** One or two transactions, step by step, in one thread. */
class TxTest {
  private final TxFixture f = new TxFixture();
  private final BTree t = f.tree();

  @AfterEach
  void close() {
    f.close();
  }

  private Client begin() {
    return new Client(f.begin());
  }

  private void seed(String... pairs) {
    f.run(
        c -> {
          for (String p : pairs) {
            String[] kv = p.split("=");
            c.put(t, kv[0], kv[1]);
          }
          return null;
        });
  }

  private List<String> all() {
    return f.run(c -> c.all(t));
  }

  private void aborts(AbortCause cause, Client c) {
    var e = assertThrows(TransactionAbortedException.class, c::commit);
    assertEquals(cause, e.abortCause());
  }

  @Test
  void readsItsOwnWrites() {
    seed("a=1", "c=3", "e=5");
    Client c = begin();
    c.insert(t, "b", "2");
    c.put(t, "c", "33");
    c.delete(t, "e");
    c.patch(t, "a", 0, "9");
    assertEquals("2", c.get(t, "b"));
    assertEquals("33", c.get(t, "c"));
    assertNull(c.get(t, "e"));
    assertEquals("9", c.get(t, "a"));
    assertEquals(List.of("a=9", "b=2", "c=33"), c.all(t));
    assertEquals(List.of("c=33", "b=2", "a=9"), c.scan(t, null, true, null, true, true));
    assertEquals(List.of("a=1", "c=3", "e=5"), all());
    c.commit();
    assertEquals(List.of("a=9", "b=2", "c=33"), all());
  }

  @Test
  void rollbackHasNoEffect() {
    seed("a=1");
    Client c = begin();
    c.put(t, "a", "2");
    c.insert(t, "b", "2");
    c.rollback();
    assertEquals(List.of("a=1"), all());
    assertThrows(InvalidUseException.class, () -> c.get(t, "a"));
    assertThrows(InvalidUseException.class, c::commit);
    c.rollback();
  }

  @Test
  void writeKindsCombine() {
    seed("p=abcd", "d=x");
    Client c = begin();
    assertThrows(DuplicateKeyException.class, () -> c.insert(t, "p", "n"));
    c.patch(t, "p", 1, "BC");
    c.patch(t, "p", 3, "D");
    assertEquals("aBCD", c.get(t, "p"));
    assertThrows(DuplicateKeyException.class, () -> c.insert(t, "p", "n"));
    assertTrue(c.delete(t, "p"));
    assertFalse(c.delete(t, "p"));
    assertThrows(InvalidUseException.class, () -> c.patch(t, "p", 0, "z"));
    c.insert(t, "p", "again");
    c.patch(t, "p", 0, "A");
    c.insert(t, "n", "new");
    assertTrue(c.delete(t, "n"));
    assertFalse(c.delete(t, "n"));
    assertFalse(c.delete(t, "nothing"));
    c.put(t, "d", "longer value");
    assertThrows(InvalidUseException.class, () -> c.patch(t, "d", 10, "too long"));
    assertThrows(InvalidUseException.class, () -> c.patch(t, "missing", 0, "z"));
    c.commit();
    assertEquals(List.of("d=longer value", "p=Again"), all());
  }

  @Test
  void lostUpdateIsRefused() {
    seed("a=1");
    Client one = begin();
    Client two = begin();
    one.get(t, "a");
    two.get(t, "a");
    one.put(t, "a", "2");
    two.put(t, "a", "3");
    one.commit();
    aborts(AbortCause.VALIDATION, two);
    assertEquals(List.of("a=2"), all());
  }

  @Test
  void writeSkewIsRefused() {
    seed("a=1", "b=1");
    Client one = begin();
    Client two = begin();
    one.get(t, "a");
    one.get(t, "b");
    two.get(t, "a");
    two.get(t, "b");
    one.put(t, "a", "0");
    two.put(t, "b", "0");
    one.commit();
    aborts(AbortCause.VALIDATION, two);
  }

  @Test
  void blindWritesBothCommit() {
    seed("a=1");
    Client one = begin();
    Client two = begin();
    one.put(t, "a", "2");
    two.put(t, "a", "3");
    two.commit();
    one.commit();
    assertEquals(List.of("a=2"), all());
  }

  @Test
  void aReaderMayCommitInThePast() {
    seed("a=1", "b=1");
    Client reader = begin();
    reader.get(t, "a");
    f.run(
        c -> {
          c.get(t, "a");
          c.put(t, "a", "2");
          return null;
        });
    assertEquals("1", reader.get(t, "b"));
    reader.commit();
  }

  @Test
  void fracturedReadIsRefused() {
    seed("a=1", "b=1");
    Client reader = begin();
    reader.get(t, "a");
    f.run(
        c -> {
          c.put(t, "a", "2");
          c.put(t, "b", "2");
          return null;
        });
    assertEquals("2", reader.get(t, "b"));
    assertFalse(reader.tx.readsValid());
    aborts(AbortCause.VALIDATION, reader);
  }

  @Test
  void phantomInARangeIsRefused() {
    for (boolean descending : new boolean[] {false, true}) {
      for (String phantom : List.of("b", "d", "f", "h")) {
        f.run(
            c -> {
              for (String k : List.of("a", "b", "d", "f", "h", "z")) {
                c.delete(t, k);
              }
              return null;
            });
        seed("a=1", "c=1", "e=1", "g=1", "i=1", "out=0");
        Client scanner = begin();
        scanner.scan(t, "b", true, "h", true, descending);
        f.run(
            c -> {
              c.get(t, "out");
              c.insert(t, phantom, "2");
              return null;
            });
        scanner.put(t, "out", "1");
        aborts(AbortCause.VALIDATION, scanner);
      }
    }
  }

  @Test
  void disappearedKeyInARangeIsRefused() {
    seed("a=1", "c=1", "e=1", "out=0");
    Client scanner = begin();
    scanner.scan(t, "b", true, "d", true, false);
    f.run(
        c -> {
          c.get(t, "out");
          c.delete(t, "c");
          return null;
        });
    scanner.put(t, "out", "1");
    aborts(AbortCause.VALIDATION, scanner);
  }

  @Test
  void keyOutsideTheRangeIsNotAPhantom() {
    seed("a=1", "c=1", "e=1", "g=1", "out=0");
    Client scanner = begin();
    scanner.scan(t, "b", true, "d", true, false);
    f.run(
        c -> {
          c.get(t, "out");
          c.insert(t, "f", "1");
          return null;
        });
    scanner.put(t, "out", "1");
    scanner.commit();
  }

  @Test
  void anEarlyEndReadsOnlyWhatItPassed() {
    seed("a=1", "c=1", "e=1", "g=1", "out=0");
    Client scanner = begin();
    TxScan s = scanner.open(t, "a", true, null, true, false);
    assertTrue(s.next());
    f.run(
        c -> {
          c.get(t, "out");
          c.insert(t, "f", "1");
          return null;
        });
    s.close();
    scanner.put(t, "out", "1");
    scanner.commit();
  }

  @Test
  void phantomInAnEmptyTreeIsRefused() {
    BTree empty = f.trees.get(1);
    seed("out=0");
    Client scanner = begin();
    assertEquals(List.of(), scanner.all(empty));
    f.run(
        c -> {
          c.get(t, "out");
          c.insert(empty, "k", "1");
          return null;
        });
    scanner.put(t, "out", "1");
    aborts(AbortCause.VALIDATION, scanner);
  }

  @Test
  void anAbsentKeyIsProtected() {
    seed("out=0");
    Client reader = begin();
    assertNull(reader.get(t, "k"));
    f.run(
        c -> {
          c.get(t, "out");
          c.insert(t, "k", "1");
          return null;
        });
    reader.put(t, "out", "1");
    aborts(AbortCause.VALIDATION, reader);
  }

  @Test
  void twoInsertsOfOneKey() {
    Client one = begin();
    Client two = begin();
    one.insert(t, "k", "1");
    two.insert(t, "k", "2");
    one.commit();
    aborts(AbortCause.VALIDATION, two);
    assertEquals(List.of("k=1"), all());
  }

  @Test
  void doomedTransactionStaysDoomed() {
    seed("a=1");
    Client one = begin();
    one.get(t, "a");
    f.run(
        c -> {
          c.put(t, "a", "2");
          return null;
        });
    assertThrows(TransactionAbortedException.class, () -> one.get(t, "a"));
    assertThrows(TransactionAbortedException.class, () -> one.get(t, "b"));
    assertThrows(TransactionAbortedException.class, one::commit);
    assertFalse(one.tx.isActive());
  }

  @Test
  void limitsOnTimeAndSize() {
    Client old = new Client(f.engine.begin(false, 1, false));
    old.put(t, "a", "1");
    var late = assertThrows(TransactionAbortedException.class, old::commit);
    assertEquals(AbortCause.TIMEOUT, late.abortCause());

    Client reader = new Client(f.engine.begin(false, 1, false));
    reader.get(t, "a");
    reader.commit(); // it blocks no other transaction

    TxStats before = f.engine.stats();
    for (int i = 0; i < 100; i++) {
      Client quick = new Client(f.engine.begin(true, 0, false));
      quick.get(t, "a");
      quick.commit();
    }
    TxStats after = f.engine.stats();
    assertEquals(100, after.commits() - before.commits());
    assertTrue(after.durationNanos() > before.durationNanos());

    try (TxFixture small = new TxFixture(Configs.limits(2, 64 << 10, 100), 128, 1)) {
      Client c = new Client(small.begin());
      var tooMany =
          assertThrows(
              TransactionAbortedException.class,
              () -> {
                for (int i = 0; i < 200; i++) {
                  c.get(small.tree(), "k" + i);
                }
              });
      assertEquals(AbortCause.TOO_LARGE, tooMany.abortCause());
      c.rollback();
      Client d = new Client(small.begin());
      var tooLong =
          assertThrows(
              TransactionAbortedException.class,
              () -> {
                for (int i = 0; i < 90; i++) {
                  d.put(small.tree(), "k" + i, TxFixture.repeat('v', 900));
                }
              });
      assertEquals(AbortCause.TOO_LARGE, tooLong.abortCause());
      d.rollback();
      assertEquals(0, small.engine.active());
    }
  }

  @Test
  void aSecondEndDoesNotAffectAnotherTransaction() {
    try (TxFixture one = new TxFixture(Configs.contexts(1), 128, 1)) {
      Tx context = one.begin();
      long commits = context.epoch();
      context.commit(commits);
      Tx same = one.begin();
      long rollsBack = same.epoch();
      assertSame(context, same);
      assertThrows(InvalidUseException.class, () -> context.commit(commits));
      assertThrows(AssertionError.class, () -> context.rollback(commits));
      assertTrue(same.isActive());
      same.rollback(rollsBack);
      assertThrows(InvalidUseException.class, () -> same.commit(rollsBack));
      assertThrows(AssertionError.class, () -> same.rollback(rollsBack));
      assertEquals(0, one.engine.active());

      Client last = new Client(one.begin());
      last.put(one.tree(), "a", "1");
      assertThrows(AssertionError.class, () -> context.rollback(commits));
      assertThrows(AssertionError.class, () -> context.rollback(rollsBack));
      last.commit();
      assertEquals("1", one.run(c -> c.get(one.tree(), "a")));
    }
  }

  /** A thread that uses a context after the end fails an assertion if another has it. */
  @Test
  void operationsOfOtherThreadsAreDetected() throws Exception {
    seed("a=1");
    Client c = begin();
    AtomicReference<Throwable> thrown = new AtomicReference<>();
    Thread stranger =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    c.get(t, "a");
                  } catch (Throwable e) {
                    thrown.set(e);
                  }
                });
    stranger.join();
    assertInstanceOf(AssertionError.class, thrown.get());
    assertEquals("1", c.get(t, "a"));
    c.commit();
  }

  @Test
  void contextsAreBounded() {
    try (TxFixture small = new TxFixture(Configs.contexts(2), 128, 1)) {
      Tx a = small.begin();
      Tx b = small.begin();
      var none =
          assertThrows(
              TransactionAbortedException.class, () -> small.engine.begin(false, 1_000_000, false));
      assertEquals(AbortCause.ADMISSION, none.abortCause());
      a.rollback(a.epoch());
      Tx again = small.begin();
      again.rollback(again.epoch());
      b.rollback(b.epoch());
      assertEquals(0, small.engine.active());
    }
  }

  @Test
  void scansSeeWritesAheadOfTheirPosition() {
    seed("a=1", "c=1", "e=1");
    Client c = begin();
    TxScan s = c.open(t, null, true, null, true, false);
    assertTrue(s.next());
    c.insert(t, "b", "2");
    c.delete(t, "c");
    c.put(t, "0", "behind");
    StringBuilder seen = new StringBuilder();
    while (s.next()) {
      seen.append(TxFixture.string(s.keySegment(), s.keyOffset(), s.keyLength()));
    }
    assertEquals("be", seen.toString());
    assertFalse(s.next());
    s.close();
    c.commit();
  }

  @Test
  void valuesOutsideOfTheLeafAreScanned() {
    String big = TxFixture.repeat('x', 20_000);
    seed("a=1", "big=" + big, "c=2");
    assertEquals(List.of("a=1", "big=" + big, "c=2"), all());
    Client c = begin();
    c.patch(t, "big", 10_000, "yyy");
    String patched = big.substring(0, 10_000) + "yyy" + big.substring(10_003);
    assertEquals(List.of("a=1", "big=" + patched, "c=2"), c.all(t));
    c.commit();
    assertEquals(List.of("a=1", "big=" + patched, "c=2"), all());
  }
}
