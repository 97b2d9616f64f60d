package io.fovea.support;

import io.fovea.order.LockOrder;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Fails a test if a thread ends with an uncaught error: an engine error would show only in the
 * output, and an error in a test's thread would void its checks. Waits that violate the {@link
 * LockOrder} fail the test, too.
 *
 * <p>Registered for all tests in {@code META-INF/services}. Two classes run at a time, so the
 * failing test may not be the cause; thread name and trace identify it. Threads with their own
 * handler are exempt.
 */
public final class UncaughtErrors implements AfterEachCallback, AfterAllCallback {
  private static final Queue<AssertionError> SEEN = new ConcurrentLinkedQueue<>();

  static {
    Thread.UncaughtExceptionHandler before = Thread.getDefaultUncaughtExceptionHandler();
    Thread.setDefaultUncaughtExceptionHandler(
        (thread, error) -> {
          SEEN.add(
              new AssertionError("Thread " + thread.getName() + " ended with " + error, error));
          if (before != null) {
            before.uncaughtException(thread, error);
          }
        });
  }

  /** Throws the first error since the last call, with the others suppressed. */
  static void check() {
    for (AssertionError e = LockOrder.poll(); e != null; e = LockOrder.poll()) {
      SEEN.add(e);
    }
    AssertionError first = SEEN.poll();
    if (first != null) {
      for (AssertionError more = SEEN.poll(); more != null; more = SEEN.poll()) {
        first.addSuppressed(more);
      }
      throw first;
    }
  }

  @Override
  public void afterEach(ExtensionContext context) {
    check();
  }

  /** For threads that ended during the teardown of a class. */
  @Override
  public void afterAll(ExtensionContext context) {
    check();
  }
}
