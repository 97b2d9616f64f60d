package io.fovea.txn;

import io.fovea.config.Protocol;
import io.fovea.error.AbortCause;
import org.jspecify.annotations.Nullable;

/**
 * What a transaction does under each protocol while it is the pessimistic one: {@link Reservations}
 * says why that works.
 *
 * <pre>
 *           TICTOC, SILO      STO, MVTO             2PL                  OCC
 *   begin   references, not an epoch                -                    -
 *   touch   reserve, pin      the same              reserve, share,      reserve, let a section
 *                                                   wait for writers     end that is under way
 *   look    word              word, of any wts      -                    -
 *   intend  -                 -                     reserve, exclude,    -
 *                                                   wait for readers
 *   lock    wait              wait                  has them             the section
 *   gap     reserve, wait     reserve, wait         reserve, wait        reserve, note the item
 *   decide  timestamp from    draw the number now,  -                    -
 *           what is there now above all; raise reads
 * </pre>
 *
 * <b>The timestamp comes last.</b> Everything that was read is reserved, so it is what it was,
 * whatever timestamps have been raised meanwhile. The commit takes one that fits them: under TicToc
 * from the words as they are now, under the protocols that order by begins a new number of the
 * clock, drawn when all written items are locked. No transaction with a larger number has written
 * what this one has read, since that is reserved, or has read what it writes, since that is locked;
 * those that began before are told apart by the timestamps as always.
 *
 * <p><b>Before log space.</b> Under STO and two-phase locking others hold locks from their bodies
 * on, and wait for log space with them. So this transaction waits for locks before it has its place
 * in the log ({@link #waitsForBodies}): with one it would hold the redo point back, on which their
 * log space depends.
 */
final class PessimisticLocking {
  private static final String LATE = "it took longer than its limit while others waited for it";

  private final ConcurrencyControl concurrencyControl;
  private final TxLife life;
  private final Timestamps timestamps;
  private final Reservations reservations;
  private final TwoPhaseLocking locks;
  private final Occ occ;
  private final ProtocolMemory memory;
  private @Nullable Reservation mine;

  /** What a protocol does not use is null, as in {@link ConcurrencyControl}. */
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

  /** Whether the transaction is pessimistic. */
  boolean on() {
    return mine != null;
  }

  /** Makes it so, if it is its turn. Before anything is read. */
  void begin(Attempts attempts, long timeoutNanos) {
    PessimisticTicket pessimisticTicket = attempts.pessimisticTicket();
    mine = pessimisticTicket == null ? null : reservations.open(pessimisticTicket, timeoutNanos);
    if (mine != null && concurrencyControl.stamped) {
      timestamps.enterForLong(life.id);
    }
  }

  /** Whether it waits for locks that others hold in their bodies. */
  boolean waitsForBodies() {
    return mine != null && concurrencyControl.eager;
  }

  private Reservation mine() {
    Reservation r = mine;
    if (r == null) {
      throw new AssertionError("not pessimistic");
    }
    return r;
  }

  // ---------------------------------------------------------------- the body

  int touch(long item) {
    Reservation r = mine();
    if (concurrencyControl.kind == Protocol.TWO_PHASE_LOCKING) {
      return locks.share(item, r);
    }
    boolean added = r.add(item, false);
    if (concurrencyControl.stamped) {
      return timestamps.pin(life.id, item); // a lock of another is found by the look
    }
    if (added) {
      occ.awaitSection();
    }
    return 0;
  }

  /**
   * 0, or a locked word: wait, and begin again. Where items have no timestamps, {@link #touch} has
   * waited, and the number means something else.
   */
  long look(int slot) {
    return concurrencyControl.stamped ? timestamps.word(slot) & TidWord.LOCK : 0;
  }

  void await(int slot) {
    for (int attempt = 0; TidWord.isLocked(timestamps.word(slot)); attempt++) {
      life.pauseForHolder(attempt);
    }
  }

  void intend(long item) {
    if (concurrencyControl.kind == Protocol.TWO_PHASE_LOCKING) {
      locks.exclude(item, mine());
    }
  }

  // ---------------------------------------------------------------- the commit

  void lockWrite(long item, int slot) {
    if (concurrencyControl.stamped) {
      lock(slot);
    } else if (concurrencyControl.kind == Protocol.OCC) {
      occ.wrote(item);
    }
  }

  boolean lockGap(long item) {
    Reservation r = mine();
    if (concurrencyControl.kind == Protocol.TWO_PHASE_LOCKING) {
      return locks.exclude(item, r);
    }
    r.add(item, true);
    if (concurrencyControl.kind == Protocol.OCC) {
      occ.wrote(item);
      return false; // nobody else installs
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

  /** As {@link ConcurrencyControl#decide}. */
  long decide() {
    if (!mine().decide()) {
      throw life.abort(AbortCause.TIMEOUT, LATE);
    }
    return switch (concurrencyControl.kind) {
      case TICTOC -> raised(Math.max(lockedRts(), concurrencyControl.mark()) + 1);
      case SILO -> Math.max(readRts(), lockedRts()) + 1;
      case STO, MVTO -> {
        concurrencyControl.timestamp = raised(drawn(lockedRts()));
        yield concurrencyControl.timestamp + 1;
      }
      case TWO_PHASE_LOCKING, OCC -> 0;
    };
  }

  /** The largest rts of a locked item; -1 for none. */
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

  /** A new number of the clock that is not below a timestamp. */
  private long drawn(long atLeast) {
    long ts;
    do {
      ts = 2 * memory.clock.incrementAndGet();
    } while (ts < atLeast);
    return ts;
  }

  /**
   * Has every read valid at a timestamp.
   *
   * @return that timestamp, or a later one where a wts had been raised beyond it
   */
  private long raised(long at) {
    long ts = at;
    ReadSet reads = concurrencyControl.reads;
    for (int i = 0, n = reads.size(); i < n; ) {
      int slot = reads.slot(i);
      if (concurrencyControl.locked.contains(slot)) {
        i++;
        continue;
      }
      await(slot); // for who has locked it, and is about to see that it is reserved
      long word = TidWord.withoutLock(timestamps.word(slot));
      if (TidWord.wts(word) > ts) {
        ts =
            concurrencyControl.kind == Protocol.TICTOC
                ? TidWord.wts(word)
                : drawn(TidWord.wts(word));
        i = 0; // those before have to be valid there, too
      } else if (timestamps.extend(slot, word, ts, false)) {
        i++;
      }
    }
    return ts;
  }

  // ---------------------------------------------------------------- the end

  /** Whether all that was read is as it was. */
  boolean holds() {
    return mine().holds();
  }

  /** When nothing is locked any more. */
  void end() {
    Reservation r = mine();
    mine = null;
    reservations.close(r);
  }
}
