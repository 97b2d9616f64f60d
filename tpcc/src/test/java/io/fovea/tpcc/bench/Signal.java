package io.fovea.tpcc.bench;

/** Simulates a signal that does not end the JVM. */
public final class Signal {
  private Signal() {}

  /** Simulates the arrival of a signal. */
  public static void arrives(Shutdown shutdown) {
    shutdown.request();
  }
}
