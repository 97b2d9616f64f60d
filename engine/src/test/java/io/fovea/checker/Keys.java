package io.fovea.checker;

/**
 * The keys of a history.
 *
 * <pre>
 *   list   generation * SLOTS + slot     created and deleted; a few never deleted
 *   table  above all of those            a list that is a table; created, dropped and renamed
 *   ending above these                   a list that expires, and is never deleted
 *   grave  the same numbers              one per list: the transactions that deleted it, in order;
 *                                        for one that expires, those that began it
 * </pre>
 *
 * <p>A list is indexed by (generation, group). Its group follows from its last element, so most
 * appends move it.
 */
final class Keys {
  /** Keys of a generation: few, so that transactions conflict. */
  static final int SLOTS = 12;

  static final int GROUPS = 3;

  /** Tables of a generation. */
  static final int TABLES = 2;

  private static final long GRAVE = 1L << 40;

  /** Above all intervals of lists that are scanned. */
  private static final long TABLE = 1L << 33;

  /** Expiring lists of a generation. */
  static final int ENDING = 3;

  private static final long ENDS = 1L << 34;

  /** Numbers of expiring lists' graves in the table of graves, and of the lists in theirs. */
  private static final int ENDS_NUMBER = 1 << 29;

  /** The graves of tables, in the table of graves. */
  private static final int TABLE_NUMBER = 1 << 30;

  private Keys() {}

  static long list(int generation, int slot) {
    return (long) generation * SLOTS + slot;
  }

  /** Returns a list that is a table; not a multiple of three, so that it can be deleted. */
  static long table(int generation, int slot) {
    return TABLE + 3L * (generation * TABLES + slot);
  }

  /** Returns an expiring list. */
  static long ending(int generation, int slot) {
    return ENDS + generation * ENDING + slot;
  }

  /** Returns the expiring list with a number in its table. */
  static long ending(int number) {
    return ENDS + (number ^ ENDS_NUMBER);
  }

  static boolean isEnding(long key) {
    return (key & ENDS) != 0 && !isGrave(key);
  }

  static long listOf(long grave) {
    return grave & ~GRAVE;
  }

  /** Returns the key that records the deletes of a list. */
  static long grave(long list) {
    return list | GRAVE;
  }

  static boolean isGrave(long key) {
    return (key & GRAVE) != 0;
  }

  /** Returns whether it is never deleted: then an absence identifies the version that was seen. */
  static boolean isImmortal(long key) {
    return isGrave(key) || key % 3 == 0;
  }

  /** Returns the key's number in its table. */
  static int number(long key) {
    return (int) key
        | ((key & TABLE) == 0 ? 0 : TABLE_NUMBER)
        | ((key & ENDS) == 0 ? 0 : ENDS_NUMBER);
  }

  /** Returns the grave with a number in the table of graves. */
  static long graveOf(int number) {
    if ((number & ENDS_NUMBER) != 0) {
      return grave(ending(number));
    }
    return grave((number & TABLE_NUMBER) == 0 ? number : TABLE | number ^ TABLE_NUMBER);
  }

  static int generation(long list) {
    return (int) (list / SLOTS);
  }

  /** Returns the group of a list that ends in an element. */
  static int group(long last) {
    return (int) ((last * 0x9E37_79B9_7F4A_7C15L >>> 33) % GROUPS);
  }

  static String name(long key) {
    return (isGrave(key) ? "grave " : "") + number(key);
  }
}
