package io.fovea.txn;

import io.fovea.error.AbortCause;

/**
 * Strict timestamp ordering over (wts, rts), after the dissertation's algorithm 4: the serial order
 * is that of the begins.
 *
 * <pre>
 *   begin    t := the next number of the clock        reads at 2t, writes at 2t + 1
 *   read     not locked by another; wts &lt;= 2t; rts := max(rts, 2t)
 *   write    lock (the "dirty bit", until the end); rts &lt;= 2t
 *   commit   lock the successors of keys that appear or disappear; the same check
 *            append, install, every locked item := (2t + 1, 2t + 1), unlocked
 *   abort    unlock
 * </pre>
 *
 * <b>Two steps for each transaction</b>, so that the write of an item that the same transaction has
 * read lies above that read, as {@link Timestamps#publish} demands. No other transaction has a
 * timestamp between the two.
 *
 * <p><b>Why it is serializable</b>, in the order of t. Let T read item i and U write it.
 *
 * <ul>
 *   <li>U before T (u &lt; t). If T read first, rts was 2t or more when U looked under the lock,
 *       and U aborted. If U had the lock, T waited, or aborted. If U had published, T saw U's
 *       write.
 *   <li>T before U (t &lt; u). If U had published first, T found wts = 2u + 1 or more, and aborted.
 *       If U had the lock, T waited for it and then found that, or aborted. Else T did not see U's
 *       write, as it should.
 *   <li>Two writers exclude each other, and the second has the larger number, for it found rts =
 *       wts = 2u + 1 at most 2t.
 * </ul>
 *
 * <p><i>Strict</i>: nobody reads what has not committed, for it is neither in the trees nor is its
 * item unlocked.
 *
 * <p><b>Phantoms.</b> T at t scans a gap that the item of s stands for; U at u inserts x into it or
 * deletes x from it. U locks the item of x's successor and publishes it.
 *
 * <ul>
 *   <li>u &lt; t, and T scanned first: rts of item(s) is 2t, so U aborts if s is the successor
 *       still. If it is another y now, whoever put y there locked the item that T has read (or, by
 *       induction, one that was published by such a one), so has a number v &gt; t; it published
 *       item(y) at 2v + 1, which is more than 2u: U aborts.
 *   <li>u &gt; t, and U published first: T finds 2u + 1 at the item of s, or at that of whatever
 *       stands there now, because every later change of the gap locked an item published at 2u + 1
 *       or more, and published the new neighbour above that. T aborts.
 * </ul>
 *
 * <p>A descending scan reads the item of a gap with the key above it, before it comes to the gap.
 * So it looks at that item once more when it has the gap's content ({@link TxScan}): a key that was
 * deleted from there in between was published at that item, or at one that was put in between
 * later, which in turn was published at it.
 *
 * <p><b>Approximate timestamps</b> are too high, never too low, so they cause aborts and no more
 * (dissertation, 3.1): every comparison is of the own, exact number with an item's. An extension
 * whose distance overflows raises wts to no more than 2t ({@link Timestamps#extend}): those between
 * abort without need.
 *
 * <p><b>Waiting</b> for a lock is bounded: a moment by who holds none; a shorter one by who holds
 * some, since they could wait for each other.
 *
 * <p>Nothing is left to validate at the commit. A reader's results hold at once, only that its
 * entries were exact ({@link Timestamps#holds}) is asked at the end.
 */
final class Sto {
  private static final String LATE =
      "another transaction that began later has used a key of this one";

  private Sto() {}

  /**
   * The look at an item that goes with its content.
   *
   * @return 0, or a locked word: wait, and begin again
   */
  static long look(ConcurrencyControl c, int slot) {
    Timestamps timestamps = c.timestamps;
    long word = timestamps.word(slot);
    if (TidWord.isLocked(word)) {
      // An own lock: the check was made when it was taken, and nobody else changes the item.
      return c.locked.contains(slot) ? 0 : word;
    }
    if (TidWord.wts(word) > c.timestamp) {
      throw c.life.abort(AbortCause.ORDER, LATE);
    }
    // It fails when the item was locked or written since.
    return timestamps.extend(slot, word, c.timestamp, false) ? 0 : TidWord.LOCK;
  }

  /**
   * Locks an item that is to be written, and holds it until the end.
   *
   * @return false where this transaction had it before
   */
  static boolean lock(ConcurrencyControl c, long item, int slot, AbortCause cause) {
    if (!c.lock(item, slot, c.patience(), cause)) {
      return false;
    }
    if (TidWord.rts(c.timestamps.word(slot)) > c.timestamp) {
      throw c.life.abort(AbortCause.ORDER, LATE);
    }
    return true;
  }

  /**
   * Whether nothing that was read was overwritten since, though the order of numbers would allow
   * it: see {@link CommitGate}. What is locked now is overwritten later.
   */
  static boolean unchanged(ConcurrencyControl c) {
    ReadSet reads = c.reads;
    for (int i = 0, n = reads.size(); i < n; i++) {
      if (TidWord.wts(c.timestamps.word(reads.slot(i))) > c.timestamp) {
        return false;
      }
    }
    return true;
  }

  /** Above all reads of this transaction, its own included. */
  static long commitTimestamp(ConcurrencyControl c) {
    return c.timestamp + 1;
  }
}
