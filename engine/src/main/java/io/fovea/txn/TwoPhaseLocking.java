package io.fovea.txn;

import io.fovea.error.AbortCause;

/**
 * Two-phase locking without waiting: the locks of one transaction.
 *
 * <pre>
 *   read, scan   shared lock of each item, before its content is taken for good
 *   write        exclusive lock of the item, when the user asks for the write
 *   commit       exclusive locks of the successors of keys that appear or disappear
 *   end          all locks go at once: after the install, or with the rollback
 * </pre>
 *
 * <b>Why it is serializable.</b> No lock goes before the last one has been taken, so transactions
 * that conflict are ordered by their locks, and the order of their commits is a serial one (Eswaran
 * and others, 1976). What is to be shown is that everything that conflicts meets in an item:
 *
 * <ul>
 *   <li><i>Content.</i> A leaf's version is read, then the content, then the item is locked, then
 *       the version is what it was. A change of the item needs its lock exclusively and moves the
 *       version, so the content is that of the moment at which the lock was taken, and stays.
 *   <li><i>Phantoms.</i> A scan has the items of the keys that it passed and of the first installed
 *       key s above, which stand for all gaps between. A transaction that inserts or deletes a key
 *       in one of these gaps needs the item of the first installed key above that key exclusively,
 *       and looks again when he has it ({@link Commit}): that is an item that the scan holds, for
 *       while it does no key can have appeared in the gap.
 * </ul>
 *
 * <p><b>No deadlocks</b>, since nobody waits: a transaction that does not get a lock aborts at once
 * (the dissertation's choice, section 3.4.1, after trying wound-wait and wait-die). Two readers who
 * both want to write abort each other; back-off and {@link Reservations} keep that from going on.
 * The pessimistic transaction waits, and it is one: its locks are refused to those who come later
 * as soon as they are reserved, so that it waits for those who have them already and no others.
 */
final class TwoPhaseLocking {
  private final ConcurrencyControl concurrencyControl;
  private final TxLife life;
  private final LockTable table;
  private final Reservations reservations;
  private final SlotSet shared = new SlotSet(); // upgraded ones stay in
  private final SlotSet exclusive = new SlotSet();

  TwoPhaseLocking(ConcurrencyControl concurrencyControl, LockTable table) {
    this.concurrencyControl = concurrencyControl;
    this.life = concurrencyControl.life;
    this.table = table;
    this.reservations = life.shared.reservations;
  }

  /** Locks an item for reading, unless it is locked by this transaction; returns its place. */
  int share(long item) {
    int place = table.place(item);
    if (!shared.contains(place) && !exclusive.contains(place)) {
      SlotSet mine = shared;
      mine.stage(place);
      if (!table.tryShare(place)) {
        throw refused(AbortCause.LOCK);
      }
      mine.size++; // nothing can fail between the lock and this
      Reservation r = reservations.current();
      if (r != null && r.refusesReading(reserved(place)) && !reservations.expelIfExpired(r)) {
        throw concurrencyControl.refused(r, AbortCause.LOCK);
      }
    }
    return place;
  }

  /** What stands for a place in a {@link Reservation}: items that share it are one item here. */
  private static long reserved(int place) {
    return place + 1L << 1;
  }

  /**
   * Locks an item for writing.
   *
   * @return false where this transaction had it before
   */
  boolean exclude(long item, AbortCause cause) {
    int place = table.place(item);
    if (exclusive.contains(place)) {
      return false;
    }
    requireUnreserved(place, cause);
    boolean upgrade = shared.contains(place);
    SlotSet mine = exclusive;
    mine.stage(place);
    if (!(upgrade ? table.tryUpgrade(place) : table.tryExclude(place))) {
      throw refused(cause);
    }
    mine.size++; // nothing can fail between the lock and this
    requireUnreserved(place, cause);
    return true;
  }

  private void requireUnreserved(int place, AbortCause cause) {
    Reservation r = reservations.current();
    if (r != null && r.refusesWriting(reserved(place)) && !reservations.expelIfExpired(r)) {
      throw concurrencyControl.refused(r, cause);
    }
  }

  /** {@link #share} for the pessimistic transaction: waits. */
  int share(long item, Reservation mine) {
    int place = table.place(item);
    mine.add(reserved(place), false);
    if (!shared.contains(place) && !exclusive.contains(place)) {
      SlotSet held = shared;
      held.stage(place);
      for (int attempt = 0; !table.tryShare(place); attempt++) {
        life.pauseForHolder(attempt);
      }
      held.size++; // nothing can fail between the lock and this
    }
    return place;
  }

  /** {@link #exclude} for the pessimistic transaction: waits, for those who read as well. */
  boolean exclude(long item, Reservation mine) {
    int place = table.place(item);
    if (exclusive.contains(place)) {
      return false;
    }
    mine.add(reserved(place), true);
    boolean upgrade = shared.contains(place);
    SlotSet held = exclusive;
    held.stage(place);
    for (int attempt = 0;
        !(upgrade ? table.tryUpgrade(place) : table.tryExclude(place));
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

  /** Lets all locks go. */
  void release() {
    // One by one, so that an error in between leaves the others to the next call. The shared ones
    // first, as long as it is known which were upgraded.
    while (shared.size > 0) {
      int place = shared.get(shared.size - 1);
      if (!exclusive.contains(place)) {
        table.unshare(place);
      }
      shared.size--;
    }
    while (exclusive.size > 0) {
      table.release(exclusive.get(exclusive.size - 1));
      exclusive.size--;
    }
    forget();
  }

  /** Leaves all locks as they are, for good. */
  void forget() {
    exclusive.clear();
    shared.clear();
  }
}
