package io.fovea.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

/** Against the published check value, and against itself. */
class ChecksumTest {
  private final MemorySegment seg = Arena.ofAuto().allocate(8192, 8);

  @Test
  void isCastagnolis() {
    byte[] check = "123456789".getBytes(StandardCharsets.US_ASCII);
    Mem.putBytes(seg, 5, check, 0, check.length);
    assertEquals(0xE3069283, Checksum.crc32c(seg, 5, check.length));
  }

  @Test
  void countsPrefixesAsBytesBefore() {
    Mem.putLong(seg, 16, 42);
    Mem.putLong(seg, 24, 43);
    Mem.putLong(seg, 32, -1);
    int whole = Checksum.crc32c(seg, 16, 24);
    assertEquals(whole, Checksum.crc32c(42, seg, 24, 16));
    assertEquals(whole, Checksum.crc32c(42, 43, seg, 32, 8));
    assertNotEquals(whole, Checksum.crc32c(41, 43, seg, 32, 8));
  }

  @Test
  void seesEveryBitOfAPage() {
    seg.fill((byte) 0x5A);
    int sum = Checksum.crc32c(seg, 0, 4096);
    for (int bit = 0; bit < 4096 * 8; bit++) {
      byte old = Mem.getByte(seg, bit / 8);
      Mem.putByte(seg, bit / 8, (byte) (old ^ 1 << bit % 8));
      assertNotEquals(sum, Checksum.crc32c(seg, 0, 4096));
      Mem.putByte(seg, bit / 8, old);
    }
    assertEquals(sum, Checksum.crc32c(seg, 0, 4096));
  }
}
