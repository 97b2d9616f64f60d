package io.fovea.schema;

/**
 * What a sequence gives: the numbers from a first to a last one, each a step above the one before.
 *
 * <pre>{@code
 * SequenceSpec.of("orders").from(1_000).cached(10_000)
 * }</pre>
 *
 * <p>First, last and step of a sequence stay what they are until it is {@linkplain
 * io.fovea.Database#alterSequence altered}. How many values are cached is the program's to say each
 * time.
 *
 * <p>A value; any thread.
 *
 * @param name the sequence's name, 1 to 255 characters
 * @param first the first value
 * @param last no value is above it
 * @param step from one value to the next, at least 1
 * @param cached how many values are reserved in the file at a time, 1 to 16,777,216
 * @since 0.1.0
 */
public record SequenceSpec(String name, long first, long last, long step, int cached) {
  /** How many values are cached where nothing is said. */
  public static final int CACHED = 1_000;

  /** How many values may be cached. */
  public static final int CACHED_MAX = 1 << 24;

  /**
   * Makes one.
   *
   * @throws IllegalArgumentException for numbers, or a name, that can't be
   */
  public SequenceSpec {
    TableSpec.checkName(name);
    if (first > last) {
      throw new IllegalArgumentException(
          "The first value of a sequence is not above the last one: " + first + ", " + last + ".");
    }
    if (step < 1) {
      throw new IllegalArgumentException("A sequence ascends, by 1 or more, not by " + step + ".");
    }
    if (cached < 1 || cached > CACHED_MAX) {
      throw new IllegalArgumentException(
          "1 to " + CACHED_MAX + " values of a sequence are cached, not " + cached + ".");
    }
  }

  /**
   * A sequence from 1 to {@link Long#MAX_VALUE}, by 1, that reserves {@link #CACHED} values at a
   * time.
   *
   * @param name its name, 1 to 255 characters
   * @return the specification
   * @throws IllegalArgumentException if the name has other lengths, or half a surrogate pair
   */
  public static SequenceSpec of(String name) {
    return new SequenceSpec(name, 1, Long.MAX_VALUE, 1, CACHED);
  }

  /**
   * The same with another name.
   *
   * @param other 1 to 255 characters
   * @return the specification
   * @throws IllegalArgumentException if the name has other lengths, or half a surrogate pair
   */
  public SequenceSpec named(String other) {
    return new SequenceSpec(other, first, last, step, cached);
  }

  /**
   * The same with another first value.
   *
   * @param value the first value, not above the last one
   * @return the specification
   * @throws IllegalArgumentException if it is above the last one
   */
  public SequenceSpec from(long value) {
    return new SequenceSpec(name, value, last, step, cached);
  }

  /**
   * The same with an end: behind it {@link io.fovea.error.SequenceExhaustedException} is thrown.
   *
   * @param value no value is above it
   * @return the specification
   * @throws IllegalArgumentException if it is below the first value
   */
  public SequenceSpec upTo(long value) {
    return new SequenceSpec(name, first, value, step, cached);
  }

  /**
   * The same with other distances.
   *
   * @param distance from one value to the next, at least 1
   * @return the specification
   * @throws IllegalArgumentException if it is below 1
   */
  public SequenceSpec by(long distance) {
    return new SequenceSpec(name, first, last, distance, cached);
  }

  /**
   * The same with another cache: so many values are reserved in the file at a time, and given from
   * memory. After a crash up to twice as many are skipped. With 1, each value is written before it
   * is given.
   *
   * @param values how many, 1 to {@value #CACHED_MAX}
   * @return the specification
   * @throws IllegalArgumentException for other numbers
   */
  public SequenceSpec cached(int values) {
    return new SequenceSpec(name, first, last, step, values);
  }

  /**
   * How many values it has.
   *
   * @return their number; {@link Long#MAX_VALUE} where there are more
   */
  public long values() {
    // As unsigned numbers: the distance may be above Long.MAX_VALUE.
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
