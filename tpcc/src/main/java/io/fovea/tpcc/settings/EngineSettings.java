package io.fovea.tpcc.settings;

import com.google.gson.JsonObject;
import io.fovea.Options;
import io.fovea.config.Durability;
import io.fovea.config.Io;
import io.fovea.config.LocationCacheLayout;
import io.fovea.config.Pretouch;
import io.fovea.config.Protocol;
import io.fovea.config.Replacement;
import io.fovea.config.TimestampStore;
import io.fovea.config.Translation;
import io.fovea.tpcc.bench.JsonReport;

/**
 * The effective options of a database, common to all subcommands.
 *
 * @param logBytes the limit on the log read by recovery
 * @param bufferBytes the size of the buffer pool
 * @param io ignored for a database in memory
 * @param sketchBytes the initial size of a sketch or cache of timestamps
 * @param sketchBytesMax the size up to which a sketch may grow
 * @param activeTimestampBytes the size of the table of exact timestamps; 0 for the store's default
 * @param timestampBytes the limit for the memory of exact timestamps
 * @param evictImmediately whether exact timestamps are evicted as soon as no transaction uses the
 *     key
 * @param timestampsInBuffer whether the memory of timestamps is part of the buffer
 * @param cacheLocations whether key locations of all tables are cached
 * @param locationCacheLayout the layout of the cache of key locations
 * @param locks whether there is concurrency control; without it, one client runs at a time
 * @param hugePages whether the buffer uses huge pages
 */
public record EngineSettings(
    Durability durability,
    long logBytes,
    long bufferBytes,
    int pageSize,
    Io io,
    Translation translation,
    HintKind hints,
    Replacement replacement,
    int reads,
    Protocol protocol,
    TimestampStore timestamps,
    long sketchBytes,
    long sketchBytesMax,
    long activeTimestampBytes,
    long timestampBytes,
    boolean evictImmediately,
    boolean timestampsInBuffer,
    boolean cacheLocations,
    LocationCacheLayout locationCacheLayout,
    boolean locks,
    boolean hugePages) {
  private static final long LOG_BYTES_MIN = 256 << 10;

  /** Returns a copy with another durability. */
  public EngineSettings with(Durability other) {
    return new EngineSettings(
        other,
        logBytes,
        bufferBytes,
        pageSize,
        io,
        translation,
        hints,
        replacement,
        reads,
        protocol,
        timestamps,
        sketchBytes,
        sketchBytesMax,
        activeTimestampBytes,
        timestampBytes,
        evictImmediately,
        timestampsInBuffer,
        cacheLocations,
        locationCacheLayout,
        locks,
        hugePages);
  }

  /** Tells whether there is a log. */
  public boolean logged() {
    return durability != Durability.NONE;
  }

  /** Returns the engine's options for a number of clients. */
  public Options options(int clients) {
    Options defaults = Options.defaults();
    // The engine requires several segments, and a log buffer no larger than a segment.
    long quarter = Long.highestOneBit(Math.max(logBytes, LOG_BYTES_MIN) / 4);
    return defaults
        .log(
            log ->
                log.maxBytes(logBytes)
                    .segmentBytes(Math.min(quarter, defaults.log().segmentBytes()))
                    .bufferBytes((int) Math.min(quarter, defaults.log().bufferBytes())))
        .device(dev -> dev.pageSize(pageSize))
        .bufferBytes(bufferBytes)
        .memory(mem -> mem.pretouch(Pretouch.BACKGROUND))
        .device(dev -> dev.io(io))
        .experiments(
            exp ->
                exp.translation(translation)
                    .hugePages(hugePages)
                    .hints(hints.hints())
                    .replacement(replacement))
        .device(dev -> dev.maxInFlightReads(reads))
        .experiments(
            exp ->
                exp.protocol(protocol).timestamps(timestamps).cacheAllKeyLocations(cacheLocations))
        .experiments(exp -> exp.locationCacheLayout(locationCacheLayout).isolated(locks))
        .experiments(
            exp -> exp.evictImmediately(evictImmediately).timestampsInBuffer(timestampsInBuffer))
        .memory(
            mem ->
                mem.sketchBytes(sketchBytes, sketchBytesMax)
                    .activeTimestampBytes(activeTimestampBytes)
                    .timestampBytes(timestampBytes))
        .durability(durability)
        .transactions(
            txs ->
                txs.maxActive(
                    locks
                        ? Math.max(defaults.transactions().maxActive(), Math.min(clients + 2, 4096))
                        : 1));
  }

  /** Adds the settings to the options of a report. */
  public void addTo(JsonObject report, boolean inMemory) {
    report.addProperty("durability", JsonReport.lower(durability));
    report.addProperty("logBytesMax", logged() ? logBytes : null);
    report.addProperty("bufferBytes", bufferBytes);
    report.addProperty("pageSize", pageSize);
    report.addProperty("io", inMemory ? "memory" : JsonReport.lower(io));
    report.addProperty("translation", JsonReport.lower(translation));
    report.addProperty("hints", JsonReport.lower(hints));
    report.addProperty("replacement", JsonReport.lower(replacement));
    report.addProperty("maxInFlightReads", reads);
    report.addProperty("protocol", JsonReport.lower(protocol));
    report.addProperty("timestamps", JsonReport.lower(timestamps));
    report.addProperty("sketchBytes", sketchBytes);
    report.addProperty("sketchBytesMax", sketchBytesMax);
    report.addProperty(
        "activeTimestampBytes", activeTimestampBytes == 0 ? null : activeTimestampBytes);
    report.addProperty("timestampBytes", timestampBytes);
    report.addProperty("evictImmediately", evictImmediately);
    report.addProperty("timestampsInBuffer", timestampsInBuffer);
    report.addProperty("cacheLocations", cacheLocations);
    report.addProperty(
        "locationCacheLayout", cacheLocations ? JsonReport.lower(locationCacheLayout) : null);
    report.addProperty("locks", locks);
    report.addProperty("hugePages", hugePages);
  }
}
