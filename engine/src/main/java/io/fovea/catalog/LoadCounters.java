package io.fovea.catalog;

import io.fovea.btree.BulkLoader;
import java.util.concurrent.atomic.LongAdder;

/** Counters of loads and bulk index builds since the database was opened. Thread-safe. */
public final class LoadCounters {
  /** Records received from the sources of loads. */
  public final LongAdder records = new LongAdder();

  /** Records read by index builds. */
  public final LongAdder indexed = new LongAdder();

  /** Pages written for new trees. */
  public final LongAdder pages = new LongAdder();

  /** Sorted runs written to files. */
  public final LongAdder runs = new LongAdder();

  /** Bytes of sorted runs, including those later merged. */
  public final LongAdder runBytes = new LongAdder();

  LoadCounters() {}

  void flush(BulkLoader loader) {
    int n = loader.unwritten();
    loader.flush();
    pages.add(n);
  }
}
