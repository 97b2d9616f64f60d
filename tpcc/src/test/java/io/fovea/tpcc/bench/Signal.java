package io.fovea.tpcc.bench;

/** A signal that comes at a moment of the test's choice, and leaves the JVM where it is. */
public final class Signal {
  private Signal() {}

  /** From now on the command is to end. */
  public static void arrives(Shutdown shutdown) {
    shutdown.request();
  }
}
