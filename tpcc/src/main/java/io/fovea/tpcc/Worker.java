package io.fovea.tpcc;

import io.fovea.error.AbortCause;
import io.fovea.error.TransactionAbortedException;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.SingleWriterRecorder;

/** One thread's stream of transactions. */
final class Worker {
  /** Latencies are in nanoseconds; longer ones count as this long. */
  static final long LATENCY_MAX_NANOS = 100_000_000_000L;

  /** Histograms of 3 digits are 220 kB each, of 2 digits 30 kB; many terminals need many. */
  static int latencyDigits(int workers) {
    return workers <= 64 ? 3 : 2;
  }

  /** A waiting worker looks this often whether it is to stop. */
  private static final long NAP_NANOS = 100_000_000;

  final Tally tally = new Tally();

  private final Crew crew;
  private final Session session;
  private final Mix.Dealer dealer;
  private final Pace pace;
  private final Txn[] txns = new Txn[TxnType.COUNT];
  private final SingleWriterRecorder[] latencies = new SingleWriterRecorder[TxnType.COUNT];

  Worker(Crew crew, Session session, Mix mix, Pace pace, int latencyDigits) {
    this.crew = crew;
    this.session = session;
    this.dealer = mix.dealer(session.rng);
    this.pace = pace;
    for (TxnType type : TxnType.values()) {
      if (mix.has(type)) {
        int i = type.ordinal();
        txns[i] = txn(type);
        latencies[i] = new SingleWriterRecorder(LATENCY_MAX_NANOS, latencyDigits);
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

  /** The latencies of a type; null where the mix has none of it. */
  SingleWriterRecorder latencies(TxnType type) {
    return latencies[type.ordinal()];
  }

  /** Works until the crew stops. */
  void work() {
    pace.begin();
    while (!crew.stopping()) {
      int type = dealer.next();
      Txn txn = txns[type];
      txn.prepare(session.drawHome());
      long start = pace.await(this, type);
      if (start == Pace.STOPPED) {
        return;
      }
      try {
        txn.execute(tally, type);
      } catch (TransactionAbortedException e) {
        if (e.abortCause() != AbortCause.TIMEOUT) {
          throw e;
        }
        // It counts as a conflict; the next transaction may have more luck.
        tally.conflict(type, e.abortCause());
        continue;
      }
      long end = System.nanoTime();
      latencies[type].recordValue(Math.min(end - start, LATENCY_MAX_NANOS));
      tally.ended(type, txn.rolledBack(), txn.attempts(), txn.skipped());
      pace.ended(type, end);
    }
  }

  /** Waits for a moment of {@link System#nanoTime}; false if the crew stops before it. */
  boolean sleepUntil(long nanos) {
    for (long left = nanos - System.nanoTime(); left > 0; left = nanos - System.nanoTime()) {
      if (crew.stopping()) {
        return false;
      }
      if (left > Pace.SPIN_NANOS) {
        LockSupport.parkNanos(Math.min(left - Pace.SPIN_NANOS, NAP_NANOS));
      } else {
        Thread.onSpinWait();
      }
    }
    return true;
  }
}
