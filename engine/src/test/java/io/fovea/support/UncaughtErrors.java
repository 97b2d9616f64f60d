package io.fovea.support;

import io.fovea.order.LockOrder;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * A thread that ends with an error nobody waits for fails the test: one of the engine's, of which
 * nothing would be seen but a line in the output, and one of a test's, whose checks would count for
 * nothing. So does a wait that is out of order ({@link LockOrder}).
 *
 * <p>For all tests, by {@code META-INF/services}. Two classes run at a time, so the test that fails
 * may be the other's: the name of the thread and the trace say whose it was. A thread that has a
 * handler of its own is its owner's business.
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

  /** The first error that nobody has caught since the last call, with the others suppressed. */
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

  /** For threads that ended while a class was being taken down. */
  @Override
  public void afterAll(ExtensionContext context) {
    check();
  }
}
