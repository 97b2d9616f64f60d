package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Replacement;
import io.fovea.config.Translation;
import io.fovea.error.PoolTooSmallException;
import io.fovea.io.ReadRing;
import io.fovea.support.Records;
import net.jqwik.api.Assume;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;

class MemoryPlanTest {
  @Property(tries = 2000)
  void thePoolIsTheLargestThatFits(
      @ForAll Translation kind,
      @ForAll Replacement replacement,
      @ForAll @IntRange(min = 12, max = 16) int shift,
      @ForAll @LongRange(min = 6L << 20, max = 1L << 40) long bytes) {
    int pageSize = 1 << shift;
    Assume.that(!Translator.isOwn(kind));
    PoolConfig config = PoolConfig.of(pageSize, bytes, kind, replacement, ReadRing.DEPTH);
    MemoryPlan plan = MemoryPlan.fit(config);
    assertTrue(plan.bytes() <= bytes);
    assertTrue(MemoryPlan.bytes(pageSize, plan.frames() + 1, kind, replacement) > bytes);
    assertEquals(0, plan.headersAt() % 64);
    assertEquals(0, plan.tableAt() % 64);
    assertEquals(0, plan.bufferAt() % pageSize);
    assertEquals(0, plan.stackAt() % 4);
    assertEquals(0, plan.statisticsAt() % (replacement == Replacement.SAMPLING ? 8 : 4));
    long statistics = replacement == Replacement.SAMPLING ? 8L * plan.frames() : 0;
    assertEquals(statistics, plan.bytes() - plan.statisticsAt());
    assertTrue(plan.statisticsAt() >= plan.stackAt() + 4L * plan.frames());
    // One byte less costs at most one frame.
    PoolConfig exact = PoolConfig.of(pageSize, plan.bytes(), kind, replacement, ReadRing.DEPTH);
    assertEquals(plan.frames(), MemoryPlan.fit(exact).frames());
  }

  /** The file may grow until the minimum number of pages in memory is left, and no further. */
  @Property(tries = 1000)
  void aPageWithItsOwnFrameIsAccountedFor(
      @ForAll Replacement replacement,
      @ForAll @IntRange(min = 12, max = 16) int shift,
      @ForAll @LongRange(min = 12L << 20, max = 1L << 38) long bytes,
      @ForAll @LongRange(min = 0, max = 1L << 34) long fileBytesMax) {
    int pageSize = 1 << shift;
    PoolConfig config =
        Records.with(
            PoolConfig.of(pageSize, bytes, Translation.VIRTUAL, replacement, ReadRing.DEPTH),
            "fileBytesMax",
            fileBytesMax);
    MemoryPlan plan = MemoryPlan.fit(config);
    int grant = MemoryPlan.grantBytes(pageSize, replacement);
    long rest = bytes - plan.ownFixedBytes();
    assertEquals(Math.min(rest / grant, Integer.MAX_VALUE / 4), plan.maxResidents());
    assertTrue(rest - (long) MemoryPlan.FILE_PAGE_BYTES * plan.frames() >= 64L * grant);
    if (fileBytesMax > 64L * pageSize) {
      assertTrue((long) plan.frames() * pageSize <= fileBytesMax);
    }
    assertEquals(0, plan.headersAt() % 64);
    assertEquals(0, plan.statisticsAt() % 8);
    assertTrue(plan.statisticsAt() >= plan.stackAt() + 4L * plan.maxResidents());
  }

  @Property(tries = 100)
  void tooSmallReportsTheRequiredSize(
      @ForAll Translation kind,
      @ForAll Replacement replacement,
      @ForAll @IntRange(min = 12, max = 16) int shift) {
    int pageSize = 1 << shift;
    long least = PoolConfig.bytesMin(pageSize, kind, replacement);
    int maxResidents =
        MemoryPlan.fit(PoolConfig.of(pageSize, least, kind, replacement, ReadRing.DEPTH))
            .maxResidents();
    // VIRTUAL also needs space for pages of the file.
    assertTrue(
        Translator.isOwn(kind)
            ? maxResidents >= PoolConfig.FRAMES_MIN
            : maxResidents == PoolConfig.FRAMES_MIN,
        "maxResidents: " + maxResidents);
    PoolTooSmallException e =
        assertThrows(
            PoolTooSmallException.class,
            () ->
                MemoryPlan.fit(
                    PoolConfig.of(pageSize, least - 1, kind, replacement, ReadRing.DEPTH)));
    assertEquals(least, e.bytesNeeded());
    assertEquals(least - 1, e.bytesSpecified());
  }
}
