package io.fovea.buffer;

import io.fovea.error.CorruptionException;
import io.fovea.io.BlockDevice;
import io.fovea.memory.Mem;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Misses: brings a page into a frame, once however many threads want it.
 *
 * <pre>
 *   thread A                                       thread B
 *   look up: nowhere                               look up: nowhere
 *   claim a frame F (latched, empty)               claim a frame G
 *   bucket latched: still nowhere                     :
 *     header of F := pid, entry := F    ◄──────────── waits for the bucket
 *   bucket unlatched                               bucket latched: it is in F
 *   device.read straight into F                    G back; waits for the latch of F
 *   check checksum and page id                        :
 *   latch released ─────────────────────────────►  reads F
 *
 *   read failed: entry removed, F free, latch released; A throws; B finds nothing and tries itself
 * </pre>
 *
 * <p>The frame is claimed before the bucket is latched, because claiming may wait for a write.
 * While the device reads, the only latch that is held is the one of the frame that is filled. Many
 * misses of one thread at a time: {@link GroupLoader}.
 */
final class Loader {
  /** What a page is that the file has not, or has not whole, and that is neither hole nor cut. */
  private enum Zeros {
    DAMAGE,
    /** Zeros may be a page that somebody was given just now. It is not brought into the pool. */
    NEW,
    /** Whatever there is counts as zeros, for an image of the page follows. */
    ALL
  }

  /** What {@link #loadAny} returns for a page of zeros: no frame has this number. */
  static final int ABSENT = Integer.MIN_VALUE;

  /** A page and its LSN. */
  private record Newest(long pid, long lsn) {}

  private final Frames frames;
  private final BlockDevice device;
  private final PoolLog log;

  /** Of the pages that came while no limit was known. */
  private final AtomicReference<Newest> newest = new AtomicReference<>(new Newest(0, 0));

  /** Set once the parts are wired up. */
  private @Nullable PageAllocator allocator;

  /** See {@link PoolRecovery#unreadFrom}. */
  private volatile long unreadFrom = Long.MAX_VALUE;

  /** See {@link PoolRecovery#writeAgain}; 0 where pages are clean when they have been read. */
  private volatile long againFrom;

  Loader(Frames frames, BlockDevice device, PoolLog log) {
    this.frames = frames;
    this.device = device;
    this.log = log;
  }

  void wire(PageAllocator to) {
    allocator = to;
  }

  /**
   * Reads a page that seems to be in no frame. The caller holds no latch.
   *
   * @return the frame, latched exclusively, with the page in it; or the complement of the frame
   *     that another thread has the page in, not latched
   * @throws CorruptionException where the page is not what was written, or is newer than the log
   */
  int load(long pid) {
    return load(pid, Zeros.DAMAGE, false);
  }

  /**
   * The same for a page that may have been given out just now, or that the device has lost: where
   * it reads as zeros, nothing is brought in, and this returns {@link #ABSENT}. Entering a page
   * made of zeros would hide the loss from whoever needs the page later.
   */
  int loadAny(long pid) {
    return load(pid, Zeros.NEW, false);
  }

  /**
   * The same for recovery, which has an image of the page: a damaged one is zeros, its LSN 0. One
   * that was given out since the checkpoint is not even read: the log has all of it.
   */
  int loadForImage(long pid) {
    return load(pid, Zeros.ALL, pid >= unreadFrom);
  }

  /** The same for a page whose content is of no interest: zeros, without a look at the file. */
  int loadUnread(long pid) {
    return load(pid, Zeros.DAMAGE, true);
  }

  /** Recovery: from this page on the log has everything about them. */
  void unreadFrom(long pid) {
    unreadFrom = pid;
  }

  /** See {@link PoolRecovery#writeAgain}. */
  void writeAgain(long recLsn) {
    againFrom = recLsn;
  }

  /** A page was read into an exclusively latched frame. */
  void arrived(int frame) {
    long recLsn = againFrom;
    if (recLsn != 0) {
      frames.markDirty(frame, recLsn);
    }
    frames.swizzling.arrived(frame);
  }

  private int load(long pid, Zeros zeros, boolean unread) {
    Translator translator = frames.translator;
    int resident = translator.locate(pid);
    if (resident >= 0) {
      return ~resident;
    }
    int bucket = translator.bucket(pid);
    int frame = frames.residency.claim(pid, true, false);
    if (frame < 0) {
      return frame;
    }
    try {
      resident = enter(bucket, pid, frame);
    } catch (Error e) {
      if (frames.stopped() == null) {
        frames.giveBack(frame); // it was not entered
      }
      throw e;
    }
    if (resident >= 0) {
      frames.giveBack(frame);
      return ~resident;
    }
    boolean brought = unread;
    try {
      if (unread) {
        frames.zero(frame);
      } else {
        brought = read(pid, frame, zeros);
        frames.counters.misses.increment();
      }
      FrameHeader.setUsed(frames.headers, frame, true);
    } catch (RuntimeException | Error e) {
      frames.drop(frame);
      frames.giveBack(frame);
      frames.counters.readFailures.increment();
      throw e;
    }
    if (!brought) {
      frames.drop(frame);
      frames.giveBack(frame);
      return ABSENT;
    }
    return frame;
  }

