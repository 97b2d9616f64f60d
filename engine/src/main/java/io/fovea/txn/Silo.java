package io.fovea.txn;

/**
 * Optimistic concurrency control as in Silo (Tu, Zheng, Kohler, Liskov, Madden, SOSP 2013): each
 * item carries the id of the last transaction that wrote it. It is the wts of the item's word; the
 * rts is always the same.
 *
 * <pre>
 *   read      id and content together
 *   commit    lock what is written; then every read still has its id and no other holds its lock
 *             id := 1 + the largest id of all that was read or is locked
 * </pre>
 *
 * <b>Serializability.</b> Let T's point lie between its last lock and the first read of its
 * validation. At that point, what T has read is as T saw it: its id is unchanged at the later
 * validation, and no other transaction was between lock and publication. No other transaction
 * writes what T writes from T's lock to its publication, which include the point. So the order of
 * the points is a serial order. The validation must not precede the locks: both are volatile
 * accesses (a compare-and-set, a volatile read). Gaps are items, so phantoms are changed reads, by
 * TicToc's next-key argument.
 *
 * <p><b>Differences from the paper.</b> Next-key items replace node sets. There are no epochs,
 * which in Silo make a prefix of several log streams consistent: this log is one stream, and a
 * commit is appended with its locks held. If T read what U overwrote, U's record may precede T's;
 * if the log ends between them, T is lost and was not acknowledged.
 */
final class Silo {
  private Silo() {}

  static long commitId(ReadSet reads, SlotSet locked, Timestamps timestamps) {
    long id = 0;
    for (int i = 0, n = reads.size(); i < n; i++) {
      id = Math.max(id, TidWord.rts(reads.word(i)));
    }
    for (int i = 0, n = locked.size(); i < n; i++) {
      id = Math.max(id, TidWord.rts(timestamps.word(locked.get(i))));
    }
    return id + 1;
  }

  /** Returns whether every read is unchanged and not locked by another transaction. */
  static boolean validate(ReadSet reads, SlotSet locked, Timestamps timestamps) {
    boolean locks = locked.size() > 0;
    for (int i = 0, n = reads.size(); i < n; i++) {
      int slot = reads.slot(i);
      long now = timestamps.word(slot);
      if (TidWord.wts(now) != TidWord.wts(reads.word(i))
          || (TidWord.isLocked(now) && !(locks && locked.contains(slot)))) {
        return false;
      }
    }
    return true;
  }
}
