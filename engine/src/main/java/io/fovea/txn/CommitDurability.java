package io.fovea.txn;

import io.fovea.config.Durability;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DurabilityLostException;
import io.fovea.wal.Log;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * What a transaction that has ended waits for before anybody is told of it: that the log is durable
 * up to a position. {@link TxEngine} says what its methods promise.
 */
final class CommitDurability {
  private final @Nullable Log log;
  private final Durability durability;
  private final boolean waits;
  private final LongAdder count = new LongAdder();
  private final LongAdder nanos = new LongAdder();

  /**
   * @param log null for none
   * @param durability what a commit waits for
   */
  CommitDurability(@Nullable Log log, Durability durability) {
    this.log = log;
    this.durability = durability;
    this.waits = log != null && durability == Durability.SYNC;
  }

  /** Whether transactions that only read wait for what they read. */
  boolean waits() {
    return waits;
  }

  /** How many waits there were. */
  long count() {
    return count.sum();
  }

  /** How long they took together. */
  long nanos() {
    return nanos.sum();
  }

  /** As {@link TxEngine#await}. */
  void await(long lsn, boolean wrote) {
    await(lsn, wrote, false);
  }

  /** As {@link TxEngine#awaitRequested}. */
  void awaitRequested(long lsn, boolean wrote) {
    await(lsn, wrote, true);
  }

  private void await(long lsn, boolean wrote, boolean requested) {
    Log l = log;
    if (l == null || lsn == 0 || durability == Durability.NONE) {
      return;
    }
    if (!waits) {
      if (wrote) {
        awaitAll(l, 0, true, false);
      }
    } else if (l.durableLsn() < lsn) {
      long began = System.nanoTime();
      try {
        awaitAll(l, lsn, wrote, requested);
      } finally {
        count.increment();
        nanos.add(System.nanoTime() - began);
      }
    }
  }

  /** As {@link TxEngine#request}. */
  long request(long lsn, boolean wrote) {
    Log l = log;
    if (!waits || l == null || lsn == 0 || lsn > l.tail()) {
      await(lsn, wrote);
      return 0;
    }
    if (l.durableLsn() >= lsn) {
      return 0;
    }
    l.request(lsn);
    return lsn;
  }

  /** As {@link TxEngine#isDurable}. */
  boolean isDurable(long lsn, boolean wrote) {
    Log l = log;
    if (lsn == 0 || l == null || l.durableLsn() >= lsn) {
      return true;
    }
    if (l.isAlive()) {
      return false;
    }
    await(lsn, wrote); // throws, unless the last group was the one
    return true;
  }

  /** As {@link TxEngine#whenDurable}. */
  void whenDurable(long lsn, Runnable action) {
    Log l = log;
    if (l == null || lsn == 0) {
      Thread.ofVirtual().name("fovea-durable").start(action);
    } else {
      l.whenDurable(lsn, action);
    }
  }

  /** Waits for a position, or, for 0, until no more than the window is behind. */
  private static void awaitAll(Log l, long lsn, boolean wrote, boolean requested) {
    try {
      if (lsn == 0) {
        l.awaitWindow();
        return;
      }
      if (lsn > l.tail()) {
        // A page whose change of structure the log did not take any more.
        l.requireAlive();
      }
      if (requested) {
        l.awaitRequested(lsn);
      } else {
        l.awaitDurable(Math.min(lsn, l.tail()));
      }
    } catch (DurabilityLostException | DatabaseClosedException e) {
      // A close that can't write the log gives it up, and a commit of which it has the record.
      if (!wrote && e instanceof DatabaseClosedException) {
        throw e;
      }
      throw wrote
          ? new DurabilityLostException(
              "The transaction is in the log, but that could not be made durable: it has committed"
                  + " if its record is found when the database is opened again.",
              e,
              true)
          : new DurabilityLostException(
              "What the transaction has read can't be made durable any more, so that its result"
                  + " might be undone: it is not given out.",
              e,
              false);
    }
  }
}
