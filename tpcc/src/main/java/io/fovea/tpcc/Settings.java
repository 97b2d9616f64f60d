package io.fovea.tpcc;

import io.fovea.Options;
import io.fovea.tpcc.settings.EngineSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;

/**
 * The effective options, with defaults filled in.
 *
 * @param path the file; null for a database in memory
 * @param threads threads that load; for a run, threads that run or carry the clients
 * @param clients clients that run transactions; if more than threads, they share threads
 * @param rate transactions per second, or 0 for unlimited
 * @param json file of the report, or null
 * @param hlog file of the histograms, or null
 * @param acknowledged list of acknowledged transactions, or null
 */
record Settings(
    Path path,
    int warehouses,
    int threads,
    int clients,
    Duration duration,
    Duration warmup,
    long seed,
    EngineSettings engine,
    Mix mix,
    boolean affinity,
    boolean snapshot,
    double rate,
    boolean waiting,
    Path json,
    Path hlog,
    Path acknowledged,
    boolean virtual) {

  boolean inMemory() {
    return path == null;
  }

  boolean shared() {
    return clients > threads;
  }

  /** Tells whether a thread serves other clients while one waits for the log. */
  boolean pipelined() {
    return shared() && !virtual && !waiting && rate == 0;
  }

  String level() {
    return engine.durability().name().toLowerCase(Locale.ROOT);
  }

  /** Returns a copy with another duration and without a warm-up. */
  Settings lasting(Duration time) {
    return new Settings(
        path,
        warehouses,
        threads,
        clients,
        time,
        Duration.ZERO,
        seed,
        engine,
        mix,
        affinity,
        snapshot,
        rate,
        waiting,
        null,
        null,
        null,
        virtual);
  }

  Options engineOptions() {
    return engine.options(clients);
  }
}
