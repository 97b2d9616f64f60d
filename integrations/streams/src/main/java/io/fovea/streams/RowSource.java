package io.fovea.streams;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Where rows are read: a store as it is, or as it was at a moment. Any thread. */
interface RowSource {
  /** A row; null if there is none. */
  byte @Nullable [] get(byte[] key);

  /** What hides the rows of the table. */
  PendingWrites pending();

  /** Up to which write it sees what is pending. */
  long number();

  /** Another one when the table has changed, and pages of it have to be read again. */
  int generation();

  /** Rows of the table, of one moment, and at most so many. */
  Page page(ByteInterval interval, boolean forward, int most);

  /** The largest timestamp that was put; -1 before the first. */
  long streamTime();

  /** How long a segment is, in stores that have segments. */
  long segmentMillis();

  /**
   * Rows of the table.
   *
   * @param rows in order
   * @param more whether there may be more behind them
   */
  record Page(List<Map.Entry<byte[], byte[]>> rows, boolean more) {}
}
