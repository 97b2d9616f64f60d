package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class WriterPaceTest {
  private static final long MILLI = 1_000_000;

  @ParameterizedTest
  @CsvSource({"64, 8", "1000, 125", "65536, 256", "10000000, 256"})
  void marksStayWithinBounds(int frames, int batchMax) {
    WriterPace pace = new WriterPace(frames, batchMax, 0);
    long taken = 0;
    long now = 0;
    for (int i = 0; i < 2000; i++) {
      now += i % 7 * MILLI;
      taken += i % 100 < 50 ? 0 : frames;
      pace.taken(taken, now);
      pace.wrote(1 + i % batchMax, i % 50 * MILLI, i % 3 == 0);
      assertTrue(pace.free() >= 2 && pace.free() <= pace.low(), "free");
      assertTrue(pace.low() <= Math.max(2, frames / 8), "low " + pace.low());
      assertTrue(pace.high() > pace.low(), "high");
      assertTrue(pace.high() <= frames / 4, "the marks fit the list of ready frames");
      assertTrue(pace.batch() >= 1 && pace.batch() <= batchMax, "batch " + pace.batch());
    }
  }

  @Test
  void marksFollowDemand() {
    WriterPace pace = new WriterPace(100_000, 256, 0);
    int idle = pace.low();
    // 100 frames a millisecond, a batch takes 4 ms: 800 are taken while two are written.
    for (int i = 1; i <= 20; i++) {
      pace.wrote(50, 4 * MILLI, false);
      pace.taken(200L * i, 2 * i * MILLI);
    }
    assertTrue(pace.low() >= 790 && pace.low() <= 810, "low " + pace.low());
    for (int i = 1; i <= 20; i++) {
      pace.taken(4000, (40 + 100 * i) * MILLI);
    }
    assertEquals(idle, pace.low(), "no frames are taken");
  }

  @Test
  void aBatchDoesNotHoldTheDeviceForLong() {
    WriterPace pace = new WriterPace(100_000, 256, 0);
    for (int i = 0; i < 20; i++) {
      pace.wrote(pace.batch(), MILLI, false);
    }
    assertEquals(256, pace.batch(), "a fast device");
    pace.wrote(256, 6 * MILLI, false);
    assertEquals(170, pace.batch(), "as many as fit into 4 ms");
    pace.wrote(170, 400 * MILLI, false);
    assertEquals(85, pace.batch(), "by half at most");
    for (int i = 0; i < 10; i++) {
      pace.wrote(pace.batch(), 40 * MILLI, false);
    }
    assertEquals(WriterPace.BATCH_MIN, pace.batch());
    pace.wrote(5, MILLI / 10, false);
    assertEquals(WriterPace.BATCH_MIN, pace.batch(), "a small batch does not count");
    pace.wrote(WriterPace.BATCH_MIN, MILLI, false);
    assertTrue(pace.batch() > WriterPace.BATCH_MIN);
  }

  /** Threads that want frames wait longer for two small batches than for a large one. */
  @Test
  void writerThatIsBehindWritesLargerBatches() {
    WriterPace pace = new WriterPace(100_000, 256, 0);
    for (int i = 0; i < 10; i++) {
      pace.wrote(pace.batch(), 40 * MILLI, false);
    }
    assertEquals(WriterPace.BATCH_MIN, pace.batch());
    pace.wrote(5, 12 * MILLI, true);
    assertEquals(WriterPace.BATCH_MIN, pace.batch(), "there was no more to write");
    for (int i = 0; i < 5; i++) {
      pace.wrote(pace.batch(), 20 * MILLI, true);
    }
    assertEquals(256, pace.batch());
    pace.wrote(256, 8 * MILLI, false);
    assertEquals(128, pace.batch(), "the writer has caught up");
  }
}
