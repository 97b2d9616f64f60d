package io.fovea.buffer;

import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;

/**
 * The latch of a frame: one word in its header line.
 *
 * <pre>
 *   63                                        9   8     7            0
 *   +------------------------------------------+-----+----------------+
 *   | version                                  | excl| shared holders |
 *   +------------------------------------------+-----+----------------+
 *
 *   optimistic   remember the word (exclusive clear, holders masked off); read the page;
 *                validate: the same word again, holders masked off
 *   shared       +1, if exclusive is clear and there are fewer than 255
 *   exclusive    CAS from a word without holders and without exclusive; release adds 1 &lt;&lt; 8,
 *                whose carry clears the bit and advances the version
 *   another page the holder adds 1 &lt;&lt; 9: the version advances, and the bit stays
 * </pre>
 *
 * <p>This is {@link java.util.concurrent.locks.StampedLock} in a word of native memory, without the
 * queue: latches are held for well under a microsecond, except during a read from a device. Waiters
 * use {@link Backoff}. Not reentrant.
 *
 * <h2>Memory order</h2>
 *
 * <ol>
 *   <li><b>Acquire read in {@link #optimistic}</b>, partner: the release store in {@link
 *       #releaseExclusive}. A reader that sees version v sees every write of the holder that
 *       released v. Without it: new version, old content, and a validation that succeeds.
 *   <li><b>Acquire fence in {@link #validate}</b>, partner: the StoreStore fence after taking the
 *       latch. If any load of the page saw a store made under the latch, the second load of the
 *       word sees the exclusive bit or a later word. Forbidden: the reader's loads of the page sink
 *       below its second load of the word; or a writer's stores to the page rise above its store of
 *       the exclusive bit. Either lets a reader see half of a change between two equal words.
 *   <li><b>CAS in {@link #tryExclusive}, {@link #tryUpgrade}</b>: sequentially consistent, so it
 *       acquires what the last exclusive holder released and follows the reads of the last shared
 *       holder. The StoreStore fence after it is needed because on LL/SC machines a CAS orders
 *       later stores after its load, not after its store (StampedLock has the same fence).
 *   <li><b>Shared release</b> is a getAndAdd, sequentially consistent: loads under the shared latch
 *       are done before an exclusive CAS can see the holder gone.
 *   <li><b>Exclusive release</b> is a release store rather than a CAS: while the bit is set no
 *       other thread changes the word, because shared and exclusive start from words without it.
 * </ol>
 *
 * <p>The version has 54 bits, which last half a year at one release per nanosecond.
 *
 * <p>Cost, uncontended: optimistic and validate a load and a compare each; exclusive one CAS and a
 * store, shared one CAS and one atomic add.
 */
final class Latch {
  static final long SHARED_MASK = 0xFF;
  static final long EXCLUSIVE = 1L << 8;

  static final long LATCHED = -1;

  private Latch() {}

  static long word(MemorySegment headers, int frame) {
    return Mem.peekLongAcquire(headers, FrameHeader.at(frame));
  }

  static boolean isExclusive(MemorySegment headers, int frame) {
    return (word(headers, frame) & EXCLUSIVE) != 0;
  }

  /** Returns the version to validate against, or {@link #LATCHED}. */
  static long optimistic(MemorySegment headers, int frame) {
    long word = Mem.peekLongAcquire(headers, FrameHeader.at(frame));
    return (word & EXCLUSIVE) == 0 ? word & ~SHARED_MASK : LATCHED;
  }

  /** Returns whether the page is unchanged since the version was read. */
  static boolean validate(MemorySegment headers, int frame, long version) {
    VarHandle.acquireFence();
    return (Mem.peekLongOpaque(headers, FrameHeader.at(frame)) & ~SHARED_MASK) == version;
  }

  /** Takes the latch exclusively if it is free and still has the version. */
  static boolean tryUpgrade(MemorySegment headers, int frame, long version) {
    // A version has no holders and no exclusive bit: the CAS checks all three at once.
    if (!Mem.casLong(headers, FrameHeader.at(frame), version, version | EXCLUSIVE)) {
      return false;
    }
    VarHandle.storeStoreFence();
    return true;
  }

  /** Takes the latch exclusively if no thread holds it. */
  static boolean tryExclusive(MemorySegment headers, int frame) {
    long word = Mem.getLongOpaque(headers, FrameHeader.at(frame));
    return (word & (EXCLUSIVE | SHARED_MASK)) == 0 && tryUpgrade(headers, frame, word);
  }

