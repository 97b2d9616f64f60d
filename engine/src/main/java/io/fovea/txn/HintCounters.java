package io.fovea.txn;

import io.fovea.btree.HintedLeaf;

/**
 * What one context has counted of the hints in entries of indexes. Written by the transaction's
 * thread alone, with plain stores, and read by anybody: a reader may be a little behind, never
 * wrong by more than that.
 */
public final class HintCounters {
  /** What a repair may put right. */
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

  /** Those of them whose hint was right in all its parts. */
  public long hits;

  /** How often each bit of {@link HintedLeaf} was set. */
  public final long[] stale = new long[HintedLeaf.BITS];

  /** Repairs by {@link Repair}. */
  public final long[] repairs = new long[Repair.values().length];

  /** Repairs that were left out because the entry's leaf was latched or had changed. */
  public long missed;

  /** Repairs that were left out because they were switched off. */
  public long suppressed;

  /** All zero. */
  public HintCounters() {}

  /**
   * Counts a lookup.
   *
   * @param wrong what {@link HintedLeaf#locate} returned; a line does not count
   */
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

  /** How often a bit of {@link HintedLeaf} was set. */
  public long stale(int bit) {
    return stale[Integer.numberOfTrailingZeros(bit)];
  }

  /** Adds what another has counted. */
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
