package io.fovea.support;

/**
 * A kind of power failure, by its effect on unsynced writes.
 *
 * @param keep the probability that such a write, or resize, survives at all
 * @param tear whether a surviving write may be torn: any of its sectors of 512 bytes
 * @param reorder whether writes may reach the medium in another order
 */
public record SimCrash(double keep, boolean tear, boolean reorder) {
  /** Nothing unsynced survives. */
  public static final SimCrash LOSE_ALL = new SimCrash(0, false, false);

  /** Everything survives: the process was killed, the machine was not. */
  public static final SimCrash KEEP_ALL = new SimCrash(1, false, false);

  /** Half of the changes survive, torn and reordered. */
  public static final SimCrash RANDOM = new SimCrash(0.5, true, true);
}
