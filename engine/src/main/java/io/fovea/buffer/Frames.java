package io.fovea.buffer;

import io.fovea.config.Translation;
import io.fovea.copies.PageCopies;
import io.fovea.error.DatabaseClosedException;
import io.fovea.io.BlockDevice;
import io.fovea.memory.Mem;
import io.fovea.memory.NativeRegion;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The memory of a pool, and the few steps by which a frame changes between free and used.
 *
 * <pre>
 *             claim                     translator.insert
 *    free ─────────────► claimed ───────────────────────────► used
 *     ▲  pid = 0          pid = 0, exclusively latched        │ pid = the page
 *     └────────────────── giveBack ◄──────────────────────────┘ drop (clean, not being written)
 * </pre>
 *
 * <p>Every step is made under the frame's exclusive latch. A frame that is claimed belongs to the
 * thread that holds its latch.
 */
final class Frames {
  /** Fills frames that were given back with a pattern: -Dfovea.poison, or assertions. */
  private static final boolean POISON = Boolean.getBoolean("fovea.poison") || assertionsOn();

  private static final byte POISON_BYTE = (byte) 0xDB;

  /** Every so many rounds, some ten milliseconds, a wait is looked at from outside. */
  private static final int PATIENCE = 64;

  final MemoryPlan plan;
  final int count;
  final int pageSize;
  final int pageShift;
  final MemorySegment pages;
  final MemorySegment headers;
  final MemorySegment writeBuffer;
  final Translator translator;
  final FreeFrames free;

  /** Pages that can leave. */
  final ReadyFrames ready;

  /** Pages that misses came across, and that can leave when they are written. */
  final ReadyFrames unwritten;

  final FrameWaits waits = new FrameWaits();
  final ReplacementPolicy policy;
  final Swizzling swizzling;
  final Counters counters = new Counters();

  /** What open snapshots need of pages that have changed. */
  final PageCopies copies;

  final NativeRegion region;

  /** Where the memory of pages comes from. */
  final Residency residency;

  /** From where the memory of frames comes; null where all of it is the pool's own. */
  final PoolShare.@Nullable Member share;

  /** Whether it has left its share. */
  private final AtomicBoolean left = new AtomicBoolean();

  /** Whether the pool was closed; see {@link #checkOpen}. */
  final AtomicBoolean closed = new AtomicBoolean();

  /** Whether the pool has stopped, and why. */
  private final Stop stop = new Stop();

  /** Looked at by who waits for long: throws where the waiting shall end. */
  private volatile Runnable patience = () -> {};

  /** Where pages come from; null where none come. */
  private final @Nullable BlockDevice device;

  Frames(PoolConfig config, @Nullable BlockDevice device) {
    this.device = device;
    plan = MemoryPlan.fit(config);
    count = plan.frames();
    pageSize = config.pageSize();
    pageShift = Integer.numberOfTrailingZeros(pageSize);
    PoolShare from = config.share();
    boolean own = Translator.isOwn(config.translation());
    region = reserve(config);
    share = from == null ? null : join(from);
    MemorySegment all = region.segment();
    pages = all.asSlice(0, plan.bufferAt());
    writeBuffer = all.asSlice(plan.bufferAt(), plan.headersAt() - plan.bufferAt());
    headers = all.asSlice(plan.headersAt(), plan.tableAt() - plan.headersAt());
    MemorySegment table =
        own || config.translation() == Translation.PREDICTIVE
            ? headers
            : all.asSlice(plan.tableAt(), plan.stackAt() - plan.tableAt());
    translator = new Translator(config.translation(), count, headers, table);
    MemorySegment places = all.asSlice(plan.stackAt(), 4L * plan.places());
    free = new FreeFrames(headers, places, own ? 0 : count);
    residency = own ? new ResidencyBudget(this, places, config) : new FrameResidency(this);
    ready = new ReadyFrames(headers, residency.places() / 4);
    unwritten = new ReadyFrames(headers, plan.batch());
    MemorySegment statistics = all.asSlice(plan.statisticsAt(), plan.bytes() - plan.statisticsAt());
    policy = ReplacementPolicy.of(config.replacement(), headers, statistics, residency);
    swizzling = new Swizzling(this, config);
    copies = new PageCopies(count, pageSize, (s, at) -> PageHeader.seal(s, at, pageSize));
  }

  private NativeRegion reserve(PoolConfig config) {
    if (config.translation() == Translation.VIRTUAL) {
      return ResidencyBudget.reserve(plan, pageSize);
    }
    return config.share() == null
        ? NativeRegion.reserve(plan.bytes(), config.hugePages(), "buffer pool")
        : NativeRegion.reserveInPieces(plan.bytes(), "buffer pool");
  }

