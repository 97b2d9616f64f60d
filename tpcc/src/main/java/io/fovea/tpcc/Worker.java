package io.fovea.tpcc;

import io.fovea.CommitHandle;
import io.fovea.error.AbortCause;
import io.fovea.error.TransactionAbortedException;
import io.fovea.tpcc.bench.Client;
import io.fovea.tpcc.bench.Crew;
import io.fovea.tpcc.bench.Percentiles;
import java.nio.ByteBuffer;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.SingleWriterRecorder;

/** Runs the transactions of one client, one after another. */
final class Worker implements Client {
  /** Interval at which a waiting worker checks whether to stop. */
  private static final long NAP_NANOS = 100_000_000;

  /** How long a client on a virtual thread runs before it yields, see {@link #turns}. */
  private static final long TURN_NANOS = 1_000_000;

  /** Long enough to park: a virtual thread that only yields may be rescheduled at once. */
  private static final long GIVE_WAY_NANOS = 1_000;

  final Tally tally = new Tally();

  private final Crew crew;
  private final Session session;
  private final Mix.Dealer dealer;
  private final Pacing pacing;

  private final Acknowledged acknowledged;

  private final ByteBuffer record;

  /** Whether the client shares its thread with others. */
  private final boolean virtual;

  /**
   * Whether clients yield to each other. Virtual threads are not preempted: with more clients than
   * carriers, and no waits for a log, the first ones would keep the processors.
   */
  private final boolean turns;

  /** Whether the thread serves another client while a commit becomes durable. */
  private final boolean ahead;

  private int type;

  private long start;
  private CommitHandle commitHandle;

  private final Txn[] txns = new Txn[TxnType.COUNT];
  private final SingleWriterRecorder[] latencies = new SingleWriterRecorder[TxnType.COUNT];

  Worker(
      Crew crew,
      Session session,
      Mix mix,
      Pacing pacing,
      int latencyDigits,
      Acknowledged acknowledged,
      boolean virtual,
      boolean turns,
      boolean ahead) {
    this.crew = crew;
    this.session = session;
    this.dealer = mix.dealer(session.rng);
    this.pacing = pacing;
    this.acknowledged = acknowledged;
    this.record = acknowledged == null ? null : Acknowledged.record();
    this.virtual = virtual;
    this.turns = turns;
    this.ahead = ahead;
    for (TxnType type : TxnType.values()) {
      if (mix.has(type)) {
        int i = type.ordinal();
        txns[i] = txn(type);
        latencies[i] = new SingleWriterRecorder(Percentiles.LATENCY_MAX_NANOS, latencyDigits);
      }
    }
  }

  private Txn txn(TxnType type) {
    return switch (type) {
      case NEW_ORDER -> new NewOrderTxn(session);
      case PAYMENT -> new PaymentTxn(session);
      case ORDER_STATUS -> new OrderStatusTxn(session);
      case DELIVERY -> new DeliveryTxn(session);
      case STOCK_LEVEL -> new StockLevelTxn(session);
    };
  }

  /** Returns the latencies of a type; null if the mix does not contain it. */
  SingleWriterRecorder latencies(TxnType type) {
    return latencies[type.ordinal()];
  }

  void work() {
    pacing.begin();
    long turnEnds = System.nanoTime() + TURN_NANOS;
    while (!crew.stopping()) {
      if (!execute()) {
        continue;
      }
      long end = acknowledge();
      if (turns && end - turnEnds >= 0) {
        LockSupport.parkNanos(GIVE_WAY_NANOS);
        turnEnds = System.nanoTime() + TURN_NANOS;
      }
    }
  }

  @Override
  public boolean execute() {
    type = dealer.next();
    Txn txn = txns[type];
    txn.prepare(session.drawHome());
    start = pacing.await(this, type);
    if (start == Pacing.STOPPED) {
      return false;
    }
    try {
      if (ahead) {
        commitHandle = txn.executeAhead(tally, type);
      } else {
        txn.execute(tally, type);
      }
      return true;
    } catch (TransactionAbortedException e) {
      if (e.abortCause() != AbortCause.TIMEOUT) {
        throw e;
      }
      // Count a conflict and continue with the next transaction.
      tally.conflict(type, e.abortCause());
      return false;
    }
  }

  @Override
  public CommitHandle commitHandle() {
    return commitHandle;
  }

  @Override
  public long acknowledge() {
    long end = System.nanoTime();
    Txn txn = txns[type];
    latencies[type].recordValue(Math.min(end - start, Percentiles.LATENCY_MAX_NANOS));
    tally.ended(type, txn.rolledBack(), txn.attempts(), txn.skipped());
    if (acknowledged != null && !txn.rolledBack()) {
      txn.acknowledge(acknowledged, record);
    }
    pacing.ended(type, end);
    return end;
  }

  /** Waits until a time of {@link System#nanoTime}; false if the crew stops first. */
  boolean sleepUntil(long nanos) {
    for (long left = nanos - System.nanoTime(); left > 0; left = nanos - System.nanoTime()) {
      if (crew.stopping()) {
        return false;
      }
      if (left > Pacing.SPIN_NANOS) {
        LockSupport.parkNanos(Math.min(left - Pacing.SPIN_NANOS, NAP_NANOS));
      } else if (virtual) {
        Thread.yield();
      } else {
        Thread.onSpinWait();
      }
    }
    return true;
  }
}
