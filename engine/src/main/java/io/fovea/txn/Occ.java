package io.fovea.txn;

import io.fovea.error.AbortCause;
import java.util.Arrays;

/**
 * Optimistic concurrency control after Kung and Robinson (ACM TODS 6, 1981), with serial
 * validation: one transaction's part.
 *
 * <pre>
 *   begin     start := what is installed now
 *   read      checks no item; the read set lists what was read
 *   commit    validate against the write sets listed since the start       no lock
 *             lock; validate against those listed meanwhile; append; list; install; unlock
 * </pre>
 *
 * <b>Serializability.</b> Validation and write phase are one critical section, so the serial order
 * is that of the sections. Let T have validated. T has seen everything that was installed before
 * its start, and has read no item that another transaction listed between T's start and T's
 * section. So everything that T read, content and gaps, is the same at T's start and in T's
 * section, whatever mixture single reads have seen.
 *
 * <p><b>Phantoms.</b> U's write set contains, for each key that appears or disappears, the item of
 * the first installed key above it. T's scan has read the items of the installed keys it passed and
 * of the first one above. Let U insert x into a gap that T has scanned and whose item was that of
 * s. If U lists item(s), it conflicts with T. If U lists y, x &lt; y &lt; s, then y was installed
 * after T's scan and start, by some V that listed s or a key below it that was installed even
 * later: the first of these listed s and conflicts with T.
 *
 * <p><b>Read-only transactions</b> need no section: their reads equal the state at their start if
 * no listed item touches them. Write sets that are listed but not yet installed count too, because
 * the reads may have seen half of one.
 *
 * <p>The history is bounded: a transaction that began before its oldest entry aborts ({@link
 * AbortCause#HISTORY}).
 */
class Occ {
  private static final int WAIT = 20_000;

  private final ConcurrencyControl concurrencyControl;
  private final TxLife life;
  private final History history;
  private long start;
  private boolean validating;
  private long[] items = new long[64];
  private int count;

  Occ(ConcurrencyControl concurrencyControl, History history) {
    this.concurrencyControl = concurrencyControl;
    this.life = concurrencyControl.life;
    this.history = history;
  }

  void begin() {
    start = history.done();
  }

  /**
   * Begins the critical section, after checking outside of it what can be checked. The wait is
   * bounded, because this transaction holds back the redo point, on which the holder may depend.
   */
  void lock() {
    boolean reserved = concurrencyControl.pessimistic.isOn(); // then its reads are reserved
    long to = history.listed();
    if (!reserved) {
      requireUnchanged(start, to);
    }
    for (int attempt = 0; !history.tryLock(); attempt++) {
      if (attempt >= WAIT) {
        life.health.requireHolder();
        throw life.abort(AbortCause.LOCK, "other commits took too long");
      }
      life.pause(attempt);
    }
    validating = true;
    // All reads precede the first check, so what it covered needs no second one.
    if (!reserved) {
      requireUnchanged(to, history.listed());
    }
  }

  /**
   * Waits for the end of a section that may have begun before the caller reserved an item: its
   * holder may not have seen the reservation, and may be installing.
   */
  void awaitSection() {
    int now = history.sections();
    for (int attempt = 0; !validating && (now & 1) != 0 && history.sections() == now; attempt++) {
      life.pauseForHolder(attempt);
    }
  }

  boolean unchanged() {
    boolean same =
        history.retains(start) && unchanged(start, history.listed()) && history.retains(start);
    if (!same) {
      life.health.requireHolder();
    }
    return same;
  }

  /** Validates a read-only transaction; others have validated in {@link #lock}. */
  void validate() {
    if (!validating) {
      requireUnchanged(start, history.listed());
    }
  }

  private void requireUnchanged(long from, long to) {
    // Checked before, to avoid a useless search, and after, because the history moves.
    boolean same = history.retains(from) && unchanged(from, to);
    if (!history.retains(from)) {
      throw life.abort(
          AbortCause.HISTORY, "the history no longer has all commits since the transaction began");
    }
    if (!same) {
      life.health.requireHolder();
      throw life.abort(AbortCause.VALIDATION, "a key that was read has changed");
    }
  }

  private boolean unchanged(long from, long to) {
    ReadSet reads = concurrencyControl.reads;
    if (reads.size() > 0) {
      for (long p = from; p < to; p++) {
        if (reads.find(history.item(p)) >= 0) {
          return false;
        }
      }
    }
    return true;
  }

  void wrote(long item) {
    if (count == items.length) {
      items = Arrays.copyOf(items, 2 * count);
    }
    items[count++] = item;
  }

  void list() {
    history.list(items, count);
  }

  void installed() {
    if (validating) {
      history.installed();
    }
    release();
  }

  void release() {
    if (validating) {
      validating = false;
      history.unlock();
    }
    count = 0;
  }

  /** Leaves the section locked permanently. */
  void abandonLocks() {
    validating = false;
    count = 0;
  }
}
