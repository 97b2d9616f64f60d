package io.fovea;

import io.fovea.config.LeakDetection;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * How many transactions there may be, how long and how large, and what becomes of them.
 *
 * <p>{@link TxOptions} says some of it for one piece of work.
 *
 * <p>A value: every method with an argument gives a new one. Any thread. Part of {@link Options}.
 *
 * @since 0.1.0
 */
public final class TransactionOptions {
  private static final TransactionOptions DEFAULTS = new TransactionOptions(new Values());

  /** The values, mutable only while new options are being made. */
  private static final class Values implements Cloneable {
    int maxActive = 64;
    Duration timeout = Duration.ofMinutes(5);
    long maxBytes = 64L << 20;
    int pessimisticAfterAborts = 16;
    boolean strictSerializability = false;
    Duration closeTimeout = Duration.ofSeconds(5);
    LeakDetection leakDetection = LeakDetection.SAMPLED;

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

  private TransactionOptions(Values v) {
    this.v = v;
  }

  /**
   * The defaults.
   *
   * @return the options that the others are made from
   */
  public static TransactionOptions defaults() {
    return DEFAULTS;
  }

  private TransactionOptions with(Consumer<Values> change) {
    Values copy = v.clone();
    change.accept(copy);
    return new TransactionOptions(copy);
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
  public TransactionOptions maxActive(int n) {
    Options.check(n >= 1 && n <= 4096, "TransactionOptions.maxActive is 1 to 4096", n);
    return with(v -> v.maxActive = n);
  }

  /**
   * How many transactions may run at a time.
   *
   * @return their number
   */
  public int maxActive() {
    return v.maxActive;
  }

  /**
   * Sets how long a transaction may take before it is aborted, one attempt of it. {@link
   * TxOptions#timeout} does so for one transaction. One that has written nothing, and comes to its
   * commit, is not aborted there: it holds nobody up.
   *
   * @param timeout the limit; zero for none
   * @return new options
   * @throws IllegalArgumentException if it is negative
   */
  public TransactionOptions timeout(Duration timeout) {
    Options.check(!timeout.isNegative(), "TransactionOptions.timeout is zero or longer", timeout);
    return with(v -> v.timeout = timeout);
  }

  /**
   * How long a transaction may take before it is aborted.
   *
   * @return the limit; zero for none
   */
  public Duration timeout() {
    return v.timeout;
  }

  /**
   * Sets how much a transaction may write before it is aborted. The number of records that it reads
   * and writes has a limit of its own: see {@link TxOptions}.
   *
   * @param bytes the limit on its changes, keys and values together
   * @return new options
   * @throws IllegalArgumentException if it is not positive
   */
  public TransactionOptions maxBytes(long bytes) {
    Options.check(bytes > 0, "TransactionOptions.maxBytes is positive", bytes);
    return with(v -> v.maxBytes = bytes);
  }

  /**
   * How much a transaction may write before it is aborted.
   *
   * @return bytes
   */
  public long maxBytes() {
    return v.maxBytes;
  }

  /**
   * Sets after how many aborts in a row work that is done again runs <i>pessimistically</i>: it
   * reserves what it reads and writes as it goes, and others that write the same wait for it.
   * {@link TxOptions#pessimisticAfterAborts(int)} has the details, and sets it for one piece of
   * work.
   *
   * @param n 0 for from the first attempt on; {@link Integer#MAX_VALUE} for never
   * @return new options
   * @throws IllegalArgumentException if it is negative
   */
  public TransactionOptions pessimisticAfterAborts(int n) {
    Options.check(n >= 0, "TransactionOptions.pessimisticAfterAborts is not negative", n);
    return with(v -> v.pessimisticAfterAborts = n);
  }

  /**
   * After how many aborts in a row work that is done again runs pessimistically.
   *
   * @return the number of aborts
   */
  public int pessimisticAfterAborts() {
    return v.pessimisticAfterAborts;
  }

  /**
   * Sets whether transactions are strictly serializable: whether the order that their results could
   * have come about in is also the order in time of those that did not overlap. Without it, a
   * transaction may be placed before another one that had ended when it began. It costs aborts.
   *
   * @param revalidate true to hold every read against the present at commit; the default is false
   * @return new options
   */
  public TransactionOptions strictSerializability(boolean revalidate) {
    return with(v -> v.strictSerializability = revalidate);
  }

  /**
   * Whether transactions are strictly serializable.
   *
   * @return true if every read is held against the present at commit
   */
  public boolean strictSerializability() {
    return v.strictSerializability;
  }

  /**
   * Sets how long {@link Database#close} waits for running transactions before it aborts them.
   *
   * @param grace the wait; zero for none
   * @return new options
   * @throws IllegalArgumentException if it is negative
   */
  public TransactionOptions closeTimeout(Duration grace) {
    Options.check(!grace.isNegative(), "TransactionOptions.closeTimeout is zero or longer", grace);
    return with(v -> v.closeTimeout = grace);
  }

  /**
   * How long {@link Database#close} waits for running transactions before it aborts them.
   *
   * @return the wait
   */
  public Duration closeTimeout() {
    return v.closeTimeout;
  }

  /**
   * Sets which transactions and cursors remember where they were made.
   *
   * @param detection which
   * @return new options
   */
  public TransactionOptions leakDetection(LeakDetection detection) {
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

  @Override
  public String toString() {
    return "TransactionOptions[maxActive="
        + v.maxActive
        + ", timeout="
        + v.timeout
        + ", maxBytes="
        + v.maxBytes
        + ", pessimisticAfterAborts="
        + v.pessimisticAfterAborts
        + ", strictSerializability="
        + v.strictSerializability
        + ", closeTimeout="
        + v.closeTimeout
        + ", leakDetection="
        + v.leakDetection
        + "]";
  }
}
