package io.fovea;

import io.fovea.catalog.LoadFeed;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.index.PackedRows;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Receives the rows of a load: {@link RowTable#load(LoadOptions, LoadSource)}.
 *
 * <p>Use it only in the loading thread, until the source returns.
 *
 * @since 0.1.0
 */
public final class RowLoad {
  private final RowTable table;
  private final LoadFeed.Sink sink;

  /** Encodes rows of variable length; null if they have a fixed one. */
  private final @Nullable PackedRows packed;

  private final MemorySegment stage;

  RowLoad(RowTable table, LoadFeed.Sink sink) {
    this.table = table;
    this.sink = sink;
    this.packed = table.core().packed();
    this.stage =
        packed == null ? MemorySegment.NULL : Arena.ofAuto().allocate(packed.rowBytes(), 8);
  }

  /**
   * {@return a reusable key of the table}
   *
   * @since 0.2.0
   */
  public Key key() {
    return table.key();
  }

  /**
   * {@return a reusable row of the table}
   *
   * @since 0.2.0
   */
  public Row row() {
    return table.row();
  }

  /**
   * Adds a record. Key and row are copied and may be reused.
   *
   * @param key its complete key
   * @param row its fields
   * @throws InvalidUseException if the key or the row belongs to another table, if the key is less
   *     than the previous one in an {@link LoadOptions#ascending} load, or if the load has ended
   * @throws DuplicateKeyException if the options forbid a duplicate key
   * @throws KeyTooLargeException if the key, or that of an index entry, is too long for a page
   */
  public void add(Key key, Row row) {
    table.require(key);
    table.requireWhole(row);
    if (packed != null) {
      int length = packed.pack(row.segment(), row.base(), stage, 0);
      sink.add(key.segment(), key.base(), key.length(), stage, 0, length);
      return;
    }
    sink.add(key.segment(), key.base(), key.length(), row.segment(), row.base(), row.size());
  }
}
