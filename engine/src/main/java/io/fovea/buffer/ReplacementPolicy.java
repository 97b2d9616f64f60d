package io.fovea.buffer;

import io.fovea.config.Replacement;
import java.lang.foreign.MemorySegment;

/**
 * Proposes pages to evict; {@link FrameAllocator} and {@link BackgroundWriter} evict them.
 *
 * <p><b>The only guarantee is progress</b>: a thread that keeps calling {@link #propose}, with a
 * growing number of attempts, is offered, within two turns over all frames, each frame whose page
 * is not used in the meantime. Whether a page may leave is decided under the frame's latch, in
 * {@link Frames#claimCold}; a policy affects only hit ratios. So its state is advisory: it is read
 * and written by any thread without latches or fences, a store may be lost, and what it records for
 * a frame may concern an earlier page.
 *
 * <p>This is an interface because the calls are on the slow path, where a miss costs much more.
 */
interface ReplacementPolicy {
  /**
   * Performs one step of a search for a page that should leave.
   *
   * @param attempt the number of failed steps of this search
   * @param again whether to also propose eviction candidates and pages being written: for callers
   *     that need a page to leave, dirty or clean
   * @return a frame whose page is not in use, which may be free; -1 if this step found none
   */
  int propose(int attempt, boolean again);

  /** Returns whether a cold page may be displaced from its frame even if it was not proposed. */
  boolean mayBeDisplaced(int frame);

  /** Called when the page in an exclusively latched frame leaves it. */
  void left(int frame);

  /** Called when the pages in two exclusively latched frames are swapped; one frame may be free. */
  void swapped(int a, int b);

  /**
   * Creates a policy.
   *
   * @param statistics {@link MemoryPlan#statisticsBytes} bytes per page in memory, zeroed
   */
  static ReplacementPolicy of(
      Replacement kind, MemorySegment headers, MemorySegment statistics, Residency residency) {
    return switch (kind) {
      case SECOND_CHANCE -> new SecondChance(headers, residency);
      case SAMPLING -> new Sampling(headers, statistics, residency);
    };
  }
}
