package io.fovea.txn;

import io.fovea.config.TimestampStore;
import io.fovea.error.AbortCause;
import io.fovea.error.TransactionAbortedException;
import io.fovea.memory.Waits;

/**
 * Pins items: gets the slot of an item for a transaction and keeps it until the transaction ends.
 *
 * <p><b>Why no slot in use is released.</b> Let T run in epoch e, not evicted, let its pin of x in
 * slot s succeed, and let t be when T read or wrote a stamp of at least e. No release of s after t
 * succeeds while T runs: it needs a stamp below {@code oldest}, which never exceeds e ({@link
 * Epochs}), and the stamp of a live slot only grows. A release that read a smaller stamp before t
 * fails its CAS. So the item in s does not change from t on, and T reads it after t. Without that
 * second read, the slot could have been released and given to y before t, with the same stamp
 * (ABA); T has then kept y's entry for a while, which is harmless, and continues its search. The
 * same holds for references, with "one reference of T" in place of "at least e"; there T drops the
 * reference again.
 *
 * <p><b>Order.</b> An entry's item and word are written before its stamp (release), and T reads
 * them after it (acquire). A release sees the last user's word: users leave by a release store of
 * their publication, read by the scan of {@code oldest}, or by the atomic add that drops the
 * reference, read by the CAS.
 *
 * <p><b>Misses.</b> Without the column's lock a search may miss an entry that is being created. So
 * a miss is repeated under the lock, where entries of the column do not change; an item never has
 * two entries.
 *
 * <p><b>Epoch or reference.</b> By epoch, a pin of an item that was used in this epoch stores
 * nothing, so readers of a hot item share its cache line. But a long transaction holds back the
 * epoch and with it all entries used meanwhile. A transaction that finds, while making an entry,
 * that it has run for {@link #LAG} epochs turns its pins into references and gives up its epoch:
 * {@link #convert}. An idle transaction can't. It is <i>evicted</i> if the whole budget is in use:
 * its slots may be released from then on, and {@link Timestamps#holds} reports it after its
 * validation and before its effects become visible.
 */
final class Pins {
  /** The epoch of a context that counts references: above all stamps, for the slow path. */
  static final long COUNTING = Long.MAX_VALUE;

  /** The epoch if entries are never released: below all stamps, so the fast path always applies. */
  static final long FOR_EVER = 0;

  /** The number of epochs after which a transaction counts references. */
  static final long LAG = 8;

  private static final long EPOCH_MASK = Entries.EPOCH_MASK;
  private static final long REFERENCE = Entries.REFERENCE;
  private static final long REFERENCES_MASK = Entries.REFERENCES_MASK;

  /**
   * The epoch advances when one context has made this fraction of the first buckets' slots as new
   * entries. Each epoch costs a store per item in use.
   */
  private static final int EPOCHS_PER_TABLE = 16;

  /**
   * The epoch also advances when a context finds this many first buckets full of entries in use.
   */
  private static final int SPILLS_PER_EPOCH = 16;

  /** How often a pin that finds everything in use tries again, and how often per epoch. */
  private static final int ATTEMPTS_MAX = 256;

  private static final int ATTEMPTS_PER_EPOCH = 8;

  private final TimestampStore kind;
  private final TimestampTable table;
  private final ColdTimestamps coldTimestamps;
  private final Epochs epochs;
  private final Entries entries;
  private final boolean byEpoch;
  private final boolean immediate;
  private final boolean convertsPins;
  private final int madePerEpoch;

  Pins(
      TimestampStore kind,
      TimestampTable table,
      ColdTimestamps coldTimestamps,
      Epochs epochs,
      Entries entries,
      boolean byEpoch,
      boolean immediate) {
    this.kind = kind;
    this.table = table;
    this.coldTimestamps = coldTimestamps;
    this.epochs = epochs;
    this.entries = entries;
    this.byEpoch = byEpoch;
    this.immediate = immediate;
    this.convertsPins = byEpoch || TimestampConfig.isCache(kind);
    this.madePerEpoch =
        Math.max(1, table.columns() * TimestampTable.SLOTS_PER_BUCKET / EPOCHS_PER_TABLE);
  }

