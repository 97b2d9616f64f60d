package io.fovea.crash;

import io.fovea.config.Protocol;
import io.fovea.error.AbortCause;
import io.fovea.error.TransactionAbortedException;
import io.fovea.support.Records;
import io.fovea.txn.Attempts;
import io.fovea.txn.FaultInjection;
import io.fovea.txn.TimestampConfig;
import io.fovea.txn.Tx;
import io.fovea.txn.TxConfig;
import io.fovea.txn.TxEngine;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Fails each begin of a transaction at a call site that never failed before, while two threads wait
 * for the only context; loaded by {@link ErrorWeaver}. Whatever fails, the context passes to
 * exactly one waiter: it is neither lost nor used by two transactions.
 */
public final class BeginErrors implements Supplier<String> {
  private enum Kind {
    WRITES,
    READS,
    PESSIMISTIC,
    ALONE
  }

  private final Protocol protocol;
  private final AtomicInteger running = new AtomicInteger();
  private final List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());

  /** Takes the name of a {@link Protocol}. */
  public BeginErrors(String protocol) {
    this.protocol = Protocol.valueOf(protocol);
  }

  @Override
  public String get() {
    TxConfig config =
        Records.with(
            TxConfig.DEFAULT,
            "contexts",
            1,
            "scratchBytesMax",
            1L << 20,
            "itemsMax",
            1_000,
            "timestamps",
            TimestampConfig.sketch(16 << 10, 1 << 20, 2, 2048, TimestampConfig.Release.EPOCH),
            "protocol",
            protocol);
    TxEngine engine =
        FaultInjection.NONE
            .byLeaves()
            .during(() -> new TxEngine(config, 4096, null, check -> {}, null));
    try {
      StringBuilder report = new StringBuilder();
      for (Kind kind : Kind.values()) {
        int errors = 0;
        while (round(engine, kind)) {
          errors++;
        }
        report.append(kind).append(' ').append(errors).append(' ');
      }
      return report.toString();
    } finally {
      engine.close();
    }
  }

  /** Returns false if all call sites have failed. */
  private boolean round(TxEngine engine, Kind kind) {
    Tx before = engine.begin(false, 0, null);
    AtomicBoolean over = new AtomicBoolean();
    String[] hit = new String[1];
    Thread fails =
        Thread.ofPlatform()
            .start(
                () -> {
                  try (Attempts attempts = engine.attempts(0)) {
                    hit[0] = fail(engine, kind, attempts);
                  } catch (Throwable t) {
                    failures.add(t);
                  } finally {
                    over.set(true);
                  }
                });
    int waiting = 0;
    if (kind != Kind.ALONE) { // which does not queue up
      while (!over.get() && engine.waiting() == 0) {
        Thread.yield();
      }
      waiting = engine.waiting();
    }
    List<Thread> others = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      others.add(Thread.ofPlatform().start(() -> run(engine)));
      while (engine.waiting() <= waiting + i - (over.get() ? waiting : 0)) {
        Thread.yield();
      }
    }
    before.rollback(before.epoch());
    join(fails);
    others.forEach(BeginErrors::join);
    if (engine.active() != 0 || engine.waiting() != 0) {
      failures.add(new AssertionError(engine.active() + " active, " + engine.waiting() + " wait"));
    }
    if (!failures.isEmpty()) {
      AssertionError e =
          new AssertionError(
              protocol + ", " + kind + ", error before " + hit[0] + ": " + failures.getFirst());
      failures.forEach(e::addSuppressed);
      throw e;
    }
    return hit[0] != null;
  }

  /** Begins with an error injected on the way; returns where it was thrown, or null. */
  private static @Nullable String fail(TxEngine engine, Kind kind, Attempts attempts) {
    Tx tx = null;
    Throwable thrown = null;
    String hit;
    ErrorProbe.arm(1, 0, true);
    try {
      tx =
          switch (kind) {
            case WRITES -> engine.begin(false, 0, null);
            case READS -> engine.begin(true, 0, null);
            case PESSIMISTIC -> engine.begin(false, 0, attempts);
            case ALONE -> engine.begin(false, 0, true);
          };
    } catch (Throwable t) {
      thrown = t;
    } finally {
      hit = ErrorProbe.disarm();
    }
    if (tx != null) {
      tx.rollback(tx.epoch());
    }
    if (thrown != null && (hit == null || thrown != ErrorProbe.thrown())) {
      throw new AssertionError("not the error before " + hit, thrown);
    }
    return hit;
  }

  /** Requires that no other transaction runs in this context. */
  private void run(TxEngine engine) {
    try {
      Tx tx = engine.begin(false, 0, null);
      try {
        require(running.incrementAndGet() == 1, "two transactions run concurrently");
        require(engine.active() == 1, "a transaction runs in a released context");
        try {
          engine.begin(false, 1, null);
          throw new AssertionError("another transaction begins in the same context");
        } catch (TransactionAbortedException e) {
          require(e.abortCause() == AbortCause.ADMISSION, e.toString());
        }
        require(running.get() == 1, "another transaction began in the same context");
      } finally {
        running.decrementAndGet();
        tx.rollback(tx.epoch());
      }
    } catch (Throwable t) {
      failures.add(t);
    }
  }

  private static void require(boolean holds, String what) {
    if (!holds) {
      throw new AssertionError(what);
    }
  }

  /** Joins; the test's timeout interrupts it. */
  private static void join(Thread t) {
    try {
      t.join();
    } catch (InterruptedException e) {
      throw new AssertionError("a context is lost: " + t + " is waiting for it", e);
    }
  }
}
