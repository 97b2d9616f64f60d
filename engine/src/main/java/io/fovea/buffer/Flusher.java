package io.fovea.buffer;

import io.fovea.error.InvalidUseException;
import io.fovea.io.BlockDevice;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.util.Arrays;

/**
 * Writes all pages that are dirty, in the order of the file.
 *
 * <pre>
 *   frames ──scan──► window of page ids ──sort──► batches ──► device ··· sync
 *                         ▲                          │
 *                         └── left: latched       ◄─┘
 * </pre>
 *
 * <p>Every page that was dirty at the start is written once; a page that is changed again meanwhile
 * stays dirty, so a flush beside busy writers comes to an end.
 *
 * <p>Promotion pauses: a page that moved from a frame ahead of the scan to one behind it would be
 * missed.
 *
 * <p>The flush owns the batches from its start to its end: no write of the background writer is
 * under way at the sync, and none that failed is overlooked. Threads that need frames meanwhile
 * find pages that the flush has cleaned.
 */
final class Flusher {
  private static final int WINDOW = 8192;

  private final Frames frames;
  private final WriteBack writeBack;
  private final Mover mover;
  private final BlockDevice device;
  private final long patienceMillis;

  Flusher(
      Frames frames, WriteBack writeBack, Mover mover, BlockDevice device, long patienceMillis) {
    this.frames = frames;
    this.writeBack = writeBack;
    this.mover = mover;
    this.device = device;
    this.patienceMillis = patienceMillis;
  }

  void flush() {
    writeBack.begin();
    mover.pause();
    try {
      long[] window = new long[Math.min(WINDOW, frames.count)];
      for (int from = 0; from < frames.count; ) {
        int size = 0;
        for (; from < frames.count && size < window.length; from++) {
          if (FrameHeader.dirty(frames.headers, from)) {
            window[size++] = frames.pid(from);
          }
        }
        flush(window, size);
      }
      device.sync();
    } finally {
      mover.resume();
      writeBack.end();
    }
  }

  private void flush(long[] pids, int size) {
    long begin = System.nanoTime();
    for (int round = 0; size > 0; round = Backoff.pause(round)) {
      Arrays.sort(pids, 0, size);
      int left = write(pids, size);
      if (left < size) {
        begin = System.nanoTime();
        round = 0;
      } else if (System.nanoTime() - begin > patienceMillis * 1_000_000) {
        throw new InvalidUseException(
            "Page "
                + pids[0]
                + " and "
                + (left - 1)
                + " others cannot be written: their latches are held, or their log is not durable.");
      }
      size = left;
    }
  }

  /** Writes pages; those that are left afterwards are at the front of the array. */
  private int write(long[] pids, int size) {
    int left = 0;
    for (int i = 0; i < size; ) {
      writeBack.clear();
      while (i < size && !writeBack.full()) {
        // Exactly: a look without the bucket's latch may overlook a page that is being moved.
        int frame = frames.translator.locate(pids[i]);
        if (frame >= 0) {
          writeBack.add(pids[i], frame);
        }
        i++;
      }
      if (writeBack.size() == 0) {
        continue;
      }
      writeBack.write();
      Throwable failure = writeBack.batchFailure();
      if (failure instanceof RuntimeException e) {
        throw e;
      }
      if (failure instanceof Error e) {
        throw e;
      }
      // left <= i: what is overwritten was looked at.
      for (int k = 0; k < writeBack.leftSize(); k++) {
        pids[left++] = writeBack.left(k);
      }
    }
    return left;
  }

  /** See {@link BufferPool#minRecLsn}. */
  long minRecLsn() {
    MemorySegment headers = frames.headers;
    long least = Long.MAX_VALUE;
    for (int frame = 0; frame < frames.count; frame++) {
      long rec = FrameHeader.recLsn(headers, frame);
      // Partner of the release fence at the copy in WriteBack: recLsn moves to writingRecLsn, so it
      // is looked for in this order.
      VarHandle.acquireFence();
      long writing = FrameHeader.writingRecLsn(headers, frame);
      least = Math.min(least, rec == 0 ? Long.MAX_VALUE : rec);
      least = Math.min(least, writing == 0 ? Long.MAX_VALUE : writing);
    }
    return least;
  }
}
