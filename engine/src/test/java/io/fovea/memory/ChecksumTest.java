package io.fovea.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

/** Compares the checksum with the published check value and with itself. */
class ChecksumTest {
  private final MemorySegment seg = Arena.ofAuto().allocate(8192, 8);

  @Test
  void isCastagnolis() {
    byte[] check = "123456789".getBytes(StandardCharsets.US_ASCII);
    Mem.putBytes(seg, 5, check, 0, check.length);
    assertEquals(0xE3069283, Checksum.crc32c(seg, 5, check.length));
  }

  @Test
  void prefixesCountAsPrecedingBytes() {
    Mem.putLong(seg, 16, 42);
    Mem.putLong(seg, 24, 43);
    Mem.putLong(seg, 32, -1);
    int whole = Checksum.crc32c(seg, 16, 24);
    assertEquals(whole, Checksum.crc32c(42, seg, 24, 16));
    assertEquals(whole, Checksum.crc32c(42, 43, seg, 32, 8));
    assertNotEquals(whole, Checksum.crc32c(41, 43, seg, 32, 8));
  }

  @Test
  void detectsEveryBitOfAPage() {
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

  @Test
  void reusableSumCoversNumbersAndRange() {
    java.util.Random random = new java.util.Random(3);
    byte[] bytes = new byte[500];
    random.nextBytes(bytes);
    MemorySegment seg = Arena.ofAuto().allocate(500);
    Mem.putBytes(seg, 0, bytes, 0, 500);
    Checksum.Reusable reusable = new Checksum.Reusable(seg);
    for (int i = 0; i < 200; i++) {
      int off = random.nextInt(500);
      int len = random.nextInt(501 - off);
      long a = random.nextLong();
      java.nio.ByteBuffer all =
          java.nio.ByteBuffer.allocate(24 + len).order(java.nio.ByteOrder.LITTLE_ENDIAN);
      all.putLong(a).putLong(-i).putLong(7).put(bytes, off, len);
      java.util.zip.CRC32C crc = new java.util.zip.CRC32C();
      crc.update(all.flip());
      assertEquals((int) crc.getValue(), reusable.sum(a, -i, 7, off, len));
    }
  }
}
