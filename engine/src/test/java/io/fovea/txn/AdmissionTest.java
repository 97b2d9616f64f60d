package io.fovea.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.AbortCause;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.TransactionAbortedException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Admits more transactions than there are contexts. */
class AdmissionTest {
  private static void untilWaiting(TxFixture f, int n) {
    while (f.engine.waiting() != n) {
      Thread.yield();
    }
  }

  private static void end(Tx tx) {
    tx.rollback(tx.epoch());
  }

  @Test
  void servesInOrderOfArrival() throws Exception {
    int threads = 40;
    try (TxFixture f = new TxFixture(Configs.contexts(2), 128, 1)) {
      Tx a = f.begin();
      Tx b = f.begin();
      List<Integer> served = Collections.synchronizedList(new ArrayList<>());
      List<Tx> begun = Collections.synchronizedList(new ArrayList<>());
      List<Thread> all = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        int me = i;
        Thread.Builder builder = i % 2 == 0 ? Thread.ofVirtual() : Thread.ofPlatform();
        all.add(
            builder.start(
                () -> {
                  Tx tx = f.begin();
                  served.add(me);
                  begun.add(tx);
                }));
        untilWaiting(f, i + 1);
      }
      Tx next = a;
      for (int i = 0; i < threads; i++) {
        end(next);
        all.get(i).join();
        assertEquals(i + 1, served.size());
        next = begun.get(i);
      }
      end(next);
      end(b);
      assertEquals(IntStream.range(0, threads).boxed().toList(), served);
      assertEquals(0, f.engine.active());
      assertEquals(0, f.engine.waiting());
    }
  }

  @Test
  void newcomersDoNotOvertakeWaiters() throws Exception {
    try (TxFixture f = new TxFixture(Configs.contexts(1), 128, 1)) {
      Tx held = f.begin();
      AtomicInteger turns = new AtomicInteger();
      Thread waiter =
          Thread.ofPlatform()
              .start(
                  () -> {
                    Tx tx = f.begin();
                    turns.compareAndSet(0, 1);
                    end(tx);
                  });
      untilWaiting(f, 1);
      end(held);
      // Would begin immediately, with a context that is warm for it, but queues behind the other.
      Tx again = f.begin();
      assertEquals(1, turns.get());
      end(again);
      waiter.join();
    }
  }

  @Test
  void aTimedOutWaiterIsSkipped() throws Exception {
    try (TxFixture f = new TxFixture(Configs.contexts(1), 128, 1)) {
      Tx held = f.begin();
      List<Throwable> thrown = Collections.synchronizedList(new ArrayList<>());
      Thread impatient =
          Thread.ofPlatform()
              .start(
                  () -> {
                    try {
                      f.engine.begin(false, 1_000_000, null);
                    } catch (RuntimeException e) {
                      thrown.add(e);
                    }
                  });
      impatient.join();
      assertEquals(
          AbortCause.ADMISSION,
          assertInstanceOf(TransactionAbortedException.class, thrown.get(0)).abortCause());
      Thread patient = Thread.ofVirtual().start(() -> end(f.begin()));
      untilWaiting(f, 1);
      end(held);
      patient.join();
      assertEquals(0, f.engine.active());
    }
  }

  @Test
  void anInterruptDoesNotEndTheWait() throws Exception {
    try (TxFixture f = new TxFixture(Configs.contexts(1), 128, 1)) {
      Tx held = f.begin();
      AtomicInteger interrupted = new AtomicInteger();
      Thread waiter =
          Thread.ofPlatform()
              .start(
                  () -> {
                    end(f.begin());
                    interrupted.set(Thread.currentThread().isInterrupted() ? 1 : -1);
                  });
      untilWaiting(f, 1);
      waiter.interrupt();
      end(held);
      waiter.join();
      assertEquals(1, interrupted.get());
    }
  }

  @Test
  void waitersEndWithTheEngine() throws Exception {
    TxFixture f = new TxFixture(Configs.contexts(1), 128, 1);
    Tx held = f.begin();
    List<Throwable> thrown = Collections.synchronizedList(new ArrayList<>());
    List<Thread> all = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      all.add(
          Thread.ofVirtual()
              .start(
                  () -> {
                    try {
                      f.begin();
                    } catch (RuntimeException e) {
                      thrown.add(e);
                    }
                  }));
    }
    untilWaiting(f, 10);
    f.engine.stopAdmission();
    for (Thread t : all) {
      t.join();
    }
    assertEquals(10, thrown.size());
    thrown.forEach(t -> assertInstanceOf(DatabaseClosedException.class, t));
    end(held);
    f.close();
  }

  /** Only the guard checks the time; however it leaves, other waiters still time out. */
  @Test
  @Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void waitersTimeOutWhoeverIsTheGuard() throws Exception {
    try (TxFixture f = new TxFixture(Configs.contexts(1), 128, 1)) {
      Random random = new Random(3);
      for (int round = 0; round < 3; round++) {
        Tx held = f.begin();
        AtomicInteger refused = new AtomicInteger();
        AtomicInteger served = new AtomicInteger();
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < 60; i++) {
          boolean patient = i % 3 == 0;
          long nanos = patient ? 0 : (1 + random.nextInt(400)) * 1_000_000L;
          Thread.Builder builder = i % 2 == 0 ? Thread.ofVirtual() : Thread.ofPlatform();
          all.add(
              builder.start(
                  () -> {
                    try {
                      end(f.engine.begin(false, nanos, null));
                      served.incrementAndGet();
                    } catch (TransactionAbortedException e) {
                      assertEquals(AbortCause.ADMISSION, e.abortCause());
                      refused.incrementAndGet();
                    }
                  }));
          if (i % 10 == 5) {
            all.get(random.nextInt(i)).interrupt();
          }
        }
        if (round == 1) {
          while (refused.get() != 40) { // all waiters with a limit, although none is served
            Thread.yield();
          }
          untilWaiting(f, 20);
          assertEquals(0, served.get());
        }
        end(held);
        for (Thread t : all) {
          t.join();
        }
        assertEquals(60, refused.get() + served.get());
        assertTrue(served.get() >= 20, () -> served + " served");
        assertEquals(0, f.engine.active());
        assertEquals(0, f.engine.waiting());
      }
    }
  }

  @Test
  void anExclusiveTransactionRunsAlone() throws Exception {
    try (TxFixture f = new TxFixture(Configs.contexts(3), 128, 1)) {
      for (int round = 0; round < 50; round++) {
        Tx alone = f.engine.begin(false, 0, true);
        Thread waiter = Thread.ofVirtual().start(() -> end(f.begin()));
        untilWaiting(f, 1);
        assertEquals(1, f.engine.active());
        var refused =
            assertThrows(
                TransactionAbortedException.class, () -> f.engine.begin(false, 100_000, true));
        assertEquals(AbortCause.ADMISSION, refused.abortCause());
        end(alone);
        waiter.join();
      }
      assertEquals(0, f.engine.active());
    }
  }

  /** No context is lost, and no thread sleeps while a context is free. */
  @Test
  void manyThreads() throws Exception {
    int threads = 300;
    int times = 100;
    try (TxFixture f = new TxFixture(Configs.contexts(3), 128, 1)) {
      AtomicInteger running = new AtomicInteger();
      AtomicInteger done = new AtomicInteger();
      AtomicInteger most = new AtomicInteger();
      List<Thread> all = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        int me = i;
        Thread.Builder builder = i % 10 == 0 ? Thread.ofPlatform() : Thread.ofVirtual();
        all.add(
            builder.start(
                () -> {
                  for (int k = 0; k < times; k++) {
                    boolean alone = me == 1 && k % 10 == 0;
                    Tx tx = f.engine.begin(false, 0, alone);
                    int now = running.incrementAndGet();
                    most.accumulateAndGet(alone && now > 1 ? 1000 : now, Math::max);
                    if (k % 7 == 0) {
                      Thread.yield();
                    }
                    running.decrementAndGet();
                    end(tx);
                    done.incrementAndGet();
                  }
                }));
      }
      for (Thread t : all) {
        t.join();
      }
      assertEquals(threads * times, done.get());
      assertTrue(most.get() <= 3, "concurrent transactions: " + most);
      assertEquals(0, f.engine.active());
      assertEquals(0, f.engine.waiting());
    }
  }
}
