package io.fovea.copies;

import io.fovea.memory.Blocks;
import io.fovea.memory.Hash;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The index of page copies: a hash table in native memory, in stripes, each with a lock.
 *
 * <pre>
 *   entry   page id | label | location       linear probing; the entries of a page have the same
 *           8         8       8              start of probing
 *
 *   labels of a page      3        7     12          a copy with label n is the page as it was
 *   snapshots         1 2 3    5   7   9             from just after the previous label
 *   read              └─┴─┘    └───┘   └──┐          up to n
 *                       3        7        12
 * </pre>
 *
 * <p>A snapshot reads the copy with the smallest label that is not below its own number, and the
 * page itself if there is none.
 *
 * <p>Entries are removed only by {@link #sweep}, which rebuilds a stripe, so there are no
 * tombstones.
 */
final class CopyTable {
  /** No copy: 0 is not a location. */
  static final long NONE = 0;

  private static final int STRIPES = 64;
  private static final int ENTRY = 24;
  private static final int LABEL = 8;
  private static final int LOCATION = 16;
  private static final int SIZE_MIN = 64;

  /** Receives the location of a copy that is no longer needed. */
  @FunctionalInterface
  interface Freed {
    /** Called under the lock of a stripe. */
    void free(long location);
  }

  private final Blocks memory;
  private final Stripe[] stripes = new Stripe[STRIPES];

  CopyTable(Blocks memory) {
    this.memory = memory;
    for (int i = 0; i < STRIPES; i++) {
      stripes[i] = new Stripe();
    }
  }

  /** Returns the stripe of a page, which must be locked for all operations on it. */
  Stripe stripe(long pid) {
    return stripes[(int) (Hash.spread(pid) >>> 58)];
  }

  /**
   * Removes the copies that no open snapshot reads.
   *
   * @param open the numbers of the open snapshots, in order
   */
  void sweep(long[] open, Freed freed) {
    for (Stripe stripe : stripes) {
      stripe.lock.lock();
      try {
        stripe.sweep(open, freed);
      } finally {
        stripe.lock.unlock();
      }
    }
  }

  /** Returns the number of copies; may be outdated immediately. */
  long size() {
    long n = 0;
    for (Stripe stripe : stripes) {
      n += stripe.size;
    }
    return n;
  }

  /** A part of the table. Everything except the lock is guarded by the lock. */
  final class Stripe {
    final ReentrantLock lock = new ReentrantLock();
    private MemorySegment entries = Blocks.NONE;
    private int capacity;
    private volatile int size;

    /** Returns the largest label of a page's copies, 0 if there are none. */
    long newest(long pid) {
      long newest = 0;
      for (long at = first(pid); at >= 0 && pid(at) != 0; at = next(at)) {
        if (pid(at) == pid) {
          newest = Math.max(newest, label(at));
        }
      }
      return newest;
    }

    /** Returns the location of the copy that a snapshot reads, or {@link #NONE}. */
    long find(long pid, long number) {
      long at = entryFor(pid, number);
      return at < 0 ? NONE : Mem.getLong(entries, at + LOCATION);
    }

    /** Adds a copy, with a label above all others of the page. */
    void add(long pid, long label, long location) {
      if (4L * (size + 1) > 3L * capacity) {
        resize(Math.max(SIZE_MIN, 2 * capacity));
      }
      put(pid, label, location);
      size++;
    }

    /**
     * Changes the location of a copy.
     *
     * @return false if the copy is no longer at that location
     */
    boolean move(long pid, long label, long from, long to) {
      for (long at = first(pid); at >= 0 && pid(at) != 0; at = next(at)) {
        if (pid(at) == pid && label(at) == label && Mem.getLong(entries, at + LOCATION) == from) {
          Mem.putLong(entries, at + LOCATION, to);
          return true;
        }
      }
      return false;
    }

    /** Returns whether a copy is at a location. */
    boolean has(long pid, long label, long location) {
      return move(pid, label, location, location);
    }

    private long entryFor(long pid, long number) {
      long found = -1;
      for (long at = first(pid); at >= 0 && pid(at) != 0; at = next(at)) {
        if (pid(at) == pid && label(at) >= number && (found < 0 || label(at) < label(found))) {
          found = at;
        }
      }
      return found;
    }

    private void put(long pid, long label, long location) {
      long at = first(pid);
      while (pid(at) != 0) {
        at = next(at);
      }
      Mem.putLong(entries, at, pid);
      Mem.putLong(entries, at + LABEL, label);
      Mem.putLong(entries, at + LOCATION, location);
    }

    private long first(long pid) {
      // The upper bits have selected the stripe.
      return capacity == 0 ? -1 : (Hash.spread(pid) & capacity - 1) * ENTRY;
    }

    private long next(long at) {
      long next = at + ENTRY;
      return next == (long) capacity * ENTRY ? 0 : next;
    }

    private long pid(long at) {
      return Mem.getLong(entries, at);
    }

    private long label(long at) {
      return Mem.getLong(entries, at + LABEL);
    }

    private MemorySegment fresh(int entriesMax) {
      MemorySegment s = memory.take((long) entriesMax * ENTRY);
      Mem.zero(s, 0, (long) entriesMax * ENTRY);
      return s;
    }

    private void resize(int to) {
      MemorySegment larger = fresh(to);
      MemorySegment old = entries;
      long end = (long) capacity * ENTRY;
      entries = larger;
      capacity = to;
      for (long at = 0; at < end; at += ENTRY) {
        long pid = Mem.getLong(old, at);
        if (pid != 0) {
          put(pid, Mem.getLong(old, at + LABEL), Mem.getLong(old, at + LOCATION));
        }
      }
      memory.release(old);
    }

    private void sweep(long[] open, Freed freed) {
      if (size == 0) {
        return;
      }
      int left = 0;
      MemorySegment old = entries;
      int before = capacity;
      boolean[] needed = new boolean[before];
      for (int i = 0; i < before; i++) {
        long at = (long) i * ENTRY;
        if (pid(at) != 0) {
          needed[i] = isNeeded(at, open);
          left += needed[i] ? 1 : 0;
        }
      }
      int to = left == 0 ? 0 : Math.max(SIZE_MIN, Integer.highestOneBit(left) << 2);
      entries = to == 0 ? Blocks.NONE : fresh(to);
      capacity = to;
      size = left;
      for (int i = 0; i < before; i++) {
        long at = (long) i * ENTRY;
        long pid = Mem.getLong(old, at);
        if (needed[i]) {
          put(pid, Mem.getLong(old, at + LABEL), Mem.getLong(old, at + LOCATION));
        } else if (pid != 0) {
          freed.free(Mem.getLong(old, at + LOCATION));
        }
      }
      memory.release(old);
    }

    /**
     * Returns whether an open snapshot reads a copy: one after the previous label, up to its own.
     */
    private boolean isNeeded(long copy, long[] open) {
      long pid = pid(copy);
      long label = label(copy);
      long before = 0;
      for (long at = first(pid); pid(at) != 0; at = next(at)) {
        if (pid(at) == pid && label(at) < label) {
          before = Math.max(before, label(at));
        }
      }
      for (long number : open) {
        if (number > before && number <= label) {
          return true;
        }
      }
      return false;
    }
  }
}
