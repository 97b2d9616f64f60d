package io.fovea.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.DatabaseClosedException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 5, unit = TimeUnit.MINUTES)
class BlocksTest {
  private final Blocks blocks = new Blocks("test");

  @AfterEach
  void close() {
    blocks.close();
  }

  @Test
  void aBlockIsReleasedOnce() {
    for (long bytes : new long[] {256, 8 << 10, 16 << 20}) {
      MemorySegment block = blocks.take(bytes);
      blocks.release(block);
      assertThrows(AssertionError.class, () -> blocks.release(block));
      MemorySegment again = blocks.take(bytes);
      assertEquals(block.address(), again.address());
      assertNotEquals(again.address(), blocks.take(bytes).address());
    }
  }

  @Test
  void detectsAWriteAfterRelease() {
    MemorySegment block = blocks.take(4096);
    Mem.putLong(block, 0, 1);
    blocks.release(block);
    assertNotEquals(1, Mem.getLong(block, 0), "the contents remain");
    Mem.putLong(block, 8, 1);
    assertThrows(AssertionError.class, () -> blocks.take(4096));
  }

  /** A block has one owner, whatever sizes are allocated and released by which threads. */
  @Test
  void blocksOfSeveralThreadsNeverOverlap() throws Exception {
    int threads = 4;
    try (ExecutorService all = Executors.newFixedThreadPool(threads)) {
      List<Future<?>> ends = new ArrayList<>();
      for (int t = 0; t < threads; t++) {
        long mark = t + 1;
        ends.add(all.submit(() -> allocateAndRelease(mark)));
      }
      for (Future<?> end : ends) {
        end.get();
      }
    }
    assertEquals(0, blocks.bytesUsed());
  }

  private void allocateAndRelease(long mark) {
    Random random = new Random(mark);
    List<MemorySegment> mine = new ArrayList<>();
    Map<MemorySegment, Long> marks = new HashMap<>();
    for (int i = 0; i < 20_000; i++) {
      if (mine.size() < 40 && random.nextInt(5) < 3) {
        long bytes = 1 + random.nextInt(1 << random.nextInt(16));
        MemorySegment block = blocks.take(bytes);
        assertTrue(block.byteSize() >= bytes, "a block of " + block.byteSize());
        assertEquals(0, block.address() & 0xFF);
        long value = mark << 32 | i;
        Mem.putLong(block, 0, value);
        Mem.putLong(block, block.byteSize() - 8, value);
        marks.put(block, value);
        mine.add(block);
      } else if (!mine.isEmpty()) {
        MemorySegment block = mine.remove(random.nextInt(mine.size()));
        long value = marks.remove(block);
        assertEquals(value, Mem.getLong(block, 0));
        assertEquals(value, Mem.getLong(block, block.byteSize() - 8));
        blocks.release(block);
      }
    }
    mine.forEach(blocks::release);
  }

  @Test
  void releasedBlocksAreReused() {
    for (long bytes : new long[] {1, 256, 257, 40_000, 1 << 20, 3 << 20}) {
      MemorySegment first = blocks.take(bytes);
      blocks.release(first);
      assertEquals(first.address(), blocks.take(bytes).address(), bytes + " bytes");
    }
  }

  /** Some unused memory is kept for reuse; the rest returns to the operating system. */
  @Test
  void memoryOfAPeakIsReturned() {
    List<MemorySegment> many = new ArrayList<>();
    for (int i = 0; i < 40; i++) {
      MemorySegment block = blocks.take(1 << 20);
      block.fill((byte) 1);
      many.add(block);
    }
    assertEquals(40 << 20, blocks.bytes());
    many.forEach(blocks::release);
    assertEquals(0, blocks.bytesUsed());
    assertTrue(blocks.bytes() <= Blocks.KEPT_BYTES, "kept: " + blocks.bytes());
    long zeros =
        many.stream().filter(block -> Mem.getLong(block, 0) == 0).count(); // zeros: new pages
    assertEquals(40 - Blocks.KEPT_BYTES / (1 << 20), zeros);
  }

  @Test
  void allocatesNothingAfterClose() {
    MemorySegment block = blocks.take(5000);
    block.fill((byte) 1);
    blocks.close();
    assertThrows(DatabaseClosedException.class, () -> blocks.take(1));
    assertEquals(0, Mem.getLong(block, 0));
    blocks.release(block);
    assertEquals(0, blocks.bytes());
  }

  @Test
  void noneIsEmpty() {
    assertEquals(0, Blocks.NONE.byteSize());
    blocks.release(Blocks.NONE);
    MemorySegment block = blocks.exchange(Blocks.NONE, 10);
    assertFalse(block.byteSize() == 0);
  }

  /** Releases during a concurrent close succeed: the second one finds nothing to do. */
  @Test
  void releaseNeverFailsDuringClose() throws Exception {
    for (long bytes : new long[] {1, 256, 40_000, 1 << 20, 3 << 20}) {
      Blocks some = new Blocks("test");
      MemorySegment block = some.take(bytes);
      AtomicReference<Throwable> failure = new AtomicReference<>();
      some.lock();
      Thread giver = Thread.ofVirtual().unstarted(() -> some.release(block));
      giver.setUncaughtExceptionHandler((t, e) -> failure.set(e));
      giver.start();
      // It has seen an open state, and sleeps only at the lock.
      while (giver.getState() != Thread.State.TIMED_WAITING) {
        Thread.yield();
      }
      some.end();
      some.unlock();
      giver.join();
      assertNull(failure.get());
      assertEquals(0, some.bytes());
      some.release(block);
      some.close();
    }
  }
}
