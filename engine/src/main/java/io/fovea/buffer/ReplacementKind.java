package io.fovea.buffer;

/**
 * Which pages leave first.
 *
 * @since 0.1.0
 */
public enum ReplacementKind {
  /** {@link SecondChance}: the next page under the hand of a clock that was not used since. */
  SECOND_CHANCE,
  /** {@link Sampling}: of a few pages at random, the one that was used least of late. */
  SAMPLING
}
