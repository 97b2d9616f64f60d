package io.fovea.schema;

/**
 * The values of a sequence: from a first value to a last one, ascending by a step.
 *
 * <pre>{@code
 * SequenceSpec.of("orders").from(1_000).cached(10_000)
 * }</pre>
 *
 * <p>First, last and step do not change until the sequence is {@linkplain
 * io.fovea.Database#alterSequence altered}. The cache size may differ at each opening.
 *
 * <p>Immutable and thread-safe.
 *
 * @param name the sequence's name, 1 to 255 characters
 * @param first the first value
 * @param last the upper bound, inclusive
 * @param step the difference between values, at least 1
 * @param cached how many values are reserved in the file at a time, 1 to 16,777,216
 * @since 0.1.0
 */
public record SequenceSpec(String name, long first, long last, long step, int cached) {
  /** The default cache size. */
  public static final int CACHED = 1_000;

  /** The largest cache size. */
  public static final int CACHED_MAX = 1 << 24;

  /**
   * Checks the components.
   *
   * @throws IllegalArgumentException if the name or a number is invalid
   */
  public SequenceSpec {
    TableSpec.checkName(name);
    if (first > last) {
      throw new IllegalArgumentException(
          "The first value of a sequence must not be above the last one: "
              + first
              + ", "
              + last
              + ".");
    }
    if (step < 1) {
      throw new IllegalArgumentException(
          "The step of a sequence must be 1 or more, not " + step + ".");
    }
    if (cached < 1 || cached > CACHED_MAX) {
      throw new IllegalArgumentException(
          "1 to " + CACHED_MAX + " values of a sequence can be cached, not " + cached + ".");
    }
  }

  /**
   * Returns a sequence from 1 to {@link Long#MAX_VALUE}, by 1, that reserves {@link #CACHED} values
   * at a time.
   *
   * @param name 1 to 255 characters
   * @return the specification
   * @throws IllegalArgumentException if the name has another length or an unpaired surrogate
   */
  public static SequenceSpec of(String name) {
    return new SequenceSpec(name, 1, Long.MAX_VALUE, 1, CACHED);
  }

  /**
   * Changes the name.
   *
   * @param other 1 to 255 characters
   * @return a new specification
   * @throws IllegalArgumentException if the name has another length or an unpaired surrogate
   */
  public SequenceSpec named(String other) {
    return new SequenceSpec(other, first, last, step, cached);
  }

  /**
   * Changes the first value.
   *
   * @param value the first value, not above the last one
   * @return a new specification
   * @throws IllegalArgumentException if it is above the last one
   */
  public SequenceSpec from(long value) {
    return new SequenceSpec(name, value, last, step, cached);
  }

  /**
   * Changes the last value, after which {@link io.fovea.error.SequenceExhaustedException} is
   * thrown.
   *
   * @param value the upper bound, inclusive
   * @return a new specification
   * @throws IllegalArgumentException if it is below the first value
   */
  public SequenceSpec upTo(long value) {
    return new SequenceSpec(name, first, value, step, cached);
  }

  /**
   * Changes the step.
   *
   * @param distance the difference between values, at least 1
   * @return a new specification
   * @throws IllegalArgumentException if it is below 1
   */
  public SequenceSpec by(long distance) {
    return new SequenceSpec(name, first, last, distance, cached);
  }

  /**
   * Changes the cache size: how many values are reserved in the file at a time and then served from
   * memory. A crash skips up to twice as many. With 1, each value is written before it is returned.
   *
   * @param values 1 to {@value #CACHED_MAX}
   * @return a new specification
   * @throws IllegalArgumentException if it is out of range
   */
  public SequenceSpec cached(int values) {
    return new SequenceSpec(name, first, last, step, values);
  }

  /** {@return the number of values, at most {@link Long#MAX_VALUE}} */
  public long values() {
    // Unsigned, because the distance may be above Long.MAX_VALUE.
    long others = Long.divideUnsigned(last - first, step);
    return others < 0 || others == Long.MAX_VALUE ? Long.MAX_VALUE : others + 1;
  }

  @Override
  public String toString() {
    return "sequence "
        + NameText.of(name)
        + " from "
        + first
        + " to "
        + last
        + " by "
        + step
        + ", "
        + cached
        + " cached";
  }
}
