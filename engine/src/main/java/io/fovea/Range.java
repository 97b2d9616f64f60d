package io.fovea;

import io.fovea.btree.BTree;
import io.fovea.btree.RangeEstimate;
import io.fovea.encoding.Tuple;
import io.fovea.error.InvalidUseException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.index.IndexCore;
import io.fovea.memory.Mem;
import io.fovea.txn.Tx;
import io.fovea.txn.TxScan;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * An interval of keys.
 *
 * <p>A key with fewer parts set than its specification has is a prefix and stands for all keys that
 * begin with it. So {@code between(a, b)} of prefixes takes in all that begin with {@code b}, and
 * {@code of(lo, false, ...)} leaves out all that begin with {@code lo}.
 *
 * <p>A range refers to its keys until a scan is opened with it, which copies them. So ranges may be
 * kept and used again with other keys set, by the thread that owns the keys.
 *
 * @since 0.1.0
 */
public final class Range {
  private static final Range ALL = new Range(null, true, null, true);

  /** No end: no key is in the range. */
  private static final int EMPTY = Integer.MIN_VALUE;

  private final @Nullable Key lo;
  private final boolean loInclusive;
  private final @Nullable Key hi;
  private final boolean hiInclusive;

  private Range(@Nullable Key lo, boolean loInclusive, @Nullable Key hi, boolean hiInclusive) {
    this.lo = lo;
    this.loInclusive = loInclusive;
    this.hi = hi;
    this.hiInclusive = hiInclusive;
  }

  /**
   * Every key.
   *
   * @return the range
   */
  public static Range all() {
    return ALL;
  }

  /**
   * The keys that begin with a prefix.
   *
   * @param prefix a key, best with fewer parts set than its specification has
   * @return the range
   */
  public static Range prefix(Key prefix) {
    Objects.requireNonNull(prefix, "prefix");
    return new Range(prefix, true, prefix, true);
  }

  /**
   * The keys from one on.
   *
   * @param lo the smallest key or prefix of the range
   * @return the range
   */
  public static Range atLeast(Key lo) {
    return new Range(Objects.requireNonNull(lo, "lo"), true, null, true);
  }

  /**
   * The keys above one.
   *
   * @param lo the key below the range; of a prefix, all that begins with it is left out
   * @return the range
   */
  public static Range greaterThan(Key lo) {
    return new Range(Objects.requireNonNull(lo, "lo"), false, null, true);
  }

  /**
   * The keys below one.
   *
   * @param hi the key above the range; of a prefix, all that begins with it is left out
   * @return the range
   */
  public static Range lessThan(Key hi) {
    return new Range(null, true, Objects.requireNonNull(hi, "hi"), false);
  }

  /**
   * The keys up to one.
   *
   * @param hi the largest key or prefix of the range
   * @return the range
   */
  public static Range atMost(Key hi) {
    return new Range(null, true, Objects.requireNonNull(hi, "hi"), true);
  }

  /**
   * The keys from one to another, both of them included.
   *
   * @param lo the smallest key or prefix of the range
   * @param hi the largest key or prefix of the range
   * @return the range; empty if {@code lo} is above {@code hi}
   */
  public static Range between(Key lo, Key hi) {
    return new Range(
        Objects.requireNonNull(lo, "lo"), true, Objects.requireNonNull(hi, "hi"), true);
  }

  /**
   * The keys from one to another.
   *
   * @param lo the lower end
   * @param loInclusive whether {@code lo}, or what begins with it, is part of the range
   * @param hi the upper end
   * @param hiInclusive whether {@code hi}, or what begins with it, is part of the range
   * @return the range
   */
  public static Range of(Key lo, boolean loInclusive, Key hi, boolean hiInclusive) {
    return new Range(
        Objects.requireNonNull(lo, "lo"),
        loInclusive,
        Objects.requireNonNull(hi, "hi"),
        hiInclusive);
  }

