package io.fovea.buffer;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A frame is memory, and any frame will do for any page: of all translations with a table, and of
 * {@link PredictiveTranslation}, which likes one of them best.
 *
 * <p>A place is a frame.
 */
final class FrameResidency implements Residency {
  private final Frames frames;

  /** Set once the parts are wired up. */
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
   * A page that is only passed by demotes no other: it would take the frame of a page that is used
   * again and again in the moment between the clock's look at it and its next use. It goes to its
   * preferred frame where that is free, and else where the policy says.
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

  /** Where references are believed, none may name the frame any more. */
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
