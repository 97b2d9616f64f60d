package io.fovea.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.btree.BTree;
import io.fovea.config.Protocol;
import io.fovea.error.AbortCause;
import io.fovea.error.TransactionAbortedException;
import io.fovea.support.Records;
import io.fovea.txn.TxFixture.Client;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The pessimistic transaction under every protocol, and its effect on others. */
@Tag("slow")
class PessimisticTest {
  private static final long NO_LIMIT = 0;

  private static TxFixture fixture(Protocol kind, String... pairs) {
    return fixture(
        Records.with(Configs.contexts(16), "protocol", kind), FaultInjection.NONE, pairs);
  }

  private static TxFixture fixture(TxConfig config, FaultInjection faults, String... pairs) {
    TxFixture f = new TxFixture(config, 512, 2, faults);
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

  private static Client begin(TxFixture f, Attempts attempts) {
    Client c = new Client(f.engine.begin(false, NO_LIMIT, attempts));
    assertTrue(c.tx.isPessimistic());
    return c;
  }

  /** Makes one attempt; returns its abort cause, or null. */
  private static AbortCause attempt(TxFixture f, Consumer<Client> body) {
    Client c = new Client(f.begin());
    try {
      body.accept(c);
      c.commit();
      return null;
    } catch (TransactionAbortedException e) {
      return e.abortCause();
    } finally {
      c.rollback();
    }
  }

  @ParameterizedTest
  @EnumSource(Protocol.class)
  void itsReadsDoNotChange(Protocol kind) {
    try (TxFixture f = fixture(kind, "b=1", "e=1", "g=1", "k=1", "m=1", "p=1", "t=1")) {
      BTree t = f.tree();
      try (Attempts attempts = f.engine.attempts(0)) {
        Client p = begin(f, attempts);
        assertEquals("1", p.get(t, "b"));
        assertNull(p.get(t, "c"));
        assertEquals(List.of("g=1", "k=1"), p.scan(t, "f", true, "l", true, false));
        assertEquals(List.of("p=1"), p.scan(t, "o", true, "q", true, true));

        assertEquals(AbortCause.LOCK, attempt(f, c -> c.put(t, "b", "2")), "a record");
        assertEquals(AbortCause.LOCK, attempt(f, c -> c.delete(t, "b")), "a record");
        assertEquals(AbortCause.LOCK, attempt(f, c -> c.insert(t, "c", "2")), "an absent key");
        assertEquals(AbortCause.LOCK, attempt(f, c -> c.patch(t, "k", 0, "2")), "a scanned one");
        for (String gap : List.of("f", "h", "l", "o", "pp")) {
          AbortCause refused = attempt(f, c -> c.insert(t, gap, "2"));
          assertTrue(
              refused == AbortCause.PHANTOM || refused == AbortCause.LOCK, gap + ": " + refused);
        }
        assertNull(attempt(f, c -> c.put(t, "z", "2")), "an unrelated key");
        assertNull(attempt(f, c -> c.all(f.trees.get(1))), "another tree");
        assertNull(attempt(f, c -> c.scan(t, "a", true, "l", true, false)), "a reader");
        assertNull(attempt(f, c -> assertEquals("1", c.get(t, "b"))), "a reader");

        p.put(t, "b", "3");
        p.insert(t, "c", "3");
        p.delete(t, "k");
        assertNull(p.get(t, "k"));
        p.commit();
      }
      assertEquals(
          List.of("b=3", "c=3", "e=1", "g=1", "m=1", "p=1", "t=1", "z=2"), f.run(c -> c.all(t)));
      assertNull(attempt(f, c -> c.put(t, "b", "4")));
      assertNull(attempt(f, c -> c.insert(t, "k", "4")));
      ProtocolsTest.atRest(f);
    }
  }

  /** A slot is an index of timestamps or of locks; {@link TimestampTable#word} checks which. */
  @ParameterizedTest
  @EnumSource(Protocol.class)
  void itUsesTheTableOfItsProtocol(Protocol kind) {
    TxConfig small =
        Records.with(
            Configs.contexts(16),
            "timestamps",
            TimestampConfig.sketch(16 << 10, 64 << 10, 2, 64, TimestampConfig.Release.EPOCH),
            "protocol",
            kind,
            "protocolBytes",
            4L << 20);
    try (TxFixture f = fixture(small, FaultInjection.NONE, "b=1", "e=1", "g=1", "k=1");
        Attempts attempts = f.engine.attempts(0)) {
      BTree t = f.tree();
      Client p = begin(f, attempts);
      for (String key : List.of("a", "b", "c", "d", "e", "f", "g", "k")) {
        p.get(t, key);
      }
      assertEquals(List.of("b=1", "e=1", "g=1", "k=1"), p.all(t));
      p.put(t, "b", "2");
      p.insert(t, "f", "2");
      p.delete(t, "k");
      p.commit();
      assertEquals(List.of("b=2", "e=1", "f=2", "g=1"), f.run(c -> c.all(t)));
      ProtocolsTest.atRest(f);
    }
  }

  @ParameterizedTest
  @EnumSource(Protocol.class)
  void itCommitsAfterOthersHaveRaisedAllTimestamps(Protocol kind) {
    try (TxFixture f = fixture(kind, "a=1", "b=1", "c=1")) {
      BTree t = f.tree();
      try (Attempts attempts = f.engine.attempts(0)) {
        Client p = begin(f, attempts);
        assertEquals("1", p.get(t, "a"));
        // Readers of a with ever later timestamps: its distance overflows.
        for (int i = 0; i < 40_000; i++) {
          int n = i;
          assertNull(
              attempt(
                  f,
                  c -> {
                    c.get(t, "a");
                    c.put(t, "c", "" + n);
                  }));
        }
        assertEquals("1", p.get(t, "a"));
        p.put(t, "b", "2");
        p.commit();
      }
      assertEquals("2", f.run(c -> c.get(t, "b")));
      ProtocolsTest.atRest(f);
    }
  }

  @ParameterizedTest
  @EnumSource(Protocol.class)
  void itWaitsForEarlierLocks(Protocol kind) throws Exception {
    CountDownLatch stopped = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    AtomicInteger armed = new AtomicInteger();
    FaultInjection.Probe probe =
        (stage, tx) -> {
          if (stage == FaultInjection.Stage.VALIDATED && armed.compareAndSet(1, 2)) {
            stopped.countDown();
            await(goOn);
          }
        };
    TxConfig config = Records.with(Configs.contexts(16), "protocol", kind);
    try (TxFixture f = fixture(config, FaultInjection.NONE.with(probe), "a=1", "c=1")) {
      BTree t = f.tree();
      armed.set(1);
      CompletableFuture<AbortCause> faster =
          CompletableFuture.supplyAsync(
              () ->
                  attempt(
                      f,
                      c -> {
                        c.put(t, "a", "" + (Integer.parseInt(c.get(t, "a")) + 1));
                        c.insert(t, "b", "1");
                      }),
              PessimisticTest::start);
      await(stopped);
      CountDownLatch asks = new CountDownLatch(1);
      CompletableFuture<String> slower =
          CompletableFuture.supplyAsync(
              () -> {
                try (Attempts attempts = f.engine.attempts(0)) {
                  Client p = begin(f, attempts);
                  asks.countDown();
                  String gap = p.get(t, "b");
                  p.put(t, "a", "" + (Integer.parseInt(p.get(t, "a")) + 1));
                  p.commit();
                  return gap;
                }
              },
              PessimisticTest::start);
      await(asks);
      for (int i = 0; i < 2_000 && !slower.isDone(); i++) {
        Thread.yield(); // lets the transaction ahead of it pass
      }
      goOn.countDown();
      assertNull(faster.get(60, TimeUnit.SECONDS));
      assertEquals("1", slower.get(60, TimeUnit.SECONDS));
      assertEquals("3", f.run(c -> c.get(t, "a")));
      ProtocolsTest.atRest(f);
    }
  }

  /** The item is reserved and read between a writer's two checks of reservations. */
  @ParameterizedTest
  @EnumSource(value = Protocol.class, mode = EnumSource.Mode.EXCLUDE, names = "OCC")
  void aWriterChecksAgainUnderTheLock(Protocol kind) {
    AtomicInteger armed = new AtomicInteger();
    AtomicReference<Runnable> between = new AtomicReference<>();
    FaultInjection.Probe probe =
        (stage, tx) -> {
          if (stage == FaultInjection.Stage.UNRESERVED && armed.compareAndSet(1, 2)) {
            between.get().run();
          }
        };
    TxConfig config = Records.with(Configs.contexts(16), "protocol", kind);
    try (TxFixture f = fixture(config, FaultInjection.NONE.with(probe), "a=1")) {
      BTree t = f.tree();
      try (Attempts attempts = f.engine.attempts(0)) {
        Client[] p = new Client[1];
        between.set(
            () -> {
              p[0] = begin(f, attempts);
              assertEquals("1", p[0].get(t, "a"));
            });
        armed.set(1);
        assertEquals(AbortCause.LOCK, attempt(f, c -> c.put(t, "a", "2")));
        assertEquals(2, armed.get());
        assertEquals("1", p[0].get(t, "a"));
        p[0].put(t, "a", "3");
        p[0].commit();
      }
      assertEquals("3", f.run(c -> c.get(t, "a")));
      ProtocolsTest.atRest(f);
    }
  }

  private static void start(Runnable work) {
    Thread.ofPlatform().start(work);
  }

  private static void await(CountDownLatch latch) {
    try {
      assertTrue(latch.await(60, TimeUnit.SECONDS));
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @ParameterizedTest
  @EnumSource(Protocol.class)
  void anExpiredReservationIsEnded(Protocol kind) {
    try (TxFixture f = fixture(kind, "a=1", "b=1")) {
      BTree t = f.tree();
      try (Attempts attempts = f.engine.attempts(0);
          Attempts next = f.engine.attempts(0)) {
        long limit = 20_000_000;
        Client p = new Client(f.engine.begin(false, limit, attempts));
        long began = System.nanoTime();
        assertEquals("1", p.get(t, "a"));
        while (System.nanoTime() - began <= 2 * limit) {
          Thread.onSpinWait();
        }
        AbortCause refused = attempt(f, c -> c.put(t, "a", "2"));
        if (kind == Protocol.TWO_PHASE_LOCKING) {
          assertEquals(AbortCause.LOCK, refused, "its lock still blocks");
        } else {
          assertNull(refused);
          assertFalse(p.tx.readsValid());
          assertTrue(next.awaitTicket(1));
        }
        var late = assertThrows(TransactionAbortedException.class, p::commit);
        assertEquals(AbortCause.TIMEOUT, late.abortCause());
      }
      assertNull(attempt(f, c -> c.put(t, "a", "3")));
      ProtocolsTest.atRest(f);
    }
  }

  /** A transaction whose ticket is revoked queues again, at the end. */
  @ParameterizedTest
  @EnumSource(Protocol.class)
  void anExpiredTransactionQueuesAgain(Protocol kind) {
    try (TxFixture f = fixture(kind, "a=1");
        Attempts attempts = f.engine.attempts(0)) {
      for (int i = 0; i < 2; i++) {
        Attempts next = f.engine.attempts(0);
        long limit = 1_000;
        Client p = new Client(f.engine.begin(false, limit, attempts));
        long began = System.nanoTime();
        assertTrue(p.tx.isPessimistic());
        while (System.nanoTime() - began <= 2 * limit) {
          Thread.onSpinWait();
        }
        assertTrue(
            next.awaitTicket(1_000_000_000), "it ends a transaction that has lasted too long");
        p.rollback();
        next.close();
        attempts.backOff();
      }
      begin(f, attempts).rollback();
      ProtocolsTest.atRest(f);
    }
  }

  @ParameterizedTest
  @EnumSource(Protocol.class)
  void oneAtATime(Protocol kind) {
    try (TxFixture f = fixture(kind, "a=1")) {
      Attempts first = f.engine.attempts(0);
      Attempts second = f.engine.attempts(0);
      Attempts third = f.engine.attempts(0);
      Client p = begin(f, first);
      Client q = new Client(f.engine.begin(false, NO_LIMIT, second));
      assertFalse(q.tx.isPessimistic(), "continues optimistically");
      q.rollback();
      p.rollback();
      second.close(); // leaves before its ticket is granted
      first.close();
      begin(f, third).rollback();
      third.close();
      Attempts fourth = f.engine.attempts(1);
      Client r = new Client(f.engine.begin(false, NO_LIMIT, fourth));
      assertFalse(r.tx.isPessimistic());
      r.rollback();
      fourth.backOff();
      begin(f, fourth).rollback();
      fourth.close();
      ProtocolsTest.atRest(f);
    }
  }

  /** Threads increment the same few counters. */
  @ParameterizedTest
  @EnumSource(Protocol.class)
  void noUpdateIsLostAmongOptimisticTransactions(Protocol kind) throws Exception {
    int threads = 12;
    int times = 60;
    try (TxFixture f = fixture(kind, "a=0", "b=0", "c=0")) {
      BTree t = f.tree();
      AtomicInteger most = new AtomicInteger();
      AtomicInteger pessimistic = new AtomicInteger();
      Thread[] all = new Thread[threads];
      AtomicInteger failed = new AtomicInteger();
      for (int i = 0; i < threads; i++) {
        int me = i;
        all[i] =
            (i % 2 == 0 ? Thread.ofVirtual() : Thread.ofPlatform())
                .start(
                    () -> {
                      for (int k = 0; k < times; k++) {
                        if (!increment(f, t, me, k, most, pessimistic)) {
                          failed.incrementAndGet();
                        }
                      }
                    });
      }
      for (Thread thread : all) {
        thread.join();
      }
      assertEquals(0, failed.get());
      assertTrue(pessimistic.get() > 0);
      int sum = 0;
      for (String record : f.run(c -> c.all(t))) {
        String[] kv = record.split("=");
        sum += kv[0].length() == 1 ? Integer.parseInt(kv[1]) : 0;
      }
      assertEquals(threads * times, sum);
      ProtocolsTest.atRest(f);
    }
  }

  private static boolean increment(
      TxFixture f, BTree t, int me, int k, AtomicInteger most, AtomicInteger pessimistic) {
    String key = "" + (char) ('a' + (me + k) % 3);
    try (Attempts attempts = f.engine.attempts(k % 3)) {
      for (int attempt = 1; ; attempt++) {
        Tx tx = f.engine.begin(false, NO_LIMIT, attempts);
        boolean over = false; // after which the context may belong to another thread
        try {
          if (tx.isPessimistic()) {
            pessimistic.incrementAndGet();
          }
          Client c = new Client(tx);
          int n = Integer.parseInt(c.get(t, key));
          Thread.yield();
          c.put(t, key, "" + (n + 1));
          c.put(t, key + me, "");
          if (k % 2 == 0) {
            c.delete(t, key + me);
          }
          over = true;
          tx.commit(tx.epoch());
          most.accumulateAndGet(attempt, Math::max);
          return true;
        } catch (TransactionAbortedException e) {
          if (!over) {
            tx.rollback(tx.epoch());
          }
          if (!e.retryable()) {
            return false;
          }
        }
        attempts.backOff();
      }
    }
  }

  @Test
  void reservationsFindTheirItems() {
    Reservation r = new Reservation(new PessimisticTicket(new Reservations()), 0);
    for (long i = 1; i <= 10_000; i++) {
      assertFalse(r.refusesWriting(i << 8));
      assertTrue(r.add(i << 8, i % 2 == 0));
      assertFalse(r.add(i << 8, false));
    }
    for (long i = 1; i <= 10_000; i++) {
      assertTrue(r.refusesWriting(i << 8));
      assertEquals(i % 2 == 0, r.refusesReading(i << 8));
      assertTrue(r.add(i << 8, true) == (i % 2 != 0));
      assertTrue(r.refusesReading(i << 8));
    }
    assertTrue(r.add(0, false));
    assertTrue(r.refusesWriting(0));
    r.end();
    assertFalse(r.refusesWriting(0));
  }
}
