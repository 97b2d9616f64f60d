package io.fovea.wal;

/** The types of log records. The class that encodes a type's body says which package writes it. */
public final class RecordType {
  /** Unused reserved space, or the filler at the end of a lap. */
  public static final int VOID = 1;

  /** The changes of a transaction, or the last part of them. */
  public static final int COMMIT = 2;

  /** A part of the changes of a transaction; takes effect once the last part is present. */
  public static final int COMMIT_PART = 3;

  /** Images of the pages that one structure change touched. */
  public static final int STRUCTURE = 4;

  /** Images of pages of long values that no commit has adopted yet. */
  public static final int CHAIN = 5;

  /** A page id was allocated. */
  public static final int ALLOCATE = 6;

  /** A page went to the free list. */
  public static final int FREE = 7;

  /** A tree was created that no catalog knows yet. */
  public static final int CREATE_TREE = 8;

  /** The catalog changed: trees that were added to it, trees that were removed. */
  public static final int SCHEMA = 9;

  /** All pages of a dropped tree are free. */
  public static final int DROPPED = 10;

  /** The record counts of trees, excluding commits that recovery finds in the log. */
  public static final int COUNTS = 11;

  /** The record count of a tree that was built by a load. */
  public static final int LOADED = 12;

  /**
   * The catalog changes of a transaction, its first part; they take effect once the last part is
   * present.
   */
  public static final int CATALOG = 16;

  /**
   * A part of the changes of a transaction: all keys of an interval are deleted. It comes after
   * CATALOG, and takes effect once the last part is present.
   */
  public static final int RANGE = 13;

  /** Which trees are tables, for change subscribers. */
  public static final int TABLES = 17;

  /** Free pages were moved to the top of the free list. */
  public static final int MOVED = 14;

  /** The file was truncated by free pages at its end. */
  public static final int TRUNCATED = 15;

  private RecordType() {}

  /** Returns the human-readable name of a type. */
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
