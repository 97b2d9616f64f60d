package io.fovea.txn;

/**
 * Optimistic concurrency control as in Silo (Tu, Zheng, Kohler, Liskov, Madden, SOSP 2013): a
 * transaction id per item, which says which transaction wrote it last. It is the wts of the item's
 * word; the rts is always the same.
 *
 * <pre>
 *   read      id and content together
 *   commit    lock what is written; then every read has its id still and no other holds its lock
 *             id := 1 + the largest id of all that was read or is locked
 * </pre>
 *
 * <b>Why it is serializable.</b> Let T's point be the moment between its last lock and its first
 * look of the validation. What T has read is at that point as T saw it: the id had not moved later,
 * and no other held the lock, so nobody was between lock and publication. What T writes nobody else
 * writes from the lock to the publication, which the point lies in. So the order of the points is a
 * serial one. The looks must not be done before the locks: both are volatile accesses (a
 * compare-and-set, a volatile read). Gaps are items like all else, so phantoms are reads that have
 * changed; the next-key argument is TicToc's.
 *
 * <p><b>What is different from the paper.</b> Node sets are next-key items here. There are no
 * epochs: in Silo they give a log of many streams an order in which a prefix is consistent. Here
 * the log is one stream, and a commit is appended with its locks held, so the log's order agrees
 * with that of all who write or read what another wrote. Where T read what U overwrote, U's record
 * may come before T's; if the log ends between them, T has not happened and was told to nobody.
 */
final class Silo {
  private Silo() {}

  /** 1 + the largest id of what was read or is locked. */
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

  /** Whether every read is as it was seen, and no other is writing it. */
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
