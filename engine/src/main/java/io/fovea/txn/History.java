package io.fovea.txn;

import io.fovea.memory.Mem;
import io.fovea.memory.NativeRegion;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The write sets of recent commits, for Kung and Robinson's backward validation: a ring of items in
 * native memory, and the lock of serial validation.
 *
 * <pre>
 *        claimed - capacity                       done       listed    claimed
 *   ──────────┬─────────────────────────────────────┬───────────┬─────────┬──►  positions
 *    forgotten│ write sets of committed transactions│ being     │ being   │
 *             │                                     │ installed │ written │
 * </pre>
 *
 * A position counts all items ever written, so the commits since another transaction began lie
 * between two positions. Only the holder of the lock moves the three marks: it raises {@code
 * claimed} (volatile store, full fence), writes the items, raises {@code listed} (volatile),
 * installs, raises {@code done} (volatile). Partners:
 *
 * <ul>
 *   <li><i>done → start of a transaction</i>: it sees everything installed before {@code done}, so
 *       it checks no earlier write set.
 *   <li><i>listed → validation</i>: a transaction that has read anything that a commit installed
 *       sees its write set listed, because the list precedes the install, and the leaf's version
 *       carries the order.
 *   <li><i>claimed → validation</i>: a validator reads items, fences, then reads {@code claimed}.
 *       If an item was overwritten before it was read, {@code claimed} was raised before that: the
 *       validator sees it and aborts. This is an optimistic read.
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

  /** The lock: incremented when taken and when released; odd while held. */
  private volatile int sections;

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

  int sections() {
    return sections;
  }

  boolean locked() {
    return (sections & 1) != 0;
  }

  long done() {
    return done;
  }

  long listed() {
    return listed;
  }

  /** Lists a write set before its install. Under the lock. */
  void list(long[] items, int count) {
    long from = done;
    claimed = from + count;
    VarHandle.fullFence();
    // Keep the last ones: transactions that began before them abort anyway.
    for (long i = Math.max(0, count - capacity); i < count; i++) {
      Mem.putLongOpaque(ring, (from + i & capacity - 1) << 3, items[(int) i]);
    }
    listed = from + count;
  }

  /** Ends the install of the listed write set. Under the lock. */
  void installed() {
    done = listed;
  }

  /** Returns the item at a position; valid if {@link #retains} returns true afterwards. */
  long item(long position) {
    return Mem.getLongOpaque(ring, (position & capacity - 1) << 3);
  }

  /** Returns whether everything read at or after a position was still listed. */
  boolean retains(long from) {
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
