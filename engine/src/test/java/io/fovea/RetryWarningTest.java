package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.AbortCause;
import io.fovea.txn.RetryWarning;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** Who begins anew without end is told so, once. */
@Isolated("it reads the log of all databases")
class RetryWarningTest {
  @Test
  void workThatIsDoneAgainAndAgainIsNamed() {
    List<String> lines = Collections.synchronizedList(new ArrayList<>());
    Logger logger = Logger.getLogger("io.fovea");
    Handler handler =
        new Handler() {
          @Override
          public void publish(LogRecord line) {
            lines.add(line.getMessage());
          }

          @Override
          public void flush() {}

          @Override
          public void close() {}
        };
    Level level = logger.getLevel();
    logger.setLevel(Level.WARNING); // other tests of this JVM may have made it quiet
    logger.addHandler(handler);
    try {
      RetryWarning warning = new RetryWarning();
      Task<RuntimeException> body = tx -> {};
      for (int attempts = 1; attempts <= 64; attempts++) {
        warning.aborted(body, attempts, AbortCause.LOCK);
      }
    } finally {
      logger.removeHandler(handler);
      logger.setLevel(level);
    }
    assertEquals(1, lines.size(), lines.toString());
    assertTrue(lines.get(0).contains(RetryWarningTest.class.getName()), lines.get(0));
    assertTrue(lines.get(0).contains("16 times"), lines.get(0));
  }
}
