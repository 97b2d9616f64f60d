package io.fovea.tpcc.ycsb;

import io.fovea.Options;
import io.fovea.tpcc.settings.EngineSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;

/**
 * The effective options, with defaults filled in.
 *
 * @param path the file; null for a database in memory
 * @param threads threads that load, and that run or carry the clients
 * @param clients clients that run transactions; if more than threads, they share threads
 * @param ops operations per transaction of workloads A to F
 * @param readFirst whether writes of the other workloads read the record first
 * @param theta skew of Zipf distributions
 * @param backoff the first wait before a retry; zero for the engine's own backoff
 * @param json file of the report, or null
 * @param hlog file of the histograms, or null
 */
record Settings(
    Path path,
    Workload workload,
    long records,
    int threads,
    int clients,
    boolean virtual,
    int ops,
    boolean readFirst,
    Keys.Shape keys,
    double theta,
    double hotKeys,
    double hotOperations,
    int retries,
    Duration backoff,
    boolean check,
    Duration duration,
    Duration warmup,
    long seed,
    EngineSettings engine,
    Path json,
    Path hlog) {

  /** Tells whether a run with other options may use the database opened with these. */
  boolean sameDatabase(Settings other) {
    return Objects.equals(path, other.path)
        && records == other.records
        && workload.fields == other.workload.fields
        && engine.equals(other.engine);
  }

  boolean inMemory() {
    return path == null;
  }

  boolean shared() {
    return clients > threads;
  }

  /** Tells whether a thread serves other clients while one waits for the log. */
  boolean pipelined() {
    return shared() && !virtual;
  }

  List<Kind> kinds() {
    return workload.kinds(ops, readFirst);
  }

  Options engineOptions() {
    return engine.options(clients);
  }
}
