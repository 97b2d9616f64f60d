package io.fovea.index;

import io.fovea.btree.Position;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Makes hints wrong, for tests and benchmarks of what wrong hints cost.
 *
 * @param page percent of the page ids that are made wrong, each time that one is read
 * @param frame of the frames
 * @param slot of the slots
 * @param wild whether they become anything at all, and are made wrong when they are stored as well;
 *     otherwise they become what they were, less one
 */
public record HintPoison(int page, int frame, int slot, boolean wild) {
  /** All hints are as they are. */
  public static final HintPoison NONE = new HintPoison(0, 0, 0, false);

  boolean none() {
    return page == 0 && frame == 0 && slot == 0;
  }

  void apply(Position p) {
    ThreadLocalRandom random = ThreadLocalRandom.current();
    if (hit(page, random)) {
      p.pid = wild ? wildPid(p.pid, random) : p.pid - 1;
    }
    if (hit(frame, random)) {
      p.frame = wild ? wild(p.frame, random) : p.frame - 1;
    }
    if (hit(slot, random)) {
      p.slot = wild ? wild(p.slot, random) & 0xFFFF : Math.max(0, p.slot - 1);
      p.found = true;
    }
    if (wild) {
      p.line = random.nextInt(256);
    }
  }

  private static boolean hit(int percent, ThreadLocalRandom random) {
    return percent > 0 && random.nextInt(100) < percent;
  }

  /** A neighbour, a page of another place of the file, or a number that is no page. */
  private static long wildPid(long pid, ThreadLocalRandom random) {
    return switch (random.nextInt(4)) {
      case 0 -> Math.max(0, pid + random.nextInt(-2, 3));
      case 1 -> random.nextLong(2 * pid + 2);
      case 2 -> random.nextLong(1L << 40);
      default -> 0;
    };
  }

  private static int wild(int old, ThreadLocalRandom random) {
    return random.nextBoolean() ? old + random.nextInt(-2, 3) : random.nextInt();
  }
}
