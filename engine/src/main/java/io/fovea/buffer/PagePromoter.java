package io.fovea.buffer;

import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Promotion: moves a page that is used again to its preferred frame, so that predicting it
 * succeeds.
 *
 * <pre>
 *   h free, or cold and clean:   page p:  f ──copy──► h        odds 1/32
 *   h holds a page q:            p in f  ◄──swap──►  q in h    odds 1/512; q is demoted
 *   h: the preferred frame of p
 * </pre>
 *
 * <p>The odds are the paper's for pages of 4 KiB, and lower for larger pages, which cost more to
 * move. So pages used often are promoted soon, and pages used once are promoted rarely, without the
 * need for statistics.
 *
 * <p><b>Rules.</b> Latches of both frames are only tried; on failure the page stays. A page that is
 * being written does not move. Only an inner node displaces an inner node from its preferred frame.
 * The LSNs and flags of the header move along. Both versions become greater than either was, so
 * that no page has a version twice.
 *
 * <p>The paper demotes into a free frame. A swap, word by word, needs neither that nor a third
 * page.
 */
final class PagePromoter implements Translator.Promotion {
  private static final int ODDS_FREE = 32;
  private static final int ODDS_SWAP = 512;

  private final Frames frames;
  private final MemorySegment headers;
  private final int maskFree;
  private final int maskSwap;

  private final AtomicInteger moving = new AtomicInteger();

  /** The number of threads that forbid moves: a flush, a scan for the redo point. */
  private final AtomicInteger paused = new AtomicInteger();

  PagePromoter(Frames frames) {
    this.frames = frames;
    this.headers = frames.headers;
    int scale = Math.max(1, frames.pageSize >>> 12);
    this.maskFree = ODDS_FREE * scale - 1;
    this.maskSwap = ODDS_SWAP * scale - 1;
  }

  /**
   * Promotes a page with its odds. The caller holds no latch of the two frames.
   *
   * @param pid the page
   * @param frame its frame, which is not the preferred one
   * @param preferred its preferred frame
   * @return its frame now
   */
  @Override
  public int maybePromote(long pid, int frame, int preferred) {
    int dice = ThreadLocalRandom.current().nextInt();
    if ((dice & maskFree) != 0) {
      return frame;
    }
    boolean easy = frames.pid(preferred) == 0 || frames.mayBeDisplaced(preferred);
    return easy || (dice & maskSwap) == 0 ? promote(pid, frame, preferred) : frame;
  }

  int promote(long pid, int frame, int preferred) {
    // Each side writes one word and then reads the other, sequentially consistent: either the move
    // sees the pause, or the pause sees the move and waits for it.
    moving.getAndIncrement();
    try {
      return paused.get() != 0 ? frame : promoteNow(pid, frame, preferred);
    } catch (Error e) {
      throw frames.poolStop.stop(e); // a page may be half moved
    } finally {
      moveEnds();
    }
  }

  private void moveEnds() {
    moving.getAndDecrement();
  }

  /** Forbids moves until {@link #resume}; on return no move is in progress. */
  void pause() {
    paused.getAndIncrement();
    boolean done = false;
    try {
      for (int round = 0; moving.get() != 0; round = Backoff.pause(round)) {}
      done = true;
    } finally {
      if (!done) {
        resume();
      }
    }
  }

  void resume() {
    paused.getAndDecrement();
  }

  private int promoteNow(long pid, int frame, int preferred) {
    if (frames.pid(frame) != pid || !Latch.tryExclusive(headers, frame)) {
      return frame;
    }
    if (frames.pid(frame) == pid && !FrameHeader.isWriting(headers, frame)) {
      if (Latch.tryExclusive(headers, preferred)) {
        if (promoteLatched(pid, frame, preferred)) {
          return preferred;
        }
        Latch.releaseExclusiveUnchanged(headers, preferred);
      }
    }
    Latch.releaseExclusiveUnchanged(headers, frame);
    return frame;
  }

