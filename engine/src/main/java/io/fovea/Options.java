package io.fovea;

import io.fovea.buffer.PageReads;
import java.time.Duration;
import java.util.Objects;

/**
 * How a database is opened.
 *
 * <p>A value: every method with an argument gives a new one. Any thread.
 *
 * @since 0.1.0
 */
public final class Options {
  private static final Options DEFAULTS = new Options(new Values());

  /** The values, mutable only while a new Options is being made. */
  private static final class Values implements Cloneable {
    String name = "";
    int pageSize = 4096;
    long bufferBytes = 256L << 20;
    long timestampBytes = 256L << 20;
    TimestampStore timestamps = TimestampStore.FOCUS_SKETCH;
    long sketchBytesMin = 32 << 10;
    long sketchBytesMax = 32 << 10;
    Io io = Io.AUTO;
    boolean directIo = true;
    Pretouch pretouch = Pretouch.NONE;
    Translation translation = Translation.PREDICTIVE;
    Replacement replacement = Replacement.SECOND_CHANCE;
    int readsMax = PageReads.CAPACITY;
    Hints hints = Hints.ALL;
    Protocol protocol = Protocol.TICTOC;
    Durability durability = Durability.SYNC;
    Duration asyncWindow = Duration.ofMillis(10);
    int asyncWindowBytes = 1 << 20;
    boolean doubleWrite = true;
    long logBytesMax = 512L << 20;
    int logBufferBytes = 4 << 20;
    long logSegmentBytes = 16L << 20;
    Duration checkpointInterval = Duration.ofMinutes(5);
    int maxTransactions = 64;
    Duration transactionTimeout = Duration.ofMinutes(5);
    long maxTransactionBytes = 64L << 20;
    int abortsBeforeLocking = 16;
    boolean revalidateReads = false;
    Duration closeGrace = Duration.ofSeconds(5);
    LeakDetection leakDetection = LeakDetection.SAMPLED;
    boolean create = true;
    boolean readOnly;

    @Override
    public Values clone() {
      try {
        return (Values) super.clone();
      } catch (CloneNotSupportedException e) {
        throw new AssertionError(e);
      }
    }
  }

  /**
   * Which transactions and cursors remember where they were made, so that one that is never closed
   * can be named in the log.
   *
   * @since 0.1.0
   */
  public enum LeakDetection {
    /** None. */
    OFF,
    /** One of 64. The default. */
    SAMPLED,
    /** Every one: for tests, it costs microseconds. */
    ALL
  }

  private final Values v;

  private Options(Values v) {
    this.v = v;
  }

  /**
   * The defaults: pages of 4 KiB, a buffer of 256 MiB, the best device there is, and commits that
   * are on stable storage when they return.
   *
   * @return the options that the others are made from
   */
  public static Options defaults() {
    return DEFAULTS;
  }

  private interface Change {
    void apply(Values v);
  }

  private Options with(Change change) {
    Values copy = v.clone();
    change.apply(copy);
    return new Options(copy);
  }

  private static void check(boolean good, String what, Object value) {
    if (!good) {
      throw new IllegalArgumentException(what + ", not " + value + ".");
    }
  }

  /**
   * Sets the name of the database in log lines and meters.
   *
   * @param name the name; empty, the default, for the name of its file
   * @return new options
   */
  public Options name(String name) {
    Objects.requireNonNull(name, "name");
    return with(v -> v.name = name);
  }

  /**
   * The name of the database in log lines and meters.
   *
   * @return the name, empty for that of its file
   */
  public String name() {
    return v.name;
  }

  /**
   * Sets the size of a page. A file keeps the page size that it was created with.
   *
   * @param bytes 4096, 8192, 16384, 32768 or 65536
   * @return new options
   * @throws IllegalArgumentException for another size
   */
  public Options pageSize(int bytes) {
    check(
        bytes >= 4096 && bytes <= 65536 && Integer.bitCount(bytes) == 1,
        "Options.pageSize is 4096, 8192, 16384, 32768 or 65536",
        bytes);
    return with(v -> v.pageSize = bytes);
  }

  /**
   * The size of a page.
   *
   * @return bytes
   */
  public int pageSize() {
    return v.pageSize;
  }

  /**
   * Sets the memory that the database may use for pages and all that belongs to them. It is taken
   * outside the Java heap.
   *
   * @param bytes a hard limit
   * @return new options
   * @throws IllegalArgumentException if it is not positive; whether it is enough is checked when
   *     the database is opened
   */
  public Options bufferBytes(long bytes) {
    check(bytes > 0, "Options.bufferBytes is positive", bytes);
    return with(v -> v.bufferBytes = bytes);
  }

