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

/** A slot is lent to one transaction, and so is its memory. */
class SlotTest {
  private final Blocks blocks = new Blocks("test");
  private final Slot slot = new Slot(0, 1, blocks);

  @AfterEach
  void close() {
    blocks.close();
  }

  @Test
  void itIsReleasedOnce() {
    assertTrue(slot.claim());
    assertFalse(slot.claim());
    assertTrue(slot.enter());
    slot.release();
    assertThrows(AssertionError.class, slot::release);
    assertThrows(AssertionError.class, slot::enter);
    assertFalse(slot.isMine());
    assertTrue(slot.claim());
    assertTrue(slot.isMine());
  }

  @Test
  void itsMemoryIsGivenBackOnceAndInTime() {
    assertTrue(slot.claim());
    MemorySegment one = slot.take(600);
    MemorySegment other = slot.take(600);
    assertNotEquals(one.address(), other.address());
    slot.give(one);
    assertThrows(AssertionError.class, () -> slot.give(one));
    assertEquals(one.address(), slot.take(600).address());
    assertTrue(slot.enter());
    slot.release();
    assertThrows(AssertionError.class, () -> slot.give(other));
  }

  @Test
  void whoWritesToItsMemoryAfterwardsIsNoticed() {
    assertTrue(slot.claim());
    MemorySegment block = slot.take(600);
    Mem.putLong(block, 0, 1);
    slot.give(block);
    assertNotEquals(1, Mem.getLong(block, 0));
    Mem.putLong(block, 0, 1);
    assertThrows(AssertionError.class, () -> slot.take(600));
  }
}
