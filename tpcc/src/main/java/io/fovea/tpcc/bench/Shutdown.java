package io.fovea.tpcc.bench;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Turns a signal into an orderly end: workers stop, the database is closed, and only then does the
 * JVM go. Without it an interrupted run would leave an unclean file.
 */
public final class Shutdown implements AutoCloseable {
  private static final long GRACE_SECONDS = 60;

  private final CountDownLatch done = new CountDownLatch(1);
  private final Thread hook = new Thread(this::onSignal, "shutdown");
  private volatile boolean requested;

  public Shutdown() {
    Runtime.getRuntime().addShutdownHook(hook);
  }

  private void onSignal() {
    requested = true;
    System.err.println("tpcc: stopping");
    try {
      if (!done.await(GRACE_SECONDS, TimeUnit.SECONDS)) {
        System.err.println("tpcc: not closed within " + GRACE_SECONDS + " s, giving up");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  public boolean requested() {
    return requested;
  }

  /**
   * Ends a run whose table was printed, where a signal came. Here, and not at the end: the JVM goes
   * as soon as the database is closed.
   *
   * @param seconds how much of it was measured
   * @param nanos how much was to be
   * @param rest what is to be said of what was left out; may be empty
   * @throws DriverException where a signal came
   */
  public void endRun(Progress progress, double seconds, long nanos, String rest) {
    if (requested) {
      progress.say(
          "stopped by a signal after %.1f of %.1f s: the table is of these%s",
          seconds, nanos / 1e9, rest);
      throw new DriverException(Exit.INTERRUPTED, "stopped by a signal");
    }
  }

  /** The program is through, in whatever way. */
  @Override
  public void close() {
    done.countDown();
    if (!requested) {
      try {
        Runtime.getRuntime().removeShutdownHook(hook);
      } catch (IllegalStateException e) {
        // the JVM is on its way out already
      }
    }
  }
}