  /**
   * The memory that the database may use for pages and all that belongs to them.
   *
   * @return bytes
   */
  public long bufferBytes() {
    return v.bufferBytes;
  }

  /**
   * Sets the memory that the timestamps of records in use may take, beside the buffer. It is
   * address space until transactions need it: 32 bytes for each record that active transactions
   * have read or written.
   *
   * @param bytes a hard limit; a transaction that would exceed it is aborted
   * @return new options
   * @throws IllegalArgumentException if it is less than 64 KiB
   */
  public Options timestampBytes(long bytes) {
    check(bytes >= 64 << 10, "Options.timestampBytes is at least 65536", bytes);
    return with(v -> v.timestampBytes = bytes);
  }

  /**
   * The memory that the timestamps of records in use may take.
   *
   * @return bytes
   */
  public long timestampBytes() {
    return v.timestampBytes;
  }

  /**
   * Sets where the timestamps of records are that no transaction uses. It may be another choice
   * each time that a file is opened.
   *
   * @param store the place; the default is {@link TimestampStore#FOCUS_SKETCH}
   * @return new options
   */
  public Options timestamps(TimestampStore store) {
    Objects.requireNonNull(store, "store");
    return with(v -> v.timestamps = store);
  }

  /**
   * Where the timestamps of records are that no transaction uses.
   *
   * @return the place
   */
  public TimestampStore timestamps() {
    return v.timestamps;
  }

  /**
   * Sets the memory for the timestamps of records that no transaction uses: a sketch, or a cache,
   * as {@link #timestamps(TimestampStore)} says. It stays as it is. {@link TimestampStore#DISK} and
   * {@link TimestampStore#MEMORY} have neither.
   *
   * @param bytes the default is 32 KiB. For a sketch rounded down to a power of two. A cache is one
   *     table with the 128 KiB of entries in use, and the sum is rounded up to a power of two
   * @return new options
   * @throws IllegalArgumentException if it is less than 8 or more than 1 GiB
   */
  public Options sketchBytes(long bytes) {
    return sketchBytes(bytes, bytes);
  }

  /**
   * Sets limits for the memory of the sketch of {@link TimestampStore#FOCUS_SKETCH}. It begins with
   * the lower one, doubles while transactions are aborted for conflicts that a larger sketch may
   * keep apart, as long as that helps, and halves when there are hardly any. Changes go on beside
   * transactions. A cache has the lower limit.
   *
   * @param min rounded down to a power of two
   * @param max rounded down to a power of two
   * @return new options
   * @throws IllegalArgumentException if {@code min} is less than 8, or more than {@code max}, or
   *     {@code max} is more than 1 GiB
   */
  public Options sketchBytes(long min, long max) {
    check(min >= Long.BYTES, "Options.sketchBytes is at least 8", min);
    check(
        max >= min,
        "The upper limit of Options.sketchBytes is at least its lower one, " + min,
        max);
    check(max <= 1 << 30, "Options.sketchBytes is at most 1 GiB", max);
    return with(
        v -> {
          v.sketchBytesMin = min;
          v.sketchBytesMax = max;
        });
  }

  /**
   * The memory with which the sketch begins, or that of the cache.
   *
   * @return bytes
   */
  public long sketchBytesMin() {
    return v.sketchBytesMin;
  }

  /**
   * The memory up to which the sketch grows where that helps.
   *
   * @return bytes; {@link #sketchBytesMin()} for a fixed size
   */
  public long sketchBytesMax() {
    return v.sketchBytesMax;
  }

  /**
   * Sets how the file is reached.
   *
   * @param io the kind of device
   * @return new options
   */
  public Options io(Io io) {
    Objects.requireNonNull(io, "io");
    return with(v -> v.io = io);
  }

  /**
   * How the file is reached.
   *
   * @return the kind of device
   */
  public Io io() {
    return v.io;
  }

  /**
   * Sets whether the operating system's page cache is bypassed where that is possible.
   *
   * @param direct true, the default, to bypass it
   * @return new options
   */
  public Options directIo(boolean direct) {
    return with(v -> v.directIo = direct);
  }

  /**
   * Whether the operating system's page cache is bypassed where that is possible.
   *
   * @return true to bypass it
   */
  public boolean directIo() {
    return v.directIo;
  }

  /**
   * Sets when the operating system has to find the memory of the buffer.
   *
   * @param pretouch when
   * @return new options
   */
  public Options pretouch(Pretouch pretouch) {
    Objects.requireNonNull(pretouch, "pretouch");
    return with(v -> v.pretouch = pretouch);
  }

