package io.fovea.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.btree.BTree;
import io.fovea.btree.Position;
import io.fovea.config.Protocol;
import io.fovea.config.TimestampStore;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.FoveaException;
import io.fovea.error.StorageException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.support.Records;
import io.fovea.txn.FaultInjection.Stage;
import io.fovea.txn.FaultInjection.Step;
import io.fovea.txn.TimestampConfig.Release;
import io.fovea.txn.TxFixture.Client;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The only read of a transaction takes no timestamps, never sees part of a commit, and becomes an
 * ordinary read when another operation follows.
 */
class SingleReadFastPathTest {
  private static TxFixture fixture(FaultInjection faults) {
    return new TxFixture(Configs.contexts(16), 512, 2, faults.byLeaves());
  }

  private static TxFixture fixture() {
    return fixture(FaultInjection.NONE);
  }

  private static String key(int n) {
    return String.format(Locale.ROOT, "key%06d", n);
  }

  private static void fill(TxFixture f, int keys) {
    f.run(
        c -> {
          for (int n = 0; n < keys; n++) {
            c.put(f.tree(), key(2 * n), "0");
            c.put(f.trees.get(1), key(2 * n), "0");
          }
          return null;
        });
  }

  private static Client reader(TxFixture f) {
    return new Client(f.engine.begin(true, 0, false));
  }

  private static long made(TxFixture f) {
    return f.engine.timestamps().stats().materialised();
  }

  private static void write(TxFixture f, String value, String... keys) {
    f.run(
        c -> {
          for (String key : keys) {
            c.put(f.tree(), key, value);
          }
          return null;
        });
  }

  @Test
  void createsNoEntry() {
    try (TxFixture f = fixture()) {
      fill(f, 100);
      long before = made(f);
      for (int n = 0; n < 200; n++) {
        Client c = reader(f);
        assertEquals(n % 2 == 0 ? "0" : null, c.alone(f.tree(), key(n)));
        assertTrue(c.tx.readsValid());
        c.commit();
      }
      assertEquals(before, made(f));
    }
  }

  /** Writing transactions and those that are not retried read as usual. */
  @Test
  void onlyForRetriedReadOnlyTransactions() {
    try (TxFixture f = new TxFixture(Configs.contexts(16), 512, 2)) {
      fill(f, 100);
      for (int how = 0; how < 3; how++) {
        Client c = new Client(f.engine.begin(how > 0, 0, false));
        if (how != 1) {
          c.tx.declareRetry();
        }
        long before = made(f);
        assertNull(c.alone(f.tree(), key(2 * how + 1)));
        c.commit();
        assertEquals(how == 2 ? before : before + 1, made(f), "how " + how);
      }
    }
  }

  private static Map<String, Consumer<Client>> operations(TxFixture f) {
    BTree t = f.tree();
    Map<String, Consumer<Client>> all = new LinkedHashMap<>();
    all.put("get", c -> c.get(t, key(40)));
    all.put("get of the same", c -> c.get(t, key(10)));
    all.put("alone", c -> c.alone(t, key(40)));
    all.put("of another table", c -> c.alone(f.trees.get(1), key(40)));
    all.put("up", c -> c.scan(t, key(40), true, key(50), true, false));
    all.put("down", c -> c.scan(t, key(40), true, key(50), true, true));
    all.put("hinted", c -> hinted(c, t, new Position()));
    all.put("peek", c -> peek(c, t));
    return all;
  }

  private static void hinted(Client c, BTree t, Position p) {
    MemorySegment out = Arena.ofAuto().allocate(100);
    c.tx.getHinted(t, TxFixture.bytes(key(40)), 0, key(40).length(), out, 0, 100, p);
  }

  private static void peek(Client c, BTree t) {
    MemorySegment out = Arena.ofAuto().allocate(100);
    c.tx.peek(t, TxFixture.bytes(key(40)), 0, key(40).length(), out, 0, 100, new Position());
  }

