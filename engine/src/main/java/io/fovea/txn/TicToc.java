package io.fovea.txn;

/**
 * TicToc's timestamps and validation (Yu, Pavlo, Sanchez, Devadas, SIGMOD 2016). The proof is in
 * docs/internals/transactions.md.
 */
final class TicToc {
  private TicToc() {}

  static long commitTimestamp(ReadSet reads, SlotSet locked, Timestamps timestamps) {
    long ts = 0;
    for (int i = 0, n = reads.size(); i < n; i++) {
      ts = Math.max(ts, TidWord.wts(reads.word(i)));
    }
    for (int i = 0, n = locked.size(); i < n; i++) {
      ts = Math.max(ts, TidWord.rts(timestamps.word(locked.get(i))) + 1);
    }
    return ts;
  }

  /** Returns whether every read is valid at a timestamp and, if {@code all}, also valid now. */
  static boolean validate(
      ReadSet reads, SlotSet locked, Timestamps timestamps, long commitTs, boolean all) {
    boolean locks = locked.size() > 0;
    for (int i = 0, n = reads.size(); i < n; i++) {
      long seen = reads.word(i);
      int slot = reads.slot(i);
      if (locks && locked.contains(slot)) {
        // Others can't change an item that we hold, but its wts may have changed before.
        if (TidWord.wts(timestamps.word(slot)) != TidWord.wts(seen)) {
          return false;
        }
      } else if (TidWord.rts(seen) < commitTs) {
        if (!timestamps.extend(slot, seen, commitTs, false)) {
          return false;
        }
      } else if (all) {
        long now = timestamps.word(slot);
        if (TidWord.isLocked(now) || TidWord.wts(now) != TidWord.wts(seen)) {
          return false;
        }
      }
    }
    return true;
  }
}
