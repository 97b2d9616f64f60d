package io.fovea.txn;

import io.fovea.config.TimestampStore;
import io.fovea.error.FoveaException;

/**
 * Makes entries of the exact table and evicts them: what is done under a column's lock.
 *
 * <pre>
 *   make      bound := periphery.get ─► a free place, or one that is made free ─► word, item, stamp
 *   release   stamp := 0 ─► word := LOCK ─► periphery.put ─► item := 0
 * </pre>
 *
 * <p>Which entry makes room: the one nearest to the item's own place ({@link
 * TimestampStore#FOCUS_SKETCH}), or of the bucket the one that is longest out of use ({@link
 * TimestampConfig#isCache}). The latter is CLOCK in sets of four: the epoch of the last use stands
 * for the reference bit, and the hand moves with the epoch, so that a hit stores nothing but what
 * it stores anyway.
 *
 * <p>The rules that make a release safe against those who pin are in {@link Timestamps}.
 */
final class Entries {
  static final long LIVE = Long.MIN_VALUE;
  static final int EPOCH_BITS = 43;
  static final long EPOCH_MASK = (1L << EPOCH_BITS) - 1;
  static final long REFERENCE = 1L << EPOCH_BITS;
  static final long REFERENCES_MASK = ~LIVE & ~EPOCH_MASK;

  private static final int SLOTS_PER_SWEEP = 128;

  /** Levels from here on are swept: while they are empty, a miss ends at the first bucket. */
  private static final int SWEPT_LEVEL = 1;

  private final TimestampTable table;
  private final ColdTimestamps coldTimestamps;
  private final Epochs epochs;
  private final boolean byEpoch;
  private final boolean cache;
  private final boolean forEver;
  private final boolean approximate;

  Entries(
      TimestampTable table,
      ColdTimestamps coldTimestamps,
      Epochs epochs,
      TimestampStore kind,
      boolean byEpoch) {
    this.table = table;
    this.coldTimestamps = coldTimestamps;
    this.epochs = epochs;
    this.byEpoch = byEpoch;
    this.cache = TimestampConfig.isCache(kind);
    this.forEver = kind == TimestampStore.MEMORY;
    this.approximate = !TimestampConfig.onDisk(kind);
  }

  /** No entry whose last use is of this epoch or later may go. */
  private long oldest() {
    // Where only references keep an entry, its epoch says no more than how long it is unused.
    return byEpoch ? epochs.oldest() : Long.MAX_VALUE;
  }

  /** The stamp of a live entry with one reference more. */
  long referenced(long stamp) {
    long next = stamp + REFERENCE;
    if (cache) {
      long now = epochs.now();
      if ((stamp & EPOCH_MASK) < now) {
        return next & ~EPOCH_MASK | now;
      }
    }
    return next;
  }

  /** Makes an entry that is not there; under the lock. -1 if there is no room. */
  int make(TimestampContext c, long item, int column) {
    // Before a place is taken: what fails here has changed nothing.
    long bound = coldTimestamps.get(c.index, item);
    int slot = place(c, item, column);
    if (slot >= 0) {
      materialise(c, slot, item, bound);
    }
    return slot;
  }

  /** A free slot for an item, or -1; under the lock. */
  private int place(TimestampContext c, long item, int column) {
    long oldest = oldest();
    int last = table.levels() - 1;
    for (int level = 0; level <= last; level++) {
      int slot = freeInBucket(c, table.place(item, level), column, level, oldest);
      if (slot >= 0) {
        if (level > 0) {
          table.addCount(column, level, 1);
        }
        return slot;
      }
      if (level == 0) {
        c.spilled++;
      }
    }
    // A bucket of the last level overflows long before all of them are full.
    int buckets = table.slotsOfColumn(last) / TimestampTable.SLOTS_PER_BUCKET;
    for (int distance = 1; distance < buckets; distance++) {
      int slot =
          freeInBucket(c, table.placeBehind(item, column, last, distance), column, last, oldest);
      if (slot >= 0) {
        if (last > 0) {
          table.addCount(column, last, 1);
        }
        int own = table.place(item, last);
        // What is left from before the column's reach was 0 is an upper bound as well.
        if (table.bucketReach(own) < distance) {
          table.bucketReach(own, distance);
        }
        table.raiseReach(column, distance);
        return slot;
      }
    }
    return -1;
  }

  /**
   * A free slot of a bucket, the item's own one if possible, or one made free; or -1.
   *
   * <p>The own slot goes first even where another is free or longer out of use: entries that are
   * used all the time are never old, and the others do not repay what a search for the best of them
   * costs. In a cache they do.
   */
  private int freeInBucket(TimestampContext c, int first, int column, int level, long oldest) {
    if (cache) {
      int best = longestUnused(first, oldest);
      if (best >= 0 && (table.stampAcquire(best) >= 0 || release(c, best, column, level, oldest))) {
        return best;
      }
    }
    for (int i = 0; i < TimestampTable.SLOTS_PER_BUCKET; i++) {
      if (table.stampAcquire(first ^ i) >= 0 || release(c, first ^ i, column, level, oldest)) {
        return first ^ i;
      }
    }
    return -1;
  }

  /** The slot of a bucket that is free, or else was used before all others; -1 if none may go. */
  private int longestUnused(int first, long oldest) {
    int best = -1;
    long least = oldest;
    for (int i = 0; i < TimestampTable.SLOTS_PER_BUCKET; i++) {
      long stamp = table.stampAcquire(first ^ i);
      if (stamp >= 0) {
        return first ^ i;
      }
      if ((stamp & REFERENCES_MASK) == 0 && (stamp & EPOCH_MASK) < least) {
        least = stamp & EPOCH_MASK;
        best = first ^ i;
      }
    }
    return best;
  }

