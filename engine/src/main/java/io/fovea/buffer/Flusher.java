package io.fovea.buffer;

import io.fovea.error.InvalidUseException;
import io.fovea.memory.Waits;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Writes dirty pages in file order: all of them, or those that hold the redo point back.
 *
 * <pre>
 *   frames ──scan──► window of page ids ──sort──► batches ──► device ··· sync
 *                         ▲                          │
 *                         └── left: latched       ◄─┘
 * </pre>
 *
 * <p><b>All</b> ({@link #flush}). Every page that was dirty at the start is written once; a page
 * that changes again stays dirty, so a flush concurrent with writers ends. Promotion pauses: a page
 * that moved from a frame ahead of the scan to one behind it would be missed. The flush owns the
 * batches throughout, so no write of the background writer is in flight at the sync, and no failed
 * one is overlooked. Threads that need frames find pages that the flush has cleaned.
 *
 * <p><b>Older than an LSN</b> ({@link #flushOlder}), for a checkpoint. It owns one batch at a time
 * and pauses nothing. A page that moves past the scan, or whose latch is held for too long, is left
 * to the next checkpoint: {@link #minRecLsn}, called next, accounts for it.
 */
final class Flusher {
  private static final int WINDOW = 8192;

  /**
   * The maximum number of pages that a checkpoint submits at once, since the log's groups queue
   * behind them: 64 random writes delay a commit by a millisecond.
   */
  private static final int CHECKPOINT_BATCH = 64;

  /** The number of rounds without a page written after which pauses are longer. */
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
   * Writes pages that no reader can reach yet, without copies in the double-write area: after a
   * crash they are free, torn or not.
   */
  void flushFresh(long[] pids, int count) {
    if (flush(pids, count, Long.MAX_VALUE, false) > 0) {
      throw new InvalidUseException(
          "Page " + pids[0] + " of an unfinished tree cannot be written.");
    }
  }

  private void all() {
    Residency residency = frames.residency;
    int maxResidents = residency.maxResidents();
    long[] window = new long[Math.min(WINDOW, maxResidents)];
    for (int from = 0; from < maxResidents; ) {
      int size = 0;
      for (; from < maxResidents && size < window.length; from++) {
        int frame = residency.resident(from);
        if (frame >= 0 && FrameHeader.isDirty(frames.headers, frame)) {
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

  void flushOlder(long lsn) {
    Residency residency = frames.residency;
    int maxResidents = residency.maxResidents();
    long[] window = new long[Math.min(WINDOW, maxResidents)];
    for (int from = 0; from < maxResidents; ) {
      int size = 0;
      for (; from < maxResidents && size < window.length; from++) {
        int frame = residency.resident(from);
        if (frame >= 0 && isOlder(frame, lsn)) {
          window[size++] = frames.pid(frame);
        }
      }
      flush(window, size, lsn);
    }
    // Waits for a batch that the background writer had begun.
    writeBack.begin();
    writeBack.end();
  }

  private boolean isOlder(int frame, long lsn) {
    long rec = FrameHeader.recLsn(frames.headers, frame);
    return rec != 0 && rec < lsn;
  }

  /** Writes pages while that makes progress; returns the number that could not be written. */
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

  /** Like {@link Backoff}, with longer pauses if latches are held for long. */
  private static int pause(int round) {
    if (round >= LONG_FROM) {
      Waits.sleep(LONG_NANOS);
    }
    return Backoff.pause(round);
  }

  /** Writes pages; the remaining ones are then at the front of the array. */
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
        // left <= i, so this overwrites only entries that were already read.
        for (int k = 0; k < writeBack.leftSize(); k++) {
          pids[left++] = writeBack.left(k);
        }
      } finally {
        writeBack.end();
      }
    }
    return left;
  }

  private int collect(long[] pids, int from, int size, long olderThan) {
    int i = from;
    int limit = olderThan == Long.MAX_VALUE ? Integer.MAX_VALUE : CHECKPOINT_BATCH;
    for (; i < size && !writeBack.isFull() && writeBack.size() < limit; i++) {
      // Under the bucket's latch: a lookup without it may miss a page that is being moved.
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
   * <p><b>Completeness.</b> Consider a change made before the scan, whose record is at r, and which
   * is not in the file when the scan ends.
   *
   * <ul>
   *   <li><i>Its page keeps its frame during the scan.</i> It can't leave, being dirty or being
   *       written; its index in the list of residents is constant from before its first change to
   *       after its last write ({@link Residency#indexOf}); and moves pause. {@link
   *       PagePromoter#pause} waits for moves in progress. Otherwise a page that moves from a frame
   *       ahead of the scan to one behind it would be missed.
   *   <li><i>Within the frame</i> recLsn or writingRecLsn is r or less. A copy moves the first to
   *       the second, which keeps it until a write has succeeded, even after a failed one. Reading
   *       in this order, if recLsn was no longer r, writingRecLsn was set before, and still is.
   * </ul>
   *
   * <p>Later changes, and those whose recLsn is not set yet, are covered by the sessions' slots,
   * which are read before the frames.
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
    long min = Long.MAX_VALUE;
    Residency residency = frames.residency;
    for (int i = 0; i < residency.maxResidents(); i++) {
      int frame = residency.resident(i);
      if (frame < 0) {
        continue;
      }
      long rec = FrameHeader.recLsn(headers, frame);
      // Partner of the release fence at the copy in WriteBack. Excluded: writingRecLsn is read
      // before it is set, and then recLsn after it was cleared.
      VarHandle.acquireFence();
      long writing = FrameHeader.writingRecLsn(headers, frame);
      min = Math.min(min, rec == 0 ? Long.MAX_VALUE : rec);
      min = Math.min(min, writing == 0 ? Long.MAX_VALUE : writing);
    }
    return min;
  }
}
