package io.fovea.tpcc.bench;

import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Turns a signal into an orderly end: workers stop, the user is told what there is so far, the
 * database is closed, and only then does the JVM go. Without it an interrupted run would leave an
 * unclean file.
 *
 * <pre>
 *   the command's thread                      the hook, started by the signal
 *   load, warm up, measure, check             requested = true
 *   {@link #check} or {@link #results} says what is left, and throws
 *   the database is closed
 *   {@link #close}         ----------------&gt;  ends, and the JVM with it
 * </pre>
 *
 * <p>What is printed after {@link #close} is lost more often than not. So the stop is said by the
 * two methods above, and not where the exception is shown.
 */
public final class Shutdown implements AutoCloseable {
  private static final long GRACE_SECONDS = 60;

  private final CountDownLatch done = new CountDownLatch(1);
  private final Thread hook = new Thread(this::onSignal, "shutdown");
  private volatile boolean requested;

  public Shutdown() {
    Runtime.getRuntime().addShutdownHook(hook);
  }

  /** What the signal does. Tests of other packages call it through a class of this one. */
  void request() {
    requested = true;
    System.err.println("tpcc: stopping");
  }

  private void onSignal() {
    request();
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
   * Ends the command where a signal has come.
   *
   * @param meaning what that means for the user: what is incomplete
   * @throws DriverException if a signal has come
   */
  public void check(Progress progress, String meaning) {
    if (requested) {
      throw stopped(progress, ": " + meaning);
    }
  }

  /**
   * Shows what a run has measured, and ends the command where a signal has stopped it.
   *
   * @param operations how many were measured: the table of a run that was stopped is shown if it is
   *     of any
   * @param table of what was measured
   * @param seconds how long was measured
   * @param planned how long was to be measured
   * @param missing what a stopped run has not done besides, such as ", and nothing was checked"
   * @throws DriverException if a signal has come
   */
  public void results(
      Progress progress,
      long operations,
      Supplier<String> table,
      double seconds,
      Duration planned,
      String missing) {
    boolean stopped = requested;
    if (operations > 0 || !stopped) {
      progress.table(table.get());
    }
    if (!stopped) {
      return;
    }
    if (operations == 0) {
      throw stopped(progress, ": nothing was measured");
    }
    throw stopped(
        progress,
        String.format(
            Locale.ROOT,
            " after %.1f of %.1f s: the table is of these%s",
            seconds,
            planned.toNanos() / 1e9,
            missing));
  }

  private static DriverException stopped(Progress progress, String rest) {
    progress.say("stopped by a signal%s", rest);
    return new DriverException(Exit.INTERRUPTED, "stopped by a signal");
  }

  /** The program is through, in whatever way. */
  @Override
  public void close() {
    done.countDown();
    try {
      Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException e) {
      // the JVM is on its way out already
    }
  }
}
