package io.fovea.txn;

import io.fovea.memory.Mem;
import io.fovea.memory.NativeRegion;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The write sets of the transactions that have committed lately, for Kung and Robinson's backward
 * validation: a ring of items in native memory, and the one lock of serial validation.
 *
 * <pre>
 *        claimed - capacity                       done       listed    claimed
 *   ──────────┬─────────────────────────────────────┬───────────┬─────────┬──►  positions
 *    forgotten│ write sets of committed transactions│installing │ being   │
 *             │                                     │  now      │ written │
 * </pre>
 *
 * A position counts all items that were ever written, so a transaction's number is the position at
 * which its write set ends, and what committed since another began is what lies between two
 * positions. All three are moved by the holder of the lock alone.
 *
 * <p><b>Order.</b> The holder raises {@code claimed} (volatile store, full fence), writes the
 * items, raises {@code listed} (volatile), installs, raises {@code done} (volatile). Partners:
 *
 * <ul>
 *   <li><i>done → start of a transaction</i>: a transaction that starts at {@code done} sees all
 *       that was installed before it, so he needs to look at no earlier write set.
 *   <li><i>listed → validation</i>: a transaction that has read anything that a commit installed
 *       sees its write set listed, because that came before the install, and the leaf's version
 *       carried the order over.
 *   <li><i>claimed → validation</i>: a validator reads items, fences, then reads {@code claimed}.
 *       An item that was overwritten before he read it was so after {@code claimed} had been raised
 *       over its place: he sees that and gives up. The same as an optimistic read of a page.
 * </ul>
 */
final class History {
  private static final VarHandle SECTIONS;

  static {
    try {
      SECTIONS = MethodHandles.lookup().findVarHandle(History.class, "sections", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final NativeRegion region;
  private final MemorySegment ring;
  private final long capacity;

  private volatile long done;
  private volatile long listed;
  private volatile long claimed;

  /** The lock: it moves when somebody takes it and when it is unlocked. */
  private volatile int sections;

  /**
   * @param bytes 8 for each item, rounded down to a power of two
   */
  History(long bytes) {
    capacity = Long.highestOneBit(Math.max(2, bytes >>> 3));
    region = NativeRegion.reserve(8 * capacity, false, "fovea-history");
    ring = region.segment();
  }

  boolean tryLock() {
    int free = sections;
    return (free & 1) == 0 && SECTIONS.compareAndSet(this, free, free + 1);
  }

  void unlock() {
    SECTIONS.setRelease(this, sections + 1);
  }

  /** Begins and ends of sections until now; odd while somebody validates or installs. */
  int sections() {
    return sections;
  }

  /** Whether somebody validates or installs: a moment's truth, for tests. */
  boolean locked() {
    return (sections & 1) != 0;
  }

  /** Up to here all is installed. */
  long done() {
    return done;
  }

  /** Up to here write sets can be looked at, installed or not. */
  long listed() {
    return listed;
  }

  /** Lists a write set that is about to be installed. Under the lock. */
  void list(long[] items, int count) {
    long from = done;
    claimed = from + count;
    VarHandle.fullFence();
    // Of more than there is room for, the last ones: any transaction that began before them gives
    // up anyway.
    for (long i = Math.max(0, count - capacity); i < count; i++) {
      Mem.putLongOpaque(ring, (from + i & capacity - 1) << 3, items[(int) i]);
    }
    listed = from + count;
  }

  /** What was listed is installed. Under the lock. */
  void installed() {
    done = listed;
  }

  /** The item at a position, which {@link #remembers} must confirm afterwards. */
  long item(long position) {
    return Mem.getLongOpaque(ring, (position & capacity - 1) << 3);
  }

  /** Whether all that was read from a position on was what had been listed there. */
  boolean remembers(long from) {
    VarHandle.acquireFence();
    return claimed - from <= capacity;
  }

  long bytes() {
    return 8 * capacity;
  }

  void close() {
    region.release();
  }
}
