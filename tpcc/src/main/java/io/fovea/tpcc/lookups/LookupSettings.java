package io.fovea.tpcc.lookups;

import io.fovea.Options;
import io.fovea.tpcc.bench.DriverException;
import io.fovea.tpcc.bench.Exit;
import io.fovea.tpcc.settings.EngineSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * The effective options of {@code lookups}, with defaults filled in.
 *
 * @param path the file; null for a database in memory
 * @param valueBytes the size of a record without its key
 * @param threads threads that load, and that run or carry the clients
 * @param clients the number of clients; if more than threads, they are virtual threads
 * @param writes percentage of the keys that are updated
 * @param theta skew of the Zipf distribution over the working set; 0 for uniform
 * @param shares the size of the working set, or several to measure in turn
 * @param growTo the final size of a growing working set, or null
 * @param drift the part of the working set replaced at a time; 0 for none
 * @param json file of the report, or null
 */
record LookupSettings(
    Path path,
    long records,
    int valueBytes,
    int threads,
    int clients,
    int depth,
    int writes,
    double theta,
    List<Share> shares,
    Share growTo,
    boolean shrink,
    double drift,
    Duration interval,
    Duration duration,
    Duration warmup,
    long seed,
    EngineSettings engine,
    Path json) {

  boolean inMemory() {
    return path == null;
  }

  boolean shared() {
    return clients > threads;
  }

  Options engineOptions() {
    return engine.options(clients);
  }

  /**
   * Returns the working set for one of the {@link #shares}.
   *
   * @throws DriverException if there are too few records
   */
  WorkingSet workingSet(Share share, long poolRecords) {
    long size = records(share, poolRecords);
    if (growTo != null) {
      long to = records(growTo, poolRecords);
      return new WorkingSet.Growing(size, to, shrink, duration.toNanos(), poolRecords);
    }
    if (drift > 0) {
      long step = Math.max(1, Math.round(drift * size));
      if (size + step > records) {
        throw new DriverException(
            Exit.USAGE,
            "--drift: outside the working set of %,d records there are fewer than %,d others;"
                    .formatted(size, step)
                + " use more --records or a smaller --working-set");
      }
      return new WorkingSet.Drifting(records, size, step, interval.toNanos());
    }
    return new WorkingSet.Fixed(size);
  }

  private long records(Share share, long poolRecords) {
    long n = share.records(poolRecords, records);
    if (n > records) {
      throw new DriverException(
          Exit.USAGE,
          "a working set of %s pools has %,d records, but there are only %,d: use more --records or a"
                  .formatted(share, n, records)
              + " smaller --buffer");
    }
    return n;
  }
}
