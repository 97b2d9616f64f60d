package io.fovea.error;

import org.jspecify.annotations.Nullable;

/**
 * An insert found a record that has its key already, or a unique index an entry.
 *
 * <p>{@link #table}, {@link #index} and {@link #key} say which key it was.
 *
 * <p>Delivered only for a state that really existed: the read that found the record is validated
 * before the exception leaves a transaction.
 *
 * @since 0.1.0
 */
public final class DuplicateKeyException extends FoveaException {
  private static final long serialVersionUID = 2L;

  /** The table's name; empty for a tree. */
  private final String table;

  /** Null for the primary key. */
  private final @Nullable String index;

  /** As it is stored. */
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
        "There is a record with this key already in "
            + where
            + ". Use put to insert or replace, or read the record first.");
  }

  /**
   * Makes one for an insert.
   *
   * @param table the table's name
   * @param key the primary key, as the table stores it
   * @return the exception
   */
  public static DuplicateKeyException ofInsert(String table, byte[] key) {
    return ofInsert(table, where(table), key);
  }

  /**
   * Makes one for an insert into a B-tree, for the engine, which knows no table there.
   *
   * @param tree the tree's number
   * @param key the key
   * @return the exception; its {@link #table} is empty
   */
  public static DuplicateKeyException ofTree(int tree, byte[] key) {
    return ofInsert("", "the tree " + tree, key);
  }

  /**
   * Makes one for a load.
   *
   * @param table the table's name
   * @param key the primary key, as the table stores it
   * @param shown the key, in words
   * @param is what is wrong with it, as in {@code is already in}
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
            + ", and nothing was loaded. Options of the load say which of two records is to stay.");
  }

  /**
   * Makes one for a unique index.
   *
   * @param index the index's name
   * @param table the table's name
   * @param key the key that two records would have in it, as the index stores it
   * @param shown the same, in words
   * @param built whether the index is being built, so that its table was opened without it so far
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
                ? ", which is being built. Change or delete one of them; an index is built again"
                    + " when the table is opened with it."
                : ". Give one of them another value, or find the other one by the index first."));
  }

  private static String where(String table) {
    return "table \"" + table + '"';
  }

  /**
   * The table of the record.
   *
   * @return its name
   */
  public String table() {
    return table;
  }

  /**
   * The unique index that has the key already.
   *
   * @return its name; null if the key is the primary key
   */
  public @Nullable String index() {
    return index;
  }

  /**
   * The key that is there already, as the table or the index stores it: for a table of byte strings
   * the key itself, otherwise the encoding of its fields, whose bytes are in the order of the keys.
   *
   * @return a copy
   */
  public byte[] key() {
    return key.clone();
  }
}