  @Test
  void everyOtherOperationRegistersItFirst() {
    for (boolean changes : new boolean[] {false, true}) {
      List<String> names;
      try (TxFixture f = fixture()) {
        names = List.copyOf(operations(f).keySet());
      }
      for (String name : names) {
        // A new fixture for each, since an aborted context uses items for a while.
        try (TxFixture f = fixture()) {
          fill(f, 100);
          Client c = reader(f);
          long before = made(f);
          assertEquals("0", c.alone(f.tree(), key(10)), name);
          assertEquals(before, made(f), name);
          if (changes) {
            write(f, "1", key(10), key(40));
            assertThrows(
                TransactionAbortedException.class, () -> operations(f).get(name).accept(c), name);
            assertThrows(TransactionAbortedException.class, c::commit, name);
          } else {
            operations(f).get(name).accept(c);
            c.commit();
          }
        }
      }
    }
  }

  @Test
  void registeredReadIsValidated() {
    try (TxFixture f = fixture()) {
      fill(f, 100);
      Client c = reader(f);
      c.alone(f.tree(), key(10));
      c.get(f.tree(), key(50));
      write(f, "1", key(10), key(40));
      c.get(f.tree(), key(40)); // of a state after the first read's
      assertThrows(TransactionAbortedException.class, c::commit);
    }
  }

  /**
   * A change of the leaf, even if not of the record, causes an abort; hence this is only for
   * retried transactions.
   */
  @Test
  void aChangedNeighborMakesTheRetryUseItems() {
    try (TxFixture f = fixture()) {
      fill(f, 100);
      Client c = reader(f);
      int context = c.tx.context();
      c.alone(f.tree(), key(10));
      write(f, "1", key(12));
      assertThrows(TransactionAbortedException.class, () -> c.get(f.tree(), key(40)));
      c.rollback();
      int byItems = 0;
      for (int i = 0; i < 200; i++) {
        Client again = reader(f);
        boolean same = again.tx.context() == context;
        long before = made(f);
        again.alone(f.tree(), key(1001 + 2 * i));
        byItems += same && made(f) > before ? 1 : 0;
        again.commit();
      }
      assertTrue(byItems > 16, "by items: " + byItems);
    }
  }

  /**
   * The record stays locked because a commit stopped the engine: the read is valid only on its own.
   */
  @Test
  void unregistrableReadRemainsASingleRead() {
    AtomicBoolean armed = new AtomicBoolean();
    FaultInjection breaking =
        FaultInjection.NONE.with(
            (stage, locked) -> {
              if (stage == Stage.INSTALLING && armed.get()) {
                throw new StorageException("read", "a page of a test", 0, 5, "EIO");
              }
            });
    try (TxFixture f = fixture(breaking)) {
      fill(f, 400);
      Client c = reader(f);
      assertEquals("0", c.alone(f.tree(), key(10)));
      armed.set(true);
      assertThrows(FoveaException.class, () -> write(f, "1", key(10), key(700)));
      for (int n = 0; n < 3; n++) {
        assertThrows(DatabaseClosedException.class, () -> c.get(f.tree(), key(600)));
      }
      assertTrue(c.tx.readsValid());
      c.commit();
    }
  }

  /** The 257th operation, before which the age is checked, is not the first one. */
  @Test
  void onlyForTheFirstOperation() {
    try (TxFixture f = fixture()) {
      fill(f, 400);
      Client c = reader(f);
      for (int i = 0; i < 256; i++) {
        c.get(f.tree(), key(2 * i));
      }
      long before = made(f);
      assertNull(c.alone(f.tree(), key(2001)));
      assertEquals(before + 1, made(f));
      c.commit();
    }
  }

  /** Both changes are in the pages, but not yet published. */
  @Test
  void doesNotReturnARecordBeingInstalled() {
    assertEquals("locked locked ", duringAnInstall(FaultInjection.NONE));
    assertEquals("1 1 ", duringAnInstall(FaultInjection.without(Step.FOREIGN_LOCKS)));
  }

