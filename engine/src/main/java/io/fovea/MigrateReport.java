package io.fovea;

import io.fovea.catalog.Migration;
import java.time.Duration;

/**
 * The result of {@link Database#migrate(Table, ObjectSpec, Mapper)}. A value; safe for any thread.
 *
 * @param records the number of records in the new table at the end of the migration
 * @param repeated how often records were mapped again because they had changed, or were in the way
 *     of each other
 * @param duration how long the migration took
 * @since 0.2.0
 */
public record MigrateReport(long records, long repeated, Duration duration) {
  static MigrateReport of(Migration.Result r) {
    return new MigrateReport(r.records(), r.changes(), Duration.ofNanos(r.nanos()));
  }
}
