package io.fovea.buffer;

import io.fovea.error.InvalidUseException;
import io.fovea.memory.Waits;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/**
 * Memory shared by several pools, with a hard limit for their total.
 *
 * <pre>
 *   limit = left + for each member:  fixed + max(least, held) frames
 *
 *   free frame ──take──► claimed, used            a frame that holds a page has memory
 *       ▲                     │
 *       └─ refund ◄─ memory returned to the system ──┘   a free frame has no memory
 * </pre>
 *
 * <p>A member has address space for all of its frames, and memory for those that are held. Only
 * free frames change hands. A member's other memory ({@code fixed}) counts from the beginning, as
 * does the {@code min} number of frames that are guaranteed to it.
 *
 * <p><b>Exact.</b> {@code held} changes by compare-and-set, one at a time. A step above {@code
 * least} is paid from {@code left} first, or refunded to it after the frame's memory has been
 * released. So the sum above never exceeds the limit.
 *
 * <p><b>Distribution.</b> A pool that is refused a frame evicts one of its pages. Its writer then
 * requests from other members as many frames as the pool was refused ({@link #demand}):
 *
 * <ol>
 *   <li>A member below its fair share, an equal part of the limit, gets frames from members above
 *       theirs, in use or not: they evict the victims that their replacement policy proposes.
 *   <li>Any other member gets frames left unused by others for a second or more.
 * </ol>
 *
 * <p>A member that has been asked to return frames takes no free ones, and while a member below its
 * fair share waits, no member above takes any. The share has no thread: the pools' writers do this.
 *
 * <p>Thread-safe.
 */
public final class PoolShare {
  /** How long frames are kept for members below their fair share. */
  private static final long PRESSED_NANOS = 200_000_000;

  /** How long a new member waits for memory of the others. */
  private static final long JOIN_NANOS = 30_000_000_000L;

  private static final long RETRY_NANOS = 1_000_000;

  private final long limit;
  private final AtomicLong left;
  private final CopyOnWriteArrayList<Member> members = new CopyOnWriteArrayList<>();

  /** The memory reserved for members: their fixed parts and least frames. Under the monitor. */
  private long reserved;

  /** The time until which frames are kept for a member below its fair share; 0 for none. */
  private volatile long pressedUntil;

  /** Creates a share of the given number of bytes. */
  public PoolShare(long limit) {
    this.limit = limit;
    this.left = new AtomicLong(limit);
  }

  /** Returns the limit, in bytes. */
  public long limit() {
    return limit;
  }

  /** Returns the memory of all members, in bytes, including their reserved memory. */
  public long used() {
    return limit - left.get();
  }

  /** Returns the number of pools. */
  public int members() {
    return members.size();
  }

  private long fairShare() {
    return limit / Math.max(1, members.size());
  }

  // -------------------------------------------------------------------------------------- members

  /**
   * Adds a pool.
   *
   * @param pageSize the size of its frames, in bytes
   * @param fixed its memory besides frames, in bytes
   * @param min the number of frames guaranteed to it
   * @throws InvalidUseException if the share does not have enough memory
   */
  Member join(int pageSize, long fixed, int min) {
    Member member = new Member(this, pageSize, fixed, min);
    long needs = member.bytes();
    synchronized (this) {
      if (needs > limit - reserved) {
        throw new InvalidUseException(
            "A database needs at least "
                + needs
                + " bytes of a shared buffer of "
                + limit
                + " bytes, of which "
                + reserved
                + " are reserved for others. Enlarge the BufferShare, or reduce the bufferBytes of "
                + "its databases or the bytes guaranteed to each.");
      }
      reserved += needs;
    }
    boolean done = false;
    try {
      members.add(member);
      awaitLeft(member, needs);
      done = true;
    } finally {
      if (!done) {
        members.remove(member);
        releaseReserved(needs);
      }
    }
    return member;
  }

  /** Waits for reserved memory that other members hold in excess of their guarantee. */
  private void awaitLeft(Member member, long needs) {
    long end = System.nanoTime() + JOIN_NANOS;
    while (!takeReturned(needs)) {
      if (System.nanoTime() > end) {
        throw new InvalidUseException(
            "A database needs "
                + needs
                + " bytes of a shared buffer, but the others did not release that much within "
                + JOIN_NANOS / 1_000_000_000
                + " s: their pages can't be written, or are all in use.");
      }
      reclaim(member, needs, 0);
      Waits.sleep(RETRY_NANOS);
    }
  }

  private synchronized void releaseReserved(long bytes) {
    reserved -= bytes;
  }

  private boolean takeReturned(long bytes) {
    long now = left.get();
    while (now >= bytes) {
      if (left.compareAndSet(now, now - bytes)) {
        return true;
      }
      now = left.get();
    }
    return false;
  }

  // --------------------------------------------------------------------------------------- demand

  /**
   * Requests from other members the frames that a member was refused. Called by its writer from
   * time to time.
   */
  private void demand(Member member, long bytes) {
    long fairShare = fairShare();
    long below = Math.min(bytes, fairShare - member.bytes());
    long asked = 0;
    if (below > 0) {
      pressedUntil = System.nanoTime() + PRESSED_NANOS | 1;
      asked = reclaim(member, below, fairShare);
    }
    for (Member m : largestMembers(member)) {
      if (asked >= bytes) {
        return;
      }
      asked += m.requestIdleReturn(bytes - asked);
    }
  }

  /** Requests frames from members above the given size, the largest first; returns the bytes. */
  private long reclaim(Member member, long bytes, long above) {
    long asked = 0;
    for (Member m : largestMembers(member)) {
      long more = m.bytes() - above;
      if (more > 0 && asked < bytes) {
        asked += m.requestReturn(Math.min(more, bytes - asked));
      }
    }
    return asked;
  }