  /** Takes the latch shared if no thread holds it exclusively. */
  static boolean tryShared(MemorySegment headers, int frame) {
    long at = FrameHeader.at(frame);
    long word = Mem.getLongOpaque(headers, at);
    while ((word & EXCLUSIVE) == 0 && (word & SHARED_MASK) != SHARED_MASK) {
      long seen = Mem.casExchangeLong(headers, at, word, word + 1);
      if (seen == word) {
        return true;
      }
      word = seen;
    }
    return false;
  }

  /**
   * Returns the version with which the latch was taken exclusively, or which {@link #advance} made
   * since. Only for the holder.
   */
  static long heldVersion(MemorySegment headers, int frame) {
    long word = Mem.getLongOpaque(headers, FrameHeader.at(frame));
    assert isHeld(word) : "frame " + frame + " is not latched exclusively";
    return word & ~EXCLUSIVE;
  }

  /**
   * Advances the version under the exclusive latch, because the frame receives another page. Even a
   * release without a change ({@link #releaseExclusiveUnchanged}) then leaves a version that the
   * frame did not have with the previous page, or while it was empty.
   *
   * <p>An opaque store is enough. The words of one hold are v, v + exclusive, v + 1 + exclusive,
   * and the released one, in this order for every reader, as for any single word. A reader that saw
   * a store made under the latch sees none of them before the second, by fence 2. A reader that
   * starts from the released word reads it with acquire, whose partner is the release.
   */
  static void advance(MemorySegment headers, int frame) {
    long at = FrameHeader.at(frame);
    long word = Mem.getLongOpaque(headers, at);
    assert isHeld(word) : "frame " + frame + " is not latched exclusively";
    if (word != 0) { // else the pool was closed
      Mem.putLongOpaque(headers, at, word + (EXCLUSIVE << 1));
    }
  }

  /** Releases the exclusive latch; optimistic reads from before fail validation. */
  static void releaseExclusive(MemorySegment headers, int frame) {
    long at = FrameHeader.at(frame);
    long word = Mem.getLongOpaque(headers, at);
    assert isHeld(word) : "frame " + frame + " is not latched exclusively";
    Mem.putLongRelease(headers, at, word + EXCLUSIVE);
  }

  /** Returns whether a word is latched exclusively; a closed pool reads as 0. */
  private static boolean isHeld(long word) {
    return (word & EXCLUSIVE) != 0 || word == 0;
  }

  /**
   * Releases the exclusive latch with the version it was taken with, or with the one that {@link
   * #advance} made if the frame received a page under this latch.
   *
   * <p>Only for a holder that changed neither the page it found nor the page that arrived:
   * optimistic readers from before the latch stay valid, and no reader has the version of a page
   * that just arrived.
   */
  static void releaseExclusiveUnchanged(MemorySegment headers, int frame) {
    long at = FrameHeader.at(frame);
    long word = Mem.getLongOpaque(headers, at);
    assert isHeld(word) : "frame " + frame + " is not latched exclusively";
    Mem.putLongRelease(headers, at, word & ~EXCLUSIVE);
  }

  /**
   * Releases the exclusive latches of two frames, both with a version above what either had, so
   * that a page that moved between them never has an earlier version again.
   */
  static void releaseMoved(MemorySegment headers, int a, int b) {
    long wordA = Mem.getLongOpaque(headers, FrameHeader.at(a));
    long wordB = Mem.getLongOpaque(headers, FrameHeader.at(b));
    assert isHeld(wordA) && isHeld(wordB) : "frames " + a + ", " + b + " are not both latched";
    long word = Math.max(wordA, wordB) + EXCLUSIVE;
    Mem.putLongRelease(headers, FrameHeader.at(a), word);
    Mem.putLongRelease(headers, FrameHeader.at(b), word);
  }

  /** Turns the exclusive latch into a shared one and advances the version. */
  static void downgrade(MemorySegment headers, int frame) {
    long at = FrameHeader.at(frame);
    long word = Mem.getLongOpaque(headers, at);
    assert isHeld(word) : "frame " + frame + " is not latched exclusively";
    Mem.putLongRelease(headers, at, word + EXCLUSIVE + 1);
  }

  static void releaseShared(MemorySegment headers, int frame) {
    long word = Mem.getAndAddLong(headers, FrameHeader.at(frame), -1);
    assert (word & SHARED_MASK) != 0 || word == 0 : "frame " + frame + " is not latched shared";
  }
}
