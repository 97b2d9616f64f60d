package io.fovea.memory;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;

/** Compares native memory with byte arrays. */
class MemTest {
  private static final int ROOM = 512;

  private final Arena arena = Arena.ofAuto();
  private final MemorySegment a = arena.allocate(ROOM, 8);
  private final MemorySegment b = arena.allocate(ROOM, 8);

  private static MemorySegment put(MemorySegment seg, int off, byte[] bytes) {
    Mem.putBytes(seg, off, bytes, 0, bytes.length);
    return seg;
  }

  private void compareAsArraysDo(byte[] x, byte[] y, int offset) {
    put(a, offset, x);
    put(b, 3, y);
    int wanted = Integer.signum(Arrays.compareUnsigned(x, y));
    assertEquals(wanted, Integer.signum(Mem.compare(a, offset, x.length, b, 3, y.length)));
    assertEquals(-wanted, Integer.signum(Mem.compare(b, 3, y.length, a, offset, x.length)));
    assertEquals(Arrays.equals(x, y), Mem.equal(a, offset, x.length, b, 3, y.length));
    int mismatch = Arrays.mismatch(x, y);
    assertEquals(
        mismatch < 0 ? x.length : mismatch, Mem.commonPrefix(a, offset, x.length, b, 3, y.length));
  }

  @Property
  void comparesAnyBytes(
      @ForAll @Size(max = 100) byte[] x,
      @ForAll @Size(max = 100) byte[] y,
      @ForAll @IntRange(max = 9) int offset) {
    compareAsArraysDo(x, y, offset);
  }

  @Test
  void comparesNearlyEqualBytes() {
    Random random = new Random(1);
    for (int xLen = 0; xLen <= 72; xLen++) {
      for (int yLen = Math.max(0, xLen - 9); yLen <= xLen + 9; yLen++) {
        for (int i = 0; i < 20; i++) {
          byte[] x = new byte[xLen];
          byte[] y = new byte[yLen];
          random.nextBytes(x);
          System.arraycopy(x, 0, y, 0, Math.min(xLen, yLen));
          if (yLen > 0 && i % 4 != 0) {
            y[random.nextInt(yLen)] ^= (byte) (1 << random.nextInt(8));
          }
          compareAsArraysDo(x, y, i % 8);
        }
      }
    }
  }

  @Test
  void copiesAnyLengthEvenOverlapping() {
    Random random = new Random(2);
    byte[] model = new byte[ROOM];
    for (int len = 0; len <= 100; len++) {
      for (int distance = -40; distance <= 40; distance++) {
        random.nextBytes(model);
        put(a, 0, model);
        int from = 100;
        System.arraycopy(model, from, model, from + distance, len);
        Mem.copy(a, from, a, from + distance, len);
        assertArrayEquals(model, a.toArray(ValueLayout.JAVA_BYTE), len + " by " + distance);
      }
      random.nextBytes(model);
      put(a, 0, model);
      b.fill((byte) 9);
      Mem.copy(a, 5, b, 11, len);
      byte[] wanted = new byte[ROOM];
      Arrays.fill(wanted, (byte) 9);
      System.arraycopy(model, 5, wanted, 11, len);
      assertArrayEquals(wanted, b.toArray(ValueLayout.JAVA_BYTE));
    }
  }

  @Test
  void zerosAnyLengthAndDetectsZeros() {
    for (int len = 0; len <= 100; len++) {
      for (int off = 0; off < 9; off++) {
        a.fill((byte) 1);
        Mem.zero(a, off, len);
        byte[] wanted = new byte[ROOM];
        Arrays.fill(wanted, (byte) 1);
        Arrays.fill(wanted, off, off + len, (byte) 0);
        assertArrayEquals(wanted, a.toArray(ValueLayout.JAVA_BYTE));
        assertTrue(Mem.isZero(a, off, len));
        assertFalse(Mem.isZero(a, off, len + 1));
      }
    }
  }