  private List<Member> largestMembers(Member member) {
    List<Member> others = new ArrayList<>(members);
    others.remove(member);
    others.sort(Comparator.comparingLong(Member::bytes).reversed());
    return others;
  }

  private boolean isPressed() {
    long until = pressedUntil;
    return until != 0 && until - System.nanoTime() > 0;
  }

  static final class Member {
    /** The minimum interval between two evictions of idle pages for others. */
    private static final long IDLE_NANOS = 1_000_000_000;

    private static final long DEMAND_NANOS = 10_000_000;

    /** The value of {@link #held} after the pool was closed: it takes nothing more. */
    private static final int CLOSED = Integer.MIN_VALUE / 2;

    private final PoolShare share;
    private final int pageSize;
    private final long fixed;
    private final int least;

    private final AtomicInteger held = new AtomicInteger();

    /** Frames that others wait for. */
    private final AtomicInteger requested = new AtomicInteger();

    /** Idle frames that others wait for. */
    private final AtomicInteger requestedIdle = new AtomicInteger();

    /** Whether a move is using the one frame reserved for moves. */
    private final AtomicBoolean moving = new AtomicBoolean();

    private final LongAdder refused = new LongAdder();

    private volatile Runnable wake = () -> {};

    // Used by the writer only.
    private long refusedThen;
    private long askedAt = System.nanoTime();
    private long idleAt = System.nanoTime();

    private Member(PoolShare share, int pageSize, long fixed, int min) {
      this.share = share;
      this.pageSize = pageSize;
      this.fixed = fixed + pageSize; // plus the frame for moves
      this.least = min;
    }

    void setWakeAction(Runnable writer) {
      wake = writer;
    }

    int least() {
      return least;
    }

    long bytes() {
      return fixed + (long) Math.max(least, held.get()) * pageSize;
    }

    long bytesNow() {
      return fixed + (long) Math.max(0, held.get()) * pageSize;
    }

    boolean take() {
      int now = held.get();
      while (now >= 0) {
        boolean pays = now >= least;
        if (pays && !mayTake()) {
          refused.increment();
          return false;
        }
        if (held.compareAndSet(now, now + 1)) {
          return true;
        }
        if (pays) {
          share.left.getAndAdd(pageSize);
        }
        now = held.get();
      }
      return false; // the pool was closed
    }

    /** Pays for a frame above the least, if that is allowed and possible. */
    private boolean mayTake() {
      return requested.get() == 0
          && !(share.isPressed() && bytes() >= share.fairShare())
          && share.takeReturned(pageSize);
    }

    /** Returns memory requested for a frame and not used. */
    void refundUnused() {
      if (held.getAndDecrement() > least) {
        share.left.getAndAdd(pageSize);
      }
    }

    /** Accounts for the released memory of a frame. */
    void refund() {
      int before = held.getAndDecrement();
      if (before > least) {
        share.left.getAndAdd(pageSize);
      }
      if (requested.get() > 0) {
        requested.getAndUpdate(n -> before - 1 > least ? Math.max(0, n - 1) : 0);
      }
    }

    /** Takes memory for the frame that a page moves to; for one move at a time. */
    boolean takeForMove() {
      return !moving.get() && moving.compareAndSet(false, true);
    }

    /** Accounts for the released memory of a moved page's old frame. */
    void moved() {
      moving.set(false);
    }

    /** Returns the number of the given free frames that could get memory now. */
    int free(int frames) {
      long more = requested.get() > 0 ? 0 : share.left.get() / pageSize;
      return (int) Math.min(frames, Math.max(0, least - held.get()) + more);
    }

    void leave() {
      share.members.remove(this);
      share.releaseReserved(fixed + (long) least * pageSize);
      int had = held.getAndSet(CLOSED);
      share.left.getAndAdd(fixed + (long) Math.max(least, had) * pageSize);
    }

    // ------------------------------------------------------------------------------------- debts

    /** Requests frames from this member, at most those above the least; returns the bytes. */
    private long requestReturn(long bytes) {
      int frames = frames(bytes);
      int before = requested.getAndUpdate(n -> Math.max(n, frames));
      if (frames > before) {
        wake.run();
      }
      return (long) frames * pageSize;
    }

    private long requestIdleReturn(long bytes) {
      int frames = frames(bytes);
      if (frames > 0) {
        requestedIdle.set(frames);
        wake.run();
      }
      return (long) frames * pageSize;
    }

    private int frames(long bytes) {
      long wanted = (bytes + pageSize - 1) / pageSize;
      return (int) Math.max(0, Math.min(wanted, held.get() - least));
    }

    boolean isOwing() {
      return requested.get() > 0 || requestedIdle.get() > 0;
    }

    /** Returns the number of frames that others wait for, in use or not. */
    int requested() {
      return requested.get();
    }

    /**
     * Takes the number of idle frames that others want; a request counts once. Zero if the last
     * call was less than a second ago.
     */
    int takeRequestedIdle(long now) {
      int frames = requestedIdle.getAndSet(0);
      if (frames == 0 || now - idleAt < IDLE_NANOS) {
        return 0;
      }
      idleAt = now;
      return frames;
    }

    /**
     * Requests from other members the frames that this pool was refused since the last call. Writer
     * only.
     */
    void demand(int free, long now) {
      if (now - askedAt < DEMAND_NANOS) {
        return;
      }
      askedAt = now;
      long all = refused.sum();
      long since = Math.min(all - refusedThen, free);
      refusedThen = all;
      if (since > 0) {
        share.demand(this, since * pageSize);
      }
    }
  }
}
