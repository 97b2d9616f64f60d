package io.fovea.txn;

import io.fovea.error.AbortCause;

/**
 * Two-phase locking without waiting: the locks of one transaction.
 *
 * <pre>
 *   read, scan   shared lock of each item, before its content is accepted
 *   write        exclusive lock of the item, when the user calls the write
 *   commit       exclusive locks of the successors of keys that appear or disappear
 *   end          all locks are released at once: after the install, or with the rollback
 * </pre>
 *
 * <b>Serializability.</b> No lock is released before the last one is taken, so the order of commits
 * is a serial one (Eswaran and others, 1976), if all conflicts meet in an item:
 *
 * <ul>
 *   <li><i>Content.</i> The leaf's version is read, then the content, then the item is locked, then
 *       the version is found unchanged. A change of the item needs its exclusive lock and changes
 *       the version, so the content is current when the lock is taken, and stays current.
 *   <li><i>Phantoms.</i> A scan has locked the items of the keys that it passed and of the first
 *       installed key above, which cover all gaps between. A transaction that inserts or deletes a
 *       key in such a gap needs the exclusive lock of the first installed key above that key, and
 *       checks again when it has it ({@link Commit}): that is an item that the scan holds, because
 *       no key can have appeared in the gap meanwhile.
 * </ul>
 *
 * <p><b>No deadlocks</b>: a transaction that does not get a lock aborts at once (the dissertation's
 * choice, section 3.4.1). Two readers that both want to write abort each other; backoff and {@link
 * Reservations} ensure progress. Only the pessimistic transaction waits: once reserved, its locks
 * are refused to others, so it waits only for current holders.
 */
final class TwoPhaseLocking {
  private final ConcurrencyControl concurrencyControl;
  private final TxLife life;
  private final LockTable table;
  private final Reservations reservations;
  private final SlotSet shared = new SlotSet(); // includes upgraded locks
  private final SlotSet exclusive = new SlotSet();

  TwoPhaseLocking(ConcurrencyControl concurrencyControl, LockTable table) {
    this.concurrencyControl = concurrencyControl;
    this.life = concurrencyControl.life;
    this.table = table;
    this.reservations = life.shared.reservations;
  }

  /** Locks an item for reading, unless this transaction has locked it; returns its lock's index. */
  int share(long item) {
    int index = table.indexOf(item);
    if (!shared.contains(index) && !exclusive.contains(index)) {
      SlotSet mine = shared;
      mine.stage(index);
      if (!table.tryShare(index)) {
        throw refused(AbortCause.LOCK);
      }
      mine.size++; // nothing can fail between the lock and this
      Reservation r = reservations.current();
      if (r != null && r.refusesReading(reserved(index)) && !reservations.revokeIfExpired(r)) {
        throw concurrencyControl.refused(r, AbortCause.LOCK);
      }
    }
    return index;
  }

  /** Returns the number of a lock in a {@link Reservation}: items that share a lock are one. */
  private static long reserved(int index) {
    return index + 1L << 1;
  }

  /** Locks an item for writing; returns false if this transaction already held it. */
  boolean exclude(long item, AbortCause cause) {
    int index = table.indexOf(item);
    if (exclusive.contains(index)) {
      return false;
    }
    requireUnreserved(index, cause);
    boolean upgrade = shared.contains(index);
    SlotSet mine = exclusive;
    mine.stage(index);
    if (!(upgrade ? table.tryUpgrade(index) : table.tryExclude(index))) {
      throw refused(cause);
    }
    mine.size++; // nothing can fail between the lock and this
    requireUnreserved(index, cause);
    return true;
  }

  private void requireUnreserved(int index, AbortCause cause) {
    Reservation r = reservations.current();
    if (r != null && r.refusesWriting(reserved(index)) && !reservations.revokeIfExpired(r)) {
      throw concurrencyControl.refused(r, cause);
    }
  }

  /** Locks an item for reading, and waits for the lock; for the pessimistic transaction. */
  int share(long item, Reservation mine) {
    int index = table.indexOf(item);
    mine.add(reserved(index), false);
    if (!shared.contains(index) && !exclusive.contains(index)) {
      SlotSet held = shared;
      held.stage(index);
      for (int attempt = 0; !table.tryShare(index); attempt++) {
        life.pauseForHolder(attempt);
      }
      held.size++; // nothing can fail between the lock and this
    }
    return index;
  }

  /** Locks an item for writing, and waits for other holders; for the pessimistic transaction. */
  boolean exclude(long item, Reservation mine) {
    int index = table.indexOf(item);
    if (exclusive.contains(index)) {
      return false;
    }
    mine.add(reserved(index), true);
    boolean upgrade = shared.contains(index);
    SlotSet held = exclusive;
    held.stage(index);
    for (int attempt = 0;
        !(upgrade ? table.tryUpgrade(index) : table.tryExclude(index));
        attempt++) {
      life.pauseForHolder(attempt);
    }
    held.size++; // nothing can fail between the lock and this
    return true;
  }

  private RuntimeException refused(AbortCause cause) {
    life.health.requireHolder();
    return life.abort(cause, "a key is locked by another transaction");
  }

  void release() {
    // One by one, so that after an error the next call releases the rest. Shared ones first, while
    // it is known which were upgraded.
    while (shared.size > 0) {
      int index = shared.get(shared.size - 1);
      if (!exclusive.contains(index)) {
        table.unshare(index);
      }
      shared.size--;
    }
    while (exclusive.size > 0) {
      table.release(exclusive.get(exclusive.size - 1));
      exclusive.size--;
    }
    abandonLocks();
  }

  /** Leaves all locks held permanently. */
  void abandonLocks() {
    exclusive.clear();
    shared.clear();
  }
}
