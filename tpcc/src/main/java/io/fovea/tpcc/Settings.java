package io.fovea.tpcc;

import io.fovea.Options;
import io.fovea.tpcc.settings.EngineSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;

/**
 * The options in force, defaults filled in.
 *
 * @param path the file; null for a database in memory
 * @param threads threads that load; those that run, or that carry the clients that do
 * @param clients how many run transactions, one after the other; more than threads share them
 * @param snapshot whether a snapshot is open meanwhile
 * @param rate transactions a second, or 0 for as many as go
 * @param waiting whether there are keying and think times
 * @param json where to write a report, or null
 * @param hlog where to write histograms, or null
 * @param acknowledged where to note what was acknowledged, or null
 * @param virtual whether clients that share threads are virtual threads
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

  /** Whether several clients share a thread. */
  boolean shared() {
    return clients > threads;
  }

  /** Whether a thread works for one of its clients while another waits for the log. */
  boolean pipelined() {
    return shared() && !virtual && !waiting && rate == 0;
  }

  /** For reports: sync, async or none. */
  String level() {
    return engine.durability().name().toLowerCase(Locale.ROOT);
  }

  /** The same for a run of another length, without a warm-up. */
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

  /** The engine's options. */
  Options engineOptions() {
    return engine.options(clients);
  }
}
