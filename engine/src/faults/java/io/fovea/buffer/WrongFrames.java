package io.fovea.buffer;

import io.fovea.txn.FaultInjection;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * Makes up the frames that inner pages remember: half of them frames of the pool, half of them any
 * number that fits. Every check is asked, and none of the answers may depend on it.
 */
public final class WrongFrames {
  private WrongFrames() {}

  /**
   * Called by woven code: a hint is about to be stored.
   *
   * @param limit hints of so many frames are tried; 0 where there are no hints
   */
  static int hint(int hint, @Nullable FaultInjection faults, Frames frames, int limit) {
    // Swizzled references are believed, so none of them is made up.
    if (faults == null || !faults.wrongFrames() || limit == 0 || frames.swizzling.on) {
      return hint;
    }
    ThreadLocalRandom random = ThreadLocalRandom.current();
    return 1 + random.nextInt(random.nextBoolean() ? limit : PageRef.FRAMES_MAX);
  }
}
