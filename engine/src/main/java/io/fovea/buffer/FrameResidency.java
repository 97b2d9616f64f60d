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

  private @Nullable Reclaimer reclaimer;

  FrameResidency(Frames frames) {
    this.frames = frames;
  }

  @Override
  public void wire(Reclaimer to) {
    reclaimer = to;
  }

  private Reclaimer reclaimer() {
    return Objects.requireNonNull(reclaimer);
  }

  /**
   * A page that is only read ahead displaces no page from its preferred frame, because that page
   * may be in constant use and have just been visited by the clock. It goes to its preferred frame
   * if that is free, otherwise to one proposed by the policy.
   */
  @Override
  public int claim(long pid, boolean wait, boolean passing) {
    int preferred = frames.translator.preferred(pid);
    if (passing && preferred >= 0 && frames.pid(preferred) != 0) {
      preferred = -1;
    }
    if (wait) {
      return reclaimer().acquire(preferred);
    }
    int frame = reclaimer().tryAcquire(preferred);
    return frame < 0 ? NONE : frame;
  }

  @Override
  public int reserve(long likely) {
    return reclaimer().acquire(frames.translator.preferred(likely));
  }

  /** Another thread may have taken the page for whose preferred frame the memory was reserved. */
  @Override
  public int use(int reserved, long pid) {
    int preferred = frames.translator.preferred(pid);
    if (preferred < 0 || preferred == reserved || !reclaimer().claimPreferred(preferred)) {
      return reserved;
    }
    unclaim(reserved);
    return preferred;
  }

  @Override
  public void cancel(int reserved) {
    unclaim(reserved);
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
  public void unclaim(int frame) {
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
  public int maxResidents() {
    return frames.count;
  }

  @Override
  public int resident(int i) {
    return i;
  }

  @Override
  public int indexOf(int frame) {
    return frame;
  }

  @Override
  public long bytes() {
    PoolShare.Member share = frames.share;
    return share == null ? frames.plan.bytes() : share.bytesNow();
  }
}
