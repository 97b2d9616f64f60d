package io.fovea.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.btree.BTree;
import io.fovea.config.Protocol;
import io.fovea.error.TransactionAbortedException;
import io.fovea.support.Records;
import io.fovea.txn.TxFixture.Client;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Transactions that read a record in order to change it run one after the other. */
@Timeout(value = 3, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class UpdateLocksTest {
  /** Waits are unbounded, so that no test depends on time. */
  private static TxFixture fixture(Protocol kind) {
    TxFixture f = new TxFixture(Records.with(Configs.contexts(32), "protocol", kind), 512, 2);
    f.engine.shared.updateLocks.timeoutNanos = Long.MAX_VALUE;
    f.run(
        c -> {
          for (char key = 'a'; key <= 'z'; key++) {
            c.put(f.tree(), "" + key, "0");
          }
          return null;
        });
    return f;
  }

  private static <T> CompletableFuture<T> inAnotherThread(java.util.function.Supplier<T> work) {
    return CompletableFuture.supplyAsync(work, w -> Thread.ofPlatform().start(w));
  }

  private static void increment(Client c, BTree t, String key) {
    c.put(t, key, "" + (Integer.parseInt(String.valueOf(c.getForUpdate(t, key))) + 1));
  }

  private static void awaitSleeper(TxFixture f) {
    while (f.engine.shared.updateLocks.sleeping() == 0) {
      Thread.onSpinWait();
    }
  }

  private static void atRest(TxFixture f) {
    assertEquals(0, f.engine.shared.updateLocks.held());
    assertEquals(0, f.engine.shared.updateLocks.sleeping());
    ProtocolsTest.atRest(f);
  }

  private static long aborts(TxFixture f) {
    long sum = 0;
    for (long n : f.engine.stats().aborts()) {
      sum += n;
    }
    return sum;
  }

  /** Without the lock both read the same version, and one aborts: {@link ProtocolsTest}. */
  @ParameterizedTest
  @EnumSource
  void theSecondReadsTheResultOfTheFirst(Protocol kind) {
    for (boolean commits : new boolean[] {true, false}) {
      try (TxFixture f = fixture(kind)) {
        BTree t = f.tree();
        Client first = new Client(f.begin());
        increment(first, t, "a");
        assertEquals(1, f.engine.shared.updateLocks.held());
        CompletableFuture<Long> second =
            inAnotherThread(
                () -> {
                  Client c = new Client(f.begin());
                  increment(c, t, "a");
                  return c.commit();
                });
        awaitSleeper(f);
        if (commits) {
          first.commit();
        } else {
          first.rollback();
        }
        second.join();
        assertEquals(commits ? "2" : "1", f.run(c -> c.get(t, "a")));
        assertEquals(0, aborts(f));
        atRest(f);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void aHotKeyCausesNoAborts(Protocol kind) {
    try (TxFixture f = fixture(kind)) {
      BTree t = f.tree();
      int each = 200;
      List<CompletableFuture<Void>> all = new ArrayList<>();
      for (int i = 0; i < 6; i++) {
        all.add(
            inAnotherThread(
                () -> {
                  for (int j = 0; j < each; j++) {
                    f.run(
                        c -> {
                          increment(c, t, "a");
                          c.get(t, "m");
                          Thread.yield();
                          return null;
                        });
                  }
                  return null;
                }));
      }
      all.forEach(CompletableFuture::join);
      assertEquals("" + 6 * each, f.run(c -> c.get(t, "a")));
      assertEquals(0, aborts(f));
      atRest(f);
    }
  }

  /** In every order, and two at a time, without a deadlock. */
  @ParameterizedTest
  @EnumSource
  void severalKeysInAnyOrderEnd(Protocol kind) {
    try (TxFixture f = fixture(kind)) {
      BTree t = f.tree();
      int each = 200;
      List<CompletableFuture<Void>> all = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        int seed = i;
        all.add(
            inAnotherThread(
                () -> {
                  java.util.Random r = new java.util.Random(seed);
                  for (int j = 0; j < each; j++) {
                    String from = "" + (char) ('a' + r.nextInt(4));
                    String to = "" + (char) ('a' + r.nextInt(4));
                    f.run(
                        c -> {
                          increment(c, t, from);
                          Thread.yield();
                          increment(c, t, to);
                          return null;
                        });
                  }
                  return null;
                }));
      }
      all.forEach(CompletableFuture::join);
      int sum =
          f.run(
              c ->
                  "abcd"
                      .chars()
                      .map(k -> Integer.parseInt(String.valueOf(c.get(t, "" + (char) k))))
                      .sum());
      assertEquals(2 * 4 * each, sum);
      atRest(f);
    }
  }

  /** A thread with two transactions would wait for itself. */
  @ParameterizedTest
  @EnumSource
  void aTransactionDoesNotWaitForItsOwnThread(Protocol kind) {
    try (TxFixture f = fixture(kind)) {
      BTree t = f.tree();
      Client first = new Client(f.begin());
      increment(first, t, "a");
      Client second = new Client(f.begin());
      boolean both = commits(second, t) & commits(first, null);
      assertFalse(both);
      atRest(f);
    }
  }

  private static boolean commits(Client c, @org.jspecify.annotations.Nullable BTree t) {
    try {
      if (t != null) {
        increment(c, t, "a");
      }
      c.commit();
      return true;
    } catch (TransactionAbortedException e) {
      c.rollback();
      return false;
    }
  }

  /** An idle holder blocks others only for a limited time. */
  @ParameterizedTest
  @EnumSource
  void waitersContinueWithoutAnIdleHolder(Protocol kind) {
    try (TxFixture f = fixture(kind)) {
      f.engine.shared.updateLocks.timeoutNanos = 1;
      BTree t = f.tree();
      Client idle = new Client(f.begin());
      increment(idle, t, "a");
      boolean second = inAnotherThread(() -> commits(new Client(f.begin()), t)).join();
      boolean first = commits(idle, null);
      assertFalse(first && second);
      assertTrue(first || second || kind == Protocol.TWO_PHASE_LOCKING || kind == Protocol.STO);
      atRest(f);
    }
  }

  @ParameterizedTest
  @EnumSource
  void readOnlyTransactionsTakeNoLock(Protocol kind) {
    try (TxFixture f = fixture(kind)) {
      Client c = new Client(f.engine.begin(true, 0, false));
      assertEquals("0", c.getForUpdate(f.tree(), "a"));
      assertEquals(0, f.engine.shared.updateLocks.held());
      c.commit();
      atRest(f);
    }
  }

  /** A pessimistic transaction has reserved what it reads, and does not wait for idle holders. */
  @ParameterizedTest
  @EnumSource
  void thePessimisticTransactionTakesNoLock(Protocol kind) {
    try (TxFixture f = fixture(kind)) {
      Client c = new Client(f.engine.begin(false, 0, true));
      increment(c, f.tree(), "a");
      assertEquals(c.tx.isPessimistic() ? 0 : 1, f.engine.shared.updateLocks.held());
      c.commit();
      atRest(f);
    }
  }
}
