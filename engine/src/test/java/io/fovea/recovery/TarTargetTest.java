package io.fovea.recovery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.fovea.error.InvalidUseException;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

/** Tar headers: sizes below and above 8 GiB, names, checksums. */
class TarTargetTest {
  private static String text(byte[] h, int at, int len) {
    return new String(h, at, len, StandardCharsets.US_ASCII);
  }

  private static int sum(byte[] h) {
    int sum = 0;
    for (int i = 0; i < h.length; i++) {
      sum += i >= 148 && i < 156 ? ' ' : h[i] & 0xFF;
    }
    return sum;
  }

  @Test
  void sizes() {
    byte[] h = TarTarget.header("db", 4096, 1_700_000_000, 0644);
    assertEquals("00000010000\0", text(h, 124, 12));
    assertEquals(sum(h), Integer.parseInt(text(h, 148, 6), 8));
    assertEquals("ustar\00000", text(h, 257, 8));
    assertEquals('0', h[156]);
    h = TarTarget.header("db", (8L << 30) - 512, 0, 0644);
    assertEquals("77777777000\0", text(h, 124, 12));
    h = TarTarget.header("db", 8L << 30, 0, 0644);
    assertEquals((byte) 0x80, h[124]);
    long size = 0;
    for (int i = 125; i < 136; i++) {
      size = size << 8 | h[i] & 0xFF;
    }
    assertEquals(8L << 30, size);
    assertEquals(sum(h), Integer.parseInt(text(h, 148, 6), 8));
  }

  @Test
  void namesThatDoNotFitAreRefused() {
    TarTarget.header("x".repeat(100), 0, 0, 0644);
    assertThrows(InvalidUseException.class, () -> TarTarget.header("x".repeat(101), 0, 0, 0644));
  }
}
