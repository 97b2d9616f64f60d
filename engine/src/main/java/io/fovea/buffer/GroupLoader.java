package io.fovea.buffer;

import io.fovea.error.DatabaseClosedException;
import io.fovea.io.BlockDevice;
import io.fovea.io.IoBatch;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Misses of one thread, many at a time: pages that are in no frame are read in one batch, while the
 * thread continues.
 *
 * <pre>
 *   pids    p0      p1        p2      p3        p4
 *           │       present   │       another   │
 *           │                 │       reads it  │            lookup; then enter, under the bucket
 *           ▼                 ▼                 ▼
 *   frames  F, latched        G, latched        none left    claim: never waits
 *           └──── one batch ──┘
 *   the device's thread, for each read that ends:
 *           ok: unlatched     failed, or not sound: dropped, G free again; nothing is thrown
 * </pre>
 *
 * <p><b>Advisory.</b> A page that does not arrive, for any reason, is requested again on the
 * ordinary path ({@link Loader}), which waits and reports errors. So page ids need not be
 * validated: at worst an unwanted page is read.
 *
 * <p><b>Once.</b> A page is entered as a single miss enters it, under the bucket's latch and with
 * the frame latched. The thread that entered it reads it. Other threads skip it here, or wait for
 * the frame on the ordinary path.
 *
 * <p><b>No deadlock.</b> The latched frames do not depend on the thread that began the group: the
 * device's thread that ends a read checks the page and unlatches its frame ({@link #ended}). So the
 * beginner may wait for anything, including another group. While it claims frames it waits for
 * nothing: latches are tried ({@link Residency#claim}: frames that are free, or hold a cold and
 * clean page); bucket and free-list latches are held by threads that wait for nothing; a page that
 * another thread is reading is skipped. The device's thread takes bucket and free-list latches to
 * drop a page, and no others. So every wait for one of these frames leads to the device, which
 * waits for no page and no frame. Excluded: two groups that hold all frames between them wait for
 * each other.
 *
 * <p><b>Bounds.</b> A group takes at most an eighth of the frames, all groups together a quarter,
 * so that a thread that needs a single frame finds one. Beyond that a group reads fewer pages, or
 * none.
 */
final class GroupLoader {
  private static final int GROUP_SHIFT = 3;
  private static final int ALL_SHIFT = 2;

  /** Results of {@link #enter(long)} that are not frames. */
  static final int RESIDENT = -1;

  static final int NO_FRAME = -2;

  private final Frames frames;
  private final Translator translator;
  private final Loader loader;
  private final PageAllocator allocator;
  private final BlockDevice device;
  private final int maxInFlightReads;

  private final AtomicInteger reserved = new AtomicInteger();

  private volatile boolean closed;

  GroupLoader(
      Frames frames,
      Loader loader,
      PageAllocator allocator,
      BlockDevice device,
      int maxInFlightReads) {
    this.maxInFlightReads = maxInFlightReads;
    this.frames = frames;
    this.translator = frames.translator;
    this.loader = loader;
    this.allocator = allocator;
    this.device = device;
  }

  /**
   * Refuses new groups, and waits for those in flight, because the device writes into their frames.
   * A beginner reserves, then reads {@code closed}; this sets {@code closed}, then reads the number
   * reserved. All four are sequentially consistent, so one of the two sees the other.
   */
  void close() {
    closed = true;
    // pauseAtEnd completes reads in rings whose borrowers are elsewhere.
    for (int round = 0; reserved.get() != 0; round = frames.pauseAtEnd(round)) {}
  }

  /** Returns the maximum number of pages that one group reads. */
  int pagesMax() {
    return Math.min(PageGroup.CAPACITY, frames.least() >>> GROUP_SHIFT);
  }

  /**
   * Returns the maximum number of pages that a {@link PageReads} may have in flight in this pool.
   */
  int maxInFlightReads() {
    return Math.min(maxInFlightReads, frames.least() >>> GROUP_SHIFT);
  }

  /** Returns the device, for callers that read pages entered here. */
  BlockDevice device() {
    return device;
  }

  /** Returns the offset of a frame's bytes in {@link #pages}. */
  long base(int frame) {
    return frames.base(frame);
  }

  MemorySegment pages() {
    return frames.pages;
  }

  int pageShift() {
    return frames.pageShift;
  }

  /**
   * Enters one page, if it is in no frame, and returns the latched frame to read it into, which
   * {@link #ended(long, int, int, boolean)} unlatches. The page counts as used.
   *
   * @return {@link #RESIDENT} if the page is in a frame, or being read, or not a page; {@link
   *     #NO_FRAME} if no frame is available at once
   */
  int enter(long pid) {
    if (closed) {
      throw new DatabaseClosedException();
    }
    // 0 and 1 are the superblocks, which do not pass through the pool.
    if (pid <= 1 || pid >= allocator.highWater() || translator.lookup(pid) >= 0) {
      return RESIDENT;
    }
    if (reserve(1) == 0) {
      return NO_FRAME;
    }
    int frame = -1;
    int result = NO_FRAME;
    try {
      // After the reservation: see close.
      if (closed) {
        throw new DatabaseClosedException();
      }
      frame = frames.residency.claim(pid, false, false);
      if (frame >= 0) {
        result = loader.enter(translator.bucket(pid), pid, frame) < 0 ? frame : RESIDENT;
      } else if (frame != Residency.NONE) {
        result = RESIDENT;
      }
    } finally {
      if (result < 0) {
        if (frame >= 0) {
          frames.unclaim(frame);
        }
        unreserve(1);
      }
    }
    return result;
  }

  int pause(int round) {
    return frames.pause(round);
  }

  /** Returns whether a page is readable or in no frame, as opposed to being read. */
  boolean isSettled(long pid) {
    int frame = translator.lookup(pid);
    return frame < 0 || !Latch.isExclusive(frames.headers, frame) || frames.pid(frame) != pid;
  }

  /** See {@link BufferPool#begin}. The caller holds no latch. */
  void begin(PageGroup group, boolean used) {
    group.await();
    int budget = reserve(Math.min(group.size, pagesMax()));
    int kept = 0;
    try {
      if (closed) {
        throw new DatabaseClosedException();
      }
      if (budget > 0) {
        kept = submit(group, budget, used);
      }
    } finally {
      unreserve(budget - kept);
    }
  }

  /**
   * Reserves up to the given number of frames without waiting. Nothing that can fail is called
   * between the addition and its correction: frames would stay reserved forever, and {@link #close}
   * would wait for them.
   */
  private int reserve(int wanted) {
    int left = (frames.least() >>> ALL_SHIFT) - reserved.getAndAdd(wanted);
    int got = left >= wanted ? wanted : left > 0 ? left : 0;
    if (got < wanted) {
      unreserve(wanted - got);
    }
    return got;
  }

  private void unreserve(int count) {
    reserved.getAndAdd(-count);
  }

  int reserved() {
    return reserved.get();
  }

  /** Submits the missing pages to the device; returns their number: they keep their reservation. */
  private int submit(PageGroup group, int budget, boolean used) {
    IoBatch io = group.io;
    io.clear();
    group.begin(this, used);
    try {
      enter(group, budget, used);
      int n = io.size();
      if (n == 1) {
        // This thread may do a single read itself, which saves two handovers.
        device.run(io);
      } else if (n > 1) {
        device.submit(io);
      }
      return n;
    } catch (RuntimeException | Error e) {
      // A device that throws has begun nothing, by the contract of BlockDevice.submit.
      for (int entry = 0; entry < io.size(); entry++) {
        drop(group, group.indexes[entry]);
      }
      throw e;
    }
  }

  /**
   * Called when the device has ended a read, by a thread of the device or by the beginner.
   *
   * <p>The group's fields are written before the entry counts as done, and the owner reads them
   * after that ({@link IoBatch#await}). The reservation is released last: {@link #close} waits for
   * it, and after that neither the device nor this class touches a frame.
   */
  void ended(PageGroup group, int entry, int errno) {
    int index = group.indexes[entry];
    int frame = group.frames[index];
    // The owner reads it after the entry is done.
    group.frames[index] = -1;
    if (ended(group.pids[index], frame, errno, group.used)) {
      group.frames[index] = frame;
    }
  }

  /** Publishes the page of an ended read, or drops it; returns whether it is present. */
  boolean ended(long pid, int frame, int errno, boolean used) {
    boolean valid = false;
    try {
      // The limit after the read: the log may have grown since the page was written.
      if (errno == 0 && loader.isValid(pid, frame, loader.lsnLimit())) {
        loader.pageRead(frame);
        frames.counters.misses.increment();
        FrameHeader.setUsed(frames.headers, frame, used);
        valid = true;
      } else {
        frames.counters.readFailures.increment();
      }
    } finally {
      try {
        if (valid) {
          Latch.releaseExclusive(frames.headers, frame);
        } else {
          drop(frame);
        }
      } finally {
        unreserve(1);
      }
    }
    return valid;
  }

  /** Enters the pages that are in no frame, and adds them to the batch. */
  private void enter(PageGroup group, int budget, boolean used) {
    long end = allocator.highWater();
    for (int i = 0; i < group.size && group.io.size() < budget; i++) {
      long pid = group.pids[i];
      // 0 and 1 are the superblocks, which do not pass through the pool.
      if (pid <= 1 || pid >= end || translator.lookup(pid) >= 0) {
        continue;
      }
      int frame = frames.residency.claim(pid, false, !used);
      if (frame == Residency.NONE) {
        return;
      }
      if (frame < 0) {
        continue; // another thread is reading it, or it is present
      }
      try {
        if (loader.enter(translator.bucket(pid), pid, frame) >= 0) {
          frames.unclaim(frame);
          continue;
        }
        group.frames[i] = frame;
        group.indexes[group.io.size()] = i;
        group.io.read(pid << frames.pageShift, frames.pages, frames.base(frame), frames.pageSize);
      } catch (Error e) {
        group.frames[i] = -1;
        if (frames.poolStop.stopped() == null) {
          if (frames.pid(frame) != 0) {
            frames.drop(frame);
          }
          frames.unclaim(frame);
        }
        throw e;
      }
    }
  }

  private void drop(PageGroup group, int index) {
    int frame = group.frames[index];
    group.frames[index] = -1;
    drop(frame);
  }

  private void drop(int frame) {
    frames.drop(frame);
    frames.unclaim(frame);
  }
}
