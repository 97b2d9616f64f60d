package io.fovea.buffer;

import io.fovea.io.BlockDevice;
import io.fovea.io.IoBatch;
import io.fovea.memory.Mem;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Writes dirty pages: in batches, sorted by page id, neighbours as one transfer.
 *
 * <pre>
 *   collect (pid, frame) ──► sort ──► for each: shared latch, copy, writing = 1, dirty = 0, unlatch
 *        ──► checksum over the copy ──► device.run(batch) ──► writing = 0
 *                                                       └──► failed: dirty = 1 again
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
 * <p><b>Log.</b> A page whose LSN is not durable yet is left out. At the copy recLsn moves to
 * writingRecLsn, and back if the write fails: a checkpoint looks at both.
 *
 * <p>One batch at a time, under a lock that is held across the transfer: by the background writer,
 * or by a flush.
 */
final class WriteBack {
  private static final int SLOT_BITS = 12;
  private static final int SLOT_MASK = (1 << SLOT_BITS) - 1;

  private final Frames frames;
  private final BlockDevice device;
  private final LongSupplier durableLsn;
  private final MemorySegment buffer;
  private final int capacity;
  private final IoBatch io;

  /** Taken before any latch; held while a batch is collected, written and completed. */
  private final ReentrantLock lock = new ReentrantLock();

  /** pid &lt;&lt; SLOT_BITS | index into {@link #chosen}: one array to sort. */
  private final long[] order;

  private final int[] chosen;

  /** By slot of the buffer. */
  private final int[] written;

  /** First slot of each transfer. */
  private final int[] runStart;

  private int size;

  /** Pages that were added and could not be copied. */
  private final long[] left;

  private int leftSize;

  /** Of the batch of {@link #lock}'s owner. */
  private @Nullable Throwable batchFailure;

  /** Of the last batch that wrote anything, for those who wait for frames. */
  private volatile @Nullable Throwable failure;

  WriteBack(Frames frames, BlockDevice device, LongSupplier durableLsn) {
    this.frames = frames;
    this.device = device;
    this.durableLsn = durableLsn;
    this.buffer = frames.writeBuffer;
    this.capacity = frames.plan.batch();
    this.io = new IoBatch(capacity);
    this.order = new long[capacity];
    this.left = new long[capacity];
    this.chosen = new int[capacity];
    this.written = new int[capacity];
    this.runStart = new int[capacity + 1];
  }

  /**
   * Begins a batch; no other thread begins one before {@link #end}, and none is under way. Whoever
   * writes several batches without letting another thread in between may nest this.
   */
  void begin() {
    lock.lock();
    clear();
  }

  /** Empties the batch, for the next one of the same owner. */
  void clear() {
    size = 0;
    leftSize = 0;
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

  int size() {
    return size;
  }

  boolean full() {
    return size == capacity;
  }

  /** Adds a page that seems to be dirty. */
  void add(long pid, int frame) {
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
   * Writes what was added, and waits for it.
   *
   * @return how many pages were written
   */
  int write() {
    batchFailure = null;
    Arrays.sort(order, 0, size);
    int copies = copy();
    if (copies == 0) {
      return 0;
    }
    for (int slot = 0; slot < copies; slot++) {
      PageHeader.seal(buffer, (long) slot << frames.pageShift, frames.pageSize);
    }
    int runs = transfers(copies);
    Throwable thrown = null;
    try {
      device.run(io);
    } catch (RuntimeException | Error e) {
      // Refused as a whole, for instance because the device is closed: nothing was written.
      thrown = e;
    }
    return complete(copies, runs, thrown);
  }

  /** Copies the pages that are still there and dirty; marks them as being written. */
  private int copy() {
    long durable = durableLsn.getAsLong();
    int copies = 0;
    for (int i = 0; i < size; i++) {
      long pid = order[i] >>> SLOT_BITS;
      int frame = chosen[(int) order[i] & SLOT_MASK];
      if (!Latch.tryShared(frames.headers, frame)) {
        left[leftSize++] = pid;
        continue;
      }
      long base = frames.base(frame);
      if (frames.pid(frame) != pid
          || FrameHeader.writing(frames.headers, frame)
          || PageHeader.pageLsn(frames.pages, base) > durable) {
        left[leftSize++] = pid;
      } else if (FrameHeader.dirty(frames.headers, frame)) {
        copy(frame, base, copies);
        written[copies++] = frame;
      }
      Latch.releaseShared(frames.headers, frame);
    }
    return copies;
  }

  /** The frame is latched shared. Hints to frames, once pages have any, are zeroed in the copy. */
  private void copy(int frame, long base, int slot) {
    MemorySegment headers = frames.headers;
    Mem.copy(frames.pages, base, buffer, (long) slot << frames.pageShift, frames.pageSize);
    // Writing before clean: never do both bytes say that the page may be dropped.
    FrameHeader.setWriting(headers, frame, true);
    FrameHeader.setWritingRecLsn(headers, frame, FrameHeader.recLsn(headers, frame));
    // After writingRecLsn: who reads recLsn first and then writingRecLsn sees one of the two.
    VarHandle.releaseFence();
    FrameHeader.setRecLsn(headers, frame, 0);
    FrameHeader.setDirty(headers, frame, false);
    frames.counters.dirty.decrement();
  }

  /** Makes one transfer of each run of neighbouring pages. */
  private int transfers(int copies) {
    io.clear();
    int runs = 0;
    int from = 0;
    for (int slot = 1; slot <= copies; slot++) {
      if (slot < copies && pidOf(slot) == pidOf(slot - 1) + 1) {
        continue;
      }
      io.write(
          pidOf(from) << frames.pageShift,
          buffer,
          (long) from << frames.pageShift,
          (slot - from) << frames.pageShift);
      runStart[runs++] = from;
      from = slot;
    }
    runStart[runs] = copies;
    return runs;
  }

  private long pidOf(int slot) {
    return PageHeader.pid(buffer, (long) slot << frames.pageShift);
  }

  private int complete(int copies, int runs, @Nullable Throwable thrown) {
    int done = 0;
    Throwable failed = thrown;
    for (int run = 0; run < runs; run++) {
      boolean ok = thrown == null && io.error(run) == 0;
      if (!ok && failed == null) {
        failed = io.exception(run);
      }
      for (int slot = runStart[run]; slot < runStart[run + 1]; slot++) {
        if (ok) {
          written(written[slot]);
          done++;
        } else {
          notWritten(written[slot]);
        }
      }
    }
    batchFailure = failed;
    failure = failed;
    frames.counters.batchesWritten.increment();
    frames.counters.pagesWritten.add(done);
    frames.counters.writeFailures.add(copies - done);
    return done;
  }

  private void written(int frame) {
    FrameHeader.setWritingRecLsn(frames.headers, frame, 0);
    // Release: partner of the exclusive latch under which somebody finds writing clear and drops
    // the
    // page. The device has the page before that thread can ask the device for it.
    VarHandle.releaseFence();
    FrameHeader.setWriting(frames.headers, frame, false);
  }

  /** The frame still holds the page, for writing forbids every other end. */
  private void notWritten(int frame) {
    for (int round = 0; !Latch.tryShared(frames.headers, frame); round = Backoff.pause(round)) {}
    frames.markDirty(frame, FrameHeader.writingRecLsn(frames.headers, frame));
    FrameHeader.setWritingRecLsn(frames.headers, frame, 0);
    VarHandle.releaseFence();
    FrameHeader.setWriting(frames.headers, frame, false);
    Latch.releaseShared(frames.headers, frame);
  }
}
