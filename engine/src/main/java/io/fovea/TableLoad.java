package io.fovea;

import io.fovea.error.DuplicateKeyException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.error.ValueTooLargeException;
import java.lang.foreign.MemorySegment;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Takes the records of a load: {@link Table#load(LoadOptions, LoadSource)}.
 *
 * <p>The thread that loads, until the source returns.
 *
 * @param <K> the class of the keys
 * @param <V> the class of the values
 * @since 0.1.0
 */
public final class TableLoad<K, V> {
  private final BiConsumer<K, V> records;

  /** Null for a table of rows. */
  private final @Nullable StoredLoad stored;

  TableLoad(BiConsumer<K, V> records, @Nullable StoredLoad stored) {
    this.records = records;
    this.stored = stored;
  }

  /**
   * Adds a record, which is copied.
   *
   * @param key its key
   * @param value its value
   * @throws InvalidUseException if the key is empty, is below the one before in an {@link
   *     LoadOptions#ascending} load, or the load has ended
   * @throws DuplicateKeyException if the options say so
   * @throws KeyTooLargeException if the key is longer than the table allows
   * @throws ValueTooLargeException if the value is longer than any can be
   */
  public void add(K key, V value) {
    records.accept(key, value);
  }

  /**
   * Adds a record, given as it is stored, which is copied.
   *
   * @param key its key
   * @param value its value
   * @throws InvalidUseException as {@link #add(Object, Object)}, and if the table holds rows
   * @throws DuplicateKeyException if the options say so
   * @throws KeyTooLargeException if the key is longer than the table allows
   * @throws ValueTooLargeException if the value is longer than any can be
   */
  public void add(MemorySegment key, MemorySegment value) {
    StoredLoad s = stored;
    if (s == null) {
      throw new InvalidUseException("The table holds rows: RowTable.load takes their memory.");
    }
    s.add(key, value);
  }
}
