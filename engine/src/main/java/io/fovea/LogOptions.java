package io.fovea;

import io.fovea.config.Durability;
import java.time.Duration;
import java.util.function.Consumer;

/**
 * How the log is kept, and how much of it.
 *
 * <p>{@link Options#durability} says whether there is one, and when a commit is durable.
 *
 * <p>A value: every method with an argument gives a new one. Any thread. Part of {@link Options}.
 *
 * @since 0.1.0
 */
public final class LogOptions {
  private static final LogOptions DEFAULTS = new LogOptions(new Values());

  /** The values, mutable only while new options are being made. */
  private static final class Values implements Cloneable {
    Duration maxFlushDelay = Duration.ofMillis(10);
    int asyncWindowBytes = 1 << 20;
    boolean doubleWrite = true;
    long maxBytes = 512L << 20;
    int bufferBytes = 4 << 20;
    long segmentBytes = 16L << 20;
    Duration checkpointInterval = Duration.ofMinutes(5);
    Duration idleTimeout = Duration.ofSeconds(10);
    long changeRetentionBytes;

    @Override
    public Values clone() {
      try {
        return (Values) super.clone();
      } catch (CloneNotSupportedException e) {
        throw new AssertionError(e);
      }
    }
  }

  private final Values v;

  private LogOptions(Values v) {
    this.v = v;
  }

  /**
   * The defaults.
   *
   * @return the options that the others are made from
   */
  public static LogOptions defaults() {
    return DEFAULTS;
  }

  private LogOptions with(Consumer<Values> change) {
    Values copy = v.clone();
    change.accept(copy);
    return new LogOptions(copy);
  }

  /**
   * Sets how much of the newest commits {@link Durability#ASYNC} may lose when the power fails: at
   * most those of this time, and at most so many bytes of log. A commit waits where more than that
   * is not on stable storage yet.
   *
   * @param time how long a commit may stay in memory alone
   * @param bytes how many bytes of log may stay there
   * @return new options
   * @throws IllegalArgumentException if the time is not positive or longer than an hour, or the
   *     bytes are less than 4 KiB
   */
  public LogOptions maxFlushDelay(Duration time, int bytes) {
    Options.check(
        time.isPositive() && time.compareTo(Duration.ofHours(1)) <= 0,
        "The time of LogOptions.maxFlushDelay is positive and at most an hour",
        time);
    Options.check(bytes >= 4096, "The bytes of LogOptions.maxFlushDelay are at least 4096", bytes);
    return with(
        v -> {
          v.maxFlushDelay = time;
          v.asyncWindowBytes = bytes;
        });
  }

  /**
   * How long a commit of {@link Durability#ASYNC} may stay in memory alone.
   *
   * @return the time
   */
  public Duration maxFlushDelay() {
    return v.maxFlushDelay;
  }

  /**
   * How many bytes of commits of {@link Durability#ASYNC} may stay in memory alone.
   *
   * @return bytes of log
   */
  public int asyncWindowBytes() {
    return v.asyncWindowBytes;
  }

  /**
   * Sets whether pages are written twice, first to a file beside the database, so that a page that
   * a loss of power cut in two can be restored. Without it such a page is found, by its checksum,
   * and the database is lost but for its backups. Only for devices that write a page as a whole or
   * not at all.
   *
   * @param twice true, the default, to write pages twice
   * @return new options
   */
  public LogOptions doubleWrite(boolean twice) {
    return with(v -> v.doubleWrite = twice);
  }

  /**
   * Whether pages are written twice.
   *
   * @return true if they are
   */
  public boolean doubleWrite() {
    return v.doubleWrite;
  }

  /**
   * Sets how much log may become necessary to open the database after a crash. Checkpoints see to
   * it; where they can't keep up, commits wait for them. More of it means fewer writes of pages,
   * and a longer time to open: a second for some 200 MiB. The file of the log becomes about as
   * large, and for a while larger by what a single transaction of that size or a backup holds back.
   * After a close it has one segment.
   *
   * @param bytes at least 256 KiB, and four times the size of a segment and four times the log's
   *     buffer, which is checked when the database is opened
   * @return new options
   * @throws IllegalArgumentException if it is less than 256 KiB
   */
  public LogOptions maxBytes(long bytes) {
    Options.check(bytes >= 256 << 10, "LogOptions.maxBytes is at least 256 KiB", bytes);
    return with(v -> v.maxBytes = bytes);
  }

  /**
   * How much log may become necessary to open the database after a crash.
   *
   * @return bytes
   */
  public long maxBytes() {
    return v.maxBytes;
  }

  /**
   * Sets the buffer between commits and the log's file.
   *
   * @param bytes a power of two of 64 KiB to 1 GiB, and at least 16 pages, which is checked when
   *     the database is opened
   * @return new options
   * @throws IllegalArgumentException for another size
   */
  public LogOptions bufferBytes(int bytes) {
    Options.check(
        bytes >= 64 << 10 && bytes <= 1 << 30 && Integer.bitCount(bytes) == 1,
        "LogOptions.bufferBytes is a power of two from 64 KiB to 1 GiB",
        bytes);
    return with(v -> v.bufferBytes = bytes);
  }

