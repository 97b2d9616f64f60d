package io.fovea.spring.boot;

import io.fovea.DeviceOptions;
import io.fovea.LogOptions;
import io.fovea.MemoryOptions;
import io.fovea.Options;
import io.fovea.SnapshotOptions;
import io.fovea.TransactionOptions;
import io.fovea.config.Durability;
import io.fovea.config.Io;
import io.fovea.config.LeakDetection;
import io.fovea.config.Pretouch;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * The properties {@code fovea.*}. A property that is not set leaves the option's default, which
 * docs/reference/options.md lists. Options without a property are set by a {@link
 * FoveaOptionsCustomizer}.
 *
 * <p>Immutable.
 *
 * @param path Data file. Created if it does not exist, like its directory. Required unless
 *     'fovea.in-memory' is true.
 * @param inMemory Whether to keep the database in memory and discard it when the application stops.
 *     Takes precedence over 'fovea.path'.
 * @param name Name of the database in log lines and meters. Defaults to the file name.
 * @param bufferSize Memory for pages, outside the Java heap. Defaults to 256MB, at most an eighth
 *     of the memory of the machine or container.
 * @param durability Failures that a commit survives once it has returned. Defaults to sync.
 * @param create Whether to create a file that does not exist. Defaults to true.
 * @param readOnly Whether to open the database for reading only. Defaults to false.
 * @param log Options of the log.
 * @param device Options of the file layout and of I/O.
 * @param transactions Limits on transactions.
 * @param memory Options of memory outside the buffer.
 * @param snapshots Limits on snapshots.
 * @param expiry Options of expiring records.
 * @since 0.2.0
 */
