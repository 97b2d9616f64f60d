package io.fovea.catalog;

import io.fovea.btree.BulkLoader;
import java.util.concurrent.atomic.LongAdder;

/**
 * What loads, and builds of indexes from below, have done since the opening.
 *
 * <p>Any thread.
 */
public final class LoadCounters {
  /** Records that loads have taken from their sources. */
  public final LongAdder records = new LongAdder();

  /** Records that builds of indexes have read. */
  public final LongAdder indexed = new LongAdder();

  /** Pages of new trees that were written. */
  public final LongAdder pages = new LongAdder();

  /** Sorted runs that were written to a file. */
  public final LongAdder runs = new LongAdder();

  /** Bytes of such runs, those included that were merged to larger ones. */
  public final LongAdder runBytes = new LongAdder();

  /** One that counts from zero. */
  LoadCounters() {}

  /** Writes the pages that a loader has made. */
  void flush(BulkLoader loader) {
    int n = loader.unwritten();
    loader.flush();
    pages.add(n);
  }
}