  /**
   * The size of the buffer between commits and the log's file.
   *
   * @return bytes
   */
  public int bufferBytes() {
    return v.bufferBytes;
  }

  /**
   * Sets the size of the segments that the log's file is made of, and that are used again when they
   * are not needed any more. A file of a log keeps the size that it was made with until the
   * database was closed and is opened with another one.
   *
   * @param bytes a multiple of 4 KiB from 64 KiB to 1 GiB, and at least a quarter of the log's
   *     buffer and 12 KiB, which is checked when the database is opened
   * @return new options
   * @throws IllegalArgumentException for another size
   */
  public LogOptions segmentBytes(long bytes) {
    Options.check(
        bytes >= 64 << 10 && bytes <= 1 << 30 && bytes % 4096 == 0,
        "LogOptions.segmentBytes is a multiple of 4 KiB from 64 KiB to 1 GiB",
        bytes);
    return with(v -> v.segmentBytes = bytes);
  }

  /**
   * The size of the segments that the log's file is made of.
   *
   * @return bytes
   */
  public long segmentBytes() {
    return v.segmentBytes;
  }

  /**
   * Sets how often there is a checkpoint even where little is written.
   *
   * @param interval the time between two; zero for checkpoints by {@link #maxBytes} alone
   * @return new options
   * @throws IllegalArgumentException if it is negative
   */
  public LogOptions checkpointInterval(Duration interval) {
    Options.check(
        !interval.isNegative(), "LogOptions.checkpointInterval is zero or longer", interval);
    return with(v -> v.checkpointInterval = interval);
  }

  /**
   * How often there is a checkpoint even where little is written.
   *
   * @return the time between two; zero for checkpoints by {@link #maxBytes} alone
   */
  public Duration checkpointInterval() {
    return v.checkpointInterval;
  }

  /**
   * Sets the idle time after which the log and the data file shrink, if the log has grown or the
   * data file has much preallocated space. A checkpoint writes all changed pages; the log keeps two
   * segments, or more if its buffer is larger than a segment or {@link #changeRetentionBytes}
   * requires it; and the preallocated space is released. Both files grow again with the next
   * changes, which costs the time to fill them with zeros.
   *
   * <p>Without this the log's file stays as large as it was, about {@link #maxBytes}, until the
   * database is closed. Not where {@link #checkpointInterval} is zero.
   *
   * @param time how long nobody has committed anything, nor changed a table; zero for never. The
   *     default is 10 seconds
   * @return new options
   * @throws IllegalArgumentException if it is negative
   */
  public LogOptions idleTimeout(Duration time) {
    Options.check(!time.isNegative(), "LogOptions.idleTimeout is zero or longer", time);
    return with(v -> v.idleTimeout = time);
  }

  /**
   * After how much time without any change the files are made as small as they may be.
   *
   * @return the time; zero for never
   */
  public Duration idleTimeout() {
    return v.idleTimeout;
  }

  /**
   * Sets how much of the log stays for those who follow changes ({@link Database#changes}), beside
   * what a recovery needs. Who falls further behind, or comes back later, begins anew ({@link
   * io.fovea.error.ChangesLostException}). It stays over closes and crashes; opening the database
   * once without this, or with {@link Durability#NONE}, lets it go.
   *
   * <p>What it costs: the file of the log is larger by about so much, in whole segments and by what
   * lies between two checkpoints, and stays so after a close. Each opening that changes something
   * begins another segment, and at most 16 segments more are kept than the bytes would fill: who
   * opens a database often takes smaller ones ({@link #segmentBytes}). A commit logs a value as a
   * whole where it changes a part of it. Where the storage is full, nothing is kept.
   *
   * @param bytes how much; 0, the default, for none: then no changes can be followed
   * @return new options
   * @throws IllegalArgumentException if it is negative
   */
  public LogOptions changeRetentionBytes(long bytes) {
    Options.check(bytes >= 0, "LogOptions.changeRetentionBytes is zero or positive", bytes);
    return with(v -> v.changeRetentionBytes = bytes);
  }

  /**
   * How much of the log stays for those who follow changes.
   *
   * @return bytes; 0 for none
   */
  public long changeRetentionBytes() {
    return v.changeRetentionBytes;
  }

  @Override
  public String toString() {
    return "LogOptions[maxFlushDelay="
        + v.maxFlushDelay
        + ", asyncWindowBytes="
        + v.asyncWindowBytes
        + ", doubleWrite="
        + v.doubleWrite
        + ", maxBytes="
        + v.maxBytes
        + ", bufferBytes="
        + v.bufferBytes
        + ", segmentBytes="
        + v.segmentBytes
        + ", checkpointInterval="
        + v.checkpointInterval
        + ", idleTimeout="
        + v.idleTimeout
        + ", changeRetentionBytes="
        + v.changeRetentionBytes
        + "]";
  }
}
