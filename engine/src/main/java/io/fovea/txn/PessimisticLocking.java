package io.fovea.txn;

import io.fovea.config.Protocol;
import io.fovea.error.AbortCause;
import org.jspecify.annotations.Nullable;

/**
 * The steps of each protocol for the pessimistic transaction; {@link Reservations} explains why
 * they work.
 *
 * <pre>
 *            TICTOC, SILO      STO, MVTO             2PL                  OCC
 *   begin    references, not an epoch                -                    -
 *   touch    reserve, pin      the same              reserve, share,      reserve, await a
 *                                                    wait for writers     running section
 *   readWord word              word, of any wts      -                    -
 *   intend   -                 -                     reserve, exclude,    -
 *                                                    wait for readers
 *   lock     wait              wait                  already locked       the section
 *   gap      reserve, wait     reserve, wait         reserve, wait        reserve, add the item
 *   decide   timestamp from    draw the number now,  -                    -
 *            current words     above all; raise reads
 * </pre>
 *
 * <b>The timestamp comes last.</b> All reads are reserved and so unchanged, whatever timestamps
 * have been raised meanwhile. The commit takes a timestamp that fits: under TicToc from the current
 * words, under protocols that order by begins a new number, drawn when all written items are
 * locked. No transaction with a larger number has written what this one has read, because that is
 * reserved, or read what this one writes, because that is locked.
 *
 * <p><b>Before log space.</b> Under STO and two-phase locking others hold locks while they wait for
 * log space. So this transaction waits for locks before it holds back the redo point ({@link
 * #waitsForBodies}), on which their log space depends.
 */
final class PessimisticLocking {
  private static final String LATE =
      "the transaction exceeded its time limit while others waited for it";

  private final ConcurrencyControl concurrencyControl;
  private final TxLife life;
  private final Timestamps timestamps;
  private final Reservations reservations;
  private final TwoPhaseLocking locks;
  private final Occ occ;
  private final ProtocolMemory memory;
  private @Nullable Reservation reservation;

  /** Arguments that the protocol does not use are null. */
  PessimisticLocking(
      ConcurrencyControl concurrencyControl,
      TwoPhaseLocking locks,
      Occ occ,
      ProtocolMemory memory) {
    this.concurrencyControl = concurrencyControl;
    this.life = concurrencyControl.life;
    this.timestamps = concurrencyControl.timestamps;
    this.reservations = life.shared.reservations;
    this.locks = locks;
    this.occ = occ;
    this.memory = memory;
  }

  boolean isOn() {
    return reservation != null;
  }

  /** Makes the transaction pessimistic if its ticket is granted. Called before any read. */
  void begin(Attempts attempts, long timeoutNanos) {
    PessimisticTicket pessimisticTicket = attempts.pessimisticTicket();
    reservation =
        pessimisticTicket == null ? null : reservations.open(pessimisticTicket, timeoutNanos);
    if (reservation != null && concurrencyControl.stamped) {
      timestamps.enterForLong(life.id);
    }
  }

  /** Returns whether it waits for locks that others hold during their bodies. */
  boolean waitsForBodies() {
    return reservation != null && concurrencyControl.eager;
  }

  private Reservation reservation() {
    Reservation r = reservation;
    if (r == null) {
      throw new AssertionError("not pessimistic");
    }
    return r;
  }

  int touch(long item) {
    Reservation r = reservation();
    if (concurrencyControl.kind == Protocol.TWO_PHASE_LOCKING) {
      return locks.share(item, r);
    }
    boolean added = r.add(item, false);
    if (concurrencyControl.stamped) {
      return timestamps.pin(life.id, item); // readWord() finds another's lock
    }
    if (added) {
      occ.awaitSection();
    }
    return 0;
  }

  /** Returns 0, or a locked word: wait, and read again. Without timestamps, touch has waited. */
  long readWord(int slot) {
    return concurrencyControl.stamped ? timestamps.word(slot) & TidWord.LOCK : 0;
  }

