package io.fovea;

import io.fovea.config.LeakDetection;
import java.time.Duration;
import java.util.Objects;
import java.util.StringJoiner;
import java.util.function.Consumer;

/**
 * Limits on the number, duration and size of transactions, and how they run. {@link TxOptions}
 * overrides some of them for a single piece of work.
 *
 * <p>Immutable: each setter returns new options. Safe for use by any thread. Part of {@link
 * Options}.
 *
 * @since 0.1.0
 */
public final class TransactionOptions {
  private static final TransactionOptions DEFAULTS = new TransactionOptions(new Values());

  private static final class Values extends OptionValues<Values> {
    int maxActive = 64;
    Duration timeout = Duration.ofMinutes(5);
    long maxBytes = 64L << 20;
    int pessimisticAfterAborts = 16;
    boolean strictSerializability = false;
    Duration closeTimeout = Duration.ofSeconds(5);
    LeakDetection leakDetection = LeakDetection.SAMPLED;
  }

  private final Values v;

  private TransactionOptions(Values v) {
    this.v = v;
  }

  /** {@return the defaults} */
  public static TransactionOptions defaults() {
    return DEFAULTS;
  }

  private TransactionOptions with(Consumer<Values> change) {
    return new TransactionOptions(v.with(change));
  }

  /**
   * Sets how many transactions may be active at a time. Others wait in order of arrival; a
   * transaction that waits longer than its timeout is aborted with the cause {@link
   * io.fovea.error.AbortCause#ADMISSION}.
   *
   * @param n 1 to 4096
   * @return new options
   * @throws IllegalArgumentException if the number is out of range
   */
  public TransactionOptions maxActive(int n) {
    Options.check(n >= 1 && n <= 4096, "TransactionOptions.maxActive must be 1 to 4096", n);
    return with(v -> v.maxActive = n);
  }

  /** {@return how many transactions may be active at a time} */
  public int maxActive() {
    return v.maxActive;
  }

  /**
   * Sets how long an attempt of a transaction may take before it is aborted. {@link
   * TxOptions#timeout} overrides it for one transaction. A transaction that has written nothing
   * blocks no other, and its commit is not aborted for exceeding the limit.
   *
   * @param timeout the limit; zero for none
   * @return new options
   * @throws IllegalArgumentException if it is negative
   */
  public TransactionOptions timeout(Duration timeout) {
    Options.check(
        !timeout.isNegative(), "TransactionOptions.timeout must not be " + "negative", timeout);
    return with(v -> v.timeout = timeout);
  }

  /**
   * {@return how long an attempt of a transaction may take before it is aborted; zero for no limit}
   */
  public Duration timeout() {
    return v.timeout;
  }

  /**
   * Sets how much a transaction may write before it is aborted. The number of records that it reads
   * and writes has a separate limit: see {@link TxOptions}.
   *
   * @param bytes the limit on its changes, keys and values together
   * @return new options
   * @throws IllegalArgumentException if it is not positive
   */
  public TransactionOptions maxBytes(long bytes) {
    Options.check(bytes > 0, "TransactionOptions.maxBytes must be positive", bytes);
    return with(v -> v.maxBytes = bytes);
  }

  /** {@return how many bytes a transaction may write before it is aborted} */
  public long maxBytes() {
    return v.maxBytes;
  }

  /**
   * Sets after how many aborts in a row a retry runs <i>pessimistically</i>: it reserves what it
   * reads and writes, and other writers of the same records wait for it. {@link
   * TxOptions#pessimisticAfterAborts(int)} has the details, and overrides this option.
   *
   * @param n 0: pessimistic from the first attempt; {@link Integer#MAX_VALUE}: never
   * @return new options
   * @throws IllegalArgumentException if it is negative
   */
  public TransactionOptions pessimisticAfterAborts(int n) {
    Options.check(n >= 0, "TransactionOptions.pessimisticAfterAborts must be 0 or more", n);
    return with(v -> v.pessimisticAfterAborts = n);
  }

  /** {@return after how many aborts in a row a retry runs pessimistically} */
  public int pessimisticAfterAborts() {
    return v.pessimisticAfterAborts;
  }

  /**
   * Sets whether transactions are strictly serializable, that is, whether transactions that do not
   * overlap are ordered as they ran in real time. Without this guarantee, a transaction may be
   * ordered before another one that ended before it began. Strict serializability causes more
   * aborts.
   *
   * @param revalidate true to validate every read at commit; the default is false
   * @return new options
   */
  public TransactionOptions strictSerializability(boolean revalidate) {
    return with(v -> v.strictSerializability = revalidate);
  }

  /** {@return whether transactions are strictly serializable} */
  public boolean strictSerializability() {
    return v.strictSerializability;
  }

  /**
   * Sets how long {@link Database#close} waits for active transactions before it aborts them.
   *
   * @param grace the maximum wait; zero for none
   * @return new options
   * @throws IllegalArgumentException if it is negative
   */
  public TransactionOptions closeTimeout(Duration grace) {
    Options.check(
        !grace.isNegative(), "TransactionOptions.closeTimeout must not be " + "negative", grace);
    return with(v -> v.closeTimeout = grace);
  }

  /**
   * {@return how long {@link Database#close} waits for active transactions before it aborts them}
   */
  public Duration closeTimeout() {
    return v.closeTimeout;
  }

  /**
   * Sets which transactions and cursors record where they were created.
   *
   * @param detection the level
   * @return new options
   */
  public TransactionOptions leakDetection(LeakDetection detection) {
    Objects.requireNonNull(detection, "detection");
    return with(v -> v.leakDetection = detection);
  }

  /** {@return which transactions and cursors record where they were created} */
  public LeakDetection leakDetection() {
    return v.leakDetection;
  }

  @Override
  public String toString() {
    return new StringJoiner(", ", "TransactionOptions[", "]")
        .add("maxActive=" + v.maxActive)
        .add("timeout=" + v.timeout)
        .add("maxBytes=" + v.maxBytes)
        .add("pessimisticAfterAborts=" + v.pessimisticAfterAborts)
        .add("strictSerializability=" + v.strictSerializability)
        .add("closeTimeout=" + v.closeTimeout)
        .add("leakDetection=" + v.leakDetection)
        .toString();
  }
}
