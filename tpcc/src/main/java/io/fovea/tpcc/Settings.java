package io.fovea.tpcc;

import io.fovea.Durability;
import io.fovea.Io;
import io.fovea.Options;
import io.fovea.Pretouch;
import io.fovea.Replacement;
import io.fovea.Translation;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;

/**
 * The options in force, defaults filled in.
 *
 * @param path the file; null for a database in memory
 * @param threads threads that load; those that run, or that carry the clients that do
 * @param clients how many run transactions, one after the other; more than threads share them
 * @param logBytes how much log an opening may have to read
 * @param bufferBytes the buffer pool
 * @param io ignored in memory
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
    Durability durability,
    long logBytes,
    long bufferBytes,
    int pageSize,
    Io io,
    Translation translation,
    Replacement replacement,
    Mix mix,
    boolean affinity,
    double rate,
    boolean waiting,
    Path json,
    Path hlog,
    Path acknowledged,
    boolean virtual) {

  private static final long LOG_BYTES_MIN = 256 << 10;

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
    return durability.name().toLowerCase(Locale.ROOT);
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
        durability,
        logBytes,
        bufferBytes,
        pageSize,
        io,
        translation,
        replacement,
        mix,
        affinity,
        rate,
        waiting,
        null,
        null,
        null,
        virtual);
  }

  /** The engine's options. */
  Options engineOptions() {
    return engineOptions(durability, logBytes, bufferBytes, pageSize, io, translation, clients)
        .replacement(replacement);
  }

  /** The engine's options for so many clients. */
  static Options engineOptions(
      Durability durability,
      long logBytes,
      long bufferBytes,
      int pageSize,
      Io io,
      Translation translation,
      int clients) {
    Options defaults = Options.defaults();
    // Several segments, and a buffer that is a part of it: what the engine asks for.
    long quarter = Long.highestOneBit(Math.max(logBytes, LOG_BYTES_MIN) / 4);
    return defaults
        .logBytesMax(logBytes)
        .logSegmentBytes(Math.min(quarter, defaults.logSegmentBytes()))
        .logBufferBytes((int) Math.min(quarter, defaults.logBufferBytes()))
        .pageSize(pageSize)
        .bufferBytes(bufferBytes)
        .pretouch(Pretouch.AHEAD)
        .io(io)
        .translation(translation)
        .durability(durability)
        .maxTransactions(Math.max(defaults.maxTransactions(), Math.min(clients + 2, 4096)));
  }
}