  /**
   * Brings a page into a claimed frame without reading it: it is new, or its old content is of no
   * interest. Where a reader has the page for a moment this waits, and for longer than the
   * operation may take: who calls can't give the page id back.
   *
   * @param claimed of {@link Residency#use}
   * @return a frame, latched exclusively, that has the page entered. The claimed one, unless the
   *     page was in a frame already
   */
  int create(long pid, int claimed) {
    if (frames.pid(claimed) == pid) {
      return claimed;
    }
    Translator translator = frames.translator;
    int bucket = translator.bucket(pid);
    for (int round = 0; ; round = frames.pauseUntilStopped(round)) {
      int resident = enter(bucket, pid, claimed);
      if (resident < 0) {
        return claimed;
      }
      // A reader with an outdated hint is looking at the page; its frame is taken over.
      if (Latch.tryExclusive(frames.headers, resident)) {
        boolean right = false;
        try {
          right = frames.pid(resident) == pid;
        } finally {
          if (!right) {
            Latch.releaseExclusiveUnchanged(frames.headers, resident);
          }
        }
        if (right) {
          frames.giveBack(claimed);
          return resident;
        }
      }
    }
  }

  /** Enters the page if it is in no frame; else says in which. The frame is claimed. */
  int enter(int bucket, long pid, int frame) {
    Translator translator = frames.translator;
    try {
      translator.lock(bucket);
      try {
        int resident = translator.find(bucket, pid);
        if (resident < 0) {
          translator.insert(bucket, pid, frame);
        }
        return resident;
      } finally {
        translator.unlock(bucket);
      }
    } catch (Error e) {
      throw frames.stop(e);
    }
  }

  /** Reads a page into its frame; false where it is {@link #ABSENT}. */
  private boolean read(long pid, int frame, Zeros zeros) {
    long base = frames.base(frame);
    device.read(pid << frames.pageShift, frames.pages, base, frames.pageSize);
    long limit = lsnLimit();
    if (whole(pid, frame, limit)) {
      arrived(frame);
      return true;
    }
    if (PageHeader.sound(frames.pages, base, frames.pageSize, pid)) {
      throw beyond(pid, limit, PageHeader.pageLsn(frames.pages, base));
    }
    if (zeros == Zeros.ALL) {
      frames.zero(frame);
      PageHeader.init(frames.pages, base, PageHeader.NEVER_WRITTEN, pid, 0);
    } else if (isHole(pid, base)) {
      PageHeader.init(frames.pages, base, PageHeader.FREE, pid, 0);
      Mem.putLong(frames.pages, base + PageAllocator.NEXT_FREE, pid + 1);
    } else if (isCut(pid, base)) {
      frames.zero(frame);
      PageHeader.init(frames.pages, base, PageHeader.FREE, pid, 0);
    } else if (zeros == Zeros.NEW && Mem.isZero(frames.pages, base, frames.pageSize)) {
      return false;
    } else {
      throw damage(pid, base);
    }
    return true;
  }

  /** Whether a page of zeros is a free one that the next page follows: {@link FreeRuns}. */
  private boolean isHole(long pid, long base) {
    PageAllocator a = Objects.requireNonNull(allocator);
    return a.extent().hasHoles()
        && pid >= AllocatorState.FIRST_PID
        && pid < a.highWater()
        && Mem.isZero(frames.pages, base, frames.pageSize);
  }

  /**
   * Whether a page was free when it was cut off the end of the file: who wants it has read its id
   * before. Before the mark went back, the file had it as a free page; since then it has that, or
   * zeros, or while it is cut the beginning of the one and the end of the other. If the page was
   * given out again, the thread that has it takes the frame over ({@link #create}).
   */
  private boolean isCut(long pid, long base) {
    PageAllocator a = Objects.requireNonNull(allocator);
    if (!a.isCut(pid)) {
      return false;
    }
    if (pid < a.highWater() && !Mem.isZero(frames.pages, base, frames.pageSize)) {
      device.read(pid << frames.pageShift, frames.pages, base, frames.pageSize);
    }
    return pid >= a.highWater() || Mem.isZero(frames.pages, base, frames.pageSize);
  }

  BlockDevice device() {
    return device;
  }

  /** The largest LSN that a page may have that was read before this is asked. */
  long lsnLimit() {
    return log.lsnLimit();
  }

  /**
   * Whether the page that was read into a frame is what was written, and of this log: one beyond
   * its end is not damaged, but belongs to another log, for no page is written before its log is
   * durable.
   */
  boolean whole(long pid, int frame, long limit) {
    long base = frames.base(frame);
    if (!PageHeader.sound(frames.pages, base, frames.pageSize, pid)) {
      return false;
    }
    long lsn = PageHeader.pageLsn(frames.pages, base);
    if (limit == Long.MAX_VALUE && lsn > newest.get().lsn) {
      newest.accumulateAndGet(new Newest(pid, lsn), (a, b) -> a.lsn >= b.lsn ? a : b);
    }
    return lsn <= limit;
  }

  /**
   * Refuses pages that came while no limit was known and are newer than the log.
   *
   * @param end where the log ends, which is known by now
   */
  void requireUpTo(long end) {
    Newest n = newest.get();
    if (n.lsn > end) {
      throw beyond(n.pid, end, n.lsn);
    }
  }

  private CorruptionException beyond(long pid, long limit, long lsn) {
    return new CorruptionException(
        "LSN of a page, which is beyond the end of the log: the log was lost or replaced",
        pid,
        (pid << frames.pageShift) + PageHeader.PAGE_LSN,
        limit,
        lsn);
  }

  private CorruptionException damage(long pid, long base) {
    int pageSize = frames.pageSize;
    long offset = pid << frames.pageShift;
    int found = PageHeader.checksum(frames.pages, base);
    int expected = PageHeader.sum(frames.pages, base, pageSize);
    if (found == expected) {
      long is = PageHeader.pid(frames.pages, base);
      return new CorruptionException("another page in its place", pid, offset, pid, is);
    }
    if (Mem.isZero(frames.pages, base, pageSize)) {
      return new CorruptionException("a page that was never written", pid, offset, pid, 0);
    }
    return new CorruptionException(
        "checksum", pid, offset, expected & 0xFFFF_FFFFL, found & 0xFFFF_FFFFL);
  }
}
