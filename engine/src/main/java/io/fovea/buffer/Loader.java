package io.fovea.buffer;

import io.fovea.error.CorruptionException;
import io.fovea.io.BlockDevice;
import io.fovea.memory.Mem;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Misses: reads a page into a frame, once, however many threads request it.
 *
 * <pre>
 *   thread A                                       thread B
 *   lookup: nowhere                                lookup: nowhere
 *   claim a frame F (latched, empty)               claim a frame G
 *   bucket latched: still nowhere                     :
 *     header of F := pid, entry := F    ◄──────────── waits for the bucket
 *   bucket unlatched                               bucket latched: it is in F
 *   device.read straight into F                    releases G; waits for the latch of F
 *   check checksum and page id                        :
 *   latch released ─────────────────────────────►  reads F
 *
 *   read failed: entry removed, F free, latch released; A throws; B finds nothing and tries itself
 * </pre>
 *
 * <p>The frame is claimed before the bucket is latched, because claiming may wait for a write.
 * During the read only the latch of the receiving frame is held. For many misses of one thread at a
 * time see {@link GroupLoader}.
 */
final class Loader {
  /**
   * The treatment of a page that is missing or damaged in the file, and is neither a hole nor cut
   * off.
   */
  private enum Zeros {
    DAMAGE,
    /** Zeros may be a page that was just allocated; it is not entered. */
    NEW,
    /** Any contents count as zeros, because an image of the page follows. */
    ALL
  }

  /** Returned by {@link #loadAny} for a page of zeros; never a frame. */
  static final int ABSENT = Integer.MIN_VALUE;

  private record Newest(long pid, long lsn) {}

  private final Frames frames;
  private final BlockDevice device;
  private final PoolLog log;

  /** The newest page that arrived while no limit was known. */
  private final AtomicReference<Newest> newest = new AtomicReference<>(new Newest(0, 0));

  private @Nullable PageAllocator allocator;

  private volatile long unreadFrom = Long.MAX_VALUE;

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
   * @return the frame, latched exclusively, with the page in it; or the complement of the frame in
   *     which another thread has entered the page, not latched
   * @throws CorruptionException if the page is damaged, or newer than the log
   */
  int load(long pid) {
    return load(pid, Zeros.DAMAGE, false);
  }

  /**
   * Loads a page that may have just been allocated, or that the device has lost. If it reads as
   * zeros, enters nothing and returns {@link #ABSENT}, as a page of zeros in a frame would hide the
   * loss from later readers.
   */
  int loadAny(long pid) {
    return load(pid, Zeros.NEW, false);
  }

  /**
   * Loads a page for recovery, which has an image of it: a damaged page becomes zeros with LSN 0. A
   * page allocated since the checkpoint is not even read, because the log contains all of it.
   */
  int loadForImage(long pid) {
    return load(pid, Zeros.ALL, pid >= unreadFrom);
  }

  /** Enters a page of zeros without reading the file, for callers that replace its contents. */
  int loadUnread(long pid) {
    return load(pid, Zeros.DAMAGE, true);
  }

  /** Recovery: the log contains the whole contents of this page and of all later ones. */
  void unreadFrom(long pid) {
    unreadFrom = pid;
  }

  void writeAgain(long recLsn) {
    againFrom = recLsn;
  }

  /** Called after a page was read into an exclusively latched frame. */
  void pageRead(int frame) {
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
      if (frames.poolStop.stopped() == null) {
        frames.unclaim(frame); // it was not entered
      }
      throw e;
    }
    if (resident >= 0) {
      frames.unclaim(frame);
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
      frames.unclaim(frame);
      frames.counters.readFailures.increment();
      throw e;
    }
    if (!brought) {
      frames.drop(frame);
      frames.unclaim(frame);
      return ABSENT;
    }
    return frame;
  }

  /**
   * Enters a page into a claimed frame without reading it: it is new, or its old contents are not
   * needed. Waits for a reader that holds the page, even beyond the deadline of the operation,
   * because the caller can't return the page id.
   *
   * @param claimed of {@link Residency#use}
   * @return the frame, latched exclusively, with the page entered. It is the claimed one, unless
   *     the page was in a frame already
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
      // A reader with an outdated hint is reading the page; its frame is taken over.
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
          frames.unclaim(claimed);
          return resident;
        }
      }
    }
  }

  /** Enters the page if it is in no frame; otherwise returns its frame. The frame is claimed. */
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
      throw frames.poolStop.stop(e);
    }
  }

  private boolean read(long pid, int frame, Zeros zeros) {
    long base = frames.base(frame);
    device.read(pid << frames.pageShift, frames.pages, base, frames.pageSize);
    long limit = lsnLimit();
    if (isValid(pid, frame, limit)) {
      pageRead(frame);
      return true;
    }
    if (PageHeader.isValid(frames.pages, base, frames.pageSize, pid)) {
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

  /**
   * Returns whether a page of zeros is a free page whose successor is the next id: {@link
   * FreeRuns}.
   */
  private boolean isHole(long pid, long base) {
    PageAllocator a = Objects.requireNonNull(allocator);
    return a.extent().hasHoles()
        && pid >= AllocatorState.FIRST_PID
        && pid < a.highWater()
        && Mem.isZero(frames.pages, base, frames.pageSize);
  }

  /**
   * Returns whether a page was free when it was cut off the end of the file; the caller got its id
   * before that. Until the high-water mark was lowered, the file contained it as a free page; since
   * then the file contains that page, or zeros, or, during the cut, the beginning of one and the
   * end of the other. If the page has been allocated again, its new owner takes the frame over
   * ({@link #create}).
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

  /** Returns the largest LSN that a page read before this call may have. */
  long lsnLimit() {
    return log.lsnLimit();
  }

  /**
   * Returns whether the page in a frame is whole and of this log. An LSN beyond the end of the log
   * means another log, not damage, because no page is written before its log is durable.
   */
  boolean isValid(long pid, int frame, long limit) {
    long base = frames.base(frame);
    if (!PageHeader.isValid(frames.pages, base, frames.pageSize, pid)) {
      return false;
    }
    long lsn = PageHeader.pageLsn(frames.pages, base);
    if (limit == Long.MAX_VALUE && lsn > newest.get().lsn) {
      newest.accumulateAndGet(new Newest(pid, lsn), (a, b) -> a.lsn >= b.lsn ? a : b);
      log.wasDurable(lsn);
    }
    return lsn <= limit;
  }

  /**
   * Rejects pages that arrived while no limit was known, if they are newer than the log.
   *
   * @param end the end of the log, which is now known
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
      return new CorruptionException("id in the header of a page", pid, offset, pid, is);
    }
    if (Mem.isZero(frames.pages, base, pageSize)) {
      return new CorruptionException("a page that was never written", pid, offset, pid, 0);
    }
    return new CorruptionException(
        "checksum", pid, offset, expected & 0xFFFF_FFFFL, found & 0xFFFF_FFFFL);
  }
}
