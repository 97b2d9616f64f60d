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
 * Memory that several pools share, with a hard limit for all of them.
 *
 * <pre>
 *   limit = left + of each member:  fixed + max(least, held) frames
 *
 *   free frame ──take──► claimed, used            a frame that holds a page has memory
 *       ▲                     │
 *       └── give ◄── memory given back to the system ──┘   one that is free has none
 * </pre>
 *
 * <p>A member has address space for all of its frames, and memory for those that are held. A frame
 * changes hands only where it is free: so readers, and misses that evict a page of their own pool,
 * know nothing of this. What a member has beside its frames counts from the beginning ({@code
 * fixed}), and so does the {@code least} number of frames that it can always have.
 *
 * <p><b>Exact.</b> {@code held} changes by compare-and-set, one step at a time, and a step above
 * {@code least} is paid from {@code left} before, or to it after. So the sum above never exceeds
 * the limit, whatever happens at the same time; the memory of a frame is given back before it is
 * paid.
 *
 * <p><b>Who gets what.</b> A pool that is refused a frame evicts a page of its own and goes on. Its
 * writer sees how often that was, and asks others for as many frames ({@link #demand}):
 *
 * <ol>
 *   <li>Below its due, an equal part of the limit, it gets them from those above theirs, whatever
 *       they have there: they evict what their replacement proposes.
 *   <li>Else it gets what others have not used for a second or more.
 * </ol>
 *
 * <p>Whoever owes frames takes none that is free, and while somebody below the due is waiting
 * nobody above takes any. All that is done by the pools' own writers; there is no thread of the
 * share.
 *
 * <p>Any thread.
 */
public final class PoolShare {
  /** For how long frames are kept for those below their due. */
  private static final long PRESSED_NANOS = 200_000_000;

  /** How long a new member waits for what others give back. */
  private static final long JOIN_NANOS = 30_000_000_000L;

  private static final long LOOK_NANOS = 1_000_000;

  private final long limit;
  private final AtomicLong left;
  private final CopyOnWriteArrayList<Member> members = new CopyOnWriteArrayList<>();

  /** What was promised to members: their fixed parts and least frames. Under the monitor. */
  private long promised;

  /** Until when somebody below the due waits; 0 for nobody. */
  private volatile long pressedUntil;

  /** A share of so many bytes. */
  public PoolShare(long limit) {
    this.limit = limit;
    this.left = new AtomicLong(limit);
  }

  /** The limit, in bytes. */
  public long limit() {
    return limit;
  }

  /** What all have, in bytes, with what was promised to them. */
  public long used() {
    return limit - left.get();
  }

  /** How many pools there are. */
  public int members() {
    return members.size();
  }

  /** What each would have if all had as much. */
  private long due() {
    return limit / Math.max(1, members.size());
  }

  // -------------------------------------------------------------------------------------- members

  /**
   * A pool comes.
   *
   * @param pageSize of its frames, in bytes
   * @param fixed what it has beside frames, in bytes
   * @param least how many frames it can always have
   * @throws InvalidUseException if the share does not have so much
   */
  Member join(int pageSize, long fixed, int least) {
    Member member = new Member(this, pageSize, fixed, least);
    long needs = member.bytes();
    synchronized (this) {
      if (needs > limit - promised) {
        throw new InvalidUseException(
            "A database needs "
                + needs
                + " bytes of a shared buffer at least, which has "
                + limit
                + ", of which "
                + promised
                + " are promised to others. Enlarge the BufferShare, or give its databases a smaller"
                + " bufferBytes, or a smaller part of it that is their own.");
      }
      promised += needs;
    }
    boolean done = false;
    try {
      members.add(member);
      awaitLeft(member, needs);
      done = true;
    } finally {
      if (!done) {
        members.remove(member);
        unpromise(needs);
      }
    }
    return member;
  }

  /** It was promised, so others have more than they were promised. */
  private void awaitLeft(Member member, long needs) {
    long end = System.nanoTime() + JOIN_NANOS;
    while (!pay(needs)) {
      if (System.nanoTime() > end) {
        throw new InvalidUseException(
            "A database needs "
                + needs
                + " bytes of a shared buffer, and the others did not give back so much within "
                + JOIN_NANOS / 1_000_000_000
                + " s: their pages can't be written, or are all in use.");
      }
      takeAway(member, needs, 0);
      Waits.sleep(LOOK_NANOS);
    }
  }

  private synchronized void unpromise(long bytes) {
    promised -= bytes;
  }

  private boolean pay(long bytes) {
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

  /** Asks others for frames that a member was refused. By its writer, now and then. */
  private void demand(Member who, long bytes) {
    long due = due();
    long below = Math.min(bytes, due - who.bytes());
    long asked = 0;
    if (below > 0) {
      pressedUntil = System.nanoTime() + PRESSED_NANOS | 1;
      asked = takeAway(who, below, due);
    }
    for (Member m : richest(who)) {
      if (asked >= bytes) {
        return;
      }
      asked += m.owesIdle(bytes - asked);
    }
  }

  /** Lets those owe that have more than so much, the largest first; returns how much they owe. */
  private long takeAway(Member who, long bytes, long above) {
    long asked = 0;
    for (Member m : richest(who)) {
      long more = m.bytes() - above;
      if (more > 0 && asked < bytes) {
        asked += m.owes(Math.min(more, bytes - asked));
      }
    }
    return asked;
  }

  private List<Member> richest(Member who) {
    List<Member> others = new ArrayList<>(members);
    others.remove(who);
    others.sort(Comparator.comparingLong(Member::bytes).reversed());
    return others;
  }

  private boolean isPressed() {
    long until = pressedUntil;
    return until != 0 && until - System.nanoTime() > 0;
  }

  /** A pool of a share. */
  static final class Member {
    /** How often a pool gives what nobody used meanwhile. */
    private static final long IDLE_NANOS = 1_000_000_000;

    private static final long DEMAND_NANOS = 10_000_000;

    /** What {@link #held} is of a pool that was closed: it takes nothing any more. */
    private static final int GONE = Integer.MIN_VALUE / 2;

    private final PoolShare share;
    private final int pageSize;
    private final long fixed;
    private final int least;

    /** Frames that have memory. */
    private final AtomicInteger held = new AtomicInteger();

    /** Frames that others wait for. */
    private final AtomicInteger owed = new AtomicInteger();

    /** The same, of those that are idle. */
    private final AtomicInteger owedIdle = new AtomicInteger();

    /** The frame that a move needs for a moment. */
    private final AtomicBoolean moving = new AtomicBoolean();

    private final LongAdder refused = new LongAdder();

    /** Wakes the pool's writer. */
    private volatile Runnable wake = () -> {};

    // Of the writer.
    private long refusedThen;
    private long askedAt = System.nanoTime();
    private long idleAt = System.nanoTime();

    private Member(PoolShare share, int pageSize, long fixed, int least) {
      this.share = share;
      this.pageSize = pageSize;
      this.fixed = fixed + pageSize; // and the frame that a move needs
      this.least = least;
    }

    void wakes(Runnable writer) {
      wake = writer;
    }

    /** How many frames it can always have. */
    int least() {
      return least;
    }

    /** What it has, and was promised. */
    long bytes() {
      return fixed + (long) Math.max(least, held.get()) * pageSize;
    }

    /** What it has. */
    long bytesNow() {
      return fixed + (long) Math.max(0, held.get()) * pageSize;
    }

    /** Asks for memory for a free frame. */
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
      return owed.get() == 0
          && !(share.isPressed() && bytes() >= share.due())
          && share.pay(pageSize);
    }

    /** A frame that was asked for is not needed. */
    void giveUnused() {
      if (held.getAndDecrement() > least) {
        share.left.getAndAdd(pageSize);
      }
    }

    /** The memory of a frame was given back. */
    void give() {
      int before = held.getAndDecrement();
      if (before > least) {
        share.left.getAndAdd(pageSize);
      }
      if (owed.get() > 0) {
        owed.getAndUpdate(n -> before - 1 > least ? Math.max(0, n - 1) : 0);
      }
    }

    /** Memory for a frame to which a page moves from another one; for one move at a time. */
    boolean takeForMove() {
      return !moving.get() && moving.compareAndSet(false, true);
    }

    /** The other frame's memory was given back. */
    void moved() {
      moving.set(false);
    }

    /** How many free frames it could have memory for at once, of so many. */
    int free(int frames) {
      long more = owed.get() > 0 ? 0 : share.left.get() / pageSize;
      return (int) Math.min(frames, Math.max(0, least - held.get()) + more);
    }

    /** The pool has given its memory back. */
    void leave() {
      share.members.remove(this);
      share.unpromise(fixed + (long) least * pageSize);
      int had = held.getAndSet(GONE);
      share.left.getAndAdd(fixed + (long) Math.max(least, had) * pageSize);
    }

    // ------------------------------------------------------------------------------------- debts

    /** Lets it owe so much, or what it has more than the least; how much that is. */
    private long owes(long bytes) {
      int frames = frames(bytes);
      int before = owed.getAndUpdate(n -> Math.max(n, frames));
      if (frames > before) {
        wake.run();
      }
      return (long) frames * pageSize;
    }

    private long owesIdle(long bytes) {
      int frames = frames(bytes);
      if (frames > 0) {
        owedIdle.set(frames);
        wake.run();
      }
      return (long) frames * pageSize;
    }

    private int frames(long bytes) {
      long wanted = (bytes + pageSize - 1) / pageSize;
      return (int) Math.max(0, Math.min(wanted, held.get() - least));
    }

    /** Whether others wait for frames of this pool. */
    boolean isOwing() {
      return owed.get() > 0 || owedIdle.get() > 0;
    }

    /** How many frames others wait for, whatever is in them. */
    int owed() {
      return owed.get();
    }

    /**
     * How many frames others want that are not in use; asked once, since what is not there now will
     * not be there before the next turn. Zero if the last turn was a moment ago.
     */
    int takeOwedIdle(long now) {
      int frames = owedIdle.getAndSet(0);
      if (frames == 0 || now - idleAt < IDLE_NANOS) {
        return 0;
      }
      idleAt = now;
      return frames;
    }

    /** By the writer: asks others for what this pool was refused since the last time. */
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
