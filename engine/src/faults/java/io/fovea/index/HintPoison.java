package io.fovea.index;

import io.fovea.btree.Position;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * Corrupts hints, for tests and benchmarks of wrong ones.
 *
 * @param page the percentage of page ids that are wrong, decided at each read
 * @param frame the percentage of frames
 * @param slot the percentage of slots
 * @param wild whether they become random values, also when they are stored; otherwise they are
 *     decremented
 */
public record HintPoison(int page, int frame, int slot, boolean wild) {
  /** All hints stay as they are. */
  public static final HintPoison NONE = new HintPoison(0, 0, 0, false);

  /** The field that weaving adds. */
  private static final VarHandle OF_USE;

  static {
    try {
      OF_USE = MethodHandles.lookup().findVarHandle(HintUse.class, "poison", HintPoison.class);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(
          "The engine is not woven: see io.fovea.faults.FaultAgent.", e);
    }
  }

  /** Applies this to the hints of a database from now on. */
  public void in(HintUse use) {
    OF_USE.setVolatile(use, this);
  }

  // ------------------------------------------------------------------------- called by woven code

  /** Called after a hint was read, before it is used. */
  public static Position read(Position p, @Nullable HintPoison poison) {
    if (poison != null) {
      poison.apply(p);
    }
    return p;
  }

  /** Called before a hint is stored. */
  public static void store(Position p, @Nullable HintPoison poison) {
    if (poison != null && poison.wild) {
      poison.apply(p);
    }
  }

  private void apply(Position p) {
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

  /** Returns a nearby page, a page elsewhere in the file, or an invalid page id. */
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
