package io.fovea.crash;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Protocol;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Fails every call and allocation in one phase of a transaction's life. */
@ResourceLock(ErrorProbe.LOCK)
@Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ErrorsInTransactionsTest {
  /** The context of a begin that fails is released once. */
  @ParameterizedTest
  @EnumSource
  void inBegins(Protocol protocol) throws Exception {
    String report = run(BeginErrors.class, protocol.name());
    assertTrue(report.matches("([A-Z]+ [1-9][0-9]* )+"), report);
  }

  /** A transaction's writes are discarded when it ends, even if no memory is left. */
  @ParameterizedTest
  @EnumSource
  void inEnds(Protocol protocol) throws Exception {
    assertTrue(Integer.parseInt(run(EndErrors.class, protocol + " 3")) > 5);
  }

  /** The same for a transaction with sets so large that its end shrinks them. */
  @Test
  void inTheEndOfALargeTransaction() throws Exception {
    assertTrue(Integer.parseInt(run(EndErrors.class, Protocol.TICTOC + " 17000")) > 5);
  }

  /** A failed statement has no effect, and its transaction may commit the others. */
  @ParameterizedTest
  @EnumSource
  void inStatements(Protocol protocol) throws Exception {
    String report = run(StatementErrors.class, protocol.name());
    assertTrue(report.matches("([A-Z_]+ [1-9][0-9]* )+"), report);
  }

  private static String run(Class<?> woven, String argument) throws Exception {
    ErrorWeaver loader = new ErrorWeaver(ErrorsInTransactionsTest.class.getClassLoader());
    Object run =
        loader.loadClass(woven.getName()).getConstructor(String.class).newInstance(argument);
    return ((Supplier<?>) run).get().toString();
  }
}
