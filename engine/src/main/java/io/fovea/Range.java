package io.fovea;

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

  @Nullable Key lo() {
    return lo;
  }

  boolean loInclusive() {
    return loInclusive;
  }

  @Nullable Key hi() {
    return hi;
  }

  boolean hiInclusive() {
    return hiInclusive;
  }
}
