package io.fovea.wal;

/** The kinds of log records. Which room writes a kind has the class that knows its body. */
public final class RecordType {
  /** Nothing: space that was reserved and not used, and what fills the end of a lap. */
  public static final int VOID = 1;

  /** The changes of a transaction, or the last part of them. */
  public static final int COMMIT = 2;

  /** A part of the changes of a transaction; they count when the last part is there. */
  public static final int COMMIT_PART = 3;

  /** Images of the pages that one change of structure touched. */
  public static final int STRUCTURE = 4;

  /** Images of pages of long values that no commit has adopted yet. */
  public static final int CHAIN = 5;

  /** A page id was given out. */
  public static final int ALLOCATE = 6;

  /** A page went to the free list. */
  public static final int FREE = 7;

  /** A tree was made, which no catalog knows yet. */
  public static final int CREATE_TREE = 8;

  /** The catalog changed: trees that it now knows, trees that it no longer knows. */
  public static final int SCHEMA = 9;

  /** All pages of a dropped tree are free. */
  public static final int DROPPED = 10;

  /** How many records trees had, without those of commits that recovery finds in the log. */
  public static final int COUNTS = 11;

  /** How many records a tree has that a load has built. */
  public static final int LOADED = 12;

  /**
   * The first part of the changes of a transaction: those of the catalog. They count when the last
   * part is there.
   */
  public static final int CATALOG = 16;

  /**
   * A part of the changes of a transaction: all keys of an interval are gone. It comes behind
   * CATALOG, and counts when the last part is there.
   */
  public static final int RANGE = 13;

  /** Which trees are tables, for who follows changes. */
  public static final int TABLES = 17;

  /** Free pages were moved to the top of the free list. */
  public static final int MOVED = 14;

  /** The file has lost free pages at its end. */
  public static final int TRUNCATED = 15;

  private RecordType() {}

  /** The name of a kind, for people. */
  public static String name(int type) {
    return switch (type) {
      case VOID -> "VOID";
      case COMMIT -> "COMMIT";
      case COMMIT_PART -> "COMMIT_PART";
      case STRUCTURE -> "STRUCTURE";
      case CHAIN -> "CHAIN";
      case ALLOCATE -> "ALLOCATE";
      case FREE -> "FREE";
      case CREATE_TREE -> "CREATE_TREE";
      case SCHEMA -> "SCHEMA";
      case DROPPED -> "DROPPED";
      case COUNTS -> "COUNTS";
      case LOADED -> "LOADED";
      case CATALOG -> "CATALOG";
      case RANGE -> "RANGE";
      case TABLES -> "TABLES";
      case MOVED -> "MOVED";
      case TRUNCATED -> "TRUNCATED";
      default -> "type " + type;
    };
  }
}
