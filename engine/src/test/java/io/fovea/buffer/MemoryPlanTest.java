package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.PoolTooSmallException;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;

class MemoryPlanTest {
  @Property(tries = 2000)
  void thePoolIsTheLargestThatFits(
      @ForAll Translation kind,
      @ForAll @IntRange(min = 12, max = 16) int shift,
      @ForAll @LongRange(min = 6L << 20, max = 1L << 40) long bytes) {
    int pageSize = 1 << shift;
    PoolConfig config = PoolConfig.of(pageSize, bytes).with(kind);
    MemoryPlan plan = MemoryPlan.fit(config);
    assertTrue(plan.bytes() <= bytes);
    assertTrue(MemoryPlan.bytes(pageSize, plan.frames() + 1, kind) > bytes);
    assertEquals(0, plan.headersAt() % 64);
    assertEquals(0, plan.tableAt() % 64);
    assertEquals(0, plan.bufferAt() % pageSize);
    assertEquals(0, plan.stackAt() % 4);
    // One byte less takes a frame away at most.
    PoolConfig exact = PoolConfig.of(pageSize, plan.bytes()).with(kind);
    assertEquals(plan.frames(), MemoryPlan.fit(exact).frames());
  }

  @Property(tries = 100)
  void tooSmallSaysHowMuchIsNeeded(
      @ForAll Translation kind, @ForAll @IntRange(min = 12, max = 16) int shift) {
    int pageSize = 1 << shift;
    long least = PoolConfig.bytesMin(pageSize, kind);
    assertEquals(
        PoolConfig.FRAMES_MIN, MemoryPlan.fit(PoolConfig.of(pageSize, least).with(kind)).frames());
    PoolTooSmallException e =
        assertThrows(
            PoolTooSmallException.class,
            () -> MemoryPlan.fit(PoolConfig.of(pageSize, least - 1).with(kind)));
    assertEquals(least, e.bytesNeeded());
    assertEquals(least - 1, e.bytesGiven());
  }
}