  /** Returns true if the page has moved and both latches are released; false if nothing changed. */
  private boolean promoteLatched(long pid, int frame, int preferred) {
    long other = frames.pid(preferred);
    if (other == 0) {
      PoolShare.Member share = frames.share;
      if (share != null && !share.takeForMove()) {
        return false;
      }
      frames.free.claimed();
      move(pid, frame, preferred);
      if (share != null) {
        share.moved();
      }
      return true;
    }
    if (FrameHeader.isWriting(headers, preferred)
        || frames.isInner(preferred) && !frames.isInner(frame)) {
      return false;
    }
    if (frames.mayBeDisplaced(preferred)) {
      frames.drop(preferred);
      frames.counters.evictionsClean.increment();
      move(pid, frame, preferred);
      if (frames.share != null) {
        frames.share.refund();
      }
    } else {
      swap(pid, frame, other, preferred);
    }
    return true;
  }

  /** The preferred frame is claimed; the old frame is free afterwards. */
  private void move(long pid, int frame, int preferred) {
    Mem.copy(
        frames.pages, frames.base(frame), frames.pages, frames.base(preferred), frames.pageSize);
    boolean dirty = FrameHeader.isDirty(headers, frame);
    FrameHeader.setDirty(headers, preferred, dirty);
    FrameHeader.setRecLsn(headers, preferred, FrameHeader.recLsn(headers, frame));
    FrameHeader.setWritingRecLsn(headers, preferred, FrameHeader.writingRecLsn(headers, frame));
    FrameHeader.setDirty(headers, frame, false);
    FrameHeader.setRecLsn(headers, frame, 0);
    FrameHeader.setWritingRecLsn(headers, frame, 0);
    FrameHeader.setUsed(headers, preferred, true);
    FrameHeader.setUsed(headers, frame, false);
    frames.policy.swapped(frame, preferred);
    Translator translator = frames.translator;
    int bucket = translator.bucket(pid);
    translator.lock(bucket);
    try {
      translator.remove(bucket, pid, frame);
      translator.insert(bucket, pid, preferred);
    } finally {
      translator.unlock(bucket);
    }
    frames.counters.promotions.increment();
    frames.poison(frame);
    frames.discardIfShared(frame);
    frames.free.add(frame);
    Latch.releaseMoved(headers, frame, preferred);
  }

  private void swap(long pid, int frame, long other, int preferred) {
    swapWords(frames.base(frame), frames.base(preferred));
    boolean dirty = FrameHeader.isDirty(headers, frame);
    long recLsn = FrameHeader.recLsn(headers, frame);
    FrameHeader.setDirty(headers, frame, FrameHeader.isDirty(headers, preferred));
    FrameHeader.setRecLsn(headers, frame, FrameHeader.recLsn(headers, preferred));
    FrameHeader.setUsed(headers, frame, FrameHeader.isUsed(headers, preferred));
    FrameHeader.setDirty(headers, preferred, dirty);
    FrameHeader.setRecLsn(headers, preferred, recLsn);
    // Not 0 if the last write of the page failed.
    long writingRecLsn = FrameHeader.writingRecLsn(headers, frame);
    FrameHeader.setWritingRecLsn(headers, frame, FrameHeader.writingRecLsn(headers, preferred));
    FrameHeader.setWritingRecLsn(headers, preferred, writingRecLsn);
    FrameHeader.setUsed(headers, preferred, true);
    frames.policy.swapped(frame, preferred);
    Translator translator = frames.translator;
    int bucket = translator.bucket(pid);
    int otherBucket = translator.bucket(other);
    translator.lockBoth(bucket, otherBucket);
    try {
      translator.remove(bucket, pid, frame);
      translator.remove(otherBucket, other, preferred);
      translator.insert(bucket, pid, preferred);
      translator.insert(otherBucket, other, frame);
    } finally {
      translator.unlockBoth(bucket, otherBucket);
    }
    frames.counters.promotions.increment();
    frames.counters.demotions.increment();
    Latch.releaseMoved(headers, frame, preferred);
  }

  private void swapWords(long a, long b) {
    MemorySegment pages = frames.pages;
    for (int i = 0; i < frames.pageSize; i += 8) {
      long word = Mem.getLong(pages, a + i);
      Mem.putLong(pages, a + i, Mem.getLong(pages, b + i));
      Mem.putLong(pages, b + i, word);
    }
  }
}
