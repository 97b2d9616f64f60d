package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.memory.Mem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

class LatchTest {
  private final MemorySegment headers = Arena.ofAuto().allocate(4 * FrameHeader.BYTES, 64);

  @Test
  void exclusiveExcludes() {
    assertTrue(Latch.tryExclusive(headers, 1));
    assertTrue(Latch.isExclusive(headers, 1));
    assertFalse(Latch.tryExclusive(headers, 1));
    assertFalse(Latch.tryShared(headers, 1));
    assertEquals(Latch.LATCHED, Latch.optimistic(headers, 1));
    assertTrue(Latch.tryExclusive(headers, 2), "the latch of another frame");
    Latch.releaseExclusive(headers, 1);
    assertTrue(Latch.tryExclusive(headers, 1));
  }

  @Test
  void versionIsValidUntilTheNextExclusiveLatch() {
    long version = Latch.optimistic(headers, 0);
    assertTrue(Latch.validate(headers, 0, version));
    assertTrue(Latch.tryShared(headers, 0));
    assertTrue(Latch.validate(headers, 0, version), "readers change nothing");
    assertEquals(version, Latch.optimistic(headers, 0), "holders are masked out");
    assertFalse(Latch.tryUpgrade(headers, 0, version), "a reader holds the latch");
    Latch.releaseShared(headers, 0);
    assertTrue(Latch.tryUpgrade(headers, 0, version));
    assertFalse(Latch.validate(headers, 0, version));
    Latch.releaseExclusive(headers, 0);
    assertFalse(Latch.validate(headers, 0, version));
    assertFalse(Latch.tryUpgrade(headers, 0, version));
    assertTrue(Latch.optimistic(headers, 0) > version);
  }

  @Test
  void unchangedKeepsTheVersion() {
    long version = Latch.optimistic(headers, 0);
    assertTrue(Latch.tryExclusive(headers, 0));
    Latch.releaseExclusiveUnchanged(headers, 0);
    assertTrue(Latch.validate(headers, 0, version));
  }

  @Test
  void advancingMovesTheVersionAndKeepsTheLatch() {
    long version = Latch.optimistic(headers, 0);
    assertTrue(Latch.tryUpgrade(headers, 0, version));
    Latch.advance(headers, 0);
    assertTrue(Latch.isExclusive(headers, 0));
    assertFalse(Latch.validate(headers, 0, version));
    long next = Latch.heldVersion(headers, 0);
    assertTrue(next > version);
    Latch.releaseExclusiveUnchanged(headers, 0);
    assertTrue(Latch.validate(headers, 0, next));
    assertFalse(Latch.tryUpgrade(headers, 0, version));
    assertTrue(Latch.tryUpgrade(headers, 0, next));
    Latch.advance(headers, 0);
    Latch.releaseExclusive(headers, 0);
    assertTrue(Latch.optimistic(headers, 0) > next);
  }

  @Test
  void sharedHas255Holders() {
    for (int i = 0; i < 255; i++) {
      assertTrue(Latch.tryShared(headers, 0), "holder " + i);
    }
    assertFalse(Latch.tryShared(headers, 0));
    assertFalse(Latch.tryExclusive(headers, 0));
    assertFalse(Latch.isExclusive(headers, 0), "the count must not overflow");
    for (int i = 0; i < 255; i++) {
      Latch.releaseShared(headers, 0);
    }
    assertTrue(Latch.tryExclusive(headers, 0));
  }

  @Test
  void downgradeLetsReadersIn() {
    long version = Latch.optimistic(headers, 0);
    assertTrue(Latch.tryExclusive(headers, 0));
    Latch.downgrade(headers, 0);
    assertFalse(Latch.validate(headers, 0, version));
    assertTrue(Latch.tryShared(headers, 0));
    assertFalse(Latch.tryExclusive(headers, 0));
    Latch.releaseShared(headers, 0);
    Latch.releaseShared(headers, 0);
    assertTrue(Latch.tryExclusive(headers, 0));
  }

  @Test
  void movedFramesGetAVersionAboveBoth() {
    for (int i = 0; i < 5; i++) {
      assertTrue(Latch.tryExclusive(headers, 0));
      Latch.releaseExclusive(headers, 0);
    }
    long high = Latch.optimistic(headers, 0);
    long low = Latch.optimistic(headers, 1);
    assertNotEquals(high, low);
    assertTrue(Latch.tryExclusive(headers, 0));
    assertTrue(Latch.tryExclusive(headers, 1));
    Latch.releaseMoved(headers, 1, 0);
    assertTrue(Latch.optimistic(headers, 0) > high);
    assertTrue(Latch.optimistic(headers, 1) > high);
  }

  @Test
  void wrongReleasesAreDetected() {
    assertTrue(Latch.tryExclusive(headers, 0));
    Latch.releaseExclusive(headers, 0);
    assertTrue(Latch.tryExclusive(headers, 3));
    Latch.releaseExclusive(headers, 3);
    assertThrows(AssertionError.class, () -> Latch.releaseExclusive(headers, 0));
    assertThrows(AssertionError.class, () -> Latch.releaseExclusiveUnchanged(headers, 0));
    assertThrows(AssertionError.class, () -> Latch.releaseShared(headers, 3));
  }

  /** Two words that a writer keeps equal, and readers without a latch. */
  @Test
  void readersNeverSeePartOfAChange() throws Exception {
    MemorySegment page = Arena.ofAuto().allocate(4096, 64);
    int changes = 50_000;
    Thread writer =
        new Thread(
            () -> {
              for (int i = 1; i <= changes; i++) {
                while (!Latch.tryExclusive(headers, 0)) {
                  Thread.onSpinWait();
                }
                Mem.putLong(page, 0, i);
                Mem.putLong(page, 2048, i);
                Latch.releaseExclusive(headers, 0);
              }
            });
    writer.start();
    long last = 0;
    while (last < changes) {
      long version = Latch.optimistic(headers, 0);
      if (version == Latch.LATCHED) {
        Thread.onSpinWait();
        continue;
      }
      long b = Mem.getLong(page, 2048);
      long a = Mem.getLong(page, 0);
      if (Latch.validate(headers, 0, version)) {
        assertEquals(a, b);
        assertTrue(a >= last, "a version went backwards");
        last = a;
      }
    }
    writer.join();
  }
}
