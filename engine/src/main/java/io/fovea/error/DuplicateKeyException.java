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

  /**
   * Where the key was found.
   *
   * @return the table, the index or the tree
   */
  public String where() {
    return where;
  }
}
