package io.fovea.buffer;

import io.fovea.error.InvalidUseException;
import io.fovea.memory.Waits;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Writes pages that are dirty, in the order of the file: all of them, or those that hold the redo
 * point back.
 *
 * <pre>
 *   frames ──scan──► window of page ids ──sort──► batches ──► device ··· sync
 *                         ▲                          │
 *                         └── left: latched       ◄─┘
 * </pre>
 *
 * <p><b>All</b> ({@link #flush}). Every page that was dirty at the start is written once; a page
 * that is changed again meanwhile stays dirty, so a flush beside busy writers comes to an end.
 * Promotion pauses: a page that moved from a frame ahead of the scan to one behind it would be
 * missed. The flush owns the batches from its start to its end: no write of the background writer
 * is under way at the sync, and none that failed is overlooked. Threads that need frames meanwhile
 * find pages that the flush has cleaned.
 *
 * <p><b>Those that are old</b> ({@link #flushOlder}), for a checkpoint. It owns a batch at a time
 * and pauses nothing. A page that moves past the scan, or whose latch is held for too long, is left
 * for the next checkpoint: {@link #minRecLsn}, which comes after, has the last word.
 */
final class Flusher {
  private static final int WINDOW = 8192;

  /**
   * How many pages a checkpoint hands to the device at once. The log's groups queue up behind them:
   * 64 random writes hold a commit up for a millisecond, a whole batch for four.
   */
  private static final int CHECKPOINT_BATCH = 64;

  /** After so many rounds without any page being written. */
  private static final int LONG_FROM = Backoff.PARK_FROM + 32;

  private static final long LONG_NANOS = 5_000_000;

  private final Frames frames;
  private final WriteBack writeBack;
  private final PagePromoter pagePromoter;
  private final DataSync dataSync;
  private final long patienceMillis;

  Flusher(
      Frames frames,
      WriteBack writeBack,
      PagePromoter pagePromoter,
      DataSync dataSync,
      long patienceMillis) {
    this.frames = frames;
    this.writeBack = writeBack;
    this.pagePromoter = pagePromoter;
    this.dataSync = dataSync;
    this.patienceMillis = patienceMillis;
  }

  void flush() {
    writeBack.begin();
    try {
      pagePromoter.pause();
      try {
        writeBack.awaitMarked();
        all();
        dataSync.sync();
      } finally {
        pagePromoter.resume();
      }
    } finally {
      writeBack.end();
    }
  }

  /**
   * Writes pages that nobody can reach yet, without copies in the double-write area: after a crash
   * they are free, torn or not.
   */
  void flushFresh(long[] pids, int count) {
    if (flush(pids, count, Long.MAX_VALUE, false) > 0) {
      throw new InvalidUseException(
          "Page " + pids[0] + " of a tree that is being made cannot be written.");
    }
  }

  /** Every page that is dirty now. */
  private void all() {
    Residency residency = frames.residency;
    int places = residency.places();
    long[] window = new long[Math.min(WINDOW, places)];
    for (int from = 0; from < places; ) {
      int size = 0;
      for (; from < places && size < window.length; from++) {
        int frame = residency.resident(from);
        if (frame >= 0 && FrameHeader.dirty(frames.headers, frame)) {
          window[size++] = frames.pid(frame);
        }
      }
      if (flush(window, size, Long.MAX_VALUE) > 0) {
        throw new InvalidUseException(
            "Page "
                + window[0]
                + " cannot be written: its latch is held, or its log is not durable.");
      }
    }
  }

  /** See {@link PoolCheckpoint#flushOlder}. */
  void flushOlder(long lsn) {
    Residency residency = frames.residency;
    int places = residency.places();
    long[] window = new long[Math.min(WINDOW, places)];
    for (int from = 0; from < places; ) {
      int size = 0;
      for (; from < places && size < window.length; from++) {
        int frame = residency.resident(from);
        if (frame >= 0 && isOlder(frame, lsn)) {
          window[size++] = frames.pid(frame);
        }
      }
      flush(window, size, lsn);
    }
    // What the background writer had taken before is written, too.
    writeBack.begin();
    writeBack.end();
  }

  private boolean isOlder(int frame, long lsn) {
    long rec = FrameHeader.recLsn(frames.headers, frame);
    return rec != 0 && rec < lsn;
  }

  /** Writes pages, for as long as that gets on; how many could not be written. */
  private int flush(long[] pids, int count, long olderThan) {
    return flush(pids, count, olderThan, true);
  }

  private int flush(long[] pids, int count, long olderThan, boolean protect) {
    int size = count;
    long begin = System.nanoTime();
    for (int round = 0; size > 0; round = pause(round)) {
      Arrays.sort(pids, 0, size);
      int left = write(pids, size, olderThan, protect);
      if (left < size) {
        begin = System.nanoTime();
        round = 0;
      } else if (System.nanoTime() - begin > patienceMillis * 1_000_000) {
        break;
      }
      size = left;
    }
    return size;
  }

  /** As {@link Backoff}, and longer where latches are held for long: each look is at many pages. */
  private static int pause(int round) {
    if (round >= LONG_FROM) {
      Waits.sleep(LONG_NANOS);
    }
    return Backoff.pause(round);
  }

  /** Writes pages; those that are left afterwards are at the front of the array. */
  private int write(long[] pids, int size, long olderThan, boolean protect) {
    int left = 0;
    for (int i = 0; i < size; ) {
      writeBack.begin();
      try {
        i = collect(pids, i, size, olderThan);
        if (writeBack.size() > 0) {
          writeBack.write(true, protect);
          throwFailure(writeBack.batchFailure());
        }
        // left <= i: what is overwritten was looked at.
        for (int k = 0; k < writeBack.leftSize(); k++) {
          pids[left++] = writeBack.left(k);
        }
      } finally {
        writeBack.end();
      }
    }
    return left;
  }

  /** Fills a batch; returns the index behind the last page that was looked at. */
  private int collect(long[] pids, int from, int size, long olderThan) {
    int i = from;
    int limit = olderThan == Long.MAX_VALUE ? Integer.MAX_VALUE : CHECKPOINT_BATCH;
    for (; i < size && !writeBack.full() && writeBack.size() < limit; i++) {
      // Exactly: a look without the bucket's latch may overlook a page that is being moved.
      int frame = frames.translator.locate(pids[i]);
      if (frame >= 0 && (olderThan == Long.MAX_VALUE || isOlder(frame, olderThan))) {
        writeBack.add(pids[i], frame);
      }
    }
    return i;
  }

  private static void throwFailure(@Nullable Throwable failure) {
    if (failure instanceof RuntimeException e) {
      throw e;
    }
    if (failure instanceof Error e) {
      throw e;
    }
  }

  /**
   * See {@link PoolCheckpoint#minRecLsn}.
   *
   * <p><b>Why nothing is missed.</b> Let a change be there before the scan, its record at r, and
   * not in the file when the scan ends.
   *
   * <ul>
   *   <li><i>Its page does not change places while the scan runs.</i> It can't leave, being dirty
   *       or being written; its place is its own from before its first change to after its last
   *       write ({@link Residency#place}); and moves pause. {@link PagePromoter#pause} waits for
   *       those that had begun, so that none is half done either. (A page that moves from a frame
   *       ahead of the scan to one behind it would be missed. Movers could put the LSNs that they
   *       carry into a common minimum instead, but then the scan would have to wait for movers that
   *       have not seen it yet, which is all that a pause is.)
   *   <li><i>Within the frame</i> recLsn or writingRecLsn is r or less. The first goes to the
   *       second when a copy is made, and stays in the second until a write has succeeded, a failed
   *       one included. So it is looked for in this order: if recLsn was no longer r, writingRecLsn
   *       was so before, and still is.
   * </ul>
   *
   * <p>Changes that come later, or whose recLsn is not set yet, are the sessions' business: their
   * slots are read before the frames.
   */
  long minRecLsn() {
    pagePromoter.pause();
    try {
      return scan();
    } finally {
      pagePromoter.resume();
    }
  }

  private long scan() {
    MemorySegment headers = frames.headers;
    long least = Long.MAX_VALUE;
    Residency residency = frames.residency;
    for (int i = 0; i < residency.places(); i++) {
      int frame = residency.resident(i);
      if (frame < 0) {
        continue;
      }
      long rec = FrameHeader.recLsn(headers, frame);
      // Partner of the release fence at the copy in WriteBack. Forbidden: writingRecLsn is read
      // first, before it is set, and then recLsn, after it was cleared.
      VarHandle.acquireFence();
      long writing = FrameHeader.writingRecLsn(headers, frame);
      least = Math.min(least, rec == 0 ? Long.MAX_VALUE : rec);
      least = Math.min(least, writing == 0 ? Long.MAX_VALUE : writing);
    }
    return least;
  }
}
