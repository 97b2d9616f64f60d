package io.fovea.error;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when an insert finds a record with the same key, or a unique index already contains the
 * key.
 *
 * <p>{@link #table}, {@link #index} and {@link #key} identify the key. The exception is reliable:
 * the read that found the record is validated before the exception leaves the transaction.
 *
 * @since 0.1.0
 */
public final class DuplicateKeyException extends FoveaException {
  private static final long serialVersionUID = 2L;

  /** Empty for a tree. */
  private final String table;

  /** Null for the primary key. */
  private final @Nullable String index;

  /** The key as it is stored. */
  private final byte[] key;

  private DuplicateKeyException(String table, @Nullable String index, byte[] key, String message) {
    super(message);
    this.table = table;
    this.index = index;
    this.key = key.clone();
  }

  private static DuplicateKeyException ofInsert(String table, String where, byte[] key) {
    return new DuplicateKeyException(
        table,
        null,
        key,
        "A record with this key already exists in "
            + where
            + ". Use put to insert or replace, "
            + "or read the record first.");
  }

  /**
   * Creates the exception for an insert.
   *
   * @param table the table's name
   * @param key the primary key, as the table stores it
   * @return the exception
   */
  public static DuplicateKeyException ofInsert(String table, byte[] key) {
    return ofInsert(table, where(table), key);
  }

  /**
   * Creates the exception for an insert into a B-tree whose table is unknown.
   *
   * @param tree the tree's number
   * @param key the key
   * @return the exception; its {@link #table} is empty
   */
  public static DuplicateKeyException ofTree(int tree, byte[] key) {
    return ofInsert("", "the tree " + tree, key);
  }

  /**
   * Creates the exception for a load.
   *
   * @param table the table's name
   * @param key the primary key, as the table stores it
   * @param shown the key as text
   * @param is what is wrong with it, such as {@code is already in}
   * @return the exception
   */
  public static DuplicateKeyException ofLoad(String table, byte[] key, String shown, String is) {
    return new DuplicateKeyException(
        table,
        null,
        key,
        "The key "
            + shown
            + ' '
            + is
            + ' '
            + where(table)
            + ", and nothing was loaded. LoadOptions.duplicates chooses "
            + "which of two records to keep.");
  }

  /**
   * Creates the exception for a unique index.
   *
   * @param index the index's name
   * @param table the table's name
   * @param key the duplicate key, as the index stores it
   * @param shown the key as text
   * @param built whether the index is being built
   * @return the exception
   */
  public static DuplicateKeyException ofIndex(
      String index, String table, byte[] key, String shown, boolean built) {
    return new DuplicateKeyException(
        table,
        index,
        key,
        "Two records would have the key "
            + shown
            + " in unique index \""
            + index
            + "\" of "
            + where(table)
            + (built
                ? ", which is being built. Change or delete one of them; the "
                    + "index is built again when the table is next opened with it."
                : ". Give one of them another value, or look up the other one by "
                    + "the index first."));
  }

  /**
   * Creates the exception for a migration.
   *
   * @param found the duplicate in the new table
   * @param from the name of the table that is migrated
   * @param to the name of the new table
   * @param one the key of a record that is migrated, as text
   * @param other the key of another one, as text
   * @param shown the new key of the former, as text
   * @return the exception
   */
  public static DuplicateKeyException ofMigration(
      DuplicateKeyException found, String from, String to, String one, String other, String shown) {
    String index = found.index();
    return new DuplicateKeyException(
        to,
        index,
        found.key(),
        "Records "
            + one
            + " and "
            + other
            + " of "
            + where(from)
            + (index == null
                ? " would both have the key " + shown + " in "
                : " would have the same key in unique index \""
                    + index
                    + "\", which record "
                    + shown
                    + " has, of ")
            + where(to)
            + ". Nothing was migrated. Change or delete one of them, or map them to different"
            + " keys.");
  }

  private static String where(String table) {
    return "table \"" + table + '"';
  }

  /**
   * Returns the table of the record.
   *
   * @return its name
   */
  public String table() {
    return table;
  }

  /**
   * Returns the unique index that already contains the key.
   *
   * @return its name; null if the key is the primary key
   */
  public @Nullable String index() {
    return index;
  }

  /**
   * Returns the duplicate key as the table or the index stores it: for a table of byte strings, the
   * key itself; otherwise, the order-preserving encoding of its fields.
   *
   * @return a copy
   */
  public byte[] key() {
    return key.clone();
  }
}
