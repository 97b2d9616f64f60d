package io.fovea.error;

/**
 * An update found no record with its key.
 *
 * <p>Delivered only for a state that really existed: the read that found no record is validated
 * before the exception leaves a transaction.
 *
 * @since 0.1.0
 */
public final class RecordNotFoundException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /** The table's name. */
  private final String table;

  /** As it is stored. */
  private final byte[] key;

  /**
   * Makes one.
   *
   * @param table the table's name
   * @param key the primary key, as the table stores it
   */
  public RecordNotFoundException(String table, byte[] key) {
    super(
        "There is no record with this key in table \""
            + table
            + "\". Use updateIfPresent where that is no error, or put to insert or replace.");
    this.table = table;
    this.key = key.clone();
  }

  /**
   * The table without such a record.
   *
   * @return its name
   */
  public String table() {
    return table;
  }

  /**
   * The key, as the table stores it: for a table of byte strings the key itself, otherwise the
   * encoding of its fields.
   *
   * @return a copy
   */
  public byte[] key() {
    return key.clone();
  }
}
