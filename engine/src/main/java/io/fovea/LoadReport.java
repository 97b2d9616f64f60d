package io.fovea;

import io.fovea.catalog.LoadResult;
import java.time.Duration;

/**
 * The result of a load.
 *
 * @param added the number of records whose keys were not in the table
 * @param replaced the number of records that replaced earlier ones
 * @param kept the number of records left out because an earlier one had the same key
 * @param records the number of records now in the table
 * @param pages the number of pages written, including those of indexes
 * @param sortedBytes the number of bytes sorted in a file; 0 if memory sufficed
 * @param duration how long the load took
 * @since 0.1.0
 */
public record LoadReport(
    long added,
    long replaced,
    long kept,
    long records,
    long pages,
    long sortedBytes,
    Duration duration) {
  static LoadReport of(LoadResult r) {
    return new LoadReport(
        r.added(),
        r.replaced(),
        r.kept(),
        r.records(),
        r.pages(),
        r.sortedBytes(),
        Duration.ofNanos(r.nanos()));
  }
}
