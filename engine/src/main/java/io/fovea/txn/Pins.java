package io.fovea.txn;

import io.fovea.config.TimestampStore;
import io.fovea.error.AbortCause;
import io.fovea.error.TransactionAbortedException;
import io.fovea.memory.Waits;

/**
 * Pins: how a transaction gets the slot of an item, and keeps it to its end.
 *
 * <p><b>Why no slot is released under its user.</b> Let T run in epoch e, not expelled, and let its
 * pin of x in slot s succeed, and let t be the moment at which T read or wrote a stamp of at least
 * e. No release of s after t succeeds while T runs: it would need a stamp below {@code oldest},
 * which never exceeds e ({@link Epochs}), while stamps of a live slot only grow; and slot s must be
 * released before it can be free and get a smaller one. A release that read the stamp before t
 * fails in its CAS if T changed it, and need not be considered if T did not, for then it had read e
 * or more. So the item in s does not change from t on, and T reads it after t: if it is x, x it
 * stays. That second reading is needed: between T's first reading of x and t, the slot may have
 * been released and given to y, with the very stamp that T then replaces (the ABA case); then T has
 * kept y for a while, which harms no one, and looks elsewhere. For references the same holds with
 * "one reference of T's" in place of "at least e", and there T takes the reference back.
 *
 * <p><b>Why the item and the word belong to the stamp.</b> An entry's item and word are written
 * before its stamp (release), and T reads them after it (acquire). What the last user left in the
 * word is visible to a release: users leave by a release store of their publication (read in {@code
 * oldest}'s scan) or by the atomic add that gives the reference back (read in the CAS).
 *
 * <p><b>A miss is never believed.</b> Without the column's lock a search may miss an entry that is
 * coming into being. So a miss is repeated under the lock, where entries of the column neither come
 * nor go; one item has never two entries.
 *
 * <p><b>Epoch or reference.</b> By epoch, a pin of an item that was used in this epoch stores
 * nothing, so readers of a hot item share its line; a reference count makes each a writer of it.
 * But one long transaction holds the epoch back, and with it every entry that anyone uses
 * meanwhile. So a transaction that notices (on its way to a new entry) that it runs since {@link
 * #LAG} epochs turns its pins into references and gives its epoch up: see {@link #convert}. One
 * that is idle cannot notice. It is <i>expelled</i> when, and only when, the whole budget is in use
 * and it is in the way: its slots may be released under it from then on, and {@link
 * Timestamps#holds} tells it so, after its validation and before anything of it becomes visible.
 */
final class Pins {
  /** The own epoch of who counts references: above all stamps, so that the short way never fits. */
  static final long COUNTING = Long.MAX_VALUE;

  /** The epoch of all where entries stay for ever: below all stamps, so that it always fits. */
  static final long FOR_EVER = 0;

  /** A transaction that runs since so many epochs counts references from then on. */
  static final long LAG = 8;

  private static final long EPOCH_MASK = Entries.EPOCH_MASK;
  private static final long REFERENCE = Entries.REFERENCE;
  private static final long REFERENCES_MASK = Entries.REFERENCES_MASK;

  /**
   * The epoch advances when one context has made many entries in it: 1 / this of what there is room
   * for in first buckets. While what is used fits into the table no other epoch is needed, and each
   * new one costs a store for each item that is used in it.
   */
  private static final int EPOCHS_PER_TABLE = 16;

  /** It advances when a context sees so many entries in it that find their first bucket in use. */
  private static final int SPILLS_PER_EPOCH = 16;

  /** How often a pin that finds everything in use tries again, and how often with a new epoch. */
  private static final int ATTEMPTS_MAX = 256;

  private static final int ATTEMPTS_PER_EPOCH = 8;

