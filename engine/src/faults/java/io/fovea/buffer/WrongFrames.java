package io.fovea.buffer;

import io.fovea.txn.FaultInjection;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * Replaces the frame hints of inner pages: half by other frames of the pool, half by any number
 * that fits. Every check is exercised, and no answer may depend on the hints.
 */
public final class WrongFrames {
  private WrongFrames() {}

  /**
   * Called by woven code before a hint is stored.
   *
   * @param limit the number of frames that hints may name; 0: no hints
   */
  static int hint(int hint, @Nullable FaultInjection faults, Frames frames, int limit) {
    // Swizzled references are not checked before use, so they stay right.
    if (faults == null || !faults.wrongFrames() || limit == 0 || frames.swizzling.on) {
      return hint;
    }
    ThreadLocalRandom random = ThreadLocalRandom.current();
    return 1 + random.nextInt(random.nextBoolean() ? limit : PageRef.FRAMES_MAX);
  }
}