@ConfigurationProperties("fovea")
public record FoveaProperties(
    @Nullable Path path,
    @DefaultValue("false") boolean inMemory,
    @Nullable String name,
    @Nullable DataSize bufferSize,
    @Nullable Durability durability,
    @Nullable Boolean create,
    @Nullable Boolean readOnly,
    @DefaultValue Log log,
    @DefaultValue Device device,
    @DefaultValue Transactions transactions,
    @DefaultValue Memory memory,
    @DefaultValue Snapshots snapshots,
    @DefaultValue Expiry expiry) {

  /**
   * The properties {@code fovea.log.*}.
   *
   * @param maxSize Log that recovery may have to read, and about the size of the log file. Defaults
   *     to 512MB.
   * @param bufferSize Buffer between commits and the log file, a power of two. Defaults to 4MB.
   * @param segmentSize Unit in which the log file grows. Defaults to 16MB.
   * @param maxFlushDelay Time for which a commit with the durability 'async' may be in memory only.
   *     Defaults to 10ms.
   * @param maxFlushSize Log that may be in memory only with the durability 'async'. Defaults to
   *     1MB.
   * @param checkpointInterval Longest time between checkpoints. Zero leaves it to
   *     'fovea.log.max-size'. Defaults to 5m.
   * @param idleTimeout Time without changes after which the files shrink. Zero means never.
   *     Defaults to 10s.
   * @param changeRetention Log to keep for change feeds. Defaults to none.
   * @param doubleWrite Whether to protect pages against torn writes. Defaults to true.
   * @since 0.2.0
   */
  public record Log(
      @Nullable DataSize maxSize,
      @Nullable DataSize bufferSize,
      @Nullable DataSize segmentSize,
      @Nullable Duration maxFlushDelay,
      @Nullable DataSize maxFlushSize,
      @Nullable Duration checkpointInterval,
      @Nullable Duration idleTimeout,
      @Nullable DataSize changeRetention,
      @Nullable Boolean doubleWrite) {

    LogOptions applyTo(LogOptions o) {
      o = with(o, bytes(maxSize), LogOptions::maxBytes);
      o = with(o, intBytes(bufferSize), LogOptions::bufferBytes);
      o = with(o, bytes(segmentSize), LogOptions::segmentBytes);
      o = with(o, maxFlushDelay, (l, time) -> l.maxFlushDelay(time, l.asyncWindowBytes()));
      o = with(o, intBytes(maxFlushSize), (l, bytes) -> l.maxFlushDelay(l.maxFlushDelay(), bytes));
      o = with(o, checkpointInterval, LogOptions::checkpointInterval);
      o = with(o, idleTimeout, LogOptions::idleTimeout);
      o = with(o, bytes(changeRetention), LogOptions::changeRetentionBytes);
      return with(o, doubleWrite, LogOptions::doubleWrite);
    }
  }

  /**
   * The properties {@code fovea.device.*}.
   *
   * @param io How to access the file. Defaults to auto.
   * @param directIo Whether to bypass the page cache if the file system allows it. Defaults to
   *     true.
   * @param pageSize Page size of a new file, a power of two from 4KB to 64KB. Defaults to 4KB.
   * @param maxInFlightReads Reads in flight per thread in a batch of lookups. Defaults to 64.
   * @since 0.2.0
   */
  public record Device(
      @Nullable Io io,
      @Nullable Boolean directIo,
      @Nullable DataSize pageSize,
      @Nullable Integer maxInFlightReads) {

    DeviceOptions applyTo(DeviceOptions o) {
      o = with(o, io, DeviceOptions::io);
      o = with(o, directIo, DeviceOptions::directIo);
      o = with(o, intBytes(pageSize), DeviceOptions::pageSize);
      return with(o, maxInFlightReads, DeviceOptions::maxInFlightReads);
    }
  }

  /**
   * The properties {@code fovea.transactions.*}.
   *
   * @param timeout Limit for one attempt of a transaction, and for the wait to begin. Zero means
   *     none. Defaults to 5m.
   * @param maxActive Transactions that run at a time, from 1 to 4096. Defaults to 64.
   * @param maxSize Limit for the keys and values that one transaction writes. Defaults to 64MB.
   * @param closeTimeout Time that a close waits for active transactions. Defaults to 5s.
   * @param pessimisticAfterAborts Aborts in a row after which an attempt is pessimistic. Defaults
   *     to 16.
   * @param strictSerializability Whether transactions are strictly serializable. Defaults to false.
   * @param leakDetection Transactions and cursors that record where they were created. Defaults to
   *     sampled.
   * @since 0.2.0
   */
  public record Transactions(
      @Nullable Duration timeout,
      @Nullable Integer maxActive,
      @Nullable DataSize maxSize,
      @Nullable Duration closeTimeout,
      @Nullable Integer pessimisticAfterAborts,
      @Nullable Boolean strictSerializability,
      @Nullable LeakDetection leakDetection) {

    TransactionOptions applyTo(TransactionOptions o) {
      o = with(o, timeout, TransactionOptions::timeout);
      o = with(o, maxActive, TransactionOptions::maxActive);
      o = with(o, bytes(maxSize), TransactionOptions::maxBytes);
      o = with(o, closeTimeout, TransactionOptions::closeTimeout);
      o = with(o, pessimisticAfterAborts, TransactionOptions::pessimisticAfterAborts);
      o = with(o, strictSerializability, TransactionOptions::strictSerializability);
      return with(o, leakDetection, TransactionOptions::leakDetection);
    }
  }

  /**
   * The properties {@code fovea.memory.*}.
   *
   * @param timestampSize Limit for the timestamps of records that active transactions use. Defaults
   *     to 256MB.
   * @param locationCacheSize Limit for cached key locations. Defaults to a sixteenth of
   *     'fovea.buffer-size'.
   * @param pretouch When the operating system allocates the memory of the buffer. Defaults to none,
   *     which means on first use.
   * @since 0.2.0
   */
  public record Memory(
      @Nullable DataSize timestampSize,
      @Nullable DataSize locationCacheSize,
      @Nullable Pretouch pretouch) {

    MemoryOptions applyTo(MemoryOptions o) {
      o = with(o, bytes(timestampSize), MemoryOptions::timestampBytes);
      o = with(o, bytes(locationCacheSize), MemoryOptions::locationCacheBytes);
      return with(o, pretouch, MemoryOptions::pretouch);
    }
  }

  /**
   * The properties {@code fovea.snapshots.*}.
   *
   * @param bufferSize Buffer of each snapshot. Defaults to 16MB.
   * @param memorySize Memory for copies of changed pages, for all snapshots. Defaults to 64MB.
   * @param fileSize Limit for the file of copies of changed pages. Defaults to 16GB.
   * @since 0.2.0
   */
  public record Snapshots(
      @Nullable DataSize bufferSize, @Nullable DataSize memorySize, @Nullable DataSize fileSize) {

    SnapshotOptions applyTo(SnapshotOptions o) {
      o = with(o, bytes(bufferSize), SnapshotOptions::bufferBytes);
      o = with(o, bytes(memorySize), SnapshotOptions::memoryBytes);
      return with(o, bytes(fileSize), SnapshotOptions::fileBytes);
    }
  }

  /**
   * The properties {@code fovea.expiry.*}.
   *
   * @param sweepInterval How often expired records are removed. Zero means only on request.
   *     Defaults to 1s.
   * @since 0.2.0
   */
  public record Expiry(@Nullable Duration sweepInterval) {}

  /**
   * Returns the options that the properties describe: the defaults, changed by what is set.
   *
   * @return the options
   * @throws IllegalArgumentException if a value is outside an option's range
   */
  public Options toOptions() {
    Options o = Options.defaults();
    o = with(o, name, Options::name);
    o = with(o, bytes(bufferSize), Options::bufferBytes);
    o = with(o, durability, Options::durability);
    o = with(o, create, Options::create);
    o = with(o, readOnly, Options::readOnly);
    o = o.log(log::applyTo).device(device::applyTo).transactions(transactions::applyTo);
    o = o.memory(memory::applyTo).snapshots(snapshots::applyTo);
    return with(o, expiry.sweepInterval(), (x, time) -> x.expiry(e -> e.sweepInterval(time)));
  }

  private static <T, V> T with(T options, @Nullable V value, BiFunction<T, V, T> setter) {
    return value == null ? options : setter.apply(options, value);
  }

  private static @Nullable Long bytes(@Nullable DataSize size) {
    return size == null ? null : (Long) size.toBytes();
  }

  private static @Nullable Integer intBytes(@Nullable DataSize size) {
    return size == null ? null : (Integer) Math.toIntExact(size.toBytes());
  }
}
