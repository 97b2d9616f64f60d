package io.fovea.txn;

import io.fovea.error.AbortCause;
import java.lang.System.Logger.Level;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Logs work that is retried often, to the logger {@code io.fovea}: after sixteen attempts, and each
 * time their number has doubled. At most one line in ten seconds per database.
 */
public final class RetryWarning {
  private static final System.Logger LOG = System.getLogger("io.fovea");
  private static final int FIRST = 16;
  private static final long BETWEEN_NANOS = 10_000_000_000L;

  private final AtomicLong next = new AtomicLong(System.nanoTime());

  /** Reports the last of several aborted attempts of a body, whose name may be null. */
  public void aborted(@Nullable String name, Object body, int attempts, AbortCause cause) {
    if (attempts < FIRST || Integer.bitCount(attempts) != 1) {
      return;
    }
    long due = next.get();
    long now = System.nanoTime();
    if (now - due >= 0 && next.compareAndSet(due, now + BETWEEN_NANOS)) {
      LOG.log(
          Level.WARNING,
          "The work of "
              + (name == null ? body.getClass().getName() : '"' + name + '"')
              + " was aborted "
              + attempts
              + " times, the last time because "
              + cause.explanation()
              + ". It is retried until it commits. Shorter transactions with fewer records, or"
              + " another order of reads and writes, reduce conflicts; see"
              + " TxOptions.attemptsMax and pessimisticAfterAborts.");
    }
  }
}
