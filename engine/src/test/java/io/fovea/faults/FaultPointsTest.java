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

  /** The agent of this JVM has already asked for its classes, and weaves no trace. */
  @Test
  void tracePointsAreFound() throws IOException {
    FaultPoints.trace();
    everyPointIsFound(FaultPoints.TRACED);
  }

  /** Every point occurs where the table says, exactly once. */
  @ParameterizedTest
  @MethodSource("types")
  void everyPointIsFound(String type) throws IOException {
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
