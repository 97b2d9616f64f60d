package io.fovea.consumers;

import java.util.List;

/** Flags that deny native access: before JDK 24 naming anything at all denied the rest. */
final class Denial {
  private Denial() {}

  /** Denies it for all. */
  static List<String> ofAll() {
    return Runtime.version().feature() >= 24
        ? List.of("--illegal-native-access=deny")
        : List.of("--enable-native-access=java.base");
  }

  /** Denies it for all but some modules, which are separated by commas. */
  static List<String> exceptFor(String modules) {
    String allowed = "--enable-native-access=" + modules;
    return Runtime.version().feature() >= 24
        ? List.of(allowed, "--illegal-native-access=deny")
        : List.of(allowed);
  }
}
