package io.fovea.shortcut;

/**
 * A hash table from long to long, exact: the interface of the tables compared in the paper. One
 * thread, even for lookups.
 */
public interface LongTable extends AutoCloseable {

  /**
   * Sets the value of a key.
   *
   * @param key not 0, which marks a free entry
   * @param value any value
   */
  void put(long key, long value);

  /**
   * Returns the value of a key.
   *
   * @param key not 0
   * @param otherwise the result if the key is absent
   */
  long get(long key, long otherwise);

  /** Returns the number of keys. */
  long size();

  /** Returns the memory of the entries, in bytes. */
  long bytes();

  @Override
  void close();
}
