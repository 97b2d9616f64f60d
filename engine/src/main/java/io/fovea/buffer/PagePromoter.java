package io.fovea.buffer;

import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Promotion: brings a page that is used again to its preferred frame, so that its prediction is
 * right.
 *
 * <pre>
 *   h free, or cold and clean:   page p:  f ──copy──► h        odds 1/32
 *   h has a page q:              p in f  ◄──swap──►  q in h    odds 1/512; q is demoted
 *   h: the preferred frame of p
 * </pre>
 *
 * <p>The odds are those of the paper for pages of 4 KiB; a larger page costs more to move, so they
 * go down with its size. A page that is used often gets its chance soon, a page that is used once
 * hardly ever: no statistics are kept.
 *
 * <p><b>Rules.</b> Both frames are latched by trying; where one is not to be had the page stays
 * where it is. No frame moves while it is being written. A page that is no inner node never pushes
 * an inner node out of its preferred frame. The LSNs and flags of the header move along. Both
 * versions go above what either was, so that no page shows a version a second time.
 *
 * <p>The paper demotes into a free frame; a swap needs none, and no copy through a third page:
 * words are exchanged one by one.
 */
final class PagePromoter implements Translator.Promotion {
  private static final int ODDS_FREE = 32;
  private static final int ODDS_SWAP = 512;

  private final Frames frames;
  private final MemorySegment headers;
  private final int maskFree;
  private final int maskSwap;

  /** Moves that may be under way; none begins while {@link #paused}. */
  private final AtomicInteger moving = new AtomicInteger();

  /** How many want all pages to stay where they are: a flush, a scan for the redo point. */
  private final AtomicInteger paused = new AtomicInteger();

  PagePromoter(Frames frames) {
    this.frames = frames;
    this.headers = frames.headers;
    int scale = Math.max(1, frames.pageSize >>> 12);
    this.maskFree = ODDS_FREE * scale - 1;
    this.maskSwap = ODDS_SWAP * scale - 1;
  }

  /**
   * Promotes a page with the odds for it. The caller holds no latch of the two frames.
   *
   * @param pid the page
   * @param frame where it is, not its preferred frame
   * @param preferred its preferred frame
   * @return where it is now
   */
  @Override
  public int maybePromote(long pid, int frame, int preferred) {
    int dice = ThreadLocalRandom.current().nextInt();
    if ((dice & maskFree) != 0) {
      return frame;
    }
    boolean easy = frames.pid(preferred) == 0 || frames.expendable(preferred);
    return easy || (dice & maskSwap) == 0 ? promote(pid, frame, preferred) : frame;
  }

  /** Promotes a page if both frames can be latched at once and the rules allow it. */
  int promote(long pid, int frame, int preferred) {
    // Both sides write one and then read the other, in sequential order: either the move sees the
    // pause, or the pause sees the move and waits for it.
    moving.getAndIncrement();
    try {
      return paused.get() != 0 ? frame : promoteNow(pid, frame, preferred);
    } catch (Error e) {
      throw frames.stop(e); // a page may be half moved
    } finally {
      moveEnds();
    }
  }

  private void moveEnds() {
    moving.getAndDecrement();
  }

  /** Keeps all pages where they are, until {@link #resume}; no move is half done on return. */
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
    if (frames.pid(frame) == pid && !FrameHeader.writing(headers, frame)) {
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

  /** True: done, and both latches are released. False: nothing was changed. */
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
    if (FrameHeader.writing(headers, preferred)
        || frames.isInner(preferred) && !frames.isInner(frame)) {
      return false;
    }
    if (frames.expendable(preferred)) {
      frames.drop(preferred);
      frames.counters.evictionsClean.increment();
      move(pid, frame, preferred);
      if (frames.share != null) {
        frames.share.give();
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
    boolean dirty = FrameHeader.dirty(headers, frame);
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
    frames.forget(frame);
    frames.free.add(frame);
    Latch.releaseMoved(headers, frame, preferred);
  }

  private void swap(long pid, int frame, long other, int preferred) {
    swapWords(frames.base(frame), frames.base(preferred));
    boolean dirty = FrameHeader.dirty(headers, frame);
    long recLsn = FrameHeader.recLsn(headers, frame);
    FrameHeader.setDirty(headers, frame, FrameHeader.dirty(headers, preferred));
    FrameHeader.setRecLsn(headers, frame, FrameHeader.recLsn(headers, preferred));
    FrameHeader.setUsed(headers, frame, FrameHeader.used(headers, preferred));
    FrameHeader.setDirty(headers, preferred, dirty);
    FrameHeader.setRecLsn(headers, preferred, recLsn);
    // Not 0 where the last write of the page failed.
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
