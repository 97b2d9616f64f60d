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
 * A range of keys.
 *
 * <p>A key with fewer parts set than its specification is a prefix and stands for all keys that
 * begin with it: with prefixes, {@code between(a, b)} includes all keys that begin with {@code b},
 * and {@code of(lo, false, ...)} excludes all that begin with {@code lo}.
 *
 * <p>A range refers to its keys; opening a scan copies them. Between scans you may change the keys,
 * on their thread, and reuse the range.
 *
 * @since 0.1.0
 */
public final class Range {
  private static final Range ALL = new Range(null, true, null, true);

  /** An end that makes the range empty. */
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

  /** {@return the range of all keys} */
  public static Range all() {
    return ALL;
  }

  /**
   * {@return the range of the keys that begin with a prefix}
   *
   * @param prefix a key, usually with fewer parts set than its specification
   */
  public static Range prefix(Key prefix) {
    Objects.requireNonNull(prefix, "prefix");
    return new Range(prefix, true, prefix, true);
  }

  /**
   * {@return the range of the keys greater than or equal to a key}
   *
   * @param lo the least key or prefix of the range
   */
  public static Range atLeast(Key lo) {
    return new Range(Objects.requireNonNull(lo, "lo"), true, null, true);
  }

  /**
   * {@return the range of the keys greater than a key}
   *
   * @param lo the excluded key; as a prefix, it excludes all keys that begin with it
   */
  public static Range greaterThan(Key lo) {
    return new Range(Objects.requireNonNull(lo, "lo"), false, null, true);
  }

  /**
   * {@return the range of the keys less than a key}
   *
   * @param hi the excluded key; as a prefix, it excludes all keys that begin with it
   */
  public static Range lessThan(Key hi) {
    return new Range(null, true, Objects.requireNonNull(hi, "hi"), false);
  }

  /**
   * {@return the range of the keys less than or equal to a key}
   *
   * @param hi the greatest key or prefix of the range
   */
  public static Range atMost(Key hi) {
    return new Range(null, true, Objects.requireNonNull(hi, "hi"), true);
  }

  /**
   * {@return the range from one key to another, both inclusive; empty if {@code lo > hi}}
   *
   * @param lo the least key or prefix of the range
   * @param hi the greatest key or prefix of the range
   */
  public static Range between(Key lo, Key hi) {
    return new Range(
        Objects.requireNonNull(lo, "lo"), true, Objects.requireNonNull(hi, "hi"), true);
  }

  /**
   * {@return the range from one key to another}
   *
   * @param lo the lower bound
   * @param loInclusive whether the range includes {@code lo}, or the keys that begin with it
   * @param hi the upper bound
   * @param hiInclusive whether the range includes {@code hi}, or the keys that begin with it
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
   * unique index. If p+ does not exist, as for the empty prefix, an interval that ends there is
   * unbounded, and one that begins there is empty.
   *
   * @param owner the required owner of the keys
   * @param exact whether complete keys are exact
   * @param stage memory for two keys of {@code stride} bytes
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
      scan.readItemsOnly();
    }
    return scan;
  }

  /**
   * Moves a scan to the first record at or beyond a key, as {@link #open} does for a range that
   * begins there, and returns whether there is one.
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
    return scan.first(); // an empty prefix, or a prefix that no key exceeds
  }

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

  // Encodes a bound: its key's length in the stage, or -1 for none, and whether it is inclusive.

  private static int end(int length, boolean inclusive) {
    return length << 1 | (inclusive ? 1 : 0);
  }

  private static int length(int end) {
    return end >> 1;
  }

  private static boolean inclusive(int end) {
    return (end & 1) != 0;
  }

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