  /** Where memory can't be given back in pieces, all of it is promised to this pool. */
  private PoolShare.Member join(PoolShare from) {
    int least = region.forgets() ? plan.least() : count;
    boolean done = false;
    try {
      PoolShare.Member member = from.join(pageSize, plan.fixedBytes(), least);
      done = true;
      return member;
    } finally {
      if (!done) {
        region.release();
      }
    }
  }

  /** How many pages it can always have memory for. */
  int least() {
    return share == null ? residency.capacity() : share.least();
  }

  /** Throws after the pool was closed. */
  void checkOpen() {
    if (closed.get()) {
      throw new DatabaseClosedException();
    }
  }

  /**
   * Waits once for a frame that somebody else has latched, as {@link Backoff#pause} does. It may be
   * one that is read by a ring whose borrower is busy elsewhere, and waits himself perhaps, for
   * this thread: so whoever has waited for a while looks after such rings ({@link
   * BlockDevice#endLent}).
   */
  int pause(int round) {
    if (round >= Backoff.PARK_FROM) {
      checkWhileWaiting(round % PATIENCE == 0);
    }
    return Backoff.pause(round);
  }

  /**
   * What a thread does that has waited for a while, before it goes on: ends reads of rings whose
   * borrowers are elsewhere, and throws if the pool has stopped.
   *
   * @param look whether it is time to look at the wait from outside
   */
  void checkWhileWaiting(boolean look) {
    BlockDevice d = device;
    if (d != null) {
      d.endLent();
    }
    requireRunning();
    if (look) {
      patience.run();
    }
  }

  /**
   * The same for a thread that can't go back: it has a page id that is in no list any more, and
   * memory for it. The wait is not looked at from outside, as a deadline of its operation would
   * leave both to nobody. It throws if the pool has stopped.
   */
  int pauseUntilStopped(int round) {
    if (round >= Backoff.PARK_FROM) {
      checkWhileWaiting(false);
    }
    return Backoff.pause(round);
  }

  /** The same for who closes the pool and waits for the device, whatever else has happened. */
  int pauseAtEnd(int round) {
    BlockDevice d = device;
    if (round >= Backoff.PARK_FROM && d != null) {
      d.endLent();
    }
    return Backoff.pause(round);
  }

  void patience(Runnable look) {
    patience = look;
  }

  // ------------------------------------------------------------------------------------ the stop

  /** See {@link PoolStop#onStop}. */
  void onStop(Consumer<Throwable> action) {
    stop.action = action;
  }

  /**
   * Stops the pool because an operation failed while a frame was half changed, or latched with no
   * thread left to release it. Every thread that waits gets an exception.
   *
   * <p>When this returns, {@link #onStop} has run, whichever thread stopped the pool first: the
   * caller goes on to release the latch of a page that no thread may believe. A thread that finds
   * the pool stopped therefore runs the action once more instead of trusting another thread to have
   * finished it. The first cause stays, and is what the action gets.
   *
   * @return the caller's own cause, to be thrown
   */
  <X extends Throwable> X stop(X cause) {
    stop.because(cause);
    return cause;
  }

  @Nullable Throwable stopped() {
    return stop.cause;
  }

  void requireRunning() {
    Throwable cause = stop.cause;
    if (cause != null) {
      throw new DatabaseClosedException(
          "An operation failed while it changed pages, so the database stopped: " + cause + ".",
          cause);
    }
  }

  /**
   * One word that moves once, from null to the first cause, by a compare-and-set. Where that call
   * fails, for there is no stack left, a plain volatile store moves it: then another thread's cause
   * may be replaced, and the pool has stopped all the same.
   *
   * <p>Thread-safe. {@code StopRaces} attacks it.
   */
  static final class Stop {
    private static final VarHandle CAUSE;

    static {
      try {
        CAUSE = MethodHandles.lookup().findVarHandle(Stop.class, "cause", Throwable.class);
      } catch (ReflectiveOperationException e) {
        throw new ExceptionInInitializerError(e);
      }
    }

    /** Null as long as the pool works. */
    volatile @Nullable Throwable cause;

    volatile Consumer<Throwable> action = t -> {};

    void because(Throwable why) {
      Throwable first = why;
      try {
        Throwable before = (Throwable) CAUSE.compareAndExchange(this, (Throwable) null, why);
        first = before == null ? why : before;
      } finally {
        if (cause == null) {
          cause = why;
        }
        action.accept(first);
      }
    }
  }

