package io.fovea.txn;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The items that one pessimistic transaction has reserved: all that it has read or will write, next
 * keys included. {@link Reservations} states the rules.
 *
 * <p>A hash set of longs: the owner adds, every writer searches, nothing is removed. The mode
 * replaces bit 0 of an item, so two items that differ only in it are one, which is coarser and
 * still correct.
 *
 * <pre>
 *    63                                 1   0
 *  +--------------------------------------+---+
 *  |  item                                | W |    W: reserved for writing; 0: the slot is free
 *  +--------------------------------------+---+
 * </pre>
 *
 * <b>Order.</b> An item is added by a volatile store, and only then does the owner check whether it
 * is locked. A table that is too small is copied, the copy published by a volatile store, and the
 * next item goes into the copy. A writer that searches the old table has read the reference before
 * the publication, and therefore before the owner's check.
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

  final PessimisticTicket pessimisticTicket;

  /** A {@link System#nanoTime} value; meaningful only if {@link #limited}. */
  private final long deadlineNanos;

  private final boolean limited;
  private volatile long[] table = new long[INITIAL];
  private int size;

  @SuppressWarnings("unused") // set through STATE
  private volatile int state;

  /** Creates a reservation that others may end after {@code timeoutNanos}; 0: never. */
  Reservation(PessimisticTicket pessimisticTicket, long timeoutNanos) {
    this.pessimisticTicket = pessimisticTicket;
    this.limited = timeoutNanos > 0;
    this.deadlineNanos = System.nanoTime() + timeoutNanos;
  }

  /**
   * Reserves an item; returns false if it already was, in this mode or a stronger one. A
   * transaction that has locked it, or locks it later without having seen this, is visible to the
   * owner's next check of the item.
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

  /** Decides to commit: after this no writer may end the reservation. */
  boolean decide() {
    return STATE.compareAndSet(this, ACTIVE, DECIDED);
  }

  boolean holds() {
    return state != OVER;
  }

  /** Ends the reservation; everything locked has been published or unlocked. */
  void end() {
    state = OVER;
  }

  /** Returns whether a writer must not lock an item. */
  boolean refusesWriting(long item) {
    return entry(item) != 0 && holds();
  }

  /** Returns whether a reader must not lock an item, if readers lock. */
  boolean refusesReading(long item) {
    return (entry(item) & 1) != 0 && holds();
  }

  boolean expired() {
    return limited && System.nanoTime() - deadlineNanos > 0;
  }

  /** Ends an expired reservation; returns false if it is committing or has ended. */
  boolean revoke() {
    return STATE.compareAndSet(this, ACTIVE, OVER);
  }

  private long entry(long item) {
    long[] t = table;
    return (long) LONGS.getVolatile(t, find(t, item));
  }

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

  /** Returns the item without the mode's bit, and not 0. */
  private static long key(long item) {
    long key = item & ~1L;
    return key == 0 ? 2 : key;
  }
}
