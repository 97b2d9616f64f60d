package io.fovea.buffer;

import io.fovea.config.Replacement;
import java.lang.foreign.MemorySegment;

/**
 * Says which page should leave; {@link FrameAllocator} and {@link BackgroundWriter} see to it.
 *
 * <p><b>What is guaranteed.</b> Nothing but progress: any thread that calls {@link #propose} again
 * and again, with a growing number of attempts, gets each frame whose page is not used in between
 * within two turns over all frames. Whether the page in a frame may leave is decided under the
 * frame's latch, in {@link Frames#claimCold}; a policy is a matter of hit ratios. So all that it
 * remembers is advisory: it is read and written without latches or fences by any thread, a store
 * may be lost, and what it knows of a frame may be of the page that was there before.
 *
 * <p>Slow path only: an interface call costs nothing beside a miss.
 */
interface ReplacementPolicy {
  /**
   * Looks for a page that should leave; one step.
   *
   * @param attempt how many steps of this search were in vain
   * @param again whether a page may be proposed that is given up already, or being written: for who
   *     wants one that leaves at once; dirty or clean, for that is no reason to leave
   * @return a frame whose page was not in use a moment ago, which may be free; -1 where the step
   *     found none
   */
  int propose(int attempt, boolean again);

  /** Whether a cold page may be pushed out of its frame although nobody proposed it. */
  boolean expendable(int frame);

  /** The page in an exclusively latched frame leaves it. */
  void left(int frame);

  /** The pages in two exclusively latched frames change places; one of them may be free. */
  void swapped(int a, int b);

  /** Makes a policy; statistics: {@link MemoryPlan#statisticsBytes} bytes for each place, zero. */
  static ReplacementPolicy of(
      Replacement kind, MemorySegment headers, MemorySegment statistics, Residency residency) {
    return switch (kind) {
      case SECOND_CHANCE -> new SecondChance(headers, residency);
      case SAMPLING -> new Sampling(headers, statistics, residency);
    };
  }
}