  /** Under the lock, into a free slot. The stamp goes last: it is what others look for. */
  private void materialise(TimestampContext c, int slot, long item, long bound) {
    table.wordRelease(slot, bound);
    table.item(slot, item);
    table.stampRelease(slot, c.counts ? referenced(LIVE) : LIVE | c.epoch);
    c.materialised++;
    if (bound != 0 && approximate) {
      c.approximate++;
    }
  }

  /**
   * Makes a slot free if its entry is not in use; under the column's lock.
   *
   * <p>The CAS of the stamp to 0 is the moment of release: any thread that pins before it makes it
   * fail, whoever comes after it finds a free slot, goes to look under the lock, and waits until
   * all rows of the sketch have what was in the word. The CAS of the word to LOCK takes the item's
   * lock, as a writer would: it fails for a word that is locked (a poisoned database keeps its
   * locks) or that an expelled transaction is just changing, and then the entry stays. So it does
   * where the timestamps can't be put away, which only a device can do to it.
   */
  private boolean release(TimestampContext c, int slot, int column, int level, long oldest) {
    long stamp = table.stampAcquire(slot);
    if (forEver
        || stamp >= 0
        || (stamp & REFERENCES_MASK) != 0
        || (stamp & EPOCH_MASK) >= oldest
        || !table.casStamp(slot, stamp, 0)) {
      return false;
    }
    // Stores only: whatever fails from here on, the context knows what is to be taken back.
    c.releasedStamp = stamp;
    c.releasing = slot;
    boolean gone = false;
    try {
      long word = table.word(slot);
      c.releasedWord = word;
      if (!TidWord.isLocked(word) && table.casWord(slot, word, TidWord.LOCK)) {
        c.wordHeld = true;
        coldTimestamps.put(c.index, table.item(slot), word);
        gone = true;
      }
    } finally {
      if (!gone) {
        table.takeBack(c);
      }
    }
    c.wordHeld = false;
    c.releasing = TimestampContext.NONE;
    if (!gone) {
      return false;
    }
    table.item(slot, 0);
    if (level > 0) {
      table.addCount(column, level, -1);
    }
    c.released++;
    c.releasedMost = Math.max(c.releasedMost, TidWord.rts(c.releasedWord));
    return true;
  }

  /**
   * Releases what lies behind a bucket of the last level for want of room in it and is no longer in
   * use, and shortens the way that misses walk to what is left. Under the column's lock; a device
   * that fails leaves entries where they are.
   *
   * @param item whose own bucket it is; it is not there
   */
  void tidy(TimestampContext c, long item, int column) {
    if (forEver) {
      return;
    }
    int last = table.levels() - 1;
    int own = bucketOf(item, last);
    int reach = table.bucketReach(own);
    long oldest = oldest();
    int left = 0;
    for (int distance = 1; distance <= reach; distance++) {
      int first = table.placeBehind(item, column, last, distance);
      for (int i = 0; i < TimestampTable.SLOTS_PER_BUCKET; i++) {
        int slot = first ^ i;
        long other = table.item(slot);
        if (other != 0 && bucketOf(other, last) == own && !go(c, slot, column, last, oldest)) {
          left = distance;
        }
      }
    }
    table.bucketReach(own, left);
  }

  private int bucketOf(long item, int level) {
    return table.place(item, level) & -TimestampTable.SLOTS_PER_BUCKET;
  }

  /** As release; false where a device fails. */
  private boolean go(TimestampContext c, int slot, int column, int level, long oldest) {
    try {
      return release(c, slot, column, level, oldest);
    } catch (FoveaException e) {
      c.stuck++;
      return false;
    }
  }

  /** Releases, a few at a time, what was put into the upper levels and is no longer in use. */
  void sweep(TimestampContext c) {
    int column = c.sweepColumn;
    long header = table.header(column);
    boolean more = false;
    if (table.levels() > SWEPT_LEVEL && TimestampTable.spilledFrom(header, SWEPT_LEVEL)) {
      if (table.tryLock(c, column, table.version(column))) {
        try {
          more = sweepColumn(c, column);
        } catch (FoveaException e) {
          c.stuck++; // a device failed: whoever needs the place is told
        } finally {
          table.unlock(c, column);
        }
      }
    }
    if (!more) {
      c.sweepColumn = column + 1 & table.columns() - 1;
      c.sweepLevel = SWEPT_LEVEL;
      c.sweepSlot = 0;
    }
  }

  private boolean sweepColumn(TimestampContext c, int column) {
    long oldest = oldest();
    int left = SLOTS_PER_SWEEP;
    for (int level = Math.max(c.sweepLevel, SWEPT_LEVEL); level < table.levels(); level++) {
      int slots = table.slotsOfColumn(level);
      int first = table.firstSlot(column, level);
      int i = level == c.sweepLevel ? c.sweepSlot : 0;
      while (i < slots && TimestampTable.count(table.header(column), level) != 0) {
        if (left-- == 0) {
          c.sweepLevel = level;
          c.sweepSlot = i;
          return true;
        }
        release(c, first + i++, column, level, oldest);
      }
    }
    return false;
  }

  /**
   * Evicts an entry right after its last user, who was the caller. If a device fails it stays, and
   * whoever needs the place is told.
   *
   * @param item what was in the slot while it was referenced
   */
  void settle(TimestampContext c, int slot, long item) {
    int column = table.column(item);
    if (!table.lockOrLeave(c, column)) {
      c.stuck++;
      return;
    }
    try {
      // It may be in use again, or gone, or another item's of the same column: release looks.
      release(c, slot, column, table.levelOf(slot), oldest());
    } catch (FoveaException e) {
      c.stuck++;
    } finally {
      table.unlock(c, column);
    }
  }
}
