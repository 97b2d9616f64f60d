package io.fovea.tpcc.ycsb;

import io.fovea.Options;
import io.fovea.tpcc.settings.EngineSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;

/**
 * The options in force, defaults filled in.
 *
 * @param path the file; null for a database in memory
 * @param records how many are loaded
 * @param threads threads that load, and that run or carry the clients
 * @param clients how many run transactions, one after the other; more than threads share them
 * @param virtual whether clients that share threads are virtual threads
 * @param ops operations of a transaction, of the workloads A to F
 * @param readFirst whether the writes of the other workloads read the record first
 * @param keys which keys are drawn
 * @param theta of zipf distributions
 * @param hotKeys the part of the records that is hot
 * @param hotOperations the part of the operations that they get
 * @param retries how often a transaction is done again at most
 * @param backoff the first wait before it is; zero for the engine's own
 * @param check whether all records are read after a run
 * @param json where to write a report, or null
 * @param hlog where to write histograms, or null
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

  /** Whether a run with the other options can be one on the database that these have opened. */
  boolean sameDatabase(Settings other) {
    return Objects.equals(path, other.path)
        && records == other.records
        && workload.fields == other.workload.fields
        && engine.equals(other.engine);
  }

  boolean inMemory() {
    return path == null;
  }

  /** Whether several clients share a thread. */
  boolean shared() {
    return clients > threads;
  }

  /** Whether a thread works for one of its clients while another waits for the log. */
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
