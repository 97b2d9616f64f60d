package io.fovea.index;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.memory.Blocks;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A slot, and its memory, belong to one transaction at a time. */
class SlotTest {
  private final Blocks blocks = new Blocks("test");
  private final StatementContext statementContext = new StatementContext(0, 1, blocks);

  @AfterEach
  void close() {
    blocks.close();
  }

  @Test
  void isReleasedOnce() {
    assertTrue(statementContext.claim());
    assertFalse(statementContext.claim());
    assertTrue(statementContext.enter());
    statementContext.release();
    assertThrows(AssertionError.class, statementContext::release);
    assertThrows(AssertionError.class, statementContext::enter);
    assertFalse(statementContext.isOwnedByCurrentThread());
    assertTrue(statementContext.claim());
    assertTrue(statementContext.isOwnedByCurrentThread());
  }

  @Test
  void memoryIsReleasedOnceAndInTime() {
    assertTrue(statementContext.claim());
    MemorySegment one = statementContext.take(600);
    MemorySegment other = statementContext.take(600);
    assertNotEquals(one.address(), other.address());
    statementContext.releaseBlock(one);
    assertThrows(AssertionError.class, () -> statementContext.releaseBlock(one));
    assertEquals(one.address(), statementContext.take(600).address());
    assertTrue(statementContext.enter());
    statementContext.release();
    assertThrows(AssertionError.class, () -> statementContext.releaseBlock(other));
  }

  @Test
  void detectsAWriteAfterRelease() {
    assertTrue(statementContext.claim());
    MemorySegment block = statementContext.take(600);
    Mem.putLong(block, 0, 1);
    statementContext.releaseBlock(block);
    assertNotEquals(1, Mem.getLong(block, 0));
    Mem.putLong(block, 0, 1);
    assertThrows(AssertionError.class, () -> statementContext.take(600));
  }
}