  /**
   * Opens the scan of this range, as an interval of byte strings.
   *
   * <pre>
   *                    exact key k        prefix p
   *   from, included   [k                 [p
   *   from, excluded   (k                 [p+            p+ = the smallest string above all
   *   to, included     k]                 p+)                 that begin with p
   *   to, excluded     k)                 p)
   * </pre>
   *
   * <p>A key is exact if no other key of the tree begins with it: a complete key of a table or of a
   * unique index. If there is no p+, as there is none above the empty prefix, the interval is
   * unbounded above, or empty where it was to begin there.
   *
   * @param owner whose keys the range must have
   * @param exact whether complete keys are exact
   * @param stage room for two keys of {@code stride} bytes
   * @return the scan, or null if the range is empty
   */
  @Nullable TxScan open(
      Tx t,
      BTree tree,
      Object owner,
      boolean exact,
      ScanOrder order,
      MemorySegment stage,
      int stride) {
    int low = low(lo, loInclusive, owner, exact, stage, stride);
    int high = high(hi, hiInclusive, owner, exact, stage, stride);
    if (low == EMPTY || high == EMPTY) {
      return null;
    }
    TxScan scan =
        t.scan(
            tree,
            stage,
            0,
            length(low),
            inclusive(low),
            stage,
            stride,
            length(high),
            inclusive(high),
            order == ScanOrder.DESCENDING);
    if (owner instanceof IndexCore) {
      scan.readsItems();
    }
    return scan;
  }

  /**
   * Moves a scan to the first record that lies at a key or behind it, as {@link #open} would for a
   * range that begins there: all that begins with a prefix lies at it.
   *
   * @param stage room for two keys of {@code stride} bytes
   * @return whether there is one
   */
  static boolean seek(TxScan scan, Key key, boolean exact, MemorySegment stage, int stride) {
    Object owner = key.owner();
    boolean up = !scan.isDescending();
    int end =
        up
            ? low(key, true, owner, exact, stage, stride)
            : high(key, true, owner, exact, stage, stride);
    if (length(end) >= 0) {
      return scan.seek(stage, up ? 0 : stride, length(end), inclusive(end));
    }
    return scan.first(); // an empty prefix, or one above which there is nothing
  }

  /** Estimates what is in this range; as {@link #open}. */
  Estimate estimate(BTree tree, Object owner, boolean exact, MemorySegment stage, int stride) {
    int low = low(lo, loInclusive, owner, exact, stage, stride);
    int high = high(hi, hiInclusive, owner, exact, stage, stride);
    if (low == EMPTY || high == EMPTY) {
      return new Estimate(0, 0);
    }
    RangeEstimate e =
        RangeEstimate.of(
            tree,
            stage,
            0,
            length(low),
            inclusive(low),
            stage,
            stride,
            length(high),
            inclusive(high));
    return new Estimate(e.entries(), e.bytes());
  }

  // An end as a number: the length of its key in the stage, -1 for none, and whether it belongs to
  // the range.

  private static int end(int length, boolean inclusive) {
    return length << 1 | (inclusive ? 1 : 0);
  }

  private static int length(int end) {
    return end >> 1;
  }

  private static boolean inclusive(int end) {
    return (end & 1) != 0;
  }

  /** Puts the lower end at the beginning of the stage. */
  private static int low(
      @Nullable Key key,
      boolean included,
      Object owner,
      boolean exact,
      MemorySegment stage,
      int stride) {
    if (key == null) {
      return end(-1, true);
    }
    int length = load(key, owner, stage, 0, stride);
    if (included || exact && key.isComplete()) {
      return end(length == 0 ? -1 : length, included);
    }
    length = Tuple.successorOfPrefix(stage, 0, length);
    return length == 0 ? EMPTY : end(length, true);
  }

  /** Puts the upper end into the second half of the stage. */
  private static int high(
      @Nullable Key key,
      boolean included,
      Object owner,
      boolean exact,
      MemorySegment stage,
      int stride) {
    if (key == null) {
      return end(-1, true);
    }
    int length = load(key, owner, stage, stride, stride);
    if (exact && key.isComplete()) {
      return end(length, included);
    }
    if (!included) {
      return length == 0 ? EMPTY : end(length, false);
    }
    length = Tuple.successorOfPrefix(stage, stride, length);
    return end(length == 0 ? -1 : length, false);
  }

  private static int load(Key key, Object owner, MemorySegment stage, int at, int stride) {
    requireOwner(key, owner);
    if (key.length() > stride) {
      throw new KeyTooLargeException(key.length(), stride);
    }
    Mem.copy(key.segment(), key.base(), stage, at, key.length());
    return key.length();
  }

  static void requireOwner(Key key, Object owner) {
    if (key.owner() != owner) {
      throw new InvalidUseException(
          "A key of the range belongs to another table or index: it is one of " + key.spec() + ".");
    }
  }
}