  private static boolean assertionsOn() {
    boolean on = false;
    assert on = true;
    return on;
  }

  long base(int frame) {
    return (long) frame << pageShift;
  }

  long pid(int frame) {
    return FrameHeader.pid(headers, frame);
  }

  /** Whether a promotion may not push the page out: see RULES, "a leaf never demotes an inner". */
  boolean isInner(int frame) {
    return PageHeader.type(pages, base(frame)) == PageHeader.INNER;
  }

  /** Takes a frame if it is free, nobody holds its latch, and there is memory for it. */
  boolean claimFree(int frame) {
    PoolShare.Member s = share;
    if (s == null) {
      return claimWithMemory(frame);
    }
    if (pid(frame) != 0 || !s.take()) {
      return false;
    }
    boolean mine = claimWithMemory(frame);
    if (!mine) {
      s.giveUnused();
    }
    return mine;
  }

  private boolean claimWithMemory(int frame) {
    if (pid(frame) != 0 || !Latch.tryExclusive(headers, frame)) {
      return false;
    }
    boolean mine = false;
    try {
      if (pid(frame) == 0) {
        free.claimed();
        mine = true;
      }
    } finally {
      if (!mine) {
        Latch.releaseExclusiveUnchanged(headers, frame);
      }
    }
    return mine;
  }

  /** Takes a free frame; -1 where none is, or where there is no memory for one. */
  int claimAnyFree() {
    PoolShare.Member s = share;
    if (s == null) {
      return popFree();
    }
    // First the memory: what is popped and not taken is not listed any more.
    if (free.count() == 0 || !s.take()) {
      return -1;
    }
    int frame = popFree();
    if (frame < 0) {
      s.giveUnused();
    }
    return frame;
  }

  /** Pops frames until one is free; -1 where none is. */
  private int popFree() {
    for (int frame = free.pop(); frame >= 0; frame = free.pop()) {
      // Somebody may have the latch for a moment, to see that the frame is free or to take it as a
      // preferred frame. Passing on would lose the frame in the first case.
      for (int round = 0; pid(frame) == 0; round = Backoff.pause(round)) {
        if (claimWithMemory(frame)) {
          return frame;
        }
        if (round >= Backoff.PARK_FROM) {
          // Claimed by somebody who is slow; that thread will list it again, or use it.
          break;
        }
      }
    }
    return -1;
  }

  /** Gives a claimed frame back. */
  void giveBack(int frame) {
    residency.giveBack(frame);
  }

  /** Makes a claimed frame free again. */
  void makeFree(int frame) {
    assert pid(frame) == 0 : "frame " + frame + " still holds page " + pid(frame);
    assert !FrameHeader.dirty(headers, frame) : "frame " + frame + " is dirty";
    assert !FrameHeader.writing(headers, frame) : "frame " + frame + " is being written";
    try {
      poison(frame);
      forget(frame);
      if (share != null) {
        share.give();
      }
      free.add(frame);
    } catch (Error e) {
      throw stop(e);
    } finally {
      Latch.releaseExclusive(headers, frame);
    }
  }

  /** In a share a free frame has no memory. */
  void forget(int frame) {
    if (share != null) {
      region.forget(base(frame), pageSize);
    }
  }

  /** Gives the memory of a frame back to the system: it reads as zeros. */
  void forgetPage(int frame) {
    region.forget(base(frame), pageSize);
  }

  /** Makes sure that nobody takes what is left in a free frame for a page. */
  void poison(int frame) {
    if (POISON) {
      pages.asSlice(base(frame), pageSize).fill(POISON_BYTE);
    }
  }

  /** The same for what is behind the header of a page that belongs to nobody. */
  void poisonBody(int frame) {
    if (POISON) {
      long at = base(frame) + PageHeader.BYTES;
      pages.asSlice(at, pageSize - PageHeader.BYTES).fill(POISON_BYTE);
    }
  }

  /**
   * Whether a page can leave its frame at once. Certain under the frame's exclusive latch; a hint
   * without it.
   */
  boolean coldAndClean(int frame) {
    return !FrameHeader.used(headers, frame)
        && !FrameHeader.dirty(headers, frame)
        && !FrameHeader.writing(headers, frame);
  }

  /** Whether a page can leave its frame at once for one that prefers that frame; a hint. */
  boolean expendable(int frame) {
    return coldAndClean(frame) && policy.expendable(frame);
  }

