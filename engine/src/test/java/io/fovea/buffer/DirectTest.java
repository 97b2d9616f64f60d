package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Translation;
import io.fovea.error.CorruptionException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.StorageFullException;
import io.fovea.io.BlockDevice;
import io.fovea.io.MemoryDevice;
import io.fovea.memory.Mem;
import io.fovea.wal.LogSession;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** All pages are in memory before the first descent, and none is ever evicted. */
class DirectTest {
  private static final int PAGE = 4096;

  private final BlockDevice device = new MemoryDevice();

  private static PoolConfig config(int frames) {
    return PoolConfig.ofFrames(PAGE, frames, Translation.DIRECT);
  }

  private BufferPool open(int frames, AllocatorState state) {
    return new BufferPool(device, config(frames), state);
  }

  /** Pages 3 to n + 2, and 2, which is allocated at its fixed id. */
  private static List<Long> fill(BufferPool pool, int n) {
    List<Long> pids = new ArrayList<>();
    pool.releaseExclusive(pool.allocateAt(2, 1, PageHeader.LEAF, LogSession.NONE));
    for (int i = 0; i < n; i++) {
      pids.add(Pools.page(pool));
    }
    return pids;
  }

  @Test
  void everythingIsResidentAfterThePreload() {
    BufferPool first = open(400, AllocatorState.EMPTY);
    List<Long> pids = fill(first, 300);
    first.free(first.fixExclusive(pids.get(7)), LogSession.NONE);
    AllocatorState state = first.allocatorState();
    first.close();
    BufferPool pool = open(400, state);
    long word = pids.get(3);
    // Before the preload a reference is checked.
    assertEquals(BufferPool.RESTART, pool.optimisticChild((int) word, word));
    pool.preload();
    long misses = pool.stats().misses();
    for (long pid = 2; pid < state.highWater(); pid++) {
      assertEquals(pid, pool.resident(pid));
      assertEquals(pid, pool.predictChild(pid));
      assertNotEquals(BufferPool.RESTART, pool.optimisticChild((int) pid, pid));
    }
    for (long pid : pids) {
      if (pid != pids.get(7)) {
        assertEquals(pid, Pools.word(pool, pid));
      }
    }
    assertEquals(misses, pool.stats().misses());
    assertEquals(0, pool.stats().readFailures());
    Pools.check(pool);
    pool.close();
  }

  /**
   * After the preload a reference is not checked: the frame is trusted whatever its header says.
   */
  @Test
  void childReferencesAreNotChecked() {
    BufferPool pool = open(100, AllocatorState.EMPTY);
    fill(pool, 4);
    pool.preload();
    int nobody = 90;
    assertNotEquals(BufferPool.RESTART, pool.optimisticChild(nobody, nobody));
    assertEquals(BufferPool.RESTART, pool.optimistic(nobody, nobody));
    long torn = -1L >>> 3;
    int legal = pool.predictChild(torn);
    assertTrue(legal >= 0 && legal < pool.frames());
    pool.close();
  }

  /** D2: the frame has another page, and readers with the old version restart. */
  @Test
  void reusedPageAdvancesItsVersion() {
    BufferPool pool = open(100, AllocatorState.EMPTY);
    List<Long> pids = fill(pool, 4);
    pool.preload();
    long pid = pids.get(2);
    long version = pool.optimisticChild((int) pid, pid);
    pool.free(pool.fixExclusive(pid), LogSession.NONE);
    assertFalse(pool.validate((int) pid, version));
    int again = pool.allocate(9, PageHeader.INNER, LogSession.NONE);
    assertEquals(pid, again);
    assertEquals(BufferPool.RESTART, pool.optimisticChild((int) pid, pid), "it is latched");
    pool.releaseExclusive(again);
    assertNotEquals(version, pool.optimisticChild((int) pid, pid));
    pool.close();
  }

  @Test
  void nothingIsEvicted() {
    BufferPool pool = open(200, AllocatorState.EMPTY);
    List<Long> pids = fill(pool, 100);
    pool.flushAll();
    for (long pid : pids) {
      FrameHeader.setUsed(pool.frames.headers, (int) pid, false);
      assertFalse(pool.frames.claimCold((int) pid));
      assertEquals(pid, Pools.word(pool, pid));
    }
    assertEquals(0, pool.stats().misses());
    Pools.check(pool);
    pool.close();
  }

  @Test
  void damagedPageIsReportedOnOpen() {
    BufferPool first = open(200, AllocatorState.EMPTY);
    List<Long> pids = fill(first, 100);
    AllocatorState state = first.allocatorState();
    first.close();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment rubbish = arena.allocate(PAGE, PAGE).fill((byte) 7);
      device.write(pids.get(50) * PAGE, rubbish, 0, PAGE);
    }
    BufferPool pool = open(200, state);
    CorruptionException e = assertThrows(CorruptionException.class, pool::preload);
    assertTrue(e.getMessage().contains("page " + pids.get(50)), e.getMessage());
    pool.abandon();
  }

  @Test
  void fileGrowsToTheBufferSizeAndNoFurther() {
    BufferPool pool = open(128, AllocatorState.EMPTY);
    assertEquals(128, pool.frames(), 8);
    fill(pool, pool.frames() - 3);
    pool.preload();
    StorageFullException e =
        assertThrows(
            StorageFullException.class, () -> pool.allocate(1, PageHeader.LEAF, LogSession.NONE));
    assertTrue(e.getMessage().contains("Options.bufferBytes"), e.getMessage());
    assertTrue(e.getMessage().contains("resize of memory,"), e.getMessage());
    for (long pid = 3; pid < pool.frames(); pid++) {
      Pools.setWord(pool, pid, -pid);
    }
    AllocatorState state = pool.allocatorState();
    pool.close();
    InvalidUseException refused = assertThrows(InvalidUseException.class, () -> open(64, state));
    assertTrue(refused.getMessage().contains("it may have"), refused.getMessage());
    BufferPool other = new BufferPool(device, PoolConfig.of(PAGE, 1 << 20), state);
    assertEquals(-50, Pools.word(other, 50));
    other.close();
  }

  /** Writers do all their work without evictions: dirty pages stay until a flush. */
  @Test
  void onlyAFlushWrites() {
    BufferPool pool = open(128, AllocatorState.EMPTY);
    fill(pool, pool.frames() - 8);
    for (int round = 0; round < 50; round++) {
      Pools.setWord(pool, 10 + round, round);
      Backoff.pause(Backoff.PARK_FROM + 4);
    }
    assertEquals(0, pool.stats().pagesWritten());
    pool.flushAll();
    assertTrue(pool.stats().pagesWritten() > 100);
    assertEquals(7, Mem.getLong(pool.pages(), pool.base(17) + Pools.WORD));
    pool.close();
  }
}
