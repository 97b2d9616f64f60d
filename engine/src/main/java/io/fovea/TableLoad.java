package io.fovea;

import io.fovea.error.DuplicateKeyException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.error.ValueTooLargeException;
import java.lang.foreign.MemorySegment;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Receives the records of a load: {@link Table#load(LoadOptions, LoadSource)}.
 *
 * <p>Use it only in the loading thread, until the source returns.
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
   * Adds a copy of a record.
   *
   * @param key its key
   * @param value its value
   * @throws InvalidUseException if the key is empty, if it is less than the previous one in an
   *     {@link LoadOptions#ascending} load, or if the load has ended
   * @throws DuplicateKeyException if the options forbid a duplicate key
   * @throws KeyTooLargeException if the key is longer than the table allows
   * @throws ValueTooLargeException if the value is longer than any table allows
   */
  public void add(K key, V value) {
    records.accept(key, value);
  }

  /**
   * Adds a copy of a record given in its stored form. Throws the exceptions of {@link #add(Object,
   * Object)}.
   *
   * @param key its key
   * @param value its value
   * @throws InvalidUseException if the table contains rows, or objects and the value has no version
   *     of which objects may be written
   */
  public void add(MemorySegment key, MemorySegment value) {
    StoredLoad s = stored;
    if (s == null) {
      throw new InvalidUseException("The table contains rows: use RowTable.load.");
    }
    s.add(key, value);
  }
}
