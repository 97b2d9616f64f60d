package io.fovea.tpcc.bench;

import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Turns a signal into an orderly end: workers stop, the results so far are shown, the database is
 * closed, and only then does the JVM exit. Otherwise an interrupted run would leave an unclean
 * file.
 *
 * <pre>
 *   the command's thread                      the hook, started by the signal
 *   load, warm up, measure, check             requested = true
 *   {@link #check} or {@link #results} shows the results, and throws
 *   the database is closed
 *   {@link #close}         ----------------&gt;  ends, and the JVM with it
 * </pre>
 *
 * <p>Output after {@link #close} is usually lost. So those two methods report the stop, not the
 * code that shows the exception.
 */
public final class Shutdown implements AutoCloseable {
  private static final long GRACE_SECONDS = 60;

  private final CountDownLatch done = new CountDownLatch(1);
  private final Thread hook = new Thread(this::onSignal, "shutdown");
  private volatile boolean requested;

  public Shutdown() {
    Runtime.getRuntime().addShutdownHook(hook);
  }

  /** The effect of the signal. Tests of other packages call it through a class of this one. */
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
   * Ends the command if a signal has arrived.
   *
   * @param meaning the consequence for the user: what is incomplete
   * @throws DriverException if a signal has arrived
   */
  public void check(Progress progress, String meaning) {
    if (requested) {
      throw stopped(progress, ": " + meaning);
    }
  }

  /**
   * Shows the results of a run, and ends the command if a signal has stopped it.
   *
   * @param operations the number measured; a stopped run shows its table only if this is positive
   * @param table the table of results
   * @param seconds the measured time
   * @param planned the planned time
   * @param missing what else a stopped run omitted, such as ", and nothing was checked"
   * @throws DriverException if a signal has arrived
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
            " after %.1f of %.1f s; the table covers this time%s",
            seconds,
            planned.toNanos() / 1e9,
            missing));
  }

  private static DriverException stopped(Progress progress, String rest) {
    progress.say("stopped by a signal%s", rest);
    return new DriverException(Exit.INTERRUPTED, "stopped by a signal");
  }

  /** The program has ended, normally or not. */
  @Override
  public void close() {
    done.countDown();
    try {
      Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException e) {
      // the JVM is already shutting down
    }
  }
}
