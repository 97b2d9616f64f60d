package io.fovea.txn;

import io.fovea.error.AbortCause;
import java.util.Arrays;

/**
 * Optimistic concurrency control after Kung and Robinson (ACM TODS 6, 1981), with serial
 * validation: one transaction's part.
 *
 * <pre>
 *   begin     start := what is installed now
 *   read      no look at any item; the read set names what was read
 *   commit    validate against the write sets that were listed since the start       no lock
 *             lock; validate against those that came meanwhile; append; list; install; unlock
 * </pre>
 *
 * <b>Why it is serializable.</b> Write phases exclude each other, and validation and write phase
 * are one section, so the serial order is that of the sections. Let T have validated. Everything
 * that was installed before T's start T has seen. Of what a transaction U listed between T's start
 * and T's section, T has read no item. So all that T read, content and gaps, is as it was at T's
 * start and as it is in T's section, whatever mixture T's single reads have seen on the way.
 *
 * <p><b>Phantoms.</b> U's write set contains, for each key that appears or disappears, the item of
 * the first installed key above it. T's scan has read the items of the installed keys it passed and
 * of the first one above. If U inserts x into a gap that T has scanned, let s be the key whose item
 * stood for it. If U lists item(s): conflict. If U lists y, x &lt; y &lt; s, then y was installed
 * after T's scan and after T's start, by some V who listed s or, in turn, a key below it that came
 * later still: the first of these listed s, and T conflicts with that one.
 *
 * <p><b>Transactions that write nothing</b> need no section: what they have read is as it was at
 * their start, if nothing that is listed touches it. What is listed and not yet installed counts,
 * for they may have seen half of it.
 *
 * <p><b>The history is bounded.</b> Who began before what it remembers aborts ({@link
 * AbortCause#HISTORY}).
 */
class Occ {
  private static final int WAIT = 20_000;

  private final ConcurrencyControl concurrencyControl;
  private final TxLife life;
  private final History history;
  private long start;
  private boolean holding;
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
   * Begins the section. What can be found out without it is found out before.
   *
   * <p>The wait is bounded, for this transaction has its place in the log already and holds the
   * redo point back, on which the one that installs may depend for its own log space.
   */
  void lock() {
    boolean reserved =
        concurrencyControl.pessimistic.on(); // then nothing that was read has changed
    long to = history.listed();
    if (!reserved) {
      requireUnchanged(start, to);
    }
    for (int attempt = 0; !history.tryLock(); attempt++) {
      if (attempt >= WAIT) {
        life.health.requireHolder();
        throw life.abort(AbortCause.LOCK, "others' commits took too long");
      }
      life.pause(attempt);
    }
    holding = true;
    // All reads were done before the first look, so what it covered needs no second one.
    if (!reserved) {
      requireUnchanged(to, history.listed());
    }
  }

  /**
   * Waits until a section has ended that may have begun before the caller reserved an item: its
   * owner may not have seen that, and is perhaps installing.
   */
  void awaitSection() {
    int now = history.sections();
    for (int attempt = 0; !holding && (now & 1) != 0 && history.sections() == now; attempt++) {
      life.pauseForHolder(attempt);
    }
  }

  /** Whether what was read is as it was at the start. */
  boolean unchanged() {
    boolean same =
        history.remembers(start) && unchanged(start, history.listed()) && history.remembers(start);
    if (!same) {
      life.health.requireHolder();
    }
    return same;
  }

  /** For a transaction that writes nothing; the others have done it in {@link #lock}. */
  void validate() {
    if (!holding) {
      requireUnchanged(start, history.listed());
    }
  }

  private void requireUnchanged(long from, long to) {
    // Before, so that a long way is not gone in vain, and after, because it moves.
    boolean same = history.remembers(from) && unchanged(from, to);
    if (!history.remembers(from)) {
      throw life.abort(
          AbortCause.HISTORY, "more was committed since it began than the history remembers");
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

  /** Adds an item to the write set. In the section. */
  void wrote(long item) {
    if (count == items.length) {
      items = Arrays.copyOf(items, 2 * count);
    }
    items[count++] = item;
  }

  /** The commit has happened, and its install begins. */
  void list() {
    history.list(items, count);
  }

  /** All is installed: ends the section, if there is one. */
  void installed() {
    if (holding) {
      history.installed();
    }
    release();
  }

  /** Ends the section without a trace, if there is one. */
  void release() {
    if (holding) {
      holding = false;
      history.unlock();
    }
    count = 0;
  }

  /** Leaves the section locked, for good. */
  void forget() {
    holding = false;
    count = 0;
  }
}
