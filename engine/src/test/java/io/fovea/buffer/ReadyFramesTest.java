package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Translation;
import org.junit.jupiter.api.Test;

class ReadyFramesTest {
  private final Frames frames =
      new Frames(PoolConfig.ofFrames(4096, 64, Translation.PREDICTIVE), null);

  private void ready(int frame, boolean written) {
    PagePromoterTest.put(frames, 64 + frame, frame, PageHeader.LEAF);
    FrameHeader.markCandidate(frames.headers, frame);
    frames.ready.add(frame, written);
  }

  @Test
  void firstInFirstOut() {
    ready(3, false);
    ready(9, true);
    ready(4, false);
    assertEquals(3, frames.ready.size());
    assertEquals(3, frames.claimReady());
    assertEquals(0, frames.pid(3));
    assertEquals(9, frames.claimReady());
    assertEquals(1, frames.counters.evictionsClean.sum());
    assertEquals(1, frames.counters.evictionsDirty.sum(), "written to make it ready");
    assertEquals(4, frames.claimReady());
    assertEquals(-1, frames.claimReady());
  }

  /** A reader or a writer that uses the page keeps it resident. */
  @Test
  void aPageUsedAgainStays() {
    ready(1, true);
    ready(2, true);
    ready(3, true);
    assertTrue(FrameHeader.use(frames.headers, 1, 65));
    assertTrue(FrameHeader.isUsed(frames.headers, 1));
    FrameHeader.setDirty(frames.headers, 2, true);
    assertTrue(Latch.tryShared(frames.headers, 3));
    assertEquals(-1, frames.claimReady());
    assertEquals(65, frames.pid(1));
    assertTrue(FrameHeader.isUsed(frames.headers, 1), "its use still counts");
    assertFalse(
        FrameHeader.isEvictionCandidate(frames.headers, 2),
        "the replacement policy may propose it again");
    assertFalse(FrameHeader.isEvictionCandidate(frames.headers, 3));
    assertEquals(0, frames.ready.size());
  }

  /** An entry does not affect another page that has since arrived in the frame. */
  @Test
  void anotherPageIsNotTaken() {
    ready(1, true);
    assertTrue(frames.claimCold(1));
    frames.unclaim(1);
    PagePromoterTest.put(frames, 129, 1, PageHeader.LEAF);
    FrameHeader.setUsed(frames.headers, 1, false);
    assertEquals(-1, frames.claimReady());
    assertEquals(129, frames.pid(1));
  }

  /** Frames offered by the writer: one that does not fit goes back to the replacement policy. */
  @Test
  void anOfferDisplacesNoEntry() {
    int room = frames.plan.batch();
    for (int frame = 0; frame < room; frame++) {
      FrameHeader.markCandidate(frames.headers, frame);
      assertFalse(frames.unwritten.isFull());
      assertTrue(frames.unwritten.offer(frame));
    }
    assertTrue(frames.unwritten.isFull());
    FrameHeader.markCandidate(frames.headers, room);
    assertFalse(frames.unwritten.offer(room));
    assertFalse(FrameHeader.isEvictionCandidate(frames.headers, room));
    for (int frame = 0; frame < room; frame++) {
      assertTrue(FrameHeader.isEvictionCandidate(frames.headers, frame));
      assertEquals(frame, frames.unwritten.take());
    }
    assertEquals(ReadyFrames.EMPTY, frames.unwritten.take());
  }

  @Test
  void aNewEntryDisplacesTheOldest() {
    for (int frame = 0; frame < 17; frame++) {
      ready(frame, frame % 2 == 0);
    }
    assertEquals(16, frames.ready.size());
    assertFalse(
        FrameHeader.isEvictionCandidate(frames.headers, 0),
        "the replacement policy may propose it again");
    for (int frame = 1; frame < 17; frame++) {
      assertEquals(frame, frames.claimReady());
    }
    assertEquals(-1, frames.claimReady());
  }
}
