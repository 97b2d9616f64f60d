package io.fovea;

import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Options of one transaction.
 *
 * <p>Whatever the options say, one transaction reads and writes 4,194,304 records at most, those
 * that its scans pass included; beyond that it is aborted with the cause {@link
 * io.fovea.error.AbortCause#TOO_LARGE}. Split larger work into several transactions, each of which
 * goes on at the key where the last one ended.
 *
 * <p>A value: every method with an argument gives a new one. Any thread.
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

  /**
   * Reads and writes, with the database's limit on time.
   *
   * @return the options that the others are made from
   */
  public static TxOptions defaults() {
    return DEFAULTS;
  }

  /**
   * Reads only, with the database's limit on time.
   *
   * @return options whose {@link #readOnly()} is true
   */
  public static TxOptions forReading() {
    return READ_ONLY;
  }

  /**
   * Sets whether the transaction only reads.
   *
   * @param readOnly true to refuse writes
   * @return new options
   */
  public TxOptions readOnly(boolean readOnly) {
    return new TxOptions(readOnly, timeout, pessimisticAfterAborts, attemptsMax, joining, name);
  }

  /**
   * Whether the transaction only reads.
   *
   * @return true if it refuses writes
   */
  public boolean readOnly() {
    return readOnly;
  }

  /**
   * Sets how long the transaction may take before it is aborted, one attempt of it. Waiting for a
   * place among those that run ({@link TransactionOptions#maxActive}) has the same limit, and its
   * own cause, {@link io.fovea.error.AbortCause#ADMISSION}.
   *
   * <p>The limit is noticed by the next operation, or by the commit: code of the application that
   * sleeps or computes is not interrupted. After the limit other transactions may take what this
   * one keeps from them: the memory of its timestamps, and its reservations ({@link
   * #pessimisticAfterAborts}).
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

  /**
   * How long the transaction may take before it is aborted.
   *
   * @return the limit; zero for none; null for the database's
   */
  public @Nullable Duration timeout() {
    return timeout;
  }

  /**
   * Sets after how many aborts in a row the work of {@link Database#run}, {@link Database#call} or
   * {@link Database#read} is done <i>pessimistically</i>. Such an attempt reserves what it reads
   * and writes as it goes: others that write the same are aborted and wait for it, and it is not
   * aborted for their sake. All else goes on. One transaction of a database at a time is
   * pessimistic; others that want to be wait for their turn in order, and make ordinary attempts
   * meanwhile.
   *
   * <p>For a transaction of {@link Database#begin(TxOptions)} 0 makes it pessimistic, after waiting
   * for its turn; any other number has no meaning.
   *
   * @param aborts 0 for from the first attempt on; {@link Integer#MAX_VALUE} for never
   * @return new options
   * @throws IllegalArgumentException if it is negative
   */
  public TxOptions pessimisticAfterAborts(int aborts) {
    if (aborts < 0) {
      throw new IllegalArgumentException("A number of aborts is not negative: " + aborts + ".");
    }
    return new TxOptions(readOnly, timeout, aborts, attemptsMax, joining, name);
  }

  /**
   * After how many aborts in a row the work is done pessimistically.
   *
   * @return the number; negative for the database's, {@link
   *     TransactionOptions#pessimisticAfterAborts()}
   */
  public int pessimisticAfterAborts() {
    return pessimisticAfterAborts;
  }

  /**
   * Sets how many attempts are made to do the work of {@link Database#run}, {@link Database#call}
   * or {@link Database#read}. After the last one its {@link
   * io.fovea.error.TransactionAbortedException} is thrown.
   *
   * @param attempts 1 for no second one; the default is {@link Integer#MAX_VALUE}
   * @return new options
   * @throws IllegalArgumentException if it is less than 1
   */
  public TxOptions attemptsMax(int attempts) {
    if (attempts < 1) {
      throw new IllegalArgumentException("At least one attempt is made: " + attempts + ".");
    }
    return new TxOptions(readOnly, timeout, pessimisticAfterAborts, attempts, joining, name);
  }

  /**
   * How many attempts are made at most.
   *
   * @return at least 1
   */
  public int attemptsMax() {
    return attemptsMax;
  }

  /**
   * Lets the body of {@link Database#run}, {@link Database#call} or {@link Database#read} take part
   * in a transaction: where it is called in the body of another of the same database and thread, it
   * gets that transaction, and that commits or does not. So services that are written for
   * themselves can be composed. Elsewhere the body has a transaction of its own, as without this.
   *
   * <p>In a transaction around it, all other options are those of that. If a body that takes part
   * throws, nothing of the whole commits: there is no way to undo a part. A body around it that
   * swallows the exception gets a {@link io.fovea.error.TransactionAbortedException} at its end.
   *
   * @return new options
   */
  public TxOptions joining() {
    return new TxOptions(readOnly, timeout, pessimisticAfterAborts, attemptsMax, true, name);
  }

  /**
   * Whether the body takes part in a transaction around it.
   *
   * @return false by default: then a body in another is refused
   */
  public boolean isJoining() {
    return joining;
  }

  /**
   * Names the transaction, for the warnings of the log: of work that is aborted again and again,
   * and of a transaction that was never closed. Without a name they have the class of the body.
   *
   * <p>{@link Database#run(String, Task)} and its like are short for that.
   *
   * @param name what the work is, such as {@code transfer}
   * @return new options
   * @throws IllegalArgumentException if it is blank
   */
  public TxOptions name(String name) {
    if (name.isBlank()) {
      throw new IllegalArgumentException("The name of a transaction is blank.");
    }
    return new TxOptions(readOnly, timeout, pessimisticAfterAborts, attemptsMax, joining, name);
  }

  /**
   * The name of the transaction.
   *
   * @return null for none
   */
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
