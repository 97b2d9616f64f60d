package io.fovea.support;

/**
 * What becomes of writes that were not synced when the power fails.
 *
 * @param keep the probability that such a write, or change of length, survives at all
 * @param tear whether a surviving write may survive in part: any of its sectors of 512 bytes
 * @param reorder whether writes may have reached the medium in another order than they were made
 */
public record SimCrash(double keep, boolean tear, boolean reorder) {
  /** Nothing that was not synced survives. */
  public static final SimCrash LOSE_ALL = new SimCrash(0, false, false);

  /** Everything survives: the process was killed, the machine goes on. */
  public static final SimCrash KEEP_ALL = new SimCrash(1, false, false);

  /** Half of it survives, torn and in any order. */
  public static final SimCrash RANDOM = new SimCrash(0.5, true, true);
}
