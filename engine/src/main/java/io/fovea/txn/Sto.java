package io.fovea.txn;

import io.fovea.error.AbortCause;

/**
 * Strict timestamp ordering over (wts, rts), after the dissertation's algorithm 4: the serial order
 * is the order in which transactions begin.
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
 * Each transaction has two timestamps, so that its write of an item that it has read is above that
 * read, as {@link Timestamps#publish} requires.
 *
 * <p><b>Serializability</b>, in the order of t. Let T read item i and U write it.
 *
 * <ul>
 *   <li>u &lt; t. If T read first, U found rts &gt;= 2t under the lock and aborted. If U had the
 *       lock, T waited or aborted. If U had published, T saw U's write.
 *   <li>t &lt; u. If U had published first, T found wts &gt;= 2u + 1 and aborted. If U had the
 *       lock, T waited and then found that, or aborted. Otherwise T did not see U's write.
 *   <li>Two writers exclude each other, and the second has the larger number, because it found rts
 *       = wts = 2u + 1 to be at most 2t.
 * </ul>
 *
 * <p><i>Strict</i>: uncommitted data is not read, because it is not in the trees and its item is
 * locked.
 *
 * <p><b>Phantoms.</b> T at t scans a gap whose item is that of s; U at u inserts x into it or
 * deletes x from it. U locks the item of x's successor and publishes it.
 *
 * <ul>
 *   <li>u &lt; t, and T scanned first: rts of item(s) is 2t, so U aborts if s still is the
 *       successor. If it is y, the transaction V that installed y locked the item that T has read
 *       (or, by induction, one published by such a V), so v &gt; t; it published item(y) at 2v + 1
 *       &gt; 2u, and U aborts.
 *   <li>u &gt; t, and U published first: T finds 2u + 1 at the item of s, or at that of the current
 *       successor, because every later change of the gap locked an item published at 2u + 1 or
 *       more, and published the new neighbor above that. T aborts.
 * </ul>
 *
 * <p>A descending scan reads the item of a gap before the gap, and rereads it with the gap's
 * content ({@link TxScan}): a key deleted in between was published at that item, or at the item of
 * a key installed in the gap later, whose install in turn published the gap's item.
 *
 * <p><b>Approximate timestamps</b> are never too low, so they only cause aborts (dissertation,
 * 3.1): every comparison is between the transaction's exact number and an item's timestamp. An
 * extension that overflows raises wts to at most 2t ({@link Timestamps#extend}).
 *
 * <p>Waiting for locks is bounded. Nothing is left to validate at the commit, except that its
 * entries were exact ({@link Timestamps#holds}).
 */
final class Sto {
  private static final String LATE =
      "another transaction that began later has used a key of this one";

  private Sto() {}

  /** Checks an item with its content; returns 0, or a locked word: wait, and read again. */
  static long readWord(ConcurrencyControl c, int slot) {
    Timestamps timestamps = c.timestamps;
    long word = timestamps.word(slot);
    if (TidWord.isLocked(word)) {
      // Its own lock: checked when it was taken, and no other transaction changes the item.
      return c.locked.contains(slot) ? 0 : word;
    }
    if (TidWord.wts(word) > c.timestamp) {
      throw c.life.abort(AbortCause.ORDER, LATE);
    }
    // It fails if the item was locked or written since.
    return timestamps.extend(slot, word, c.timestamp, false) ? 0 : TidWord.LOCK;
  }

  /** Locks an item until the end; returns false if this transaction already held it. */
  static boolean lock(ConcurrencyControl c, long item, int slot, AbortCause cause) {
    if (!c.lock(item, slot, c.checksPerLock(), cause)) {
      return false;
    }
    if (TidWord.rts(c.timestamps.word(slot)) > c.timestamp) {
      throw c.life.abort(AbortCause.ORDER, LATE);
    }
    return true;
  }

  /**
   * Returns whether no read was overwritten since, even if the order of numbers allows it: see
   * {@link CommitGate}. An item that is locked now is overwritten later.
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

  static long commitTimestamp(ConcurrencyControl c) {
    return c.timestamp + 1;
  }
}
