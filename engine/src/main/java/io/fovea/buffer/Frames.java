package io.fovea.buffer;

import io.fovea.config.Translation;
import io.fovea.copies.PageCopies;
import io.fovea.error.DatabaseClosedException;
import io.fovea.io.BlockDevice;
import io.fovea.memory.Mem;
import io.fovea.memory.NativeRegion;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The memory of a pool, and the transitions of a frame between free and used.
 *
 * <pre>
 *           claim                     translator.insert
 *   free ─────────────► claimed ───────────────────────────► used
 *    ▲  pid = 0          pid = 0, exclusively latched        │ pid = the page
 *    └─────────────────── unclaim ◄──────────────────────────┘ drop (clean, not being written)
 * </pre>
 *
 * <p>Each transition is made under the frame's exclusive latch. A claimed frame belongs to the
 * thread that holds the latch.
 */
final class Frames {
  /** Fills released frames with a pattern: -Dfovea.poison, or assertions. */
  private static final boolean POISON =
      Boolean.getBoolean("fovea.poison") || areAssertionsEnabled();

  private static final byte POISON_BYTE = (byte) 0xDB;

  /** Sleeping rounds between two calls of {@link PoolStop#checkWait}: about ten milliseconds. */
  private static final int WAIT_CHECK_ROUNDS = 64;

  final MemoryPlan plan;
  final int count;
  final int pageSize;
  final int pageShift;
  final MemorySegment pages;
  final MemorySegment headers;
  final MemorySegment writeBuffer;
  final Translator translator;
  final FreeFrames free;

  final ReadyFrames ready;

  /** Dirty pages found by misses; they can leave once they are written. */
  final ReadyFrames unwritten;

  final FrameWaits waits = new FrameWaits();
  final ReplacementPolicy policy;
  final Swizzling swizzling;
  final Counters counters = new Counters();

  /** The old versions of changed pages that open snapshots need. */
  final PageCopies copies;

  final NativeRegion region;

  final Residency residency;

  /** The shared budget for the memory of frames; null if the pool has all of its memory. */
  final PoolShare.@Nullable Member share;

  private final AtomicBoolean left = new AtomicBoolean();

  final AtomicBoolean closed = new AtomicBoolean();

  final PoolStop poolStop = new PoolStop();

  /** The device that pages come from, or null. */
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
    MemorySegment stack = all.asSlice(plan.stackAt(), 4L * plan.maxResidents());
    free = new FreeFrames(headers, stack, own ? 0 : count);
    residency = own ? new ResidencyBudget(this, stack, config) : new FrameResidency(this);
    ready = new ReadyFrames(headers, residency.maxResidents() / 4);
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

  /** Joins a share. If memory can't be released in pieces, all of it is reserved for this pool. */
  private PoolShare.Member join(PoolShare from) {
    int min = region.canDiscard() ? plan.least() : count;
    boolean done = false;
    try {
      PoolShare.Member member = from.join(pageSize, plan.fixedBytes(), min);
      done = true;
      return member;
    } finally {
      if (!done) {
        region.release();
      }
    }
  }

  /** Returns the number of pages for which the pool always has memory. */
  int least() {
    return share == null ? residency.capacity() : share.least();
  }

  void checkOpen() {
    if (closed.get()) {
      throw new DatabaseClosedException();
    }
  }

  /**
   * Waits once for a frame that another thread has latched, as {@link Backoff#pause} does. A ring
   * may be reading the frame while the ring's borrower waits for this thread, so a long wait
   * completes the reads of such rings ({@link BlockDevice#reapReadRings}).
   */
  int pause(int round) {
    if (round >= Backoff.PARK_FROM) {
      checkWhileWaiting(round % WAIT_CHECK_ROUNDS == 0);
    }
    return Backoff.pause(round);
  }

  /**
   * Completes reads of rings whose borrowers are busy elsewhere, and throws if the pool has
   * stopped. Called by a thread that has waited for a while.
   *
   * @param check whether to also run the check for ending the wait
   */
  void checkWhileWaiting(boolean check) {
    BlockDevice d = device;
    if (d != null) {
      d.reapReadRings();
    }
    poolStop.requireRunning();
    if (check) {
      poolStop.checkWait();
    }
  }

