package io.fovea.checker;

/**
 * The keys of a history.
 *
 * <pre>
 *   list   generation * SLOTS + slot     born and deleted; some are never deleted
 *   grave  the same numbers              one for each list: who has deleted it, in order
 * </pre>
 *
 * <p>A list's record is in an index by (generation, group), where its group follows from its last
 * element, so that most appends move it.
 */
final class Keys {
  /** Keys of a generation: few, so that transactions meet. */
  static final int SLOTS = 12;

  static final int GROUPS = 3;

  private static final long GRAVE = 1L << 40;

  private Keys() {}

  static long list(int generation, int slot) {
    return (long) generation * SLOTS + slot;
  }

  /** Where the deletes of a list are entered. */
  static long grave(long list) {
    return list | GRAVE;
  }

  static boolean isGrave(long key) {
    return (key & GRAVE) != 0;
  }

  /** Whether nobody ever deletes it: that it is not there says then which version was seen. */
  static boolean isImmortal(long key) {
    return isGrave(key) || key % 3 == 0;
  }

  /** The number in the table. */
  static int number(long key) {
    return (int) key;
  }

  static int generation(long list) {
    return (int) (list / SLOTS);
  }

  /** The group of a list that ends in an element. */
  static int group(long last) {
    return (int) ((last * 0x9E37_79B9_7F4A_7C15L >>> 33) % GROUPS);
  }

  static String name(long key) {
    return (isGrave(key) ? "grave " : "") + number(key);
  }
}
