package io.fovea;

/**
 * Maps the records of a table to those of another: {@link Database#migrate(Table, ObjectSpec,
 * Mapper)}.
 *
 * @param <K> the class of the old keys
 * @param <V> the class of the old values
 * @param <T> the receiver of new records: {@link TableLoad} or {@link RowLoad}
 * @since 0.2.0
 */
@FunctionalInterface
public interface Mapper<K, V, T> {
  /**
   * Maps a record: adds the new one, or none to leave it out.
   *
   * <p>Runs in the migrating thread, in a transaction that can't be used here. It runs again for a
   * record that changes during the migration, and after a conflict, so the result must depend on
   * nothing but the record.
   *
   * @param key the key of the old record
   * @param value its value
   * @param to receives at most one record
   */
  void map(K key, V value, T to);
}
