package io.fovea.txn;

import io.fovea.config.TimestampStore;
import io.fovea.error.FoveaException;

/**
 * Creates and releases entries of the exact table, under a column's lock.
 *
 * <pre>
 *   make      bound := cold timestamps ─► a free or released slot ─► word, item, stamp
 *   release   stamp := 0 ─► word := LOCK ─► cold timestamps ─► item := 0
 * </pre>
 *
 * <p>The slot nearest to the item's own is released ({@link TimestampStore#FOCUS_SKETCH}), or, in a
 * cache ({@link TimestampConfig#isCache}), the least recently used slot of the bucket. The cache
 * uses CLOCK in sets of four: the epoch of the last use is the reference bit, and the hand moves
 * with the epoch, so a hit stores nothing extra.
 *
 * <p>{@link Timestamps} shows that a release does not interfere with pins.
 */
final class Entries {
  static final long LIVE = Long.MIN_VALUE;
  static final int EPOCH_BITS = 43;
  static final long EPOCH_MASK = (1L << EPOCH_BITS) - 1;
  static final long REFERENCE = 1L << EPOCH_BITS;
  static final long REFERENCES_MASK = ~LIVE & ~EPOCH_MASK;

  private static final int SLOTS_PER_SWEEP = 128;

  /**
   * The lowest level that is swept: while it and all above are empty, a miss ends at the first
   * bucket.
   */
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

  /** Returns the earliest epoch in which a use keeps an entry. */
  private long oldest() {
    // If only references keep an entry, its epoch is merely its age.
    return byEpoch ? epochs.oldest() : Long.MAX_VALUE;
  }

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

  /** Creates an entry for an absent item, under the lock; returns -1 if all slots are in use. */
  int make(TimestampContext c, long item, int column) {
    // Before a slot is taken: a failure has changed nothing.
    long bound = coldTimestamps.get(c.index, item);
    int slot = findFreeSlot(c, item, column);
    if (slot >= 0) {
      materialize(c, slot, item, bound);
    }
    return slot;
  }

  private int findFreeSlot(TimestampContext c, long item, int column) {
    long oldest = oldest();
    int last = table.levels() - 1;
    for (int level = 0; level <= last; level++) {
      int slot = freeInBucket(c, table.slotOf(item, level), column, level, oldest);
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
          freeInBucket(c, table.slotAfter(item, column, last, distance), column, last, oldest);
      if (slot >= 0) {
        if (last > 0) {
          table.addCount(column, last, 1);
        }
        int own = table.slotOf(item, last);
        // A value from before the column's reach became 0 is still an upper bound.
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
   * Returns a free or released slot of a bucket, or -1. The item's own slot goes first, even if
   * another is free or older, because a search for the best pays only in a cache.
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

  /** Returns a free slot of a bucket, or the least recently used one; -1 if all are in use. */
  private int longestUnused(int first, long oldest) {
    int best = -1;
    long min = oldest;
    for (int i = 0; i < TimestampTable.SLOTS_PER_BUCKET; i++) {
      long stamp = table.stampAcquire(first ^ i);
      if (stamp >= 0) {
        return first ^ i;
      }
      if ((stamp & REFERENCES_MASK) == 0 && (stamp & EPOCH_MASK) < min) {
        min = stamp & EPOCH_MASK;
        best = first ^ i;
      }
    }
    return best;
  }

  /** Fills a free slot, under the lock. The stamp is written last: others check it first. */
  private void materialize(TimestampContext c, int slot, long item, long bound) {
    table.wordRelease(slot, bound);
    table.item(slot, item);
    table.stampRelease(slot, c.counts ? referenced(LIVE) : LIVE | c.epoch);
    c.materialised++;
    if (bound != 0 && approximate) {
      c.approximate++;
    }
  }

  /**
   * Releases the entry of a slot if it is not in use; under the column's lock.
   *
   * <p>The CAS of the stamp to 0 is the point of release. An earlier pin makes it fail; a later one
   * finds a free slot, and searches under the lock, after the word is in all rows of the sketch.
   * The CAS of the word to LOCK takes the item's lock like a writer. It fails if the word is locked
   * (a stopped engine keeps its locks) or an evicted transaction changes it; then the entry stays,
   * as it does if a device fails to store the timestamps.
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
    // Stores only: if anything fails from here on, the context knows what to undo.
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
        table.undoRelease(c);
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
   * Releases unused entries that overflowed from the bucket of an absent item in the last level,
   * and shortens the search for misses. Under the column's lock; entries stay if a device fails.
   */
  void releaseOverflow(TimestampContext c, long item, int column) {
    if (forEver) {
      return;
    }
    int last = table.levels() - 1;
    int own = bucketOf(item, last);
    int reach = table.bucketReach(own);
    long oldest = oldest();
    int left = 0;
    for (int distance = 1; distance <= reach; distance++) {
      int first = table.slotAfter(item, column, last, distance);
      for (int i = 0; i < TimestampTable.SLOTS_PER_BUCKET; i++) {
        int slot = first ^ i;
        long other = table.item(slot);
        if (other != 0
            && bucketOf(other, last) == own
            && !tryRelease(c, slot, column, last, oldest)) {
          left = distance;
        }
      }
    }
    table.bucketReach(own, left);
  }

  private int bucketOf(long item, int level) {
    return table.slotOf(item, level) & -TimestampTable.SLOTS_PER_BUCKET;
  }

  /** Like release, but returns false if a device fails. */
  private boolean tryRelease(TimestampContext c, int slot, int column, int level, long oldest) {
    try {
      return release(c, slot, column, level, oldest);
    } catch (FoveaException e) {
      c.stuck++;
      return false;
    }
  }

  /** Releases, a few at a time, unused entries of the upper levels. */
  void sweep(TimestampContext c) {
    int column = c.sweepColumn;
    long header = table.header(column);
    boolean more = false;
    if (table.levels() > SWEPT_LEVEL && TimestampTable.spilledFrom(header, SWEPT_LEVEL)) {
      if (table.tryLock(c, column, table.version(column))) {
        try {
          more = sweepColumn(c, column);
        } catch (FoveaException e) {
          c.stuck++; // a device failed; a pin that needs the slot reports it
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
   * Releases an entry after its last user; {@code item} is the entry's item. The entry stays if a
   * device fails.
   */
  void settle(TimestampContext c, int slot, long item) {
    int column = table.column(item);
    if (!table.tryLockBriefly(c, column)) {
      c.stuck++;
      return;
    }
    try {
      // release checks: the slot may be in use again, free, or another item's of the same column.
      release(c, slot, column, table.levelOf(slot), oldest());
    } catch (FoveaException e) {
      c.stuck++;
    } finally {
      table.unlock(c, column);
    }
  }
}
