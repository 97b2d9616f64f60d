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
 * Writes dirty pages in batches, sorted by page id, adjacent pages as one transfer.
 *
 * <pre>
 *   collect (pid, frame) ──► sort ──► for each: shared latch, copy, writing = 1, dirty = 0, unlatch
 *        ──► checksum over the copy ──► (log durable up to the copies) ──► (double-write area, sync)
 *        ──► device.run(batch) ──► writing = 0
 *                   └──► failed: dirty = 1 again; with an area: the same copies again, first of all
 * </pre>
 *
 * <p>Pages are copied because they may change while they are written.
 *
 * <p><b>Writing.</b> From the copy to the completion the frame's {@code writing} byte is set. It
 * forbids a second write of the page at the same time (the device promises no order), a drop (a
 * reload could read the device before the write arrives), and a move (the completion would clear
 * the byte of another page).
 *
 * <p>A page whose write failed is marked dirty again under its latch, which is only tried: its
 * holder may be waiting for a frame, and so for this thread (an allocation latches a free page that
 * is being written, and descends a tree with it). If the latch is taken, the page stays marked as
 * being written, until a later batch begins and tries again.
 *
 * <p><b>Log.</b> No copy is written that is newer than the durable log. The background writer skips
 * such pages. But a page that commits change constantly is always newer, and would hold back the
 * redo point forever. So a flush copies the page as it is and waits until the log is durable up to
 * the copy, holding no latch. Once durability is lost, the wait throws, and no part of the batch is
 * written.
 *
 * <p><b>recLsn.</b> At the copy it moves to writingRecLsn, which is cleared only once a write has
 * succeeded: after a failed write both name the change. So a thread that reads recLsn and then
 * writingRecLsn sees one of them, whatever the number of copies and failures in between: see {@link
 * Flusher#minRecLsn}.
 *
 * <p>One batch at a time, by the background writer or by a flush, under a fair lock that is held
 * across the transfer.
 */
final class WriteBack {
  private static final int SLOT_BITS = 12;
  private static final int SLOT_MASK = (1 << SLOT_BITS) - 1;

  private static final String NOT_BEGUN = "no batch has begun, or it has ended";

  /** The number of attempts to latch a page whose write has failed. */
  private static final int MARK_TRIES = 64;

  /** The offset of the copies in the buffer: after the header of the double-write area. */
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

  private final int[] written;

  private final int[] runStart;

  private final int[] runEnd;

  private int runs;

  private int size;

  private final long[] left;

  private int leftSize;

  /** Whether the batch goes through the double-write area, if there is one. */
  private boolean protects = true;

  /** The number of pages in {@link #left} that are newer than the log. */
  private int leftForLog;

  private long copiesLsn;

  /** Frames whose write failed and that were latched when they should have been marked dirty. */
  private int[] unmarked = new int[16];

  private int unmarkedSize;

  /** The number of frames of {@link #written} that this batch has marked as being written. */
  private int marked;

  /** The number of those frames whose mark has been cleared. */
  private int settled;

  /** Failed transfers of the last batch with a copy in the area: they are repeated first. */
  private int unsettled;

  private long batch;

  /** The failure of the lock owner's batch. */
  private @Nullable Throwable batchFailure;

  /** The failure of the last batch that wrote anything, for threads that wait for frames. */
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
   * Begins a batch; waits for the one in progress, and excludes others until {@link #end}. May be
   * nested, to write several batches without a batch of another thread in between.
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

  /** Empties the batch, so that the same owner can fill the next one. */
  void clear() {
    assert lock.isHeldByCurrentThread() : NOT_BEGUN;
    size = 0;
    leftSize = 0;
    leftForLog = 0;
  }

  void end() {
    lock.unlock();
  }

  /**
   * Returns the number of pages left out of the batch because they were latched or newer than the
   * log.
   */
  int leftSize() {
    return leftSize;
  }

  long left(int i) {
    return left[i];
  }

  int leftForLog() {
    return leftForLog;
  }

  int size() {
    return size;
  }

  boolean isFull() {
    return size == capacity;
  }

  void add(long pid, int frame) {
    assert lock.isHeldByCurrentThread() : NOT_BEGUN;
    chosen[size] = frame;
    order[size] = pid << SLOT_BITS | size;
    size++;
  }

  int frame(int i) {
    return chosen[i];
  }

  /** Why the owner's last batch failed, or null. */
  @Nullable Throwable batchFailure() {
    return batchFailure;
  }

  /** Why the last batch failed, or null; for any thread. */
  @Nullable Throwable failure() {
    return failure;
  }

  /**
   * Writes the pages that were added, and waits for the writes. May be called again for the same
   * batch.
   *
   * @param awaitLog whether to wait for the log if a page is newer than the durable log; otherwise
   *     such pages are left out
   * @return the number of pages written
   */
  int write(boolean awaitLog) {
    return write(awaitLog, true);
  }

  /**
   * Like {@link #write(boolean)}, but optionally without the double-write area.
   *
   * @param protect whether a crash must not tear the pages. False if the old contents are not
   *     needed, and the new contents matter only after a sync
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
      // After an error of the JVM: otherwise pages would stay marked as being written, and dirty.
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
      PageCopy.clearFrameHints(buffer, at(slot), frames.pageSize);
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
      // Before begun nothing was written in place; after that any of it may have been.
      thrown = e;
    }
    return complete(copies, begun, thrown);
  }

  private long at(int slot) {
    return COPIES + ((long) slot << frames.pageShift);
  }

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
        if (frames.pid(frame) != pid || FrameHeader.isWriting(frames.headers, frame)) {
          left[leftSize++] = pid;
        } else if (!FrameHeader.isDirty(frames.headers, frame)) {
          // Another thread wrote it.
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
   * The frame is latched shared. Frame hints may change during this copy and be torn in it; they
   * are cleared in the copy.
   */
  private void copy(int frame, long base, int slot) {
    MemorySegment headers = frames.headers;
    Mem.copy(frames.pages, base, buffer, at(slot), frames.pageSize);
    long recLsn = FrameHeader.recLsn(headers, frame);
    boolean done = false;
    try {
      // Writing before clean: the two bytes never say that the page may be dropped.
      FrameHeader.setWriting(headers, frame, true);
      FrameHeader.setWritingRecLsn(headers, frame, recLsn);
      // Partner of the acquire fence in Flusher.minRecLsn. Excluded: recLsn is seen cleared, and
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

  /**
   * Waits for the log, with no latch held. Returns false if the log is not durable and can't be
   * waited for.
   */
  private boolean logIsDurable() {
    if (copiesLsn > log.durableLsn()) {
      log.awaitDurable(copiesLsn);
    }
    return copiesLsn <= log.durableLsn();
  }

  private void protect(int copies) {
    DoubleWrite area = doubleWrite;
    if (area == null || !protects) {
      return;
    }
    // This overwrites the copies of the batch before the last: its pages must be safe in place.
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
        // torn <= run, so this overwrites only entries that were already read.
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
   * Repeats the failed transfers, from the same copies, before the area is used again: pages in
   * place may be torn, and the area contains whole copies of them. Their frames are dirty, so no
   * thread reads them from the device, and no newer copy was written since.
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
    // is found clear. The device has received the page before that thread can ask the device for
    // it.
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

  private void mark() {
    int left = 0;
    for (int i = 0; i < unmarkedSize; i++) {
      if (!tryMark(unmarked[i])) {
        unmarked[left++] = unmarked[i];
      }
    }
    unmarkedSize = left;
  }

  /** Waits until all failed pages are dirty again. For the owner, when latches are held briefly. */
  void awaitMarked() {
    for (int round = 0; unmarkedSize > 0; round = Backoff.pause(round)) {
      mark();
    }
  }

  /** The frame still holds the page, because writing forbids a drop and a move. */
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
