package io.fovea.crash;

import io.fovea.config.Protocol;
import io.fovea.support.Sample;
import io.fovea.support.SoakReport;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Fails every call and allocation under a latch or lock, with {@link OutOfMemoryError}, {@link
 * StackOverflowError} or {@link InternalError}. {@link ErrorRun} states what must hold.
 */
@Tag("slow")
@Timeout(value = 30, unit = TimeUnit.MINUTES)
@Execution(ExecutionMode.CONCURRENT)
@ResourceLock(ErrorProbe.LOCK)
class ErrorsUnderLatchTest {
  /**
   * One of this many call sites is tried, different ones by protocol; {@code -Dcrash.errors=1}:
   * all.
   */
  private static final int STRIDE = Integer.getInteger("crash.errors", 991);

  /** The same for call sites in commits. */
  private static final int COMMIT_STRIDE = Math.max(1, STRIDE / 8);

  /** Selects the call sites, differently from run to run. */
  private static final int SALT = Sample.oneOf(STRIDE).first();

  /** Shared: weaving and loading the engine takes longer than a run. */
  private static @Nullable ErrorWeaver loader;

  @AfterAll
  static void unload() {
    loader = null;
  }

  /** An error comes every few milliseconds. */
  private static final int STANDSTILL_SECONDS = 30;

  /** Protocols run one after the other, since they share {@link ErrorProbe}. */
  @ParameterizedTest
  @EnumSource
  @Execution(ExecutionMode.SAME_THREAD)
  void underEveryLatch(Protocol protocol) throws Exception {
    String report = run(protocol, protocol + " " + CrashTest.SEED + " " + STRIDE + " " + SALT);
    SoakReport.line("ErrorsUnderLatchTest.underEveryLatch " + protocol, report);
  }

  /** A context remains usable, whatever error its last transaction had. */
  @ParameterizedTest
  @EnumSource
  @Execution(ExecutionMode.SAME_THREAD)
  void anywhereInACommit(Protocol protocol) throws Exception {
    String report =
        run(
            protocol,
            protocol + " " + CrashTest.SEED + " " + COMMIT_STRIDE + " " + SALT + " commits");
    SoakReport.line("ErrorsUnderLatchTest.anywhereInACommit " + protocol, report);
  }

  private static String run(Protocol protocol, String arguments) throws Exception {
    ErrorWeaver woven = loader;
    if (woven == null) {
      woven = new ErrorWeaver(ErrorsUnderLatchTest.class.getClassLoader());
      loader = woven;
    }
    Object run =
        woven
            .loadClass(ErrorRun.class.getName())
            .getConstructor(String.class)
            .newInstance(arguments);
    FutureTask<Object> task = new FutureTask<>(((Supplier<?>) run)::get);
    Thread runner = Thread.ofPlatform().daemon().name("errors-" + protocol).start(task);
    Object report = null;
    for (long before = -1; report == null; ) {
      try {
        report = task.get(STANDSTILL_SECONDS, TimeUnit.SECONDS);
      } catch (ExecutionException e) {
        throw Sample.failed(arguments, e.getCause());
      } catch (TimeoutException e) {
        long now = ErrorProbe.errors();
        if (now == before) {
          AssertionError hangs =
              new AssertionError(
                  arguments
                      + " hangs after error "
                      + now
                      + ", "
                      + where(ErrorProbe.thrown())
                      + ": "
                      + run,
                  ErrorProbe.thrown());
          hangs.setStackTrace(runner.getStackTrace());
          Thread.getAllStackTraces()
              .forEach((t, stack) -> System.err.println(t + "\n\t" + List.of(stack)));
          throw hangs;
        }
        before = now;
      }
    }
    return report.toString();
  }

  /** Returns the innermost call, so that it is in the report's single line. */
  private static String where(@Nullable Throwable thrown) {
    return thrown == null
        ? "nothing was thrown"
        : thrown + " at " + Arrays.stream(thrown.getStackTrace()).limit(12).toList();
  }
}
