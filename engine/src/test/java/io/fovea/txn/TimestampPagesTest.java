package io.fovea.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class TimestampPagesTest {
  @Test
  void aMapLargerThanItsPool() {
    try (Stores stores = new Stores()) {
      TimestampPages pages = stores.pages(2);
      Map<Long, Long> exact = new HashMap<>();
      SplittableRandom random = new SplittableRandom(5);
      for (int i = 0; i < 40_000; i++) {
        long item = random.nextInt(20_000) * 0x9E3779B97F4A7C15L;
        int ctx = i & 1;
        assertEquals(exact.getOrDefault(item, 0L), pages.get(ctx, item));
        if (random.nextInt(3) > 0) {
          long word = TidWord.pack(i, i + random.nextInt(1000));
          pages.fetch(ctx, item);
          pages.put(ctx, item, TidWord.withLock(word));
          exact.put(item, word);
        }
      }
      exact.forEach((item, word) -> assertEquals(word, pages.get(0, item)));
      assertTrue(pages.reads() > 1000, "page reads: " + pages.reads());
      assertTrue(pages.writes() > 100, "page writes: " + pages.writes());
    }
  }

  /** A read-only transaction does not dirty a page. */
  @Test
  void unchangedPagesAreNotWritten() {
    try (Stores stores = new Stores()) {
      TimestampPages pages = stores.pages(1);
      for (long item = 1; item <= 20_000; item++) {
        pages.put(0, item, TidWord.pack(item, item));
      }
      long writes = pages.writes();
      long reads = pages.reads();
      for (int round = 0; round < 4; round++) {
        for (long item = 1; item <= 20_000; item++) {
          pages.put(0, item, TidWord.pack(item, item));
        }
      }
      // Pages that were dirty may still be written; later ones are clean.
      assertTrue(pages.writes() - writes <= 64, (pages.writes() - writes) + " pages written");
      // More than the 64 frames of the pool. How many more depends on the replacement policy and
      // the writer.
      assertTrue(pages.reads() - reads > 64, (pages.reads() - reads) + " pages read");
    }
  }
}
