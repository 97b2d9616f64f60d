package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Translation;
import io.fovea.error.CorruptionException;
import io.fovea.error.FoveaException;
import io.fovea.error.StorageException;
import io.fovea.io.MemoryDevice;
import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class PageImagesTest {
  private static final int PAGE = 4096;

  private final Arena arena = Arena.ofConfined();
  private final MemorySegment page = arena.allocate(PAGE, 8);
  private final MemorySegment log = arena.allocate(2 * PAGE, 8);

  @AfterEach
  void close() {
    arena.close();
  }

  /** A page full of ones. */
  private void fill(long pid, int type) {
    page.fill((byte) 0x11);
    PageHeader.init(page, 0, type, pid, 7);
    Mem.putLong(page, PageHeader.PAGE_LSN, 4104);
  }

  private long image(long pid, int from, int to) {
    fill(pid, PageHeader.LEAF);
    long end = PageImages.put(log, 8, pid, page, 0, PAGE, from, to);
    assertEquals(8 + PageImages.bytes(PAGE, from, to), end);
    return end;
  }

  private static byte at(BufferPool pool, long pid, int offset) {
    int frame = pool.fixShared(pid);
    byte found = Mem.peekByte(pool.pages(), pool.base(frame) + offset);
    pool.releaseShared(frame);
    return found;
  }

  /** The references of an inner node, including the last one and one that the image cuts off. */
  @Test
  void removesHintsFromReferences() {
    for (int type : new int[] {PageHeader.INNER, PageHeader.LEAF}) {
      for (int count : new int[] {0, 1, 100, 246, 60_000}) {
        fill(9, type);
        Mem.putShort(page, PageRef.COUNT, (short) count);
        int shown = Math.min(count, (PAGE - 8 - PageRef.FIRST) / PageRef.STRIDE);
        for (int i = 0; i <= shown; i++) {
          Mem.putLong(page, PageRef.FIRST + i * PageRef.STRIDE, PageRef.of(1000 + i, 1 + i));
        }
        int from = Math.min(PAGE, PageRef.FIRST + (count + 1) * PageRef.STRIDE);
        PageImages.put(log, 8, 9, page, 0, PAGE, from, PAGE);
        boolean inner = type == PageHeader.INNER;
        for (int i = 0; i <= shown; i++) {
          long ref = Mem.getLong(log, 8 + PageImages.HEADER + PageRef.FIRST + i * PageRef.STRIDE);
          assertEquals(inner ? 1000 + i : PageRef.of(1000 + i, 1 + i), ref);
        }
        // Everything else is unchanged.
        for (int at = PageHeader.BYTES; at < from; at++) {
          int slot = (at - PageRef.FIRST) / PageRef.STRIDE;
          boolean ref = at >= PageRef.FIRST && (at - PageRef.FIRST) % PageRef.STRIDE < 8;
          if (!ref || slot > shown) {
            assertEquals(Mem.getByte(page, at), Mem.getByte(log, 8 + PageImages.HEADER + at));
          }
        }
      }
    }
  }

  @Test
  void restoresTheImageAndZerosTheHole() {
    SplittableRandom random = new SplittableRandom(1);
    BufferPool pool = Pools.open(new MemoryDevice());
    for (int i = 0; i < 300; i++) {
      int from = random.nextInt(32, PAGE + 1);
      int to = random.nextInt(from, PAGE + 1);
      long pid = random.nextLong(2, 200);
      long end = image(pid, from, to);
      long start = 5000 + 100 * i;
      assertEquals(end, PageImages.apply(pool, log, 8, end, start, start + 96));
      int frame = pool.fixShared(pid);
      long base = pool.base(frame);
      Mem.putLong(page, PageHeader.PAGE_LSN, start + 96);
      Mem.zero(page, from, to - from);
      assertEquals(
          -1,
          MemorySegment.mismatch(page, 0, PAGE, pool.pages(), base, base + PAGE),
          "page " + pid);
      pool.releaseShared(frame);
      assertTrue(pool.checkpoint().minRecLsn() <= start);
      assertTrue(pool.allocatorState().highWater() > pid);
    }
    pool.flushAll();
    assertEquals(Long.MAX_VALUE, pool.checkpoint().minRecLsn());
    pool.close();
  }

  @Test
  void newerPageIsUnchanged() {
    BufferPool pool = Pools.open(new MemoryDevice());
    long end = image(5, 64, 4000);
    PageImages.apply(pool, log, 8, end, 5000, 6000);
    pool.flushAll();
    Mem.putByte(log, 8 + PageImages.HEADER + 40, (byte) 0x22);
    for (long lsn : new long[] {6000, 5992}) {
      assertEquals(end, PageImages.apply(pool, log, 8, end, lsn - 100, lsn));
      assertEquals(0x11, at(pool, 5, 40));
      assertEquals(6000, Pools.lsn(pool, 5));
      assertEquals(Long.MAX_VALUE, pool.checkpoint().minRecLsn(), "it is not even dirty");
    }
    PageImages.apply(pool, log, 8, end, 5900, 6008);
    assertEquals(0x22, at(pool, 5, 40));
    assertEquals(6008, Pools.lsn(pool, 5));
    assertEquals(5900, pool.checkpoint().minRecLsn());
    pool.close();
  }

  @Test
  void damagedPageIsAlwaysReplaced() {
    MemoryDevice device = new MemoryDevice();
    BufferPool pool = Pools.open(device);
    for (int i = 0; i < 20; i++) {
      Pools.page(pool);
    }
    AllocatorState state = pool.allocatorState();
    pool.close();
    for (int bit : new int[] {0, 5 * 8, 17 * 8, 100 * 8, 4095 * 8}) {
      device.read(5 * PAGE, page, 0, PAGE);
      Mem.putByte(page, bit / 8, (byte) (Mem.peekByte(page, bit / 8) ^ 1));
      device.write(5 * PAGE, page, 0, PAGE);
      BufferPool again = Pools.open(device, Translation.PREDICTIVE, state);
      assertThrows(CorruptionException.class, () -> again.fixShared(5));
      int frame = again.recovery().fixForImage(5);
      assertEquals(0, PageHeader.pageLsn(again.pages(), again.base(frame)));
      assertEquals(PageHeader.NEVER_WRITTEN, PageHeader.type(again.pages(), again.base(frame)));
      again.releaseExclusive(frame);
      long end = image(5, 64, 4000);
      PageImages.apply(again, log, 8, end, 4096, 4104);
      assertEquals(0x11, at(again, 5, 40));
      again.close();
    }
  }

  @Test
  void readErrorIsNotTreatedAsDamage() {
    TestDevice device = new TestDevice();
    BufferPool pool = Pools.open(device);
    for (int i = 0; i < 20; i++) {
      Pools.page(pool);
    }
    AllocatorState state = pool.allocatorState();
    pool.close();
    device.readFails = offset -> true;
    BufferPool again = Pools.open(device, Translation.PREDICTIVE, state);
    long end = image(5, 64, 4000);
    assertThrows(StorageException.class, () -> PageImages.apply(again, log, 8, end, 4096, 9000));
    Pools.check(again);
    again.abandon();
  }

  /**
   * Any log contents are an image or cause a typed exception, and nothing is read beyond the
   * record.
   */
  @Test
  void arbitraryLogBytesAreHandled() {
    SplittableRandom random = new SplittableRandom(3);
    BufferPool pool = Pools.open(new TestDevice(8 << 20));
    int applied = 0;
    int refused = 0;
    for (int i = 0; i < 20_000; i++) {
      int from = random.nextInt(32, PAGE + 1);
      long end = image(random.nextLong(2, 60), from, random.nextInt(from, PAGE + 1));
      for (int k = random.nextInt(3); k > 0; k--) {
        int at = 8 + random.nextInt(PageImages.HEADER + PageHeader.BYTES);
        if (random.nextBoolean()) {
          Mem.putByte(log, at, (byte) random.nextInt());
        } else {
          Mem.putLong(log, at & -8, random.nextLong());
        }
      }
      long limit = random.nextInt(4) == 0 ? random.nextLong(end + 1) : end;
      // Reading beyond the limit throws IndexOutOfBoundsException here.
      MemorySegment exact = log.asSlice(0, limit);
      try {
        assertTrue(PageImages.apply(pool, exact, 8, limit, 4096 + i, 4200 + i) <= limit);
        applied++;
      } catch (FoveaException e) {
        refused++;
      }
    }
    assertTrue(applied > 1000 && refused > 1000, applied + " applied, " + refused + " refused");
    Pools.check(pool);
    pool.close();
  }

  @Test
  void superblocksAreNotPoolPages() {
    BufferPool pool = Pools.open(new MemoryDevice());
    for (long pid : new long[] {-1, 0, 1, 1L << 48, Long.MIN_VALUE, Long.MAX_VALUE}) {
      assertThrows(CorruptionException.class, () -> pool.recovery().fixForImage(pid));
    }
    pool.releaseExclusive(pool.recovery().fixForImage(2));
    pool.close();
  }
}
