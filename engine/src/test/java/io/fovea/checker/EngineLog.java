package io.fovea.checker;

import java.util.logging.Level;
import java.util.logging.Logger;

/** Silences the engine's log, since tests open hundreds of databases. */
final class EngineLog {
  /** Held strongly, since a collected logger loses its level. */
  private static final Logger LOG = Logger.getLogger("io.fovea");

  private EngineLog() {}

  static void silence() {
    LOG.setLevel(Level.SEVERE);
  }
}