  /** Takes the frame of a page that is cold and clean, and drops the page. */
  boolean claimCold(int frame) {
    if (!coldAndClean(frame) || !Latch.tryExclusive(headers, frame)) {
      return false;
    }
    boolean mine = false;
    try {
      mine = pid(frame) != 0 && coldAndClean(frame) && residency.leave(frame);
    } finally {
      if (!mine) {
        Latch.releaseExclusiveUnchanged(headers, frame);
      }
    }
    if (mine) {
      drop(frame);
    }
    return mine;
  }

  /** Takes the frame of a page that was given up before; -1 where none is ready. */
  int claimReady() {
    for (int entry = ready.take(); entry != ReadyFrames.EMPTY; entry = ready.take()) {
      int frame = entry < 0 ? ~entry : entry;
      if (FrameHeader.evictionCandidate(headers, frame) && claimCold(frame)) {
        (entry < 0 ? counters.evictionsDirty : counters.evictionsClean).increment();
        return frame;
      }
      ready.keep(frame);
    }
    return -1;
  }

  /** Takes a page out of its exclusively latched frame, which is claimed afterwards. */
  void drop(int frame) {
    assert !FrameHeader.dirty(headers, frame) : "page " + pid(frame) + " is dirty";
    assert !FrameHeader.writing(headers, frame) : "page " + pid(frame) + " is being written";
    assert !swizzling.on || FrameHeader.parent(headers, frame) == 0
        : "page " + pid(frame) + " has a reference";
    // Partner of the release fence in WriteBack.written: the write of the page was over before
    // writing was seen clear, so it is over for whoever finds the page absent and reads it again.
    VarHandle.acquireFence();
    try {
      long pid = pid(frame);
      int bucket = translator.bucket(pid);
      translator.lock(bucket);
      try {
        translator.remove(bucket, pid, frame);
      } finally {
        translator.unlock(bucket);
      }
      FrameHeader.setRecLsn(headers, frame, 0);
      FrameHeader.setUsed(headers, frame, false);
      policy.left(frame);
    } catch (Error e) {
      throw stop(e);
    }
  }

  /**
   * Marks the page in an exclusively latched frame as newer than the file's.
   *
   * <p>recLsn is an opaque store. What makes the checkpoint see it is the appender's slot: cleared
   * (release) after this, read (acquire) before the frames.
   */
  void markDirty(int frame, long recLsn) {
    if (!FrameHeader.dirty(headers, frame)) {
      FrameHeader.setDirty(headers, frame, true);
      counters.dirty.increment();
    }
    FrameHeader.lowerRecLsn(headers, frame, recLsn);
  }

  /**
   * Before the page in an exclusively latched frame is changed. Does not fail; but who has taken
   * the latch gives it back if an error comes here.
   */
  void beforeChange(int frame) {
    copies.before(frame, pid(frame), pages, base(frame));
  }

  /** Zeroes the page in an exclusively latched frame. */
  void zero(int frame) {
    Mem.zero(pages, base(frame), pageSize);
  }

  /** Gives the memory back to the system; addresses stay readable, and say nothing any more. */
  void release() {
    copies.end();
    region.release();
    if (share != null && left.compareAndSet(false, true)) {
      share.leave();
    }
  }

  /** Touches all memory, so that the system has found it. */
  void pretouch(BooleanSupplier stopped) {
    if (share != null || translator.own && !translator.stays) {
      return; // it would take what is not its own
    }
    MemorySegment all = region.segment();
    // An atomic add of nothing: writes the page without changing what a user has put there.
    Pretoucher.touch(plan.bytes(), stopped, at -> Mem.getAndAddLong(all, at, 0));
  }

  /** What was done so far. */
  PoolStats stats() {
    return new PoolStats(
        residency.capacity(),
        share == null ? Math.max(0, residency.free()) : free.count(),
        counters.dirty.sum(),
        counters.misses.sum(),
        counters.preferredFrameSlowHits.sum(),
        counters.slowElsewhere.sum(),
        counters.promotions.sum(),
        counters.demotions.sum(),
        counters.evictionsClean.sum(),
        counters.evictionsDirty.sum(),
        counters.pagesWritten.sum(),
        counters.batchesWritten.sum(),
        counters.frameWaits.sum(),
        counters.frameWaitNanos.sum(),
        counters.latchWaits.sum(),
        counters.readFailures.sum(),
        counters.writeFailures.sum(),
        counters.hintsNone.sum(),
        counters.hintsStale.sum(),
        counters.hintRepairs.sum(),
        counters.hintRepairsGivenUp.sum(),
        counters.unswizzled.sum(),
        counters.staysForChildren.sum() + counters.staysForParent.sum(),
        residency.bytes());
  }
}
