package io.fovea.support;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** Isolated, since the error could fail a concurrent test. */
@Isolated
class UncaughtErrorsTest {
  @Test
  void detectsAnUncaughtError() throws InterruptedException {
    Thread thread =
        Thread.ofPlatform()
            .name("of a test")
            .start(
                () -> {
                  throw new IllegalStateException("on purpose");
                });
    thread.join();
    AssertionError seen = assertThrows(AssertionError.class, UncaughtErrors::check);
    assertEquals(
        "Thread of a test ended with java.lang.IllegalStateException: on purpose",
        seen.getMessage());
    UncaughtErrors.check();
  }
}