  @Test
  void readsBackWrites() {
    Mem.putLong(a, 1, 0x0102030405060708L);
    assertEquals(0x0102030405060708L, Mem.getLong(a, 1));
    Mem.putLongBE(a, 3, 0x8102030405060708L);
    assertEquals(0x8102030405060708L, Mem.getLongBE(a, 3));
    assertEquals(0x81, Mem.getUnsignedByte(a, 3));
    assertEquals(0x81020304, Mem.getIntBE(a, 3));
    Mem.putIntBE(a, 5, -2);
    assertEquals(-2, Mem.getIntBE(a, 5));
    Mem.putInt(a, 5, 77);
    assertEquals(77, Mem.getInt(a, 5));
    Mem.putShort(a, 7, (short) -1);
    assertEquals(0xFFFF, Mem.getUnsignedShort(a, 7));
    Mem.putShortBE(a, 7, (short) 0x1234);
    assertEquals(0x12, Mem.getByte(a, 7));
    Mem.putByte(a, 9, (byte) -7);
    assertEquals(-7, Mem.getByte(a, 9));
    Mem.putByteOpaque(a, 9, (byte) 8);
    assertEquals(8, Mem.getByteOpaque(a, 9));
    Mem.putBytes(a, 10, new byte[] {1, 2, 3, 4}, 1, 2);
    byte[] two = new byte[4];
    Mem.getBytes(a, 10, two, 2, 2);
    assertArrayEquals(new byte[] {0, 0, 2, 3}, two);
  }

  @Test
  void atomicAccess() {
    Mem.putLong(a, 8, 5);
    assertTrue(Mem.casLong(a, 8, 5, 6));
    assertFalse(Mem.casLong(a, 8, 5, 7));
    assertEquals(6, Mem.casExchangeLong(a, 8, 6, 9));
    assertEquals(9, Mem.getAndAddLong(a, 8, 3));
    assertEquals(12, Mem.getLongVolatile(a, 8));
    Mem.putLongRelease(a, 8, 2);
    assertEquals(2, Mem.getLongAcquire(a, 8));
    Mem.putLongOpaque(a, 8, 3);
    assertEquals(3, Mem.getLongOpaque(a, 8));
    Mem.putLongVolatile(a, 8, 4);
    assertEquals(4, Mem.getLong(a, 8));
    Mem.putInt(a, 4, 5);
    assertTrue(Mem.casInt(a, 4, 5, 6));
    assertFalse(Mem.casInt(a, 4, 5, 7));
    assertEquals(6, Mem.getAndAddInt(a, 4, 1));
    Mem.putIntRelease(a, 4, 2);
    assertEquals(2, Mem.getIntOpaque(a, 4));
    Mem.putIntOpaque(a, 4, 3);
    assertEquals(3, Mem.getInt(a, 4));
    assertThrows(IllegalArgumentException.class, () -> Mem.casLong(a, 4, 0, 0), "not aligned");
    assertThrows(IllegalArgumentException.class, () -> Mem.casInt(a, 2, 0, 0), "not aligned");
  }

  @Test
  void addsUpFromManyThreads() throws Exception {
    List<Thread> threads = new ArrayList<>();
    for (int t = 0; t < 4; t++) {
      threads.add(
          Thread.ofPlatform()
              .start(
                  () -> {
                    for (int i = 0; i < 10_000; i++) {
                      Mem.getAndAddLong(a, 64, 1);
                      long seen;
                      do {
                        seen = Mem.getLongOpaque(a, 72);
                      } while (!Mem.casLong(a, 72, seen, seen + 2));
                      Mem.getAndAddInt(a, 80, 3);
                    }
                  }));
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertEquals(40_000, Mem.getLong(a, 64));
    assertEquals(80_000, Mem.getLong(a, 72));
    assertEquals(120_000, Mem.getInt(a, 80));
  }

  @Test
  void neverLeavesTheSegment() {
    assertThrows(IndexOutOfBoundsException.class, () -> Mem.getLong(a, ROOM - 7));
    assertThrows(IndexOutOfBoundsException.class, () -> Mem.getByte(a, -1));
    assertThrows(IndexOutOfBoundsException.class, () -> Mem.getLong(a, Long.MAX_VALUE));
    assertThrows(IndexOutOfBoundsException.class, () -> Mem.compare(a, ROOM - 8, 9, b, 0, 9));
    assertThrows(IndexOutOfBoundsException.class, () -> Mem.compare(a, ROOM - 2, 3, b, 0, 3));
    for (int len : new int[] {1, 5, 9, 20, 40}) {
      assertThrows(IndexOutOfBoundsException.class, () -> Mem.copy(a, ROOM - len + 1, b, 0, len));
      assertThrows(IndexOutOfBoundsException.class, () -> Mem.copy(a, 0, b, ROOM - len + 1, len));
      assertThrows(IndexOutOfBoundsException.class, () -> Mem.zero(a, ROOM - len + 1, len));
    }
  }
}
