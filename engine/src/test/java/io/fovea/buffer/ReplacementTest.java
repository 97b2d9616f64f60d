package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.wal.LogSession;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ReplacementTest {
  private final TestDevice device = new TestDevice();

  private static final Replacement.Writer NO_WRITER =
      new Replacement.Writer() {
        @Override
        public void wake(boolean urgent) {}

        @Override
        public @Nullable Throwable failure() {
          return null;
        }
      };

  @Test
  void pagesInUseGetASecondChance() {
    Frames frames = new Frames(PoolConfig.ofFrames(4096, 64, Translation.PREDICTIVE));
    Replacement clock = new Replacement(frames, 100, NO_WRITER);
    for (int i = 0; i < 64; i++) {
      MoverTest.put(frames, 64 + i, i, PageHeader.LEAF);
    }
    int first = clock.acquire(-1);
    for (int i = 0; i < 64; i++) {
      assertFalse(FrameHeader.used(frames.headers, i), "one turn of the hand clears all");
    }
    int second = clock.acquire(-1);
    assertEquals((first + 1) % 64, second, "the next one is cold now");
    FrameHeader.setUsed(frames.headers, (second + 1) % 64, true);
    FrameHeader.setDirty(frames.headers, (second + 2) % 64, true);
    assertTrue(Latch.tryShared(frames.headers, (second + 3) % 64));
    FrameHeader.setWriting(frames.headers, (second + 4) % 64, true);
    assertEquals((second + 5) % 64, clock.acquire(-1), "in use, dirty, latched, being written");
    assertFalse(FrameHeader.used(frames.headers, (second + 1) % 64));
    assertEquals(3, frames.counters.evictionsClean.sum());
    assertEquals(0, frames.free.count());
  }

  @Test
  void theWriterKeepsSomeFramesFree() {
    BufferPool pool = Pools.open(device);
    for (int i = 0; i < 200; i++) {
      Pools.page(pool);
    }
    Pools.await("free frames", () -> pool.stats().framesFree() >= 2);
    assertTrue(pool.stats().evictionsDirty() > 0, pool.stats().toString());
    pool.close();
  }

  @Test
  void innerNodesAreNotPushedOutOfTheirHomes() {
    BufferPool pool = Pools.open(device);
    int inner = pool.allocate(1, PageHeader.INNER, LogSession.NONE);
    int leaf = pool.allocate(1, PageHeader.LEAF, LogSession.NONE);
    long innerPid = pool.pid(inner);
    pool.releaseExclusive(inner);
    pool.releaseExclusive(leaf);
    pool.flushAll();
    Frames frames = pool.frames;
    FrameHeader.setUsed(frames.headers, inner, false);
    FrameHeader.setUsed(frames.headers, leaf, false);
    Replacement replacement =
        new Replacement(frames, 100, new BackgroundWriter(frames, pool.writeBack));
    assertFalse(replacement.claimHome(inner));
    assertEquals(innerPid, frames.pid(inner));
    assertTrue(replacement.claimHome(leaf));
    assertEquals(0, frames.pid(leaf));
    frames.giveBack(leaf);
    assertNotEquals(0, frames.free.count());
    pool.close();
  }

  @Test
  void onlyColdAndCleanPagesLeaveAtOnce() {
    BufferPool pool = Pools.open(device);
    long pid = Pools.page(pool);
    Frames frames = pool.frames;
    int frame = pool.guess(pid);
    FrameHeader.setUsed(frames.headers, frame, false);
    assertFalse(frames.claimCold(frame), "dirty");
    pool.flushAll();
    FrameHeader.setUsed(frames.headers, frame, true);
    assertFalse(frames.claimCold(frame), "used");
    FrameHeader.setUsed(frames.headers, frame, false);
    assertTrue(pool.tryShared(frame, pid));
    assertFalse(frames.claimCold(frame), "latched");
    pool.releaseShared(frame);
    FrameHeader.setWriting(frames.headers, frame, true);
    assertFalse(frames.claimCold(frame), "being written");
    FrameHeader.setWriting(frames.headers, frame, false);
    assertTrue(frames.claimCold(frame));
    frames.giveBack(frame);
    assertEquals(pid, Pools.word(pool, pid));
    pool.close();
  }
}