  private static String duringAnInstall(FaultInjection faults) {
    StringBuilder seen = new StringBuilder();
    AtomicReference<TxFixture> fixture = new AtomicReference<>();
    AtomicBoolean armed = new AtomicBoolean();
    FaultInjection probed =
        faults.with(
            (stage, locked) -> {
              if (stage == Stage.INSTALLED && armed.getAndSet(false)) {
                TxFixture f = fixture.get();
                for (int n = 0; n < 2; n++) {
                  Client c = reader(f);
                  try {
                    seen.append(c.alone(f.trees.get(n), key(10))).append(' ');
                    c.commit();
                  } catch (TransactionAbortedException e) {
                    seen.append("locked ");
                    c.rollback();
                  }
                }
              }
            });
    try (TxFixture f = fixture(probed)) {
      fixture.set(f);
      fill(f, 20);
      armed.set(true);
      f.run(
          c -> {
            c.put(f.tree(), key(10), "1");
            c.put(f.trees.get(1), key(10), "1");
            return null;
          });
    }
    return seen.toString();
  }

  /** TicToc with each store; the other protocols with their own. */
  static Stream<Arguments> protocolsAndStores() {
    return Stream.of(Protocol.values())
        .flatMap(
            protocol ->
                Stream.of(TimestampStore.values())
                    .filter(s -> protocol == Protocol.TICTOC || s == TimestampStore.FOCUS_SKETCH)
                    .map(store -> Arguments.of(protocol, store)));
  }

  private static TxConfig config(Protocol protocol, TimestampStore store) {
    return Records.with(
        Configs.contexts(16),
        "timestamps",
        TimestampConfig.of(store, Release.EPOCH, 16 << 10, 16 << 20, 16 << 10, 16 << 10),
        "protocol",
        protocol);
  }

  /**
   * Two numbers are raised together. A reader of the first must not see a smaller second one later.
   */
  @ParameterizedTest
  @MethodSource("protocolsAndStores")
  void laterReadsSeeNoOlderState(Protocol protocol, TimestampStore store)
      throws InterruptedException {
    int keys = 8;
    TxConfig config = config(protocol, store);
    try (TxFixture f = new TxFixture(config, 512, 2, FaultInjection.NONE.byLeaves())) {
      fill(f, 200);
      AtomicReference<Throwable> failed = new AtomicReference<>();
      AtomicBoolean over = new AtomicBoolean();
      List<Thread> threads = new ArrayList<>();
      for (int t = 0; t < 2; t++) {
        SplittableRandom random = new SplittableRandom(t);
        threads.add(
            thread(
                failed,
                () -> {
                  for (int i = 0; i < 2_000 && failed.get() == null; i++) {
                    String key = key(2 * random.nextInt(keys));
                    f.run(
                        c -> {
                          int n = Integer.parseInt(c.get(f.tree(), key)) + 1;
                          c.put(f.tree(), key, "" + n);
                          c.put(f.trees.get(1), key, "" + n);
                          return null;
                        });
                  }
                }));
      }
      List<Thread> readers = new ArrayList<>();
      for (int t = 0; t < 2; t++) {
        SplittableRandom random = new SplittableRandom(10 + t);
        int first = t;
        readers.add(
            thread(
                failed,
                () -> {
                  while (!over.get() && failed.get() == null) {
                    String key = key(2 * random.nextInt(keys));
                    int one = number(f, f.trees.get(first), key);
                    int other = number(f, f.trees.get(1 - first), key);
                    assertTrue(other >= one, key + ": " + one + ", then " + other);
                    f.run(c -> c.get(f.tree(), key(1 + 2 * random.nextInt(100_000))));
                  }
                }));
      }
      for (Thread t : threads) {
        t.join();
      }
      over.set(true);
      for (Thread t : readers) {
        t.join();
      }
      if (failed.get() != null) {
        throw new AssertionError(failed.get());
      }
    }
  }

  private static int number(TxFixture f, BTree t, String key) {
    while (true) {
      Client c = reader(f);
      try {
        String value = c.alone(t, key);
        c.commit();
        return Integer.parseInt(value);
      } catch (TransactionAbortedException e) {
        c.rollback();
      }
    }
  }

  private static Thread thread(AtomicReference<Throwable> failed, Runnable body) {
    return Thread.ofPlatform()
        .start(
            () -> {
              try {
                body.run();
              } catch (Throwable t) {
                failed.compareAndSet(null, t);
              }
            });
  }
}
