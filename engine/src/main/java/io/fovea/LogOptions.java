package io.fovea;

import io.fovea.config.Durability;
import java.time.Duration;
import java.util.StringJoiner;
import java.util.function.Consumer;

/**
 * Options of the log: its size, its buffer, and its checkpoints.
 *
 * <p>{@link Options#durability} sets whether there is a log, and when a commit is durable.
 *
 * <p>Immutable: each setter returns new options. Safe for any thread. Part of {@link Options}.
 *
 * @since 0.1.0
 */
public final class LogOptions {
  private static final LogOptions DEFAULTS = new LogOptions(new Values());

  private static final class Values extends OptionValues<Values> {
    Duration maxFlushDelay = Duration.ofMillis(10);
    int asyncWindowBytes = 1 << 20;
    boolean doubleWrite = true;
    long maxBytes = 512L << 20;
    int bufferBytes = 4 << 20;
    long segmentBytes = 16L << 20;
    Duration checkpointInterval = Duration.ofMinutes(5);
    Duration idleTimeout = Duration.ofSeconds(10);
    long changeRetentionBytes;
  }

  private final Values v;

  private LogOptions(Values v) {
    this.v = v;
  }

  /** {@return the defaults} */
  public static LogOptions defaults() {
    return DEFAULTS;
  }

  private LogOptions with(Consumer<Values> change) {
    return new LogOptions(v.with(change));
  }

  /**
   * Sets how much {@link Durability#ASYNC} may lose in a power failure: at most the commits within
   * this time, and at most this many bytes of log. Beyond either limit, commits wait for stable
   * storage.
   *
   * @param time how long a commit may be in memory only
   * @param bytes how many bytes of log may be in memory only
   * @return new options
   * @throws IllegalArgumentException if the time is not in (0, 1 h] or {@code bytes < 4096}
   */
  public LogOptions maxFlushDelay(Duration time, int bytes) {
    Options.check(
        time.isPositive() && time.compareTo(Duration.ofHours(1)) <= 0,
        "The time of LogOptions.maxFlushDelay must be positive and at most an hour",
        time);
    Options.check(
        bytes >= 4096, "The bytes of LogOptions.maxFlushDelay must be at least " + "4096", bytes);
    return with(
        v -> {
          v.maxFlushDelay = time;
          v.asyncWindowBytes = bytes;
        });
  }

  /** {@return how long a commit of {@link Durability#ASYNC} may be in memory only} */
  public Duration maxFlushDelay() {
    return v.maxFlushDelay;
  }

  /**
   * {@return how many bytes of log with commits of {@link Durability#ASYNC} may be in memory only}
   */
  public int asyncWindowBytes() {
    return v.asyncWindowBytes;
  }

  /**
   * Sets whether pages are written twice, first to a double-write file, so that a page torn by a
   * power failure can be restored. Without it, a torn page is detected by its checksum, and the
   * database must be restored from a backup. Disable it only on devices with atomic page writes.
   *
   * @param twice true, the default, to write pages twice
   * @return new options
   */
  public LogOptions doubleWrite(boolean twice) {
    return with(v -> v.doubleWrite = twice);
  }

  /** {@return whether pages are written twice} */
  public boolean doubleWrite() {
    return v.doubleWrite;
  }

  /**
   * Sets how much log a recovery may have to read. Checkpoints enforce this limit; if they fall
   * behind, commits wait for them. A higher limit means fewer page writes and slower recovery:
   * about a second per 200 MiB. The log file grows to about this size, and temporarily beyond it
   * during a backup or a transaction of that size. After a close it has one segment.
   *
   * @param bytes at least 256 KiB, four times the segment size and four times the buffer size (the
   *     last two are checked at open)
   * @return new options
   * @throws IllegalArgumentException if it is less than 256 KiB
   */
  public LogOptions maxBytes(long bytes) {
    Options.check(bytes >= 256 << 10, "LogOptions.maxBytes must be at least 256 KiB", bytes);
    return with(v -> v.maxBytes = bytes);
  }

  /** {@return how many bytes of log a recovery may have to read} */
  public long maxBytes() {
    return v.maxBytes;
  }

  /**
   * Sets the size of the buffer between commits and the log file.
   *
   * @param bytes a power of two from 64 KiB to 1 GiB, and at least 16 pages (checked at open)
   * @return new options
   * @throws IllegalArgumentException for another size
   */
  public LogOptions bufferBytes(int bytes) {
    Options.check(
        bytes >= 64 << 10 && bytes <= 1 << 30 && Integer.bitCount(bytes) == 1,
        "LogOptions.bufferBytes must be a power of two from 64 KiB to 1 GiB",
        bytes);
    return with(v -> v.bufferBytes = bytes);
  }