  boolean convertsPins() {
    return convertsPins;
  }

  /** Keeps a slot that held the item a moment ago; returns false if it no longer does. */
  private boolean hold(TimestampContext c, int slot, long item) {
    long stamp = table.stampAcquire(slot);
    if (stamp < 0 && (stamp & EPOCH_MASK) >= c.epoch) {
      return table.item(slot) == item;
    }
    return holdByStore(c, slot, item);
  }

  private boolean holdByStore(TimestampContext c, int slot, long item) {
    while (true) {
      long stamp = table.stampAcquire(slot);
      if (stamp >= 0) {
        return false;
      }
      long next = stamp;
      if (c.counts) {
        if (isFull(stamp)) {
          throw new TransactionAbortedException(
              AbortCause.TOO_LARGE,
              "Active transactions hold a million pins on one key, which " + "is the limit.");
        }
        next = entries.referenced(stamp);
      } else if ((stamp & EPOCH_MASK) < c.epoch) {
        next = stamp & ~EPOCH_MASK | c.epoch;
      }
      if (next == stamp || table.casStamp(slot, stamp, next)) {
        if (table.item(slot) == item) {
          return true;
        }
        if (c.counts) {
          table.addStamp(slot, -REFERENCE);
        }
        return false;
      }
    }
  }

  /** Pins an item that is not in its preferred slot. */
  int pinInOtherSlot(TimestampContext c, int first, long item) {
    int column = table.column(item);
    long version = table.version(column);
    int slot = holdInBucket(c, first, item);
    if (slot < 0) {
      slot = pinElsewhere(c, item, column, version);
    }
    c.addPin(slot);
    return slot;
  }

  /** Pins an item that is not in its first bucket, or has no entry. */
  private int pinElsewhere(TimestampContext c, long item, int column, long version) {
    long header = table.header(column);
    if (TimestampTable.spilled(header)) {
      for (int level = 1; level < table.levels(); level++) {
        if (TimestampTable.count(header, level) != 0) {
          int slot = holdInBucket(c, table.slotOf(item, level), item);
          if (slot >= 0) {
            return slot;
          }
        }
      }
    }
    if (byEpoch && !c.counts && epochs.now() - c.epoch >= LAG) {
      convert(c);
    }
    coldTimestamps.fetch(c.index, item);
    long spilled = c.spilled;
    int slot;
    // Entries behind its own bucket were not searched: if the version is unchanged, there are none.
    if ((TimestampTable.reach(header) == 0
            || table.bucketReach(table.slotOf(item, table.levels() - 1)) == 0)
        && table.tryLock(c, column, version)) {
      try {
        slot = entries.make(c, item, column);
      } finally {
        table.unlock(c, column);
      }
    } else {
      slot = pinUnderLock(c, item, column);
    }
    for (int attempt = 0; slot < 0; attempt++) {
      awaitFreeSlot(c, attempt);
      slot = pinUnderLock(c, item, column);
    }
    if (convertsPins) {
      countMade(c, c.spilled != spilled);
    }
    return slot;
  }

  private int pinUnderLock(TimestampContext c, long item, int column) {
    table.lock(c, column);
    try {
      int slot = holdInColumn(c, item, column);
      return slot >= 0 ? slot : entries.make(c, item, column);
    } finally {
      table.unlock(c, column);
    }
  }

  /** Advances the epoch if, in this one, many entries were made or found no space. */
  private void countMade(TimestampContext c, boolean spilled) {
    long now = epochs.now();
    if (c.madeIn != now) {
      c.madeIn = now;
      c.made = 0;
    }
    c.made += spilled ? madePerEpoch / SPILLS_PER_EPOCH + 1 : 1;
    if (c.made >= madePerEpoch) {
      epochs.advance(now);
      coldTimestamps.settle(c.releasedMost);
    }
  }

  private int holdInBucket(TimestampContext c, int first, long item) {
    for (int i = 0; i < TimestampTable.SLOTS_PER_BUCKET; i++) {
      if (table.item(first ^ i) == item && hold(c, first ^ i, item)) {
        return first ^ i;
      }
    }
    return -1;
  }

