package io.fovea.support;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;

/** Captures the engine's log lines. Tests that use it must run isolated. */
public final class Logged {
  private Logged() {}

  /** Returns the warnings of all databases while work runs. */
  public static List<String> warnings(Runnable work) {
    return lines(Level.WARNING, work);
  }

  /** Returns the messages of a level and above, with their parameters. */
  public static List<String> lines(Level least, Runnable work) {
    List<String> lines = Collections.synchronizedList(new ArrayList<>());
    Logger logger = Logger.getLogger("io.fovea");
    Handler handler =
        new Handler() {
          @Override
          public void publish(LogRecord line) {
            lines.add(new SimpleFormatter().formatMessage(line));
          }

          @Override
          public void flush() {}

          @Override
          public void close() {}
        };
    Level level = logger.getLevel();
    logger.setLevel(least); // other tests of this JVM may have silenced it
    logger.addHandler(handler);
    try {
      work.run();
    } finally {
      logger.removeHandler(handler);
      logger.setLevel(level);
    }
    return lines;
  }
}