  /** {@return the bytes of the buffer between commits and the log file} */
  public int bufferBytes() {
    return v.bufferBytes;
  }

  /**
   * Sets the size of the log file's segments, which are reused. An existing log keeps its segment
   * size until the database is closed and reopened with another one.
   *
   * @param bytes a multiple of 4 KiB from 64 KiB to 1 GiB, at least a quarter of the buffer
   * @return new options
   * @throws IllegalArgumentException for another size
   */
  public LogOptions segmentBytes(long bytes) {
    Options.check(
        bytes >= 64 << 10 && bytes <= 1 << 30 && bytes % 4096 == 0,
        "LogOptions.segmentBytes must be a multiple of 4 KiB from 64 KiB to 1 GiB",
        bytes);
    return with(v -> v.segmentBytes = bytes);
  }

  /** {@return the bytes of a segment of the log file} */
  public long segmentBytes() {
    return v.segmentBytes;
  }

  /**
   * Sets how often to take a checkpoint even if little is written.
   *
   * @param interval the time between checkpoints; zero for checkpoints by {@link #maxBytes} only
   * @return new options
   * @throws IllegalArgumentException if it is negative
   */
  public LogOptions checkpointInterval(Duration interval) {
    Options.check(
        !interval.isNegative(), "LogOptions.checkpointInterval must not be negative", interval);
    return with(v -> v.checkpointInterval = interval);
  }

  /** {@return the time between checkpoints; zero for checkpoints by {@link #maxBytes} only} */
  public Duration checkpointInterval() {
    return v.checkpointInterval;
  }

  /**
   * Sets the idle time after which the log and the data file shrink, if the log has grown or the
   * data file has much preallocated space. A checkpoint writes all changed pages, the preallocated
   * space is released, and the log keeps two segments, or more if required by its buffer or by
   * {@link #changeRetentionBytes}. Both files grow again with the next changes, which costs the
   * time to fill them with zeros.
   *
   * <p>Without this, or if {@link #checkpointInterval} is zero, the log file keeps its size, about
   * {@link #maxBytes}, until the database is closed.
   *
   * @param time the time without a commit or table change; zero for never; 10 seconds by default
   * @return new options
   * @throws IllegalArgumentException if it is negative
   */
  public LogOptions idleTimeout(Duration time) {
    Options.check(!time.isNegative(), "LogOptions.idleTimeout must not be negative", time);
    return with(v -> v.idleTimeout = time);
  }

  /** {@return the idle time after which the log and the data file shrink; zero for never} */
  public Duration idleTimeout() {
    return v.idleTimeout;
  }

  /**
   * Sets how much log is kept for change subscribers ({@link Database#changes}), beyond what
   * recovery needs. A subscriber that falls further behind, or returns later, must start over
   * ({@link io.fovea.error.ChangesLostException}). The log is kept across closes and crashes;
   * opening the database once without this, or with {@link Durability#NONE}, discards it.
   *
   * <p>The log file grows by about this size, in whole segments, plus the log between two
   * checkpoints, and keeps that size after a close. Each opening that changes something begins
   * another segment, and at most 16 segments more are kept than these bytes would fill. If you open
   * a database often, use smaller {@linkplain #segmentBytes segments}. A commit that changes a part
   * of a value logs the whole value. If the storage is full, nothing is kept.
   *
   * @param bytes the size; 0, the default, disables subscriptions to changes
   * @return new options
   * @throws IllegalArgumentException if it is negative
   */
  public LogOptions changeRetentionBytes(long bytes) {
    Options.check(bytes >= 0, "LogOptions.changeRetentionBytes must be 0 or more", bytes);
    return with(v -> v.changeRetentionBytes = bytes);
  }

  /** {@return how many bytes of log are kept for change subscribers; 0 for none} */
  public long changeRetentionBytes() {
    return v.changeRetentionBytes;
  }

  @Override
  public String toString() {
    return new StringJoiner(", ", "LogOptions[", "]")
        .add("maxFlushDelay=" + v.maxFlushDelay)
        .add("asyncWindowBytes=" + v.asyncWindowBytes)
        .add("doubleWrite=" + v.doubleWrite)
        .add("maxBytes=" + v.maxBytes)
        .add("bufferBytes=" + v.bufferBytes)
        .add("segmentBytes=" + v.segmentBytes)
        .add("checkpointInterval=" + v.checkpointInterval)
        .add("idleTimeout=" + v.idleTimeout)
        .add("changeRetentionBytes=" + v.changeRetentionBytes)
        .toString();
  }
}
