package io.fovea.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.AbortCause;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.error.TransactionAbortedException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;

/** Quiescent points, at which no commit is inside the gate. */
class CommitGateTest {
  private static final int THREADS = 4;
  private static final int MOMENTS = 60;
  private static final long LONG = 60_000_000_000L;

  /** The data that a commit changes, without fences. */
  private static final class Pair {
    long first;
    long second;
  }

  private volatile boolean stop;

  /** A quiescent point sees each commit as a whole, and so does the next commit. */
  @Test
  void noCommitIsInsideAtAQuiescentPoint() throws Exception {
    CommitGate gate = new CommitGate(THREADS);
    Pair[] pairs = new Pair[THREADS];
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < THREADS; i++) {
      Pair pair = new Pair();
      pairs[i] = pair;
      CommitGate.CommitSlot commitSlot = gate.slotOf(i);
      threads.add(
          Thread.ofPlatform()
              .start(
                  () -> {
                    while (!stop) {
                      gate.enter(commitSlot);
                      pair.first++;
                      Thread.onSpinWait();
                      pair.second++;
                      gate.leaveGate(commitSlot);
                    }
                  }));
    }
    long[] seen = new long[THREADS];
    try {
      for (int n = 0; n < MOMENTS; n++) {
        long before = gate.pointCounter();
        gate.atQuiescentPoint(
            () -> {
              for (int i = 0; i < THREADS; i++) {
                assertEquals(pairs[i].first, pairs[i].second, "part of a commit");
                assertTrue(pairs[i].first >= seen[i], "a commit that was visible has disappeared");
                seen[i] = pairs[i].first;
              }
            },
            LONG,
            () -> {});
        assertEquals(before + 2, gate.pointCounter()); // odd while a commit is in progress
      }
    } finally {
      stop = true;
      for (Thread t : threads) {
        t.join();
      }
    }
    for (int i = 0; i < THREADS; i++) {
      assertEquals(pairs[i].first, pairs[i].second);
    }
  }

  @Test
  void theWaitForAQuiescentPointIsBounded() {
    CommitGate gate = new CommitGate(2);
    gate.enter(gate.slotOf(1));
    boolean[] came = new boolean[1];
    TransactionAbortedException e =
        assertThrows(
            TransactionAbortedException.class,
            () -> gate.atQuiescentPoint(() -> came[0] = true, 1, () -> {}));
    assertEquals(AbortCause.ADMISSION, e.abortCause());
    gate.leaveGate(gate.slotOf(1));
    assertFalse(came[0]);
    gate.atQuiescentPoint(() -> came[0] = true, LONG, () -> {});
    assertTrue(came[0]);
  }

  /** A commit that stopped the engine never ends: a waiting thread gets an error. */
  @Test
  void theWaitEndsWhenTheEngineStops() throws Exception {
    CommitGate gate = new CommitGate(2);
    gate.enter(gate.slotOf(0));
    FutureTask<Void> waits =
        new FutureTask<>(
            () ->
                gate.atQuiescentPoint(
                    () -> {},
                    LONG,
                    () -> {
                      if (stop) {
                        throw new DatabaseClosedException("The engine has stopped.");
                      }
                    }),
            null);
    Thread thread = Thread.ofPlatform().start(waits);
    stop = true;
    thread.join();
    Exception e = assertThrows(ExecutionException.class, waits::get);
    assertTrue(e.getCause() instanceof DatabaseClosedException, e::toString);
  }

  @Test
  void anInterruptEndsTheWait() {
    CommitGate gate = new CommitGate(2);
    gate.enter(gate.slotOf(0));
    Thread.currentThread().interrupt();
    assertThrows(
        OperationInterruptedException.class, () -> gate.atQuiescentPoint(() -> {}, LONG, () -> {}));
    assertTrue(Thread.interrupted(), "the interrupt flag is preserved");
    gate.leaveGate(gate.slotOf(0));
    gate.atQuiescentPoint(() -> {}, LONG, () -> {});
  }
}