  /**
   * {@link #pause} for a thread that can't be interrupted, because it holds a page id that is in no
   * list and memory for it, which a deadline would leak. Throws only if the pool has stopped.
   */
  int pauseUntilStopped(int round) {
    if (round >= Backoff.PARK_FROM) {
      checkWhileWaiting(false);
    }
    return Backoff.pause(round);
  }

  /** {@link #pause} for closing the pool: waits for the device even if the pool has stopped. */
  int pauseAtEnd(int round) {
    BlockDevice d = device;
    if (round >= Backoff.PARK_FROM && d != null) {
      d.reapReadRings();
    }
    return Backoff.pause(round);
  }

  private static boolean areAssertionsEnabled() {
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

  /** Returns whether the frame holds an inner node, which promoting a leaf must not displace. */
  boolean isInner(int frame) {
    return PageHeader.type(pages, base(frame)) == PageHeader.INNER;
  }

  /** Claims a frame if it is free, unlatched, and there is memory for it. */
  boolean claimFree(int frame) {
    PoolShare.Member s = share;
    if (s == null) {
      return claimWithMemory(frame);
    }
    if (pid(frame) != 0 || !s.take()) {
      return false;
    }
    boolean owned = claimWithMemory(frame);
    if (!owned) {
      s.refundUnused();
    }
    return owned;
  }

  private boolean claimWithMemory(int frame) {
    if (pid(frame) != 0 || !Latch.tryExclusive(headers, frame)) {
      return false;
    }
    boolean owned = false;
    try {
      if (pid(frame) == 0) {
        free.claimed();
        owned = true;
      }
    } finally {
      if (!owned) {
        Latch.releaseExclusiveUnchanged(headers, frame);
      }
    }
    return owned;
  }

  /** Claims a free frame; returns -1 if there is none, or no memory for one. */
  int claimAnyFree() {
    PoolShare.Member s = share;
    if (s == null) {
      return popFree();
    }
    // Memory first: a popped frame is no longer listed.
    if (free.count() == 0 || !s.take()) {
      return -1;
    }
    int frame = popFree();
    if (frame < 0) {
      s.refundUnused();
    }
    return frame;
  }

  private int popFree() {
    for (int frame = free.pop(); frame >= 0; frame = free.pop()) {
      // Another thread may have latched the frame briefly, to check that it is free or to take it
      // as a preferred frame. Skipping the frame would lose it in the first case.
      for (int round = 0; pid(frame) == 0; round = Backoff.pause(round)) {
        if (claimWithMemory(frame)) {
          return frame;
        }
        if (round >= Backoff.PARK_FROM) {
          // A slow thread claimed it, and will list it again or use it.
          break;
        }
      }
    }
    return -1;
  }

  void unclaim(int frame) {
    residency.unclaim(frame);
  }

  void makeFree(int frame) {
    assert pid(frame) == 0 : "frame " + frame + " still holds page " + pid(frame);
    assert !FrameHeader.isDirty(headers, frame) : "frame " + frame + " is dirty";
    assert !FrameHeader.isWriting(headers, frame) : "frame " + frame + " is being written";
    try {
      poison(frame);
      discardIfShared(frame);
      if (share != null) {
        share.refund();
      }
      free.add(frame);
    } catch (Error e) {
      throw poolStop.stop(e);
    } finally {
      Latch.releaseExclusive(headers, frame);
    }
  }

  /** Releases the memory of a free frame if it belongs to a share. */
  void discardIfShared(int frame) {
    if (share != null) {
      region.discard(base(frame), pageSize);
    }
  }

  void discardPage(int frame) {
    region.discard(base(frame), pageSize);
  }

  /** Overwrites a free frame, so that tests notice a reader that takes it for a page. */
  void poison(int frame) {
    if (POISON) {
      pages.asSlice(base(frame), pageSize).fill(POISON_BYTE);
    }
  }

  /** {@link #poison} for the bytes after the header of a free page. */
  void poisonBody(int frame) {
    if (POISON) {
      long at = base(frame) + PageHeader.BYTES;
      pages.asSlice(at, pageSize - PageHeader.BYTES).fill(POISON_BYTE);
    }
  }

  /**
   * Returns whether the page is cold and clean. Certain under the frame's exclusive latch; a hint
   * without it.
   */
  boolean isColdAndClean(int frame) {
    return !FrameHeader.isUsed(headers, frame)
        && !FrameHeader.isDirty(headers, frame)
        && !FrameHeader.isWriting(headers, frame);
  }

  /** Returns whether the page may be displaced by one that prefers the frame; a hint. */
  boolean mayBeDisplaced(int frame) {
    return isColdAndClean(frame) && policy.mayBeDisplaced(frame);
  }

  /** Claims the frame of a cold and clean page, and drops the page. */
  boolean claimCold(int frame) {
    if (!isColdAndClean(frame) || !Latch.tryExclusive(headers, frame)) {
      return false;
    }
    boolean owned = false;
    try {
      owned = pid(frame) != 0 && isColdAndClean(frame) && residency.leave(frame);
    } finally {
      if (!owned) {
        Latch.releaseExclusiveUnchanged(headers, frame);
      }
    }
    if (owned) {
      drop(frame);
    }
    return owned;
  }

  /** Claims the frame of a page that was made ready to leave; returns -1 if none is ready. */
  int claimReady() {
    for (int entry = ready.take(); entry != ReadyFrames.EMPTY; entry = ready.take()) {
      int frame = entry < 0 ? ~entry : entry;
      if (FrameHeader.isEvictionCandidate(headers, frame) && claimCold(frame)) {
        (entry < 0 ? counters.evictionsDirty : counters.evictionsClean).increment();
        return frame;
      }
      ready.keep(frame);
    }
    return -1;
  }

  /** Removes a page from its exclusively latched frame, which is claimed afterwards. */
  void drop(int frame) {
    assert !FrameHeader.isDirty(headers, frame) : "page " + pid(frame) + " is dirty";
    assert !FrameHeader.isWriting(headers, frame) : "page " + pid(frame) + " is being written";
    assert !swizzling.on || FrameHeader.parent(headers, frame) == 0
        : "page " + pid(frame) + " has a reference";
    // Partner of the release fence in WriteBack.written: a thread that finds the page absent reads
    // it from the file only after it was written.
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
      throw poolStop.stop(e);
    }
  }

