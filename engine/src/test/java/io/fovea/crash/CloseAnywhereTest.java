package io.fovea.crash;

import io.fovea.support.Sample;
import io.fovea.support.SoakReport;
import java.nio.file.Path;
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
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Closes a database at a call site of every operation, in memory and in files of each durability;
 * the sites differ from run to run. {@link CloseRun} states what must hold, {@link ApiCalls} lists
 * the operations.
 *
 * <p>{@code -Dcrash.closes=1} tries every call site; {@code -Dcrash.closes.calls=NAME,NAME} selects
 * operations.
 */
@Tag("slow")
@Timeout(value = 30, unit = TimeUnit.MINUTES)
@Execution(ExecutionMode.SAME_THREAD)
@ResourceLock(ErrorProbe.LOCK)
class CloseAnywhereTest {
  /** One of this many call sites of an operation is tried; 0: a single one of each operation. */
  private static final int STRIDE = Integer.getInteger("crash.closes", 0);

  private static final long SEED = Long.getLong("crash.seed", Sample.seed());

  /** Shared: weaving and loading the engine takes longer than many closes. */
  private static @Nullable ErrorWeaver loader;

  private static final String CALLS = System.getProperty("crash.closes.calls", "");

  @TempDir Path dir;

  @AfterAll
  static void unload() {
    loader = null;
  }

  @ParameterizedTest
  @ValueSource(strings = {"MEMORY", "NONE", "ASYNC", "SYNC"})
  void closesAtEveryCallSite(String mode) throws Exception {
    ErrorWeaver woven = loader;
    if (woven == null) {
      woven = new ErrorWeaver(CloseAnywhereTest.class.getClassLoader(), ErrorWeaver.ALL_ROOMS);
      loader = woven;
    }
    Object run =
        woven
            .loadClass(CloseRun.class.getName())
            .getConstructor(String.class)
            .newInstance(dir + " " + mode + " " + SEED + " " + STRIDE + " " + CALLS);
    FutureTask<Object> task = new FutureTask<>(((Supplier<?>) run)::get);
    Thread runner = Thread.ofPlatform().daemon().name("closes").start(task);
    for (int before = -1; !task.isDone(); ) {
      try {
        task.get(CloseRun.STANDSTILL_SECONDS, TimeUnit.SECONDS);
      } catch (ExecutionException e) {
        throw new AssertionError(
            "-Dcrash.seed=" + SEED + ": " + e.getCause().getMessage(), e.getCause());
      } catch (TimeoutException e) {
        int now = ErrorProbe.errors();
        if (now == before) {
          Thread.getAllStackTraces()
              .forEach((t, stack) -> System.err.println(t + "\n\t" + List.of(stack)));
          AssertionError hangs = new AssertionError("-Dcrash.seed=" + SEED + " hangs: " + run);
          hangs.setStackTrace(runner.getStackTrace());
          throw hangs;
        }
        before = now;
      }
    }
    SoakReport.line("CloseAnywhereTest.closesAtEveryCallSite", task.get().toString());
  }
}
