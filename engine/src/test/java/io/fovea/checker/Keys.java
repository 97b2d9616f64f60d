package io.fovea.checker;

/**
 * The keys of a history.
 *
 * <pre>
 *   list   generation * SLOTS + slot     born and deleted; some are never deleted
 *   table  beyond all of those           a list that is a table; created, dropped and renamed
 *   ending beyond these                  a list that ends by itself, and is never deleted
 *   grave  the same numbers              one for each list: who has deleted it, in order; of one
 *                                        that ends: who has begun it
 * </pre>
 *
 * <p>A list's record is in an index by (generation, group), where its group follows from its last
 * element, so that most appends move it.
 */
final class Keys {
  /** Keys of a generation: few, so that transactions meet. */
  static final int SLOTS = 12;

  static final int GROUPS = 3;

  /** Tables of a generation. */
  static final int TABLES = 2;

  private static final long GRAVE = 1L << 40;

  /** No interval of lists that is looked at reaches so far. */
  private static final long TABLE = 1L << 33;

  /** Lists of a generation that end by themselves. */
  static final int ENDING = 3;

  private static final long ENDS = 1L << 34;

  /** The graves of lists that end, in the table of graves, and these themselves in theirs. */
  private static final int ENDS_NUMBER = 1 << 29;

  /** The graves of tables, in the table of graves. */
  private static final int TABLE_NUMBER = 1 << 30;

  private Keys() {}

  static long list(int generation, int slot) {
    return (long) generation * SLOTS + slot;
  }

  /** A list that is a table; no multiple of three, so that it can be deleted. */
  static long table(int generation, int slot) {
    return TABLE + 3L * (generation * TABLES + slot);
  }

  /** A list that ends by itself. */
  static long ending(int generation, int slot) {
    return ENDS + generation * ENDING + slot;
  }

  /** The same, by its number in its table. */
  static long ending(int number) {
    return ENDS + (number ^ ENDS_NUMBER);
  }

  static boolean isEnding(long key) {
    return (key & ENDS) != 0 && !isGrave(key);
  }

  /** The list of a grave. */
  static long listOf(long grave) {
    return grave & ~GRAVE;
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
    return (int) key
        | ((key & TABLE) == 0 ? 0 : TABLE_NUMBER)
        | ((key & ENDS) == 0 ? 0 : ENDS_NUMBER);
  }

  /** The grave of a number in the table of graves. */
  static long graveOf(int number) {
    if ((number & ENDS_NUMBER) != 0) {
      return grave(ending(number));
    }
    return grave((number & TABLE_NUMBER) == 0 ? number : TABLE | number ^ TABLE_NUMBER);
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