  /** Searches the whole column, under the lock, so a miss is certain. */
  private int holdInColumn(TimestampContext c, long item, int column) {
    long header = table.header(column);
    for (int level = 0; level < table.levels(); level++) {
      if (level == 0 || TimestampTable.count(header, level) != 0) {
        int slot = holdInBucket(c, table.slotOf(item, level), item);
        if (slot >= 0) {
          return slot;
        }
      }
    }
    int last = table.levels() - 1;
    int reach = TimestampTable.reach(header) == 0 ? 0 : table.bucketReach(table.slotOf(item, last));
    for (int distance = 1; distance <= reach; distance++) {
      c.walked++;
      int slot = holdInBucket(c, table.slotAfter(item, column, last, distance), item);
      if (slot >= 0) {
        return slot;
      }
    }
    if (reach > 0) {
      entries.releaseOverflow(c, item, column);
    }
    return -1;
  }

  /**
   * Turns a transaction's pins into references, and then gives up its epoch. If it is evicted
   * meanwhile, slots may be released: no reference is added to a free slot, and one added to
   * another item's slot keeps that entry for a while. One CAS of the publication decides whether it
   * was evicted; if not, all references are right.
   */
  void convert(TimestampContext c) {
    int done = 0;
    while (done < c.pinned && addReference(c.pins[done])) {
      done++;
    }
    if (done < c.pinned || !epochs.leave(c.index)) {
      dropReferences(c, done);
      throw new TransactionAbortedException(
          AbortCause.TIMEOUT,
          "The transaction was idle too long and its timestamp memory was reclaimed.");
    }
    c.counts = true;
    c.epoch = COUNTING;
    c.converted++;
  }

  private boolean addReference(int slot) {
    while (true) {
      long stamp = table.stampAcquire(slot);
      if (stamp >= 0 || isFull(stamp)) {
        return false;
      }
      if (table.casStamp(slot, stamp, stamp + REFERENCE)) {
        return true;
      }
    }
  }

  private void dropReferences(TimestampContext c, int count) {
    for (int i = 0; i < count; i++) {
      int slot = c.pins[i];
      long item = table.item(slot);
      long before = table.addStamp(slot, -REFERENCE);
      if (immediate && (before & REFERENCES_MASK) == REFERENCE) {
        entries.settle(c, slot, item);
      }
    }
  }

  /** Drops the pins from last to first, each once: after an error another call drops the rest. */
  void dropPins(TimestampContext c) {
    while (c.pinned > 0) {
      int last = c.pinned - 1;
      int slot = c.pins[last];
      long item = table.item(slot);
      long before = table.addStamp(slot, -REFERENCE);
      c.pinned = last;
      if (immediate && (before & REFERENCES_MASK) == REFERENCE) {
        entries.settle(c, slot, item);
      }
    }
  }

  private static boolean isFull(long stamp) {
    return (stamp & REFERENCES_MASK) == REFERENCES_MASK;
  }

  /**
   * Handles an item that finds all its slots in use: advances the epoch every few rounds, and waits
   * a little for running transactions. This transaction gives up its own epoch first, so it blocks
   * no other. A transaction that blocks after half of all rounds has had a dozen chances to end or
   * convert, and is evicted.
   */
  private void awaitFreeSlot(TimestampContext c, int attempt) {
    if (!byEpoch || attempt >= ATTEMPTS_MAX) {
      c.refused++;
      throw new TransactionAbortedException(
          AbortCause.TOO_LARGE,
          (kind == TimestampStore.MEMORY ? "Records" : "Active transactions")
              + " use all "
              + table.bytes()
              + (kind == TimestampStore.MEMORY
                  ? " bytes for timestamps, which stay in memory: raise "
                      + "MemoryOptions.timestampBytes."
                  : " bytes for timestamps: split this one, or raise "
                      + "MemoryOptions.timestampBytes."));
    }
    if (!c.counts) {
      convert(c);
    }
    if (attempt % ATTEMPTS_PER_EPOCH == 0) {
      epochs.advance(epochs.now());
    } else {
      Waits.yieldThread();
      epochs.scan();
    }
    if (attempt >= ATTEMPTS_MAX / 2 && epochs.evictOldest(LAG)) {
      c.evictions++;
      epochs.scan();
    }
  }
}
