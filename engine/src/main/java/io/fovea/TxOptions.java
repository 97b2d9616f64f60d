package io.fovea;

import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Options of a single transaction.
 *
 * <p>Whatever the options, a transaction reads and writes at most 4,194,304 records, including
 * those that its scans pass. Beyond that it is aborted with the cause {@link
 * io.fovea.error.AbortCause#TOO_LARGE}. Split larger work into several transactions, each of which
 * continues at the key where the previous one ended.
 *
 * <p>Immutable: every method with an argument returns a new instance. Any thread.
 *
 * @since 0.1.0
 */
public final class TxOptions {
  private static final int DATABASE = -1;
  private static final TxOptions DEFAULTS =
      new TxOptions(false, null, DATABASE, Integer.MAX_VALUE, false, null);
  private static final TxOptions READ_ONLY =
      new TxOptions(true, null, DATABASE, Integer.MAX_VALUE, false, null);

  private final boolean readOnly;
  private final @Nullable Duration timeout;
  private final int pessimisticAfterAborts;
  private final int attemptsMax;
  private final boolean joining;
  private final @Nullable String name;

  private TxOptions(
      boolean readOnly,
      @Nullable Duration timeout,
      int pessimisticAfterAborts,
      int attemptsMax,
      boolean joining,
      @Nullable String name) {
    this.readOnly = readOnly;
    this.timeout = timeout;
    this.pessimisticAfterAborts = pessimisticAfterAborts;
    this.attemptsMax = attemptsMax;
    this.joining = joining;
    this.name = name;
  }

  /** {@return the defaults: a transaction that reads and writes, with the database's timeout} */
  public static TxOptions defaults() {
    return DEFAULTS;
  }

  /** {@return the defaults of a read-only transaction, with the database's timeout} */
  public static TxOptions forReading() {
    return READ_ONLY;
  }

  /**
   * Sets whether the transaction is read-only.
   *
   * @param readOnly true to refuse writes
   * @return new options
   */
  public TxOptions readOnly(boolean readOnly) {
    return new TxOptions(readOnly, timeout, pessimisticAfterAborts, attemptsMax, joining, name);
  }

  /** {@return whether the transaction is read-only and refuses writes} */
  public boolean readOnly() {
    return readOnly;
  }

  /**
   * Sets how long an attempt of the transaction may take before it is aborted. Waiting for
   * admission ({@link TransactionOptions#maxActive}) has the same limit, and a separate cause,
   * {@link io.fovea.error.AbortCause#ADMISSION}.
   *
   * <p>The next operation or the commit detects the timeout: application code that sleeps or
   * computes is not interrupted. After the timeout, other transactions may reclaim the memory of
   * this one's timestamps and its reservations ({@link #pessimisticAfterAborts}).
   *
   * @param timeout the limit; zero for none
   * @return new options
   * @throws IllegalArgumentException if it is negative
   */
  public TxOptions timeout(Duration timeout) {
    Objects.requireNonNull(timeout, "timeout");
    if (timeout.isNegative()) {
      throw new IllegalArgumentException(
          "TxOptions.timeout is zero or longer, not " + timeout + ".");
    }
    return new TxOptions(readOnly, timeout, pessimisticAfterAborts, attemptsMax, joining, name);
  }

  /** {@return how long an attempt may take; zero for no limit; null for the database's timeout} */
  public @Nullable Duration timeout() {
    return timeout;
  }

  /**
   * Sets after how many aborts in a row {@link Database#run}, {@link Database#call} or {@link
   * Database#read} run the body <i>pessimistically</i>. Such an attempt reserves what it reads and
   * writes before using it: other writers of the same records are aborted and wait for it, and it
   * is not aborted because of them. Other transactions continue. Only one transaction of a database
   * is pessimistic at a time; others that would be queue up, and make ordinary attempts until their
   * turn comes.
   *
   * <p>For a transaction of {@link Database#begin(TxOptions)}, 0 makes it pessimistic, after a wait
   * for its turn; any other number has no effect.
   *
   * @param aborts 0: pessimistic from the first attempt; {@link Integer#MAX_VALUE}: never
   * @return new options
   * @throws IllegalArgumentException if it is negative
   */
  public TxOptions pessimisticAfterAborts(int aborts) {
    if (aborts < 0) {
      throw new IllegalArgumentException(
          "TxOptions.pessimisticAfterAborts is 0 or more, not " + aborts + ".");
    }
    return new TxOptions(readOnly, timeout, aborts, attemptsMax, joining, name);
  }

  /**
   * {@return the number of aborts after which the body runs pessimistically; negative for the
   * database's {@link TransactionOptions#pessimisticAfterAborts()}}
   */
  public int pessimisticAfterAborts() {
    return pessimisticAfterAborts;
  }

  /**
   * Sets the maximum number of attempts of {@link Database#run}, {@link Database#call} or {@link
   * Database#read}. If the last attempt is aborted, they throw its {@link
   * io.fovea.error.TransactionAbortedException}.
   *
   * @param attempts 1: never retry; the default is {@link Integer#MAX_VALUE}
   * @return new options
   * @throws IllegalArgumentException if it is less than 1
   */
  public TxOptions attemptsMax(int attempts) {
    if (attempts < 1) {
      throw new IllegalArgumentException(
          "TxOptions.attemptsMax is at least 1, not " + attempts + ".");
    }
    return new TxOptions(readOnly, timeout, pessimisticAfterAborts, attempts, joining, name);
  }

  /** {@return the maximum number of attempts, at least 1} */
  public int attemptsMax() {
    return attemptsMax;
  }

  /**
   * Lets {@link Database#run}, {@link Database#call} or {@link Database#read} join an enclosing
   * transaction. Called inside a body of the same database and thread, the body uses that
   * transaction and commits or fails with it, so that independent services can be composed.
   * Elsewhere it runs in a new transaction, as without this option.
   *
   * <p>In an enclosing transaction all other options are ignored. If a joining body throws, the
   * whole transaction fails, since it can't be undone in part. An enclosing body that swallows the
   * exception gets a {@link io.fovea.error.TransactionAbortedException} at its end.
   *
   * @return new options
   */
  public TxOptions joining() {
    return new TxOptions(readOnly, timeout, pessimisticAfterAborts, attemptsMax, true, name);
  }

  /** {@return whether the body joins an enclosing transaction; by default nesting is refused} */
  public boolean isJoining() {
    return joining;
  }

  /**
   * Sets the name in log warnings about repeated aborts and leaked transactions. Without a name,
   * they show the body's class. {@link Database#run(String, Task)} and its variants are shorthands.
   *
   * @param name the name of the work, such as {@code transfer}
   * @return new options
   * @throws IllegalArgumentException if it is blank
   */
  public TxOptions name(String name) {
    if (name.isBlank()) {
      throw new IllegalArgumentException("The name of a transaction must not be blank.");
    }
    return new TxOptions(readOnly, timeout, pessimisticAfterAborts, attemptsMax, joining, name);
  }

  /** {@return the name of the transaction; null for none} */
  public @Nullable String name() {
    return name;
  }

  @Override
  public String toString() {
    return "TxOptions["
        + (name == null ? "" : "name=" + name + ", ")
        + "readOnly="
        + readOnly
        + ", timeout="
        + timeout
        + ", pessimisticAfterAborts="
        + (pessimisticAfterAborts < 0 ? "the database's" : pessimisticAfterAborts)
        + ", attemptsMax="
        + attemptsMax
        + (joining ? ", joining" : "")
        + "]";
  }
}
