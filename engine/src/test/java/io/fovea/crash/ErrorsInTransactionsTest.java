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

/**
 * Every call and every allocation in one part of a transaction's life fails, one after the other.
 */
@ResourceLock(ErrorProbe.LOCK)
@Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ErrorsInTransactionsTest {
  /** The context of a begin that fails is given back once. */
  @ParameterizedTest
  @EnumSource
  void inBegins(Protocol protocol) throws Exception {
    String report = run(BeginErrors.class, protocol.name());
    assertTrue(report.matches("([A-Z]+ [1-9][0-9]* )+"), report);
  }

  /** What a transaction has written ends with it, while there is no memory, too. */
  @ParameterizedTest
  @EnumSource
  void inEnds(Protocol protocol) throws Exception {
    assertTrue(Integer.parseInt(run(EndErrors.class, protocol + " 3")) > 5);
  }

  /** The same of one whose sets have become so large that its end makes smaller ones. */
  @Test
  void inTheEndOfALargeOne() throws Exception {
    assertTrue(Integer.parseInt(run(EndErrors.class, Protocol.TICTOC + " 17000")) > 5);
  }

  /** A statement that fails has changed nothing, and its transaction may commit the others. */
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
