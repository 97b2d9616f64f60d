package io.fovea.buffer;

import io.fovea.io.BlockDevice;
import io.fovea.io.IoBatch;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Writes dirty pages: in batches, sorted by page id, neighbours as one transfer.
 *
 * <pre>
 *   collect (pid, frame) ──► sort ──► for each: shared latch, copy, writing = 1, dirty = 0, unlatch
 *        ──► checksum over the copy ──► (log durable up to the copies) ──► (double-write area, sync)
 *        ──► device.run(batch) ──► writing = 0
 *                   └──► failed: dirty = 1 again; with an area: the same copies again, first of all
 * </pre>
 *
 * <p><b>Why a copy.</b> The page may be changed while it is written, so neither its checksum nor
 * its content would be of one moment; and nobody waits for the device.
 *
 * <p><b>Writing.</b> From the copy to the completion the frame's {@code writing} byte is set. It
 * forbids three things: a second write of the page at the same time (the device promises no order);
 * a drop (a reload would read the device before the write is there); and a move (the completion
 * would clear the byte of another page).
 *
 * <p>A page whose write failed is marked dirty again under its latch, which is tried only: its
 * holder may wait for a frame, and so for the very thread that is at this (an allocation latches a
 * free page that is being written, and goes down a tree with it). Where it is not to be had the
 * page stays as being written, and is marked at the beginning of a later batch.
 *
 * <p><b>Log.</b> No copy is written that is newer than the durable log. There are two ways to see
 * to that. To leave such a page out is good enough where others will do. But a page that commits
 * change all the time is always newer than what is durable, and would be left out for ever, the
 * redo point with it: so a flush copies it as it is and waits until the log is durable up to the
 * copy, holding no latch. After durability was lost the wait throws, and nothing of the batch is
 * written.
 *
 * <p><b>recLsn.</b> At the copy it moves to writingRecLsn, which is cleared when the write has
 * succeeded, and only then: after a failed write the change is named by both, until a later write
 * succeeds. So who reads recLsn first and then writingRecLsn sees one of them, however often copies
 * and failures come in between: see {@link Flusher#minRecLsn}.
 *
 * <p>One batch at a time, under a lock that is held across the transfer: by the background writer,
 * or by a flush. The lock is fair: a checkpoint that writes batch after batch lets the background
 * writer in between.
 */
final class WriteBack {
  private static final int SLOT_BITS = 12;
  private static final int SLOT_MASK = (1 << SLOT_BITS) - 1;

  private static final String NOT_BEGUN = "a batch is used that has not begun, or has ended";

  /** How often the latch of a page is tried whose write has failed. */
  private static final int MARK_TRIES = 64;

  /** Where the copies begin in the buffer: behind what the double-write area puts before them. */
  private static final int COPIES = DoubleWrite.HEADER_BYTES;

  private final Frames frames;
  private final BlockDevice device;
  private final PoolLog log;
  private final @Nullable DoubleWrite doubleWrite;
  private final DataSync dataSync;
  private final MemorySegment buffer;
  private final int capacity;
  private final IoBatch io;

  /** Taken before any latch; held while a batch is collected, written and completed. */
  private final ReentrantLock lock = new ReentrantLock(true);

  /** pid &lt;&lt; SLOT_BITS | index into {@link #chosen}: one array to sort. */
  private final long[] order;

  private final int[] chosen;

  /** By slot of the buffer. */
  private final int[] written;

  /** First slot of each transfer, and first slot behind it. */
  private final int[] runStart;

  private final int[] runEnd;

  private int runs;

  private int size;

  /** Pages that were added and could not be copied. */
  private final long[] left;

  private int leftSize;

  /** Whether the batch goes through the double-write area, where there is one. */
  private boolean protects = true;

  /** How many of them are newer than the log. */
  private int leftForLog;

  /** The largest LSN of the copies. */
  private long copiesLsn;

  /** Frames whose write failed, and that were latched when they were to be marked dirty again. */
  private int[] unmarked = new int[16];

  private int unmarkedSize;

  /** How many frames of {@link #written} are marked as being written, or were in this batch. */
  private int marked;

  /** How many of them are not any more. */
  private int settled;

  /** Transfers of the last batch that failed and have a copy in the area: they come first. */
  private int unsettled;

  /** The number of that batch. */
  private long batch;

  /** Of the batch of {@link #lock}'s owner. */
  private @Nullable Throwable batchFailure;

  /** Of the last batch that wrote anything, for those who wait for frames. */
  private volatile @Nullable Throwable failure;

  WriteBack(
      Frames frames,
      BlockDevice device,
      PoolLog log,
      @Nullable DoubleWrite doubleWrite,
      DataSync dataSync) {
    this.frames = frames;
    this.device = device;
    this.log = log;
    this.doubleWrite = doubleWrite;
    this.dataSync = dataSync;
    this.buffer = frames.writeBuffer;
    this.capacity = frames.plan.batch();
    this.io = new IoBatch(capacity);
    this.order = new long[capacity];
    this.left = new long[capacity];
    this.chosen = new int[capacity];
    this.written = new int[capacity];
    this.runStart = new int[capacity];
    this.runEnd = new int[capacity];
  }

  /**
   * Begins a batch; no other thread begins one before {@link #end}, and none is under way. Whoever
   * writes several batches without letting another thread in between may nest this.
   */
  void begin() {
    lock.lock();
    boolean begun = false;
    try {
      clear();
      if (unmarkedSize > 0) {
        mark();
      }
      begun = true;
    } finally {
      if (!begun) {
        lock.unlock();
      }
    }
  }

  /** Empties the batch, for the next one of the same owner. */
  void clear() {
    assert lock.isHeldByCurrentThread() : NOT_BEGUN;
    size = 0;
    leftSize = 0;
    leftForLog = 0;
  }

  void end() {
    lock.unlock();
  }

  /** How many pages of the batch were left out, as they were latched or newer than the log. */
  int leftSize() {
    return leftSize;
  }

  long left(int i) {
    return left[i];
  }

  /** How many pages of the batch were left out because they are newer than the log. */
  int leftForLog() {
    return leftForLog;
  }

  int size() {
    return size;
  }

  boolean full() {
    return size == capacity;
  }

  /** Adds a page that seems to be dirty. */
  void add(long pid, int frame) {
    assert lock.isHeldByCurrentThread() : NOT_BEGUN;
    chosen[size] = frame;
    order[size] = pid << SLOT_BITS | size;
    size++;
  }

  /** The frame of entry i, as added. */
  int frame(int i) {
    return chosen[i];
  }

  /** Why the owner's last batch failed, or null where it did not. */
  @Nullable Throwable batchFailure() {
    return batchFailure;
  }

  /** Why the last batch failed, or null where it did not; for anybody. */
  @Nullable Throwable failure() {
    return failure;
  }

  /**
   * Writes what was added, and waits for it. May be called again for the same batch.
   *
   * @param awaitLog whether to wait for the log where a page is newer than what is durable; else
   *     such pages are left out
   * @return how many pages were written
   */
  int write(boolean awaitLog) {
    return write(awaitLog, true);
  }

  /**
   * The same.
   *
   * @param protect whether a crash must not tear the pages. Without, nobody needs what they were
   *     before, nor what they are now unless a sync comes first
   */
  int write(boolean awaitLog, boolean protect) {
    assert lock.isHeldByCurrentThread() : NOT_BEGUN;
    marked = 0;
    settled = 0;
    boolean ended = false;
    try {
      int done = attempt(awaitLog, protect);
      ended = true;
      return done;
    } finally {
      // Of an error of the JVM: what is marked as being written would stay so, and dirty, for ever.
      while (!ended && settled < marked) {
        notWritten(written[settled++]);
      }
    }
  }

  private int attempt(boolean awaitLog, boolean protect) {
    protects = protect;
    batchFailure = null;
    leftSize = 0;
    leftForLog = 0;
    if (unsettled > 0 && !settle()) {
      return 0;
    }
    Arrays.sort(order, 0, size);
    int copies = copy(awaitLog ? Long.MAX_VALUE : log.durableLsn());
    if (copies == 0) {
      return 0;
    }
    for (int slot = 0; slot < copies; slot++) {
      PageCopy.forgetFrames(buffer, at(slot), frames.pageSize);
      PageHeader.seal(buffer, at(slot), frames.pageSize);
    }
    transfers(copies);
    Throwable thrown = null;
    boolean begun = false;
    try {
      if (!logIsDurable()) {
        return leave(copies);
      }
      protect(copies);
      begun = true;
      device.run(io);
    } catch (RuntimeException | Error e) {
      // Before it was begun nothing was written in place; afterwards any of it may have been.
      thrown = e;
    }
    return complete(copies, begun, thrown);
  }

  private long at(int slot) {
    return COPIES + ((long) slot << frames.pageShift);
  }

  /** Copies the pages that are still there and dirty; marks them as being written. */
  private int copy(long durable) {
    copiesLsn = 0;
    for (int i = 0; i < size; i++) {
      long pid = order[i] >>> SLOT_BITS;
      int frame = chosen[(int) order[i] & SLOT_MASK];
      if (!Latch.tryShared(frames.headers, frame)) {
        left[leftSize++] = pid;
        continue;
      }
      try {
        long base = frames.base(frame);
        long lsn = PageHeader.pageLsn(frames.pages, base);
        if (frames.pid(frame) != pid || FrameHeader.writing(frames.headers, frame)) {
          left[leftSize++] = pid;
        } else if (!FrameHeader.dirty(frames.headers, frame)) {
          // Somebody else wrote it.
        } else if (lsn > durable || lsn == Long.MAX_VALUE) {
          left[leftSize++] = pid;
          leftForLog++;
        } else {
          copy(frame, base, marked);
          written[marked++] = frame;
          copiesLsn = Math.max(copiesLsn, lsn);
        }
      } finally {
        Latch.releaseShared(frames.headers, frame);
      }
    }
    return marked;
  }

  /**
   * The frame is latched shared. Hints to frames may change under this copy, which has one or the
   * other of them, or, since memory is copied in any pieces, a part of each: they are zeroed in it.
   */
  private void copy(int frame, long base, int slot) {
    MemorySegment headers = frames.headers;
    Mem.copy(frames.pages, base, buffer, at(slot), frames.pageSize);
    long recLsn = FrameHeader.recLsn(headers, frame);
    boolean done = false;
    try {
      // Writing before clean: never do both bytes say that the page may be dropped.
      FrameHeader.setWriting(headers, frame, true);
      FrameHeader.setWritingRecLsn(headers, frame, recLsn);
      // Partner of the acquire fence in Flusher.minRecLsn. Forbidden: recLsn is seen cleared, and
      // writingRecLsn not yet set.
      VarHandle.releaseFence();
      FrameHeader.setRecLsn(headers, frame, 0);
      FrameHeader.setDirty(headers, frame, false);
      frames.counters.dirty.decrement();
      done = true;
    } finally {
      if (!done) {
        FrameHeader.setRecLsn(headers, frame, recLsn);
        FrameHeader.setDirty(headers, frame, true);
        VarHandle.releaseFence();
        FrameHeader.setWriting(headers, frame, false);
      }
    }
  }

  /** Makes one transfer of each run of neighbouring pages. */
  private void transfers(int copies) {
    runs = 0;
    int from = 0;
    for (int slot = 1; slot <= copies; slot++) {
      if (slot < copies && pidOf(slot) == pidOf(slot - 1) + 1) {
        continue;
      }
      runStart[runs] = from;
      runEnd[runs++] = slot;
      from = slot;
    }
    fill();
  }

  private void fill() {
    io.clear();
    for (int run = 0; run < runs; run++) {
      int from = runStart[run];
      int length = (runEnd[run] - from) << frames.pageShift;
      io.write(pidOf(from) << frames.pageShift, buffer, at(from), length);
    }
  }

  private long pidOf(int slot) {
    return PageHeader.pid(buffer, at(slot));
  }

  /** Waits for the log, with no latch held. False: it can't be waited for, and is not durable. */
  private boolean logIsDurable() {
    if (copiesLsn > log.durableLsn()) {
      log.awaitDurable(copiesLsn);
    }
    return copiesLsn <= log.durableLsn();
  }

  /** Makes the copies durable in the double-write area, where there is one. */
  private void protect(int copies) {
    DoubleWrite area = doubleWrite;
    if (area == null || !protects) {
      return;
    }
    // The copies of the batch before the last are overwritten: its pages must be safe in place.
    dataSync.ensure(area.nextBatch() - 2);
    try {
      batch = area.protect(buffer, copies);
    } catch (RuntimeException | Error e) {
      if (area.failed()) {
        log.fail(e);
      }
      throw e;
    }
  }

  private int leave(int copies) {
    for (int slot = 0; slot < copies; slot++) {
      left[leftSize++] = pidOf(slot);
      leftForLog++;
      notWritten(written[slot]);
      settled = slot + 1;
    }
    return 0;
  }

  private int complete(int copies, boolean begun, @Nullable Throwable thrown) {
    int done = 0;
    int torn = 0;
    Throwable failed = thrown;
    for (int run = 0; run < runs; run++) {
      boolean ok = thrown == null && io.error(run) == 0;
      if (!ok && failed == null) {
        failed = io.exception(run);
      }
      int from = runStart[run];
      int end = runEnd[run];
      for (int slot = from; slot < end; slot++) {
        if (ok) {
          written(written[slot]);
          done++;
        } else {
          notWritten(written[slot]);
        }
        settled = slot + 1;
      }
      if (!ok) {
        // torn <= run: what is overwritten was looked at.
        runStart[torn] = from;
        runEnd[torn++] = end;
      }
    }
    if (doubleWrite != null && begun && protects) {
      unsettled = torn;
      if (torn == 0) {
        dataSync.completed(batch);
      }
    }
    ended(failed);
    frames.counters.batchesWritten.increment();
    frames.counters.pagesWritten.add(done);
    frames.counters.writeFailures.add(copies - done);
    return done;
  }

  /**
   * Writes again what could not be written in place, from the same copies: pages there may be torn,
   * and the area that has them whole is to be used again. Their frames are dirty, so nobody reads
   * them from the device, and no newer copy was written meanwhile.
   */
  private boolean settle() {
    runs = unsettled;
    fill();
    Throwable failed = null;
    try {
      device.run(io);
      for (int run = 0; run < runs && failed == null; run++) {
        failed = io.error(run) == 0 ? null : io.exception(run);
      }
    } catch (RuntimeException | Error e) {
      failed = e;
    }
    if (failed == null) {
      unsettled = 0;
      dataSync.completed(batch);
    }
    ended(failed);
    return failed == null;
  }

  private void ended(@Nullable Throwable failed) {
    batchFailure = failed;
    failure = failed;
  }

  private void written(int frame) {
    FrameHeader.setWritingRecLsn(frames.headers, frame, 0);
    // Release: partner of the acquire fence in Frames.drop, under the exclusive latch where writing
    // is found clear. The device has the page before that thread can ask the device for it.
    VarHandle.releaseFence();
    FrameHeader.setWriting(frames.headers, frame, false);
  }

  private void notWritten(int frame) {
    for (int i = 0; i < MARK_TRIES; i++) {
      if (tryMark(frame)) {
        return;
      }
      Thread.onSpinWait();
    }
    if (unmarkedSize == unmarked.length) {
      unmarked = Arrays.copyOf(unmarked, 2 * unmarkedSize);
    }
    unmarked[unmarkedSize++] = frame;
  }

  /** Marks what failed before and was latched then. */
  private void mark() {
    int left = 0;
    for (int i = 0; i < unmarkedSize; i++) {
      if (!tryMark(unmarked[i])) {
        unmarked[left++] = unmarked[i];
      }
    }
    unmarkedSize = left;
  }

  /**
   * Waits until all that failed before is dirty again. The owner, where no latch is held for long.
   */
  void awaitMarked() {
    for (int round = 0; unmarkedSize > 0; round = Backoff.pause(round)) {
      mark();
    }
  }

  /** The frame still holds the page, for writing forbids every other end. */
  private boolean tryMark(int frame) {
    if (!Latch.tryShared(frames.headers, frame)) {
      return false;
    }
    // writingRecLsn stays: a scan that has read recLsn already must find it there.
    frames.markDirty(frame, FrameHeader.writingRecLsn(frames.headers, frame));
    VarHandle.releaseFence();
    FrameHeader.setWriting(frames.headers, frame, false);
    Latch.releaseShared(frames.headers, frame);
    return true;
  }
}
