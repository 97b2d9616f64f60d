package io.fovea.error;

/**
 * An insert found a record that has its key already, or a unique index an entry.
 *
 * <p>Delivered only for a state that really existed: the read that found the record is validated
 * before the exception leaves a transaction.
 *
 * @since 0.1.0
 */
public final class DuplicateKeyException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /** The table, the index or the tree. */
  private final String where;

  /**
   * Makes one.
   *
   * @param where the table, the index or the tree that has the key already, as in {@code table
   *     "stock"}
   */
  public DuplicateKeyException(String where) {
    super(
        "There is a record with this key already in "
            + where
            + ". Use put to insert or replace, or read the record first.");
    this.where = where;
  }

  private DuplicateKeyException(String where, String message) {
    super(message);
    this.where = where;
  }

  /**
   * Makes one for a load.
   *
   * @param table the table's name
   * @param key the key, in words
   * @param is what is wrong with it, as in {@code is already in}
   * @return the exception
   */
  public static DuplicateKeyException ofLoad(String table, String key, String is) {
    String where = "table \"" + table + '"';
    return new DuplicateKeyException(
        where,
        "The key "
            + key
            + ' '
            + is
            + ' '
            + where
            + ", and nothing was loaded. Options of the load say which of two records is to stay.");
  }

  /**
   * Makes one for a unique index.
   *
   * @param index the index's name
   * @param table the table's name
   * @param key the key that two records would have in it, in words
   * @param built whether the index is being built, so that its table was opened without it so far
   * @return the exception; its {@link #where} begins with {@code unique index}
   */
  public static DuplicateKeyException ofIndex(
      String index, String table, String key, boolean built) {
    String where = "unique index \"" + index + "\" of table \"" + table + '"';
    return new DuplicateKeyException(
        where,
        "Two records would have the key "
            + key
            + " in "
            + where
            + (built
                ? ", which is being built. Change or delete one of them; an index is built again"
                    + " when the table is opened with it."
                : ". Give one of them another value, or find the other one by the index first."));
  }

  /**
   * Where the key was found.
   *
   * @return the table, the index or the tree
   */
  public String where() {
    return where;
  }
}
