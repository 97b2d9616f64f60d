package io.fovea.crash;

import io.fovea.Protocol;
import io.fovea.support.SoakReport;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Every call and every allocation under a latch or a lock fails, one after the other: with {@link
 * OutOfMemoryError}, {@link StackOverflowError}, {@link InternalError}. See {@link ErrorRun} for
 * what has to come of it.
 */
@Timeout(value = 30, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ErrorsUnderLatchTest {
  /**
   * Of so many places one is tried, by each protocol another; all with {@code -Dcrash.errors=1}.
   */
  private static final int STRIDE = Integer.getInteger("crash.errors", 16);

  @ParameterizedTest
  @EnumSource
  void underEveryLatch(Protocol protocol) throws Exception {
    ErrorWeaver loader = new ErrorWeaver(ErrorsUnderLatchTest.class.getClassLoader());
    Object run =
        loader
            .loadClass(ErrorRun.class.getName())
            .getConstructor(String.class)
            .newInstance(protocol + " " + CrashTest.SEED + " " + STRIDE);
    SoakReport.line(
        "ErrorsUnderLatchTest.underEveryLatch " + protocol, ((Supplier<?>) run).get().toString());
  }
}
