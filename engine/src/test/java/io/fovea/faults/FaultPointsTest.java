package io.fovea.faults;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class FaultPointsTest {
  static Iterable<String> types() {
    return FaultPoints.types();
  }

  /** The agent of this JVM has asked for its classes before: it weaves no trace. */
  @Test
  void theTraceIsThere() throws IOException {
    FaultPoints.trace();
    everyPointIsThere(FaultPoints.TRACED);
  }

  /** Every point is where the table says, once. */
  @ParameterizedTest
  @MethodSource("types")
  void everyPointIsThere(String type) throws IOException {
    byte[] plain;
    try (InputStream in =
        Objects.requireNonNull(
            FaultPoints.class.getClassLoader().getResourceAsStream(type + ".class"))) {
      plain = in.readAllBytes();
    }
    byte[] woven = FaultPoints.weave(type, plain);
    assertTrue(woven.length > plain.length);
  }
}
