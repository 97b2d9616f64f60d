package io.fovea.explorer;

import io.fovea.BufferShare;
import io.fovea.Hints;
import io.fovea.Options;
import io.fovea.config.Durability;
import io.fovea.config.LeakDetection;
import io.fovea.config.Protocol;
import io.fovea.config.TimestampStore;
import io.fovea.config.Translation;
import io.fovea.support.SetClock;
import java.time.Duration;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/**
 * The configuration of a round, by seed.
 *
 * @param place the location of its files
 * @param workers the number of threads
 * @param delays threads are delayed at one in {@code delays} sites of the engine; 0: none
 * @param holes whether compactions may punch holes: after that a page of zeros is a free page,
 *     before it a lost one
 */
record Setup(
    long seed,
    Place place,
    Protocol protocol,
    Translation translation,
    TimestampStore timestamps,
    Durability durability,
    int pageSize,
    int bufferBytes,
    int logBytes,
    int changeRetentionBytes,
    int maxActive,
    int workers,
    int subtreeDeleteThreshold,
    boolean hints,
    boolean shared,
    boolean cacheAllKeyLocations,
    boolean revalidate,
    int graceMillis,
    int checkpointMillis,
    int delays,
    boolean holes) {
  /** The location of the files. */
  enum Place {
    MEMORY,
    SIMULATED,
    FILE
  }

  static Setup of(long seed, @Nullable Protocol only, @Nullable Place place) {
    return of(seed, only, place, null);
  }

  static Setup of(
      long seed, @Nullable Protocol only, @Nullable Place place, @Nullable Durability durability) {
    Random r = new Random(seed);
    Place where = any(r, Place.values());
    where = r.nextInt(4) == 0 ? where : r.nextBoolean() ? Place.SIMULATED : Place.FILE;
    Protocol protocol = any(r, Protocol.values());
    // Successive seeds cycle through all protocols.
    protocol = Protocol.values()[(int) Math.floorMod(seed, (long) Protocol.values().length)];
    Translation translation =
        r.nextInt(3) == 0 ? Translation.PREDICTIVE : any(r, Translation.values());
    // In these, each page has its own frame, which excludes a shared buffer.
    boolean sharable = translation != Translation.DIRECT && translation != Translation.VIRTUAL;
    int pageSize = 4096 << (r.nextInt(4) == 0 ? 1 + r.nextInt(2) : 0);
    int pool = r.nextInt(3) == 0 ? 8 << 20 : 700_000 * (pageSize / 4096);
    TimestampStore timestamps = any(r, TimestampStore.values());
    Durability chosen =
        r.nextInt(8) == 0 ? Durability.NONE : r.nextBoolean() ? Durability.SYNC : Durability.ASYNC;
    return new Setup(
        seed,
        place == null ? where : place,
        only == null ? protocol : only,
        translation,
        timestamps,
        durability == null ? chosen : durability,
        pageSize,
        pool + (translation == Translation.DIRECT ? 64 << 20 : 0),
        (pageSize / 4096) << (r.nextInt(3) == 0 ? 22 : 18 + r.nextInt(2)),
        r.nextInt(3) == 0 ? 0 : 1 << (18 + r.nextInt(4)),
        2 + r.nextInt(10),
        6 + r.nextInt(10),
        1 << r.nextInt(6),
        r.nextInt(4) != 0,
        sharable && r.nextInt(3) == 0,
        r.nextInt(4) == 0,
        r.nextInt(4) == 0,
        r.nextInt(3) * 100,
        r.nextInt(3) == 0 ? 0 : 200 + r.nextInt(1000),
        r.nextInt(4) == 0 ? 0 : 8 << r.nextInt(4),
        r.nextInt(3) != 0);
  }

  static <E> E any(Random r, E[] all) {
    return all[r.nextInt(all.length)];
  }

  /** Returns the buffer shared with another database; null if none. */
  @Nullable BufferShare share() {
    return shared ? BufferShare.of(2L * Math.max(bufferBytes, 4 << 20)) : null;
  }

  Options options(SetClock clock, @Nullable BufferShare share) {
    boolean large = logBytes >= 4 << 20;
    int logBuffer = large ? 1 << 20 : Math.max(64 << 10, Integer.highestOneBit(pageSize * 16));
    int segment = large ? Integer.highestOneBit(logBytes / 4) : Math.max(64 << 10, 5 * pageSize);
    Options options = share == null ? Options.defaults() : Options.defaults().bufferShare(share);
    return options
        .durability(durability)
        .bufferBytes(bufferBytes)
        .memory(mem -> mem.timestampBytes(timestampBytes()).sketchBytes(64 << 10))
        .device(dev -> dev.pageSize(pageSize))
        .transactions(
            txs ->
                txs.maxActive(maxActive)
                    .leakDetection(LeakDetection.OFF)
                    .strictSerializability(revalidate)
                    .timeout(Duration.ofSeconds(60))
                    .closeTimeout(Duration.ofMillis(graceMillis)))
        .experiments(
            exp ->
                exp.protocol(protocol)
                    .timestamps(timestamps)
                    .translation(translation)
                    .cacheAllKeyLocations(cacheAllKeyLocations)
                    .hints(hints ? Hints.ALL : Hints.NONE)
                    .subtreeDeleteThreshold(subtreeDeleteThreshold))
        .snapshots(snaps -> snaps.bufferBytes(2_000_000).memoryBytes(256 << 10))
        .expiry(exp -> exp.clock(clock).sweepInterval(Duration.ofMillis(100)))
        .log(
            log ->
                log.maxBytes(Math.max(logBytes, 4 * logBuffer))
                    .bufferBytes(logBuffer)
                    .segmentBytes(segment)
                    .changeRetentionBytes(durability == Durability.NONE ? 0 : changeRetentionBytes)
                    .checkpointInterval(Duration.ofMillis(checkpointMillis)));
  }

  /** Returns a small size, except for the store that keeps all timestamps in memory. */
  private int timestampBytes() {
    return timestamps == TimestampStore.MEMORY ? 32 << 20 : 1 << 20;
  }

  /** Returns whether changes can be followed. */
  boolean followed() {
    return place != Place.MEMORY && durability != Durability.NONE && changeRetentionBytes > 0;
  }

  /** Returns whether a kill leaves files that can be opened. */
  boolean survivesKills() {
    return place != Place.MEMORY && durability != Durability.NONE;
  }
}
