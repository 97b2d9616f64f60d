package io.fovea.tpcc.lookups;

import io.fovea.Options;
import io.fovea.tpcc.bench.DriverException;
import io.fovea.tpcc.bench.Exit;
import io.fovea.tpcc.settings.EngineSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * The options in force for {@code lookups}, defaults filled in.
 *
 * @param path the file; null for a database in memory
 * @param records how many
 * @param valueBytes the size of a record without its key
 * @param threads threads that load, and that run or carry the clients
 * @param clients how many look up; more than threads are virtual ones
 * @param depth how many keys a transaction reads at once
 * @param writes how many of 100 keys are changed
 * @param theta of the zipf distribution over the working set; 0 where it is uniform
 * @param shares the sizes of the working set: one, or those that are measured one after the other
 * @param growTo where the only size goes to, or null
 * @param shrink whether it comes back from there
 * @param drift the part of the working set that is replaced at a time, 0 where none is
 * @param interval the time between two replacements
 * @param json where to write a report, or null
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

  /** Whether several clients share a thread. */
  boolean shared() {
    return clients > threads;
  }

  /** The engine's options. */
  Options engineOptions() {
    return engine.options(clients);
  }

  /**
   * The working set for one of the {@link #shares}.
   *
   * @param poolRecords how many records the pool holds
   * @throws DriverException if there are not enough records for it
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
            "--drift: beside the working set of %,d records there are not %,d others to replace it;"
                    .formatted(size, step)
                + " give more --records or a smaller --working-set");
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
          "a working set of %s pools has %,d records, and there are %,d: give more --records or a"
                  .formatted(share, n, records)
              + " smaller --buffer");
    }
    return n;
  }
}
