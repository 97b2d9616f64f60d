package io.fovea.buffer;

import io.fovea.error.DatabaseClosedException;
import io.fovea.io.BlockDevice;
import io.fovea.io.IoBatch;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Misses of one thread, many at a time: pages that are in no frame are read with one batch.
 *
 * <pre>
 *   pids    p0      p1        p2      p3        p4
 *           │       there     │       another   │
 *           │       already   │       reads it  │            look-up; then enter, under the bucket
 *           ▼                 ▼                 ▼
 *   frames  F, latched        G, latched        none left    tryAcquire: never waits
 *           └──── one batch ──┘
 *           ok: unlatched     failed, or not sound: dropped, G free again; nothing is thrown
 * </pre>
 *
 * <p><b>Advice, no more.</b> A page that is not brought in, for whatever reason, is met again on
 * the ordinary way ({@link Loader}), which waits where it must and reports what is wrong. So page
 * ids need not be validated: at worst a page is read that nobody wants.
 *
 * <p><b>Once.</b> A page is entered in its bucket as a lone miss enters it, under the bucket's
 * latch and with the frame latched. Who entered it reads it; who finds it entered passes it over
 * here, or, on the ordinary way, waits for the frame.
 *
 * <p><b>No deadlock.</b> This is the only place where a thread holds the latches of several frames
 * while it waits, and what it waits for is the device alone. It takes these latches by trying
 * ({@link Replacement#tryAcquire}: of frames that are free, or hold a page that is cold and clean);
 * bucket and free-list latches are held by threads that wait for nothing; and a page that another
 * thread brings in is not waited for. So every wait for one of these frames leads to a thread that
 * waits for the device, and the device waits for no latch. Were a frame waited for, two groups that
 * hold all frames between them would wait for each other.
 *
 * <p><b>Bounds.</b> One group takes an eighth of the frames at most, and all groups together a
 * quarter: whoever needs a single frame meanwhile finds one. Beyond that a group brings in fewer
 * pages, or none.
 *
 * <p>All latches are kept until the last entry of the batch is done, for the batch tells no
 * earlier. A thread that wants the first page then waits for the slowest one: a disk's latencies at
 * one moment differ by less than the hand-over that single completions would cost.
 */
final class GroupLoader {
  private static final int GROUP_SHIFT = 3;
  private static final int ALL_SHIFT = 2;

  private final Frames frames;
  private final Translator translator;
  private final Replacement replacement;
  private final Loader loader;
  private final PageAllocator allocator;
  private final BlockDevice device;
  private final int pagesMax;
  private final int allMax;

  /** Frames that groups may hold right now. */
  private final AtomicInteger reserved = new AtomicInteger();

  private volatile boolean closed;

  GroupLoader(
      Frames frames,
      Replacement replacement,
      Loader loader,
      PageAllocator allocator,
      BlockDevice device) {
    this.frames = frames;
    this.translator = frames.translator;
    this.replacement = replacement;
    this.loader = loader;
    this.allocator = allocator;
    this.device = device;
    this.pagesMax = Math.min(PageGroup.CAPACITY, frames.count >>> GROUP_SHIFT);
    this.allMax = frames.count >>> ALL_SHIFT;
  }

  /**
   * Lets no group begin any more, and waits for those under way: the device writes into their
   * frames. Who begins reserves and then looks at {@code closed}; this sets it and then looks at
   * what is reserved; all four are sequential, so one of the two sees the other.
   */
  void close() {
    closed = true;
    for (int round = 0; reserved.get() != 0; round = Backoff.pause(round)) {}
  }

  /** How many pages one group brings in at most. */
  int pagesMax() {
    return pagesMax;
  }

  /** See {@link BufferPool#fetch}. The caller holds no latch. */
  int fetch(PageGroup group, boolean used) {
    int room = reserve(Math.min(group.size, pagesMax));
    try {
      if (closed) {
        throw new DatabaseClosedException();
      }
      return room == 0 ? 0 : fetch(group, room, used);
    } finally {
      reserved.getAndAdd(-room);
    }
  }

  /** Up to so many frames; what is not to be had now is not waited for. */
  private int reserve(int wanted) {
    int before = reserved.getAndAdd(wanted);
    int surplus = Math.min(wanted, Math.max(0, before + wanted - allMax));
    if (surplus > 0) {
      reserved.getAndAdd(-surplus);
    }
    return wanted - surplus;
  }

  private int fetch(PageGroup group, int room, boolean used) {
    IoBatch io = group.io;
    io.clear();
    int settled = 0;
    int brought = 0;
    try {
      enter(group, room, used);
      if (io.size() == 0) {
        return 0;
      }
      // Where this throws nothing has begun: a device checks a batch before it takes it over.
      device.run(io);
      long limit = loader.lsnLimit();
      while (settled < io.size()) {
        int place = group.places[settled];
        boolean whole =
            io.error(settled) == 0 && loader.whole(group.pids[place], group.frames[place], limit);
        settled++;
        if (whole) {
          FrameHeader.setUsed(frames.headers, group.frames[place], used);
          Latch.releaseExclusive(frames.headers, group.frames[place]);
          brought++;
        } else {
          frames.counters.readFailures.increment();
          drop(group, place);
        }
      }
    } finally {
      for (; settled < io.size(); settled++) {
        drop(group, group.places[settled]);
      }
    }
    frames.counters.misses.add(brought);
    return brought;
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
      int frame = replacement.tryAcquire(preferred(pid, used));
      if (frame < 0) {
        return;
      }
      if (loader.enter(translator.bucket(pid), pid, frame) >= 0) {
        frames.giveBack(frame);
        continue;
      }
      group.frames[i] = frame;
      group.places[group.io.size()] = i;
      group.io.read(pid << frames.pageShift, frames.pages, frames.base(frame), frames.pageSize);
    }
  }

  /**
   * Where the page would like to be. One that is only passed by pushes nothing out of its home: it
   * would take the frame of a page that is used again and again in the moment between the clock's
   * look at it and its next use. It goes home where that is free, and else where the clock says.
   */
  private int preferred(long pid, boolean used) {
    int home = translator.preferred(pid);
    return home < 0 || used || frames.pid(home) == 0 ? home : -1;
  }

  /** A page that did not come. */
  private void drop(PageGroup group, int place) {
    int frame = group.frames[place];
    group.frames[place] = -1;
    frames.drop(frame);
    frames.giveBack(frame);
  }
}
