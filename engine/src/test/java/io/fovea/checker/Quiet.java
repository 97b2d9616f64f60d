package io.fovea.checker;

import java.util.logging.Level;
import java.util.logging.Logger;

/** Databases are opened by the hundred, and each would say so. */
final class Quiet {
  /** Kept, for it would forget its level. */
  private static final Logger LOG = Logger.getLogger("io.fovea");

  private Quiet() {}

  static void please() {
    LOG.setLevel(Level.SEVERE);
  }
}
