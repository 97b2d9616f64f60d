package io.fovea.buffer;

import io.fovea.error.DatabaseClosedException;
import io.fovea.io.BlockDevice;
import io.fovea.io.IoBatch;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Misses of one thread, many at a time: pages that are in no frame are read with one batch, while
 * the thread goes on.
 *
 * <pre>
 *   pids    p0      p1        p2      p3        p4
 *           │       there     │       another   │
 *           │       already   │       reads it  │            look-up; then enter, under the bucket
 *           ▼                 ▼                 ▼
 *   frames  F, latched        G, latched        none left    claim: never waits
 *           └──── one batch ──┘
 *   the device's thread, for each as it comes:
 *           ok: unlatched     failed, or not sound: dropped, G free again; nothing is thrown
 * </pre>
 *
 * <p><b>Advice, no more.</b> A page that is not brought in, for whatever reason, is met again on
 * the ordinary way ({@link Loader}), which waits where it must and reports what is wrong. So page
 * ids need not be validated: at worst a page is read that nobody wants.
 *
 * <p><b>Once.</b> A page is entered in its bucket as a lone miss enters it, under the bucket's
 * latch and with the frame latched. A thread that entered it reads it; a thread that finds it
 * entered passes it over here, or, on the ordinary way, waits for the frame.
 *
 * <p><b>No deadlock.</b> The frames are latched, and no thread has to come back for them: whichever
 * thread of the device ends a read checks the page and unlatches its frame ({@link #ended}). So the
 * thread that began the group may wait for whatever it likes, another's group included. While it
 * takes frames it waits for nothing: latches by trying ({@link Residency#claim}: of frames that are
 * free, or hold a page that is cold and clean); bucket and free-list latches are held by threads
 * that wait for nothing; a page that another thread brings in is not waited for. The device's
 * thread takes bucket and free-list latches too, to drop a page, and no others. So every wait for
 * one of these frames leads to the device, and the device waits for no page and no frame. Were a
 * frame waited for, two groups that hold all frames between them would wait for each other.
 *
 * <p><b>Bounds.</b> One group takes an eighth of the frames at most, and all groups together a
 * quarter: any thread that needs a single frame meanwhile finds one. Beyond that a group brings in
 * fewer pages, or none.
 */
final class GroupLoader {
  private static final int GROUP_SHIFT = 3;
  private static final int ALL_SHIFT = 2;

  /** What {@link #enter(long)} says beside frames. */
  static final int THERE = -1;

  static final int NO_FRAME = -2;

  private final Frames frames;
  private final Translator translator;
  private final Loader loader;
  private final PageAllocator allocator;
  private final BlockDevice device;
  private final int maxInFlightReads;

  /** Frames that groups may hold right now. */
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
   * Lets no group begin any more, and waits for those under way: the device writes into their
   * frames. A thread that begins reserves and then looks at {@code closed}; this sets it and then
   * looks at what is reserved; all four are sequential, so one of the two sees the other.
   */
  void close() {
    closed = true;
    // What is done in a ring whose borrower is elsewhere is ended here.
    for (int round = 0; reserved.get() != 0; round = frames.pauseAtEnd(round)) {}
  }

  /** How many pages one group brings in at most. */
  int pagesMax() {
    return Math.min(PageGroup.CAPACITY, frames.least() >>> GROUP_SHIFT);
  }

  /** How many pages a {@link PageReads} may have under way in this pool. */
  int maxInFlightReads() {
    return Math.min(maxInFlightReads, frames.least() >>> GROUP_SHIFT);
  }

  /** The device, for who reads pages that were entered here. */
  BlockDevice device() {
    return device;
  }

  /** Where a frame's bytes are in {@link #pages}. */
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
   * Enters one page, if it is in no frame: the frame to read it into, latched, which {@link
   * #ended(long, int, int, boolean)} gives up. It counts as used.
   *
   * @return {@link #THERE} if the page is in a frame, or on its way, or no page at all; {@link
   *     #NO_FRAME} if none is to be had at once
   */
  int enter(long pid) {
    if (closed) {
      throw new DatabaseClosedException();
    }
    // 0 and 1 are the superblocks, which do not pass through the pool.
    if (pid <= 1 || pid >= allocator.highWater() || translator.lookup(pid) >= 0) {
      return THERE;
    }
    if (reserve(1) == 0) {
      return NO_FRAME;
    }
    int frame = -1;
    int result = NO_FRAME;
    try {
      // Reserved, and then a look at closed: see close.
      if (closed) {
        throw new DatabaseClosedException();
      }
      frame = frames.residency.claim(pid, false, false);
      if (frame >= 0) {
        result = loader.enter(translator.bucket(pid), pid, frame) < 0 ? frame : THERE;
      } else if (frame != Residency.NONE) {
        result = THERE;
      }
    } finally {
      if (result < 0) {
        if (frame >= 0) {
          frames.giveBack(frame);
        }
        unreserve(1);
      }
    }
    return result;
  }

  /** Waits once for a frame, see {@link Frames#pause}. */
  int pause(int round) {
    return frames.pause(round);
  }

  /** Whether a page can be looked at, or is in no frame: not while it is on its way into one. */
  boolean settled(long pid) {
    int frame = translator.lookup(pid);
    return frame < 0 || !Latch.isExclusive(frames.headers, frame) || frames.pid(frame) != pid;
  }

  /** See {@link BufferPool#begin}. The caller holds no latch. */
  void begin(PageGroup group, boolean used) {
    group.await();
    int room = reserve(Math.min(group.size, pagesMax()));
    int kept = 0;
    try {
      if (closed) {
        throw new DatabaseClosedException();
      }
      if (room > 0) {
        kept = submit(group, room, used);
      }
    } finally {
      unreserve(room - kept);
    }
  }

  /**
   * Up to so many frames; what is not to be had now is not waited for. Nothing is called between
   * the addition and the answer but what gives back: a failure there would leave frames reserved
   * for ever, and {@link #close} would wait for them.
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

  /** Frames that groups may hold right now. */
  int reserved() {
    return reserved.get();
  }

  /** Hands the pages that are missing to the device; how many: they keep what was reserved. */
  private int submit(PageGroup group, int room, boolean used) {
    IoBatch io = group.io;
    io.clear();
    group.begin(this, used);
    try {
      enter(group, room, used);
      int n = io.size();
      if (n == 1) {
        // A lone read may be done by this thread, which saves two hand-overs.
        device.run(io);
      } else if (n > 1) {
        device.submit(io);
      }
      return n;
    } catch (RuntimeException | Error e) {
      // Where a device throws it has begun nothing: BlockDevice.submit promises that.
      for (int entry = 0; entry < io.size(); entry++) {
        drop(group, group.places[entry]);
      }
      throw e;
    }
  }

  /**
   * The device has ended a read. On a thread of the device, or on the one that began the group.
   *
   * <p>What the group says of the page is written before the entry counts as done, and read by the
   * owner after that ({@link IoBatch#await}). Giving up the reservation is last: {@link #close}
   * waits for it, and then neither the device nor this touches a frame any more.
   */
  void ended(PageGroup group, int entry, int errno) {
    int place = group.places[entry];
    int frame = group.frames[place];
    // The owner looks at it when the entry counts as done.
    group.frames[place] = -1;
    if (ended(group.pids[place], frame, errno, group.used)) {
      group.frames[place] = frame;
    }
  }

  /** A read has ended: the page is there for all, or dropped. Whether it is there. */
  boolean ended(long pid, int frame, int errno, boolean used) {
    boolean whole = false;
    try {
      // The limit after the read: the log may have grown since the page was written.
      if (errno == 0 && loader.whole(pid, frame, loader.lsnLimit())) {
        loader.arrived(frame);
        frames.counters.misses.increment();
        FrameHeader.setUsed(frames.headers, frame, used);
        whole = true;
      } else {
        frames.counters.readFailures.increment();
      }
    } finally {
      try {
        if (whole) {
          Latch.releaseExclusive(frames.headers, frame);
        } else {
          drop(frame);
        }
      } finally {
        unreserve(1);
      }
    }
    return whole;
  }

  /** Enters the pages that are in no frame, and adds them to the batch. */
  private void enter(PageGroup group, int room, boolean used) {
    long end = allocator.highWater();
    for (int i = 0; i < group.size && group.io.size() < room; i++) {
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
        continue; // somebody brings it in, or has it
      }
      try {
        if (loader.enter(translator.bucket(pid), pid, frame) >= 0) {
          frames.giveBack(frame);
          continue;
        }
        group.frames[i] = frame;
        group.places[group.io.size()] = i;
        group.io.read(pid << frames.pageShift, frames.pages, frames.base(frame), frames.pageSize);
      } catch (Error e) {
        group.frames[i] = -1;
        if (frames.stopped() == null) {
          if (frames.pid(frame) != 0) {
            frames.drop(frame);
          }
          frames.giveBack(frame);
        }
        throw e;
      }
    }
  }

  /** A page that did not come. */
  private void drop(PageGroup group, int place) {
    int frame = group.frames[place];
    group.frames[place] = -1;
    drop(frame);
  }

  private void drop(int frame) {
    frames.drop(frame);
    frames.giveBack(frame);
  }
}
