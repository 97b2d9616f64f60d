package io.fovea.shortcut;

/**
 * A hash table from one long to another, exact: what the paper compares. One thread, for lookups as
 * well.
 */
public interface LongTable extends AutoCloseable {

  /**
   * Sets the value of a key.
   *
   * @param key not 0, which says that an entry is free
   * @param value anything
   */
  void put(long key, long value);

  /**
   * The value of a key.
   *
   * @param key not 0
   * @param otherwise the answer where there is no such key
   */
  long get(long key, long otherwise);

  /** How many keys there are. */
  long size();

  /** The memory of its entries, in bytes. */
  long bytes();

  @Override
  void close();
}