  /**
   * When the operating system has to find the memory of the buffer.
   *
   * @return when
   */
  public Pretouch pretouch() {
    return v.pretouch;
  }

  /**
   * Sets how the frame of a page is found.
   *
   * @param translation the kind of translation
   * @return new options
   */
  public Options translation(Translation translation) {
    Objects.requireNonNull(translation, "translation");
    return with(v -> v.translation = translation);
  }

  /**
   * How the frame of a page is found.
   *
   * @return the kind of translation
   */
  public Translation translation() {
    return v.translation;
  }

  /**
   * Sets which pages leave the buffer when others need their frames. It matters where the data is
   * larger than the buffer.
   *
   * @param replacement the policy; the default is {@link Replacement#SECOND_CHANCE}
   * @return new options
   */
  public Options replacement(Replacement replacement) {
    Objects.requireNonNull(replacement, "replacement");
    return with(v -> v.replacement = replacement);
  }

  /**
   * Which pages leave the buffer when others need their frames.
   *
   * @return the policy
   */
  public Replacement replacement() {
    return v.replacement;
  }

  /**
   * Sets how many pages one thread has read at a time at most, in {@link Table#getAll} and its
   * like. Several threads that read in batches share what the device does at once: with the number
   * that it does best divided by that of the threads none waits for another's reads.
   *
   * @param reads 1 to 64; the default is 64
   * @return new options
   * @throws IllegalArgumentException if it is outside of that
   */
  public Options readsMax(int reads) {
    check(reads >= 1 && reads <= PageReads.CAPACITY, "Options.readsMax is 1 to 64", reads);
    return with(v -> v.readsMax = reads);
  }

  /**
   * How many pages one thread has read at a time at most.
   *
   * @return the number of reads
   */
  public int readsMax() {
    return v.readsMax;
  }

  /**
   * Sets what makes transactions serializable. It may be another choice each time that a file is
   * opened.
   *
   * @param protocol the protocol; the default is {@link Protocol#TICTOC}
   * @return new options
   */
  public Options protocol(Protocol protocol) {
    Objects.requireNonNull(protocol, "protocol");
    return with(v -> v.protocol = protocol);
  }

  /**
   * What makes transactions serializable.
   *
   * @return the protocol
   */
  public Protocol protocol() {
    return v.protocol;
  }

  /**
   * Sets where physical addresses are remembered beside logical names. It may be another choice
   * each time that a file is opened.
   *
   * @param hints the places; the default is {@link Hints#ALL}
   * @return new options
   */
  public Options hints(Hints hints) {
    Objects.requireNonNull(hints, "hints");
    return with(v -> v.hints = hints);
  }

  /**
   * Where physical addresses are remembered beside logical names.
   *
   * @return the places
   */
  public Hints hints() {
    return v.hints;
  }

  /**
   * Sets what a commit that has returned survives. It may be another one each time that a file is
   * opened. A database in memory survives nothing, whatever is set here.
   *
   * @param durability the level; the default is {@link Durability#SYNC}
   * @return new options
   */
  public Options durability(Durability durability) {
    Objects.requireNonNull(durability, "durability");
    return with(v -> v.durability = durability);
  }