  /**
   * Marks the page in an exclusively latched frame as newer than the file's.
   *
   * <p>recLsn is an opaque store. The appender's slot makes it visible to the checkpoint: cleared
   * (release) after this, read (acquire) before the frames.
   */
  void markDirty(int frame, long recLsn) {
    if (!FrameHeader.isDirty(headers, frame)) {
      FrameHeader.setDirty(headers, frame, true);
      counters.dirty.increment();
    }
    FrameHeader.lowerRecLsn(headers, frame, recLsn);
  }

  /**
   * Saves the page in an exclusively latched frame for snapshots, before it is changed. If this
   * throws, the caller must release the latch.
   */
  void beforeChange(int frame) {
    copies.beforeChange(frame, pid(frame), pages, base(frame));
  }

  void zero(int frame) {
    Mem.zero(pages, base(frame), pageSize);
  }

  /** Returns the memory to the system; its addresses stay readable, with undefined contents. */
  void release() {
    copies.end();
    region.release();
    if (share != null && left.compareAndSet(false, true)) {
      share.leave();
    }
  }

  /** Touches all memory, so that the system backs it with pages. */
  void pretouch(BooleanSupplier stopped) {
    if (share != null || translator.own && !translator.stays) {
      return; // it would take memory that belongs to other pools
    }
    MemorySegment all = region.segment();
    // Adding 0 atomically writes the memory page and keeps concurrent stores.
    Pretoucher.touch(plan.bytes(), stopped, at -> Mem.getAndAddLong(all, at, 0));
  }

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
        counters.hintRepairsAbandoned.sum(),
        counters.unswizzled.sum(),
        counters.retainedForChildren.sum() + counters.retainedForParent.sum(),
        residency.bytes());
  }
}
