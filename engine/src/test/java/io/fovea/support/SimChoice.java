package io.fovea.support;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The fate of each unsynced change at a power failure, chosen by a test; {@link SimCrash} chooses
 * at random.
 *
 * <p>Changes are numbered as in {@link SimDisk#unsyncedChanges}: by file name, then oldest first.
 */
public final class SimChoice {
  /** How much of a write survives. A resize survives completely or not at all. */
  public enum Part {
    NOTHING,
    FIRST_HALF,
    LAST_HALF,
    ALL
  }

  private final Part[] parts;

  private SimChoice(Part[] parts) {
    this.parts = parts;
  }

  Part of(int change) {
    return parts[change];
  }

  /**
   * Returns choices for some changes: every set of survivors if there are few. Otherwise none, all,
   * and each change as the first one lost, as the only survivor, and as the only one lost. Also
   * each write torn, with and without all others.
   *
   * @param few up to this many changes every set is tried
   */
  public static List<SimChoice> of(int changes, int few) {
    List<SimChoice> all = new ArrayList<>();
    if (changes <= few) {
      for (int set = 0; set < 1 << changes; set++) {
        Part[] parts = filled(changes, Part.NOTHING);
        for (int i = 0; i < changes; i++) {
          parts[i] = (set >> i & 1) == 0 ? Part.NOTHING : Part.ALL;
        }
        all.add(new SimChoice(parts));
      }
    } else {
      all.add(new SimChoice(filled(changes, Part.NOTHING)));
      all.add(new SimChoice(filled(changes, Part.ALL)));
      for (int i = 0; i < changes; i++) {
        Part[] prefix = filled(changes, Part.NOTHING);
        Arrays.fill(prefix, 0, i, Part.ALL);
        all.add(new SimChoice(prefix));
        all.add(one(changes, i, Part.ALL, Part.NOTHING));
        all.add(one(changes, i, Part.NOTHING, Part.ALL));
      }
    }
    for (int i = 0; i < changes; i++) {
      for (Part others : new Part[] {Part.NOTHING, Part.ALL}) {
        all.add(one(changes, i, Part.FIRST_HALF, others));
        all.add(one(changes, i, Part.LAST_HALF, others));
      }
    }
    return all;
  }

  private static SimChoice one(int changes, int i, Part part, Part others) {
    Part[] parts = filled(changes, others);
    parts[i] = part;
    return new SimChoice(parts);
  }

  private static Part[] filled(int changes, Part part) {
    Part[] parts = new Part[changes];
    Arrays.fill(parts, part);
    return parts;
  }

  /** One letter per change: {@code -} lost, {@code f} and {@code l} torn, {@code x} present. */
  @Override
  public String toString() {
    StringBuilder s = new StringBuilder();
    for (Part part : parts) {
      s.append("-flx".charAt(part.ordinal()));
    }
    return s.toString();
  }
}