  /**
   * What a commit that has returned survives.
   *
   * @return the level
   */
  public Durability durability() {
    return v.durability;
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
  public Options asyncWindow(Duration time, int bytes) {
    check(
        time.isPositive() && time.compareTo(Duration.ofHours(1)) <= 0,
        "The time of Options.asyncWindow is positive and at most an hour",
        time);
    check(bytes >= 4096, "The bytes of Options.asyncWindow are at least 4096", bytes);
    return with(
        v -> {
          v.asyncWindow = time;
          v.asyncWindowBytes = bytes;
        });
  }

  /**
   * How long a commit of {@link Durability#ASYNC} may stay in memory alone.
   *
   * @return the time
   */
  public Duration asyncWindow() {
    return v.asyncWindow;
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
  public Options doubleWrite(boolean twice) {
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
  public Options logBytesMax(long bytes) {
    check(bytes >= 256 << 10, "Options.logBytesMax is at least 256 KiB", bytes);
    return with(v -> v.logBytesMax = bytes);
  }

  /**
   * How much log may become necessary to open the database after a crash.
   *
   * @return bytes
   */
  public long logBytesMax() {
    return v.logBytesMax;
  }

  /**
   * Sets the buffer between commits and the log's file.
   *
   * @param bytes a power of two of 64 KiB to 1 GiB, and at least 16 pages, which is checked when
   *     the database is opened
   * @return new options
   * @throws IllegalArgumentException for another size
   */
  public Options logBufferBytes(int bytes) {
    check(
        bytes >= 64 << 10 && bytes <= 1 << 30 && Integer.bitCount(bytes) == 1,
        "Options.logBufferBytes is a power of two from 64 KiB to 1 GiB",
        bytes);
    return with(v -> v.logBufferBytes = bytes);
  }

  /**
   * The size of the buffer between commits and the log's file.
   *
   * @return bytes
   */
  public int logBufferBytes() {
    return v.logBufferBytes;
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
  public Options logSegmentBytes(long bytes) {
    check(
        bytes >= 64 << 10 && bytes <= 1 << 30 && bytes % 4096 == 0,
        "Options.logSegmentBytes is a multiple of 4 KiB from 64 KiB to 1 GiB",
        bytes);
    return with(v -> v.logSegmentBytes = bytes);
  }

  /**
   * The size of the segments that the log's file is made of.
   *
   * @return bytes
   */
  public long logSegmentBytes() {
    return v.logSegmentBytes;
  }

  /**
   * Sets how often there is a checkpoint even where little is written.
   *
   * @param interval the time between two; zero for checkpoints by {@link #logBytesMax} alone
   * @return new options
   * @throws IllegalArgumentException if it is negative
   */
  public Options checkpointInterval(Duration interval) {
    check(!interval.isNegative(), "Options.checkpointInterval is zero or longer", interval);
    return with(v -> v.checkpointInterval = interval);
  }

  /**
   * How often there is a checkpoint even where little is written.
   *
   * @return the time between two; zero for checkpoints by {@link #logBytesMax} alone
   */
  public Duration checkpointInterval() {
    return v.checkpointInterval;
  }

  /**
   * Sets how many transactions may run at a time. More of them wait, in the order in which they
   * came; one that has waited for its limit on time is aborted with the cause {@link
   * io.fovea.error.AbortCause#ADMISSION}.
   *
   * @param n 1 to 4096
   * @return new options
   * @throws IllegalArgumentException for another number
   */
  public Options maxTransactions(int n) {
    check(n >= 1 && n <= 4096, "Options.maxTransactions is 1 to 4096", n);
    return with(v -> v.maxTransactions = n);
  }

  /**
   * How many transactions may run at a time.
   *
   * @return their number
   */
  public int maxTransactions() {
    return v.maxTransactions;
  }

  /**
   * Sets how long a transaction may take before it is aborted, one attempt of it. {@link
   * TxOptions#timeout} does so for one transaction.
   *
   * @param timeout the limit; zero for none
   * @return new options
   * @throws IllegalArgumentException if it is negative
   */
  public Options transactionTimeout(Duration timeout) {
    check(!timeout.isNegative(), "Options.transactionTimeout is zero or longer", timeout);
    return with(v -> v.transactionTimeout = timeout);
  }

  /**
   * How long a transaction may take before it is aborted.
   *
   * @return the limit; zero for none
   */
  public Duration transactionTimeout() {
    return v.transactionTimeout;
  }

  /**
   * Sets how much a transaction may write before it is aborted. The number of records that it reads
   * and writes has a limit of its own: see {@link TxOptions}.
   *
   * @param bytes the limit on its changes, keys and values together
   * @return new options
   * @throws IllegalArgumentException if it is not positive
   */
  public Options maxTransactionBytes(long bytes) {
    check(bytes > 0, "Options.maxTransactionBytes is positive", bytes);
    return with(v -> v.maxTransactionBytes = bytes);
  }

  /**
   * How much a transaction may write before it is aborted.
   *
   * @return bytes
   */
  public long maxTransactionBytes() {
    return v.maxTransactionBytes;
  }

  /**
   * Sets after how many aborts in a row work that is done again runs <i>pessimistically</i>: it
   * reserves what it reads and writes as it goes, and others that write the same wait for it.
   * {@link TxOptions#abortsBeforeLocking(int)} has the details, and sets it for one piece of work.
   *
   * @param n 0 for from the first attempt on; {@link Integer#MAX_VALUE} for never
   * @return new options
   * @throws IllegalArgumentException if it is negative
   */
  public Options abortsBeforeLocking(int n) {
    check(n >= 0, "Options.abortsBeforeLocking is not negative", n);
    return with(v -> v.abortsBeforeLocking = n);
  }

  /**
   * After how many aborts in a row work that is done again runs pessimistically.
   *
   * @return the number of aborts
   */
  public int abortsBeforeLocking() {
    return v.abortsBeforeLocking;
  }

  /**
   * Sets whether transactions are strictly serializable: whether the order that their results could
   * have come about in is also the order in time of those that did not overlap. Without it, a
   * transaction may be placed before another one that had ended when it began. It costs aborts.
   *
   * @param revalidate true to hold every read against the present at commit; the default is false
   * @return new options
   */
  public Options revalidateReads(boolean revalidate) {
    return with(v -> v.revalidateReads = revalidate);
  }

  /**
   * Whether transactions are strictly serializable.
   *
   * @return true if every read is held against the present at commit
   */
  public boolean revalidateReads() {
    return v.revalidateReads;
  }

  /**
   * Sets how long {@link Database#close} waits for running transactions before it aborts them.
   *
   * @param grace the wait; zero for none
   * @return new options
   * @throws IllegalArgumentException if it is negative
   */
  public Options closeGrace(Duration grace) {
    check(!grace.isNegative(), "Options.closeGrace is zero or longer", grace);
    return with(v -> v.closeGrace = grace);
  }

  /**
   * How long {@link Database#close} waits for running transactions before it aborts them.
   *
   * @return the wait
   */
  public Duration closeGrace() {
    return v.closeGrace;
  }

  /**
   * Sets which transactions and cursors remember where they were made.
   *
   * @param detection which
   * @return new options
   */
  public Options leakDetection(LeakDetection detection) {
    Objects.requireNonNull(detection, "detection");
    return with(v -> v.leakDetection = detection);
  }

  /**
   * Which transactions and cursors remember where they were made.
   *
   * @return which
   */
  public LeakDetection leakDetection() {
    return v.leakDetection;
  }

  /**
   * Sets whether a file that does not exist is created.
   *
   * @param create true, the default, to create it
   * @return new options
   */
  public Options create(boolean create) {
    return with(v -> v.create = create);
  }

  /**
   * Whether a file that does not exist is created.
   *
   * @return true to create it
   */
  public boolean create() {
    return v.create;
  }

  /**
   * Sets whether the database is opened for reading only. Then nothing in its folder is changed: a
   * file that was not closed is recovered in memory, which takes as much memory as its recovery
   * changes, each time that it is opened. Any number of processes may have it open like this at the
   * same time, and none that writes. The file exists, whatever {@link #create} says, and keeps its
   * page size, whatever {@link #pageSize} says. All transactions are read-only.
   *
   * <p>Pages are read through the operating system's page cache, which such processes share.
   *
   * @param readOnly true for reading only; false, the default, for reading and writing
   * @return new options
   */
  public Options readOnly(boolean readOnly) {
    return with(v -> v.readOnly = readOnly);
  }

  /**
   * Whether the database is opened for reading only.
   *
   * @return true for reading only
   */
  public boolean readOnly() {
    return v.readOnly;
  }

  @Override
  public String toString() {
    return "Options[pageSize="
        + v.pageSize
        + ", bufferBytes="
        + v.bufferBytes
        + ", timestampBytes="
        + v.timestampBytes
        + ", timestamps="
        + v.timestamps
        + ", sketchBytesMin="
        + v.sketchBytesMin
        + ", sketchBytesMax="
        + v.sketchBytesMax
        + ", io="
        + v.io
        + ", directIo="
        + v.directIo
        + ", pretouch="
        + v.pretouch
        + ", translation="
        + v.translation
        + ", replacement="
        + v.replacement
        + ", readsMax="
        + v.readsMax
        + ", hints="
        + v.hints
        + ", protocol="
        + v.protocol
        + ", durability="
        + v.durability
        + ", asyncWindow="
        + v.asyncWindow
        + ", asyncWindowBytes="
        + v.asyncWindowBytes
        + ", doubleWrite="
        + v.doubleWrite
        + ", logBytesMax="
        + v.logBytesMax
        + ", logBufferBytes="
        + v.logBufferBytes
        + ", logSegmentBytes="
        + v.logSegmentBytes
        + ", checkpointInterval="
        + v.checkpointInterval
        + ", maxTransactions="
        + v.maxTransactions
        + ", transactionTimeout="
        + v.transactionTimeout
        + ", maxTransactionBytes="
        + v.maxTransactionBytes
        + ", abortsBeforeLocking="
        + v.abortsBeforeLocking
        + ", revalidateReads="
        + v.revalidateReads
        + ", closeGrace="
        + v.closeGrace
        + ", leakDetection="
        + v.leakDetection
        + ", create="
        + v.create
        + ", readOnly="
        + v.readOnly
        + "]";
  }
}
