package io.fovea;

import io.fovea.catalog.LoadResult;
import java.time.Duration;

/**
 * What a load has done.
 *
 * @param added records whose keys the table did not have
 * @param replaced records that took the place of earlier ones
 * @param kept records that were left out, for earlier ones of their keys were there
 * @param records how many records the table has now
 * @param pages how many pages were written, those of indexes included
 * @param sortedBytes how many bytes were sorted in a file; 0 where memory was enough
 * @param duration how long it took
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