  private final TimestampStore kind;
  private final TimestampTable table;
  private final ColdTimestamps coldTimestamps;
  private final Epochs epochs;
  private final Entries entries;
  private final boolean byEpoch;
  private final boolean immediate;
  private final boolean turns;
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
    this.turns = byEpoch || TimestampConfig.isCache(kind);
    this.madePerEpoch =
        Math.max(1, table.columns() * TimestampTable.SLOTS_PER_BUCKET / EPOCHS_PER_TABLE);
  }

  /** Whether epochs say anything. */
  boolean turns() {
    return turns;
  }

  /** Keeps a slot that held the item a moment ago; false if it does no longer. */
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
        if (full(stamp)) {
          throw new TransactionAbortedException(
              AbortCause.TOO_LARGE, "One key is used a million times at once.");
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

  /** The way of an item that is not where it is looked for first. */
  int pinBesides(TimestampContext c, int first, long item) {
    int column = table.column(item);
    long version = table.version(column);
    int slot = holdInBucket(c, first, item);
    if (slot < 0) {
      slot = pinElsewhere(c, item, column, version);
    }
    c.remember(slot);
    return slot;
  }

  /** The way of an item that is not in its first bucket, or nowhere. */
  private int pinElsewhere(TimestampContext c, long item, int column, long version) {
    long header = table.header(column);
    if (TimestampTable.spilled(header)) {
      for (int level = 1; level < table.levels(); level++) {
        if (TimestampTable.count(header, level) != 0) {
          int slot = holdInBucket(c, table.place(item, level), item);
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
    // What lies behind its own bucket has not been looked for: nothing, while the version stands.
    if ((TimestampTable.reach(header) == 0
            || table.bucketReach(table.place(item, table.levels() - 1)) == 0)
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
      makeRoom(c, attempt);
      slot = pinUnderLock(c, item, column);
    }
    if (turns) {
      made(c, c.spilled != spilled);
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

  /** Asks for a new epoch when, in this one, many entries were made, or found no room. */
  private void made(TimestampContext c, boolean spilled) {
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

  /** The full search; under the lock, so that what it does not find is not there. */
  private int holdInColumn(TimestampContext c, long item, int column) {
    long header = table.header(column);
    for (int level = 0; level < table.levels(); level++) {
      if (level == 0 || TimestampTable.count(header, level) != 0) {
        int slot = holdInBucket(c, table.place(item, level), item);
        if (slot >= 0) {
          return slot;
        }
      }
    }
    int last = table.levels() - 1;
    int reach = TimestampTable.reach(header) == 0 ? 0 : table.bucketReach(table.place(item, last));
    for (int distance = 1; distance <= reach; distance++) {
      c.walked++;
      int slot = holdInBucket(c, table.placeBehind(item, column, last, distance), item);
      if (slot >= 0) {
        return slot;
      }
    }
    if (reach > 0) {
      entries.tidy(c, item, column);
    }
    return -1;
  }

  // ---------------------------------------------------------------- out of the epoch

  /**
   * Turns a transaction's pins into references, and gives its epoch up. While it does so both hold
   * the entries: the references are there before the epoch goes.
   *
   * <p>It may be expelled meanwhile, and slots be released. Then a reference is added to no free
   * slot; one added to a slot that has another item by now keeps that for a while. Whether it was
   * expelled is decided by one CAS of its publication: if it was not, all references were right.
   */
  void convert(TimestampContext c) {
    int done = 0;
    while (done < c.pinned && addReference(c.pins[done])) {
      done++;
    }
    if (done < c.pinned || !epochs.leave(c.index)) {
      dropReferences(c, done);
      throw new TransactionAbortedException(
          AbortCause.TIMEOUT, "It was idle while others needed the memory for its timestamps.");
    }
    c.counts = true;
    c.epoch = COUNTING;
    c.converted++;
  }

  /** Adds a reference to a slot, unless it is free. */
  private boolean addReference(int slot) {
    while (true) {
      long stamp = table.stampAcquire(slot);
      if (stamp >= 0 || full(stamp)) {
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

  /** From the last to the first, each once: after an error it may be called again for the rest. */
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

  private static boolean full(long stamp) {
    return (stamp & REFERENCES_MASK) == REFERENCES_MASK;
  }

  /**
   * An item finds all its places in use: sees to it that what others have left can be released, and
   * waits a moment for those who run.
   *
   * <p>This transaction gives its own epoch up first, so whoever waits here is in nobody's way. The
   * epoch advances every few rounds, so that after the first half of them a transaction that still
   * stands in the way has had a dozen chances to end, or to notice by itself: it is expelled.
   */
  private void makeRoom(TimestampContext c, int attempt) {
    if (!byEpoch || attempt >= ATTEMPTS_MAX) {
      c.refused++;
      throw new TransactionAbortedException(
          AbortCause.TOO_LARGE,
          (kind == TimestampStore.MEMORY ? "Records" : "Transactions that run")
              + " use all of the "
              + table.bytes()
              + (kind == TimestampStore.MEMORY
                  ? " bytes for timestamps, which stay in memory: raise that budget."
                  : " bytes for timestamps: split this one, or raise that budget."));
    }
    if (!c.counts) {
      convert(c);
    }
    if (attempt % ATTEMPTS_PER_EPOCH == 0) {
      epochs.advance(epochs.now());
    } else {
      Waits.giveWay();
      epochs.scan();
    }
    if (attempt >= ATTEMPTS_MAX / 2 && epochs.expelOldest(LAG)) {
      c.expelled++;
      epochs.scan();
    }
  }
}
