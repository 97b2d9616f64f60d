package io.fovea.streams;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A source of rows: a store in its current state, or a view. Thread-safe. */
interface RowSource {
  /** Returns a row; null if there is none. */
  byte @Nullable [] get(byte[] key);

  /** The writes that hide rows of the table. */
  PendingWrites pending();

  /** The number of the last pending write that is visible. */
  long number();

  /** Changes with the table; pages read before must be read again. */
  int generation();

  /** Reads at most {@code most} rows of the table, in one transaction. */
  Page page(ByteInterval interval, boolean forward, int most);

  /** The largest timestamp that was put; -1 before the first. */
  long streamTime();

  /** The length of a segment, in stores that have segments. */
  long segmentMillis();

  /**
   * Rows of the table.
   *
   * @param rows in order
   * @param more whether further ones may follow
   */
  record Page(List<Map.Entry<byte[], byte[]>> rows, boolean more) {}
}
