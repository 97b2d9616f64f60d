package io.fovea.consumers;

import java.util.List;

/**
 * Flags that deny native access. Before JDK 24, granting it to one module denied it to all others.
 */
final class Denial {
  private Denial() {}

  /** Denies it for all. */
  static List<String> ofAll() {
    return Runtime.version().feature() >= 24
        ? List.of("--illegal-native-access=deny")
        : List.of("--enable-native-access=java.base");
  }

  /** Denies it for all modules except a comma-separated list. */
  static List<String> exceptFor(String modules) {
    String allowed = "--enable-native-access=" + modules;
    return Runtime.version().feature() >= 24
        ? List.of(allowed, "--illegal-native-access=deny")
        : List.of(allowed);
  }
}
