package io.fovea;

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
    Io io = Io.AUTO;
    boolean directIo = true;
    Pretouch pretouch = Pretouch.NONE;
    Translation translation = Translation.PREDICTIVE;
    Durability durability = Durability.NONE;
    int maxTransactions = 64;
    Duration transactionTimeout = Duration.ofMinutes(5);
    long maxTransactionBytes = 64L << 20;
    int abortsBeforeAlone = 16;
    boolean revalidateReads = false;
    Duration closeGrace = Duration.ofSeconds(5);
    LeakDetection leakDetection = LeakDetection.SAMPLED;
    boolean create = true;

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
   * The defaults: pages of 4 KiB, a buffer of 256 MiB, the best device there is, no log.
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
      throw new IllegalArgumentException(what + ": " + value);
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
        "A page has 4096, 8192, 16384, 32768 or 65536 bytes",
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
    check(bytes > 0, "The buffer has a positive size", bytes);
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
    check(bytes >= 64 << 10, "Timestamps need at least 64 KiB", bytes);
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
   * Sets what a commit that has returned survives.
   *
   * @param durability the level; this version has no log and opens with {@link Durability#NONE}
   *     only
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
   * Sets how many transactions may run at a time; more of them wait.
   *
   * @param n 1 to 4096
   * @return new options
   * @throws IllegalArgumentException for another number
   */
  public Options maxTransactions(int n) {
    check(n >= 1 && n <= 4096, "1 to 4096 transactions at a time", n);
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
    check(!timeout.isNegative(), "A timeout is not negative", timeout);
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
   * Sets how much a transaction may write before it is aborted.
   *
   * @param bytes the limit on its changes, keys and values together
   * @return new options
   * @throws IllegalArgumentException if it is not positive
   */
  public Options maxTransactionBytes(long bytes) {
    check(bytes > 0, "A transaction's limit on size is positive", bytes);
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
   * Sets after how many aborts in a row a body that is retried runs alone: no transaction begins
   * before it has ended. A body that waits for a transaction of another thread would then wait in
   * vain. It does not run alone while transactions are active that were begun explicitly, since
   * nobody knows when they end.
   *
   * @param n at least 1
   * @return new options
   * @throws IllegalArgumentException if it is less than 1
   */
  public Options abortsBeforeAlone(int n) {
    check(n >= 1, "At least one abort", n);
    return with(v -> v.abortsBeforeAlone = n);
  }

  /**
   * After how many aborts in a row a retried transaction runs alone.
   *
   * @return the number of aborts
   */
  public int abortsBeforeAlone() {
    return v.abortsBeforeAlone;
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
    check(!grace.isNegative(), "A grace period is not negative", grace);
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

  @Override
  public String toString() {
    return "Options[pageSize="
        + v.pageSize
        + ", bufferBytes="
        + v.bufferBytes
        + ", timestampBytes="
        + v.timestampBytes
        + ", io="
        + v.io
        + ", directIo="
        + v.directIo
        + ", pretouch="
        + v.pretouch
        + ", translation="
        + v.translation
        + ", durability="
        + v.durability
        + ", maxTransactions="
        + v.maxTransactions
        + ", transactionTimeout="
        + v.transactionTimeout
        + ", maxTransactionBytes="
        + v.maxTransactionBytes
        + ", abortsBeforeAlone="
        + v.abortsBeforeAlone
        + ", revalidateReads="
        + v.revalidateReads
        + ", closeGrace="
        + v.closeGrace
        + ", leakDetection="
        + v.leakDetection
        + ", create="
        + v.create
        + "]";
  }
}
