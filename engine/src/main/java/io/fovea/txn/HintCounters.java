package io.fovea.txn;

import io.fovea.btree.HintedLeaf;

/**
 * Statistics of one context about hints in index entries. Plain stores by its thread; other threads
 * read slightly stale values.
 */
public final class HintCounters {
  /** What a repair corrects. */
  public enum Repair {
    /** The page, and with it the rest. */
    PAGE,
    /** The frame alone. */
    FRAME,
    /** The slot, and the frame with it. */
    SLOT,
    /** The line alone. */
    LINE
  }

  /** Records that were looked up by an entry with a hint. */
  public long lookups;

  /** Lookups whose hint was right in all its parts. */
  public long hits;

  /** How often each bit of {@link HintedLeaf} was set. */
  public final long[] stale = new long[HintedLeaf.BITS];

  /** Repairs by {@link Repair}. */
  public final long[] repairs = new long[Repair.values().length];

  /** Repairs skipped because the entry's leaf was latched or had changed. */
  public long missed;

  /** Repairs skipped because they were disabled. */
  public long suppressed;

  /** Creates counters that are all zero. */
  public HintCounters() {}

  /** Counts a lookup by the result of {@link HintedLeaf#locate}; a line does not count. */
  public void lookup(int wrong) {
    lookups++;
    int parts = wrong & ~HintedLeaf.LINE;
    if (parts == 0) {
      hits++;
      return;
    }
    for (int bits = parts; bits != 0; bits &= bits - 1) {
      stale[Integer.numberOfTrailingZeros(bits)]++;
    }
  }

  /** Returns how often a bit of {@link HintedLeaf} was set. */
  public long stale(int bit) {
    return stale[Integer.numberOfTrailingZeros(bit)];
  }

  /** Adds other counters. */
  public void add(HintCounters other) {
    lookups += other.lookups;
    hits += other.hits;
    for (int i = 0; i < stale.length; i++) {
      stale[i] += other.stale[i];
    }
    for (int i = 0; i < repairs.length; i++) {
      repairs[i] += other.repairs[i];
    }
    missed += other.missed;
    suppressed += other.suppressed;
  }
}
