package io.fovea.buffer;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The clock.
 *
 * <pre>
 *   f  f+1  f+2 ...        used  → clear, continue (second chance)
 *   ▲                      else  → this one
 *   hand
 * </pre>
 *
 * <p>The hand is one counter for all threads; a thread that advances it owns the frame it passes. A
 * page that is read constantly costs one store per revolution of the hand.
 *
 * <p>Source: F. J. Corbató, "A Paging Experiment with the Multics System", 1968.
 */
final class SecondChance implements ReplacementPolicy {
  private final MemorySegment headers;
  private final Residency residency;
  private final int maxResidents;
  private final AtomicLong hand = new AtomicLong();

  SecondChance(MemorySegment headers, Residency residency) {
    this.headers = headers;
    this.residency = residency;
    this.maxResidents = residency.maxResidents();
  }

  @Override
  public int propose(int attempt, boolean again) {
    int index = (int) Long.remainderUnsigned(hand.getAndIncrement(), maxResidents);
    int frame = residency.resident(index);
    if (frame < 0) {
      return -1;
    }
    // The writer passes over pages being written, and candidates, which were proposed before.
    if (!again
        && (FrameHeader.isWriting(headers, frame)
            || FrameHeader.isEvictionCandidate(headers, frame))) {
      return -1;
    }
    if (FrameHeader.isUsed(headers, frame)) {
      FrameHeader.setUsed(headers, frame, false);
      return -1;
    }
    return frame;
  }

  @Override
  public boolean mayBeDisplaced(int frame) {
    return true;
  }

  @Override
  public void left(int frame) {}

  @Override
  public void swapped(int a, int b) {}
}
