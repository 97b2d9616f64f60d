package io.fovea.txn;

import io.fovea.config.Durability;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.DurabilityLostException;
import io.fovea.wal.Log;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Waits until the log is durable up to the position that an ended transaction depends on, before
 * its result is acknowledged. {@link TxEngine} documents the methods.
 */
final class CommitDurability {
  private final @Nullable Log log;
  private final Durability durability;
  private final boolean waits;
  private final LongAdder count = new LongAdder();
  private final LongAdder nanos = new LongAdder();

  CommitDurability(@Nullable Log log, Durability durability) {
    this.log = log;
    this.durability = durability;
    this.waits = log != null && durability == Durability.SYNC;
  }

  boolean waits() {
    return waits;
  }

  long count() {
    return count.sum();
  }

  long nanos() {
    return nanos.sum();
  }

  void await(long lsn, boolean wrote) {
    await(lsn, wrote, false);
  }

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

  boolean isDurable(long lsn, boolean wrote) {
    Log l = log;
    if (lsn == 0 || l == null || l.durableLsn() >= lsn) {
      return true;
    }
    if (l.isAlive()) {
      return false;
    }
    await(lsn, wrote); // throws, unless the last group made it durable
    return true;
  }

  void whenDurable(long lsn, Runnable action) {
    Log l = log;
    if (l == null || lsn == 0) {
      Thread.ofVirtual().name("fovea-durable").start(action);
    } else {
      l.whenDurable(lsn, action);
    }
  }

  /** Waits for a position; for 0, until the log is at most the flush window behind. */
  private static void awaitAll(Log l, long lsn, boolean wrote, boolean requested) {
    try {
      if (lsn == 0) {
        l.awaitWindow();
        return;
      }
      if (lsn > l.tail()) {
        // The log did not accept the structure change of a page that was read.
        l.requireAlive();
      }
      if (requested) {
        l.awaitRequested(lsn);
      } else {
        l.awaitDurable(Math.min(lsn, l.tail()));
      }
    } catch (DurabilityLostException | DatabaseClosedException e) {
      // A close that can't write the log abandons it, with the records of commits in it.
      if (!wrote && e instanceof DatabaseClosedException) {
        throw e;
      }
      throw wrote
          ? new DurabilityLostException(
              "The commit is in the log, which could not be made durable. The transaction has committed"
                  + " if its record is found when the database is opened again.",
              e,
              true)
          : new DurabilityLostException(
              "The data that the transaction has read can't become durable, so its result is"
                  + " withheld: a recovery may undo it.",
              e,
              false);
    }
  }
}
