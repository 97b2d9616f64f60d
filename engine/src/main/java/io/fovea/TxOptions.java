package io.fovea;

import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What is special about one transaction.
 *
 * <p>Whatever the options say, one transaction reads and writes 4,194,304 records at most, those
 * that its scans pass included; beyond that it is aborted with the cause {@link
 * io.fovea.error.AbortCause#TOO_LARGE}. Larger work is several transactions, each of which goes on
 * at the key where the last one ended.
 *
 * <p>A value: every method with an argument gives a new one. Any thread.
 *
 * @since 0.1.0
 */
public final class TxOptions {
  private static final TxOptions DEFAULTS = new TxOptions(false, null);
  private static final TxOptions READ_ONLY = new TxOptions(true, null);

  private final boolean readOnly;
  private final @Nullable Duration timeout;

  private TxOptions(boolean readOnly, @Nullable Duration timeout) {
    this.readOnly = readOnly;
    this.timeout = timeout;
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
    return new TxOptions(readOnly, timeout);
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
   * Sets how long the transaction may take before it is aborted, one attempt of it.
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
    return new TxOptions(readOnly, timeout);
  }

  /**
   * How long the transaction may take before it is aborted.
   *
   * @return the limit; zero for none; null for the database's
   */
  public @Nullable Duration timeout() {
    return timeout;
  }

  @Override
  public String toString() {
    return "TxOptions[readOnly=" + readOnly + ", timeout=" + timeout + "]";
  }
}
