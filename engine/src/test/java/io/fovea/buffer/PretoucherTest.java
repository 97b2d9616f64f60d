package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class PretoucherTest {
  private static final long MIB = 1 << 20;

  @Test
  void eachPageIsTouchedOnce() {
    for (long bytes : new long[] {1, 4096, 2 * MIB - 1, 2 * MIB, 2 * MIB + 1, 37 * MIB + 12_345}) {
      for (int threads = 1; threads <= 5; threads++) {
        int pages = (int) ((bytes + 4095) / 4096);
        AtomicIntegerArray touched = new AtomicIntegerArray(pages);
        Pretoucher.touch(
            bytes,
            threads,
            () -> false,
            at -> {
              assertEquals(0, at % 4096);
              touched.incrementAndGet((int) (at / 4096));
            });
        for (int i = 0; i < pages; i++) {
          assertEquals(1, touched.get(i), bytes + " bytes, " + threads + " threads, page " + i);
        }
      }
    }
  }

  @Test
  void itStops() {
    AtomicLong touched = new AtomicLong();
    Pretoucher.touch(1L << 50, 4, () -> touched.get() > 100, at -> touched.incrementAndGet());
    assertTrue(touched.get() <= 110, touched + " pages");
  }

  @Test
  void smallPoolsTakeOneThread() {
    assertEquals(1, Pretoucher.threads(1, 64));
    assertEquals(1, Pretoucher.threads(500 * MIB, 64));
    assertEquals(4, Pretoucher.threads(1024 * MIB, 64));
    assertEquals(2, Pretoucher.threads(1024 * MIB, 2));
    assertEquals(32, Pretoucher.threads(1L << 40, 128));
  }
}