  void await(int slot) {
    for (int attempt = 0; TidWord.isLocked(timestamps.word(slot)); attempt++) {
      life.pauseForHolder(attempt);
    }
  }

  void intend(long item) {
    if (concurrencyControl.kind == Protocol.TWO_PHASE_LOCKING) {
      locks.exclude(item, reservation());
    }
  }

  void lockWrite(long item, int slot) {
    if (concurrencyControl.stamped) {
      lock(slot);
    } else if (concurrencyControl.kind == Protocol.OCC) {
      occ.wrote(item);
    }
  }

  boolean lockGap(long item) {
    Reservation r = reservation();
    if (concurrencyControl.kind == Protocol.TWO_PHASE_LOCKING) {
      return locks.exclude(item, r);
    }
    r.add(item, true);
    if (concurrencyControl.kind == Protocol.OCC) {
      occ.wrote(item);
      return false; // no other transaction installs
    }
    return lock(concurrencyControl.pin(item));
  }

  private boolean lock(int slot) {
    if (concurrencyControl.locked.contains(slot)) {
      return false;
    }
    SlotSet held = concurrencyControl.locked;
    held.stage(slot);
    for (int attempt = 0; !timestamps.tryLock(slot); attempt++) {
      life.pauseForHolder(attempt);
    }
    held.size++; // nothing can fail between the lock and this
    return true;
  }

  long decide() {
    if (!reservation().decide()) {
      throw life.abort(AbortCause.TIMEOUT, LATE);
    }
    return switch (concurrencyControl.kind) {
      case TICTOC -> raised(Math.max(lockedRts(), concurrencyControl.mark()) + 1);
      case SILO -> Math.max(readRts(), lockedRts()) + 1;
      case STO, MVTO -> {
        concurrencyControl.timestamp = raised(drawTimestamp(lockedRts()));
        yield concurrencyControl.timestamp + 1;
      }
      case TWO_PHASE_LOCKING, OCC -> 0;
    };
  }

  /** Returns the largest rts of a locked item; -1 if there is none. */
  private long lockedRts() {
    long rts = -1;
    SlotSet locked = concurrencyControl.locked;
    for (int i = 0, n = locked.size(); i < n; i++) {
      rts = Math.max(rts, TidWord.rts(timestamps.word(locked.get(i))));
    }
    return rts;
  }

  private long readRts() {
    long rts = 0;
    ReadSet reads = concurrencyControl.reads;
    for (int i = 0, n = reads.size(); i < n; i++) {
      rts = Math.max(rts, TidWord.rts(timestamps.word(reads.slot(i))));
    }
    return rts;
  }

  private long drawTimestamp(long atLeast) {
    long ts;
    do {
      ts = 2 * memory.clock.incrementAndGet();
    } while (ts < atLeast);
    return ts;
  }

  /** Makes every read valid at a timestamp, or at a later one if a wts is higher; returns it. */
  private long raised(long at) {
    long ts = at;
    ReadSet reads = concurrencyControl.reads;
    for (int i = 0, n = reads.size(); i < n; ) {
      int slot = reads.slot(i);
      if (concurrencyControl.locked.contains(slot)) {
        i++;
        continue;
      }
      await(slot); // a holder is about to see the reservation
      long word = TidWord.withoutLock(timestamps.word(slot));
      if (TidWord.wts(word) > ts) {
        ts =
            concurrencyControl.kind == Protocol.TICTOC
                ? TidWord.wts(word)
                : drawTimestamp(TidWord.wts(word));
        i = 0; // earlier reads must be valid there, too
      } else if (timestamps.extend(slot, word, ts, false)) {
        i++;
      }
    }
    return ts;
  }

  /** Returns whether the reservation still holds. */
  boolean holds() {
    return reservation().holds();
  }

  void end() {
    Reservation r = reservation();
    reservation = null;
    reservations.close(r);
  }
}
