package io.fovea.error;

/**
 * Thrown when an update finds no record with the given key. The exception is reliable: the read is
 * validated before the exception leaves the transaction.
 *
 * @since 0.1.0
 */
public final class RecordNotFoundException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /** The name of the table. */
  private final String table;

  /** The key as it is stored. */
  private final byte[] key;

  /**
   * Creates the exception.
   *
   * @param table the table's name
   * @param key the primary key, as the table stores it
   */
  public RecordNotFoundException(String table, byte[] key) {
    super(
        "There is no record with this key in table \""
            + table
            + "\". Use updateIfPresent if that is not an error, or put to "
            + "insert or replace.");
    this.table = table;
    this.key = key.clone();
  }

  /**
   * Returns the table.
   *
   * @return its name
   */
  public String table() {
    return table;
  }

  /**
   * Returns the key as the table stores it: for a table of byte strings, the key itself; otherwise,
   * the encoding of its fields.
   *
   * @return a copy
   */
  public byte[] key() {
    return key.clone();
  }
}
