package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.AbortCause;
import io.fovea.support.Logged;
import io.fovea.txn.RetryWarning;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** Who begins anew without end is told so, once. */
@Isolated("it reads the log of all databases")
class RetryWarningTest {
  @Test
  void workThatIsDoneAgainAndAgainIsNamed() {
    List<String> lines =
        Logged.warnings(
            () -> {
              RetryWarning warning = new RetryWarning();
              Task<RuntimeException> body = tx -> {};
              for (int attempts = 1; attempts <= 64; attempts++) {
                warning.aborted(body, attempts, AbortCause.LOCK);
              }
            });
    assertEquals(1, lines.size(), lines.toString());
    assertTrue(lines.get(0).contains(RetryWarningTest.class.getName()), lines.get(0));
    assertTrue(lines.get(0).contains("16 times"), lines.get(0));
  }
}
