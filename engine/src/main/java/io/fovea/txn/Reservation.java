package io.fovea.txn;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The items that one pessimistic transaction has reserved: all that it has read or is going to
 * write, next keys included. {@link Reservations} has the rules.
 *
 * <p>A hash set of longs: the owner adds, every writer looks, nobody takes away. Bit 0 of an item
 * is replaced by the mode, so two items that differ in it are one, which is coarser and still
 * right.
 *
 * <pre>
 *    63                                 1   0
 *  +--------------------------------------+---+
 *  |  item                                | W |    W: reserved for writing; 0: the place is free
 *  +--------------------------------------+---+
 * </pre>
 *
 * <b>Order.</b> An item is added by a volatile store, and only then does the owner look at what it
 * has reserved. A table that has become too small is copied, the copy published by a volatile
 * store, and the next item goes into the copy. So a writer who looks for the item in the old table
 * has read the reference before it moved, and therefore before the owner's look.
 */
final class Reservation {
  private static final VarHandle LONGS =
      MethodHandles.arrayElementVarHandle(long[].class).withInvokeExactBehavior();
  private static final VarHandle STATE;

  static {
    try {
      STATE = MethodHandles.lookup().findVarHandle(Reservation.class, "state", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private static final int ACTIVE = 0;
  private static final int DECIDED = 1;
  private static final int OVER = 2;
  private static final int INITIAL = 256;

  /** In the queue of those who want to be pessimistic. */
  final PessimisticTicket pessimisticTicket;

  /** On the clock of {@link System#nanoTime}; only where {@link #limited}. */
  private final long deadlineNanos;

  private final boolean limited;
  private volatile long[] table = new long[INITIAL];
  private int size;

  @SuppressWarnings("unused") // through STATE
  private volatile int state;

  /**
   * @param turn whose reservation it is
   * @param timeoutNanos after which others may ignore it; 0 for never
   */
  Reservation(PessimisticTicket pessimisticTicket, long timeoutNanos) {
    this.pessimisticTicket = pessimisticTicket;
    this.limited = timeoutNanos > 0;
    this.deadlineNanos = System.nanoTime() + timeoutNanos;
  }

  // ---------------------------------------------------------------- the owner

  /**
   * Reserves an item. Any transaction that has locked it by now, or locks it later without having
   * seen this, is visible to the owner's next look at the item.
   *
   * @return whether that is new
   */
  boolean add(long item, boolean forWriting) {
    long[] t = table;
    int at = find(t, item);
    long found = t[at];
    long entry = forWriting ? item | 1 : key(item);
    if (found != 0) {
      if (!forWriting || (found & 1) != 0) {
        return false;
      }
    } else if (++size > t.length / 2) {
      t = grow(t);
      at = find(t, item);
    }
    LONGS.setVolatile(t, at, entry);
    return true;
  }

  private long[] grow(long[] from) {
    long[] to = new long[from.length * 2];
    for (long entry : from) {
      if (entry != 0) {
        to[find(to, entry)] = entry;
      }
    }
    table = to;
    return to;
  }

  /** The commit is certain: from here on nobody may ignore the reservation. */
  boolean decide() {
    return STATE.compareAndSet(this, ACTIVE, DECIDED);
  }

  /** Whether all that was reserved is still so. */
  boolean holds() {
    return state != OVER;
  }

  /** Others go on: all that was locked has been published or unlocked. */
  void end() {
    state = OVER;
  }

  // ---------------------------------------------------------------- the others

  /** Whether a writer must not have an item. */
  boolean refusesWriting(long item) {
    return entry(item) != 0 && holds();
  }

  /** Whether a reader must not lock an item, where readers lock. */
  boolean refusesReading(long item) {
    return (entry(item) & 1) != 0 && holds();
  }

  /** Whether the owner has had its time. */
  boolean expired() {
    return limited && System.nanoTime() - deadlineNanos > 0;
  }

  /** Ends a reservation whose owner takes too long; false if it is committing, or has ended. */
  boolean expel() {
    return STATE.compareAndSet(this, ACTIVE, OVER);
  }

  private long entry(long item) {
    long[] t = table;
    return (long) LONGS.getVolatile(t, find(t, item));
  }

  /** Where the item is, or would be. */
  private static int find(long[] t, long item) {
    long key = key(item);
    int mask = t.length - 1;
    for (int i = (int) (key * TimestampTable.SPREAD >>> 32) & mask; ; i = (i + 1) & mask) {
      long entry = (long) LONGS.getVolatile(t, i);
      if (entry == 0 || (entry & ~1L) == key) {
        return i;
      }
    }
  }

  /** Without the mode's bit, and not 0. */
  private static long key(long item) {
    long key = item & ~1L;
    return key == 0 ? 2 : key;
  }
}
