package io.fovea.buffer;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Residency for translations in which any frame can hold any page: those with a table, and {@link
 * PredictiveTranslation}, which prefers one.
 *
 * <p>The index of a resident page is its frame.
 */
final class FrameResidency implements Residency {
  private final Frames frames;

  /** Set by {@link #wire}. */
  private @Nullable Room room;

  FrameResidency(Frames frames) {
    this.frames = frames;
  }

  @Override
  public void wire(Room to) {
    room = to;
  }

  private Room room() {
    return Objects.requireNonNull(room);
  }

  /**
   * A page that is only read ahead displaces no page from its preferred frame: that page may be in
   * constant use, and only just visited by the clock. It goes to its preferred frame if that is
   * free, otherwise to one of the policy's.
   */
  @Override
  public int claim(long pid, boolean wait, boolean passing) {
    int preferred = frames.translator.preferred(pid);
    if (passing && preferred >= 0 && frames.pid(preferred) != 0) {
      preferred = -1;
    }
    if (wait) {
      return room().acquire(preferred);
    }
    int frame = room().tryAcquire(preferred);
    return frame < 0 ? NONE : frame;
  }

  @Override
  public int reserve(long likely) {
    return room().acquire(frames.translator.preferred(likely));
  }

  /** Another thread may have had the page whose preferred frame was claimed. */
  @Override
  public int use(int reserved, long pid) {
    int preferred = frames.translator.preferred(pid);
    if (preferred < 0 || preferred == reserved || !room().claimPreferred(preferred)) {
      return reserved;
    }
    giveBack(reserved);
    return preferred;
  }

  @Override
  public void cancel(int reserved) {
    giveBack(reserved);
  }

  @Override
  public int takeFree() {
    return frames.claimAnyFree();
  }

  @Override
  public boolean takeFree(int frame) {
    return frames.claimFree(frame);
  }

  @Override
  public int take(int emptied) {
    return emptied;
  }

  /** Under SWIZZLED no reference may name the frame any more. */
  @Override
  public boolean leave(int frame) {
    return frames.swizzling.leave(frame);
  }

  @Override
  public void giveBack(int frame) {
    frames.makeFree(frame);
  }

  @Override
  public int capacity() {
    return frames.count;
  }

  @Override
  public int free() {
    PoolShare.Member share = frames.share;
    int free = frames.free.count();
    return share == null ? free : share.free(free);
  }

  @Override
  public int places() {
    return frames.count;
  }

  @Override
  public int resident(int i) {
    return i;
  }

  @Override
  public int place(int frame) {
    return frame;
  }

  @Override
  public long bytes() {
    PoolShare.Member share = frames.share;
    return share == null ? frames.plan.bytes() : share.bytesNow();
  }
}
