package io.fovea.buffer;

/**
 * How far ahead the background writer works, and how many pages it submits at a time.
 *
 * <pre>
 *   available:  0 ............ low ............... high ............ all
 *               |  works       |  finishes         |  sleeps
 *
 *   low   frames taken during the write of two batches, at the recent rate; within bounds
 *   high  a batch more than that
 *   batch shrinks when one takes longer than {@value #BATCH_NANOS} ns, grows when it is faster,
 *         and if the writer is behind: after it, less than half of low is available
 * </pre>
 *
 * <p>A frame is available if it is free or its page is ready to leave. Ready pages are still pages
 * of the pool, so a high limit costs no hits, only writes of pages that might have been changed
 * again.
 *
 * <p>Reads queue up behind a batch in the device. But a batch costs two or three syncs with a
 * double-write area, and threads that want frames wait for all of it. So a batch has at least
 * {@value #BATCH_MIN} pages; a writer that is behind submits more, even if that takes long.
 *
 * <p>Used by the writer's thread only, except that all threads may read the marks.
 */
final class WriterPace {
  static final long BATCH_NANOS = 4_000_000;

  static final int BATCH_MIN = 32;

  private static final long RATE_NANOS = 2_000_000;

  private final int lowMin;
  private final int lowMax;
  private final int spread;
  private final int batchMin;
  private final int batchMax;
  private long since;
  private long takenThen;
  private double perNano;
  private double batchNanos = BATCH_NANOS;
  private volatile int batch;
  private volatile int low;

  /**
   * The pace of an idle pool.
   *
   * @param frames the number of frames
   * @param batchMax the maximum number of pages in a batch
   * @param now the time, in nanoseconds
   */
  WriterPace(int frames, int batchMax, long now) {
    this.lowMin = Math.max(2, Math.min(frames / 64, 64));
    this.lowMax = Math.max(lowMin, frames / 8);
    this.spread = Math.max(2, frames / 16);
    this.batchMin = Math.min(BATCH_MIN, batchMax);
    this.batchMax = batchMax;
    this.batch = Math.min(2 * BATCH_MIN, batchMax);
    this.low = lowMin;
    this.since = now;
  }

  /** The writer works if fewer frames are available. */
  int low() {
    return low;
  }

  /** The writer is done once this many frames are available. */
  int high() {
    return low + Math.min(batch, spread);
  }

  /** Returns the minimum number of free frames; the others may be ready. */
  int free() {
    return Math.max(2, lowMin / 4);
  }

  int batch() {
    return batch;
  }

  /**
   * Updates the rate at which frames are taken.
   *
   * @param taken the number of frames taken since the pool was opened
   * @param now the time
   */
  void taken(long taken, long now) {
    long nanos = now - since;
    if (nanos < RATE_NANOS) {
      return;
    }
    double rate = (double) (taken - takenThen) / nanos;
    // Rises immediately, because a burst can't wait; falls by halves.
    perNano = Math.max(rate, (perNano + rate) / 2);
    since = now;
    takenThen = taken;
    updateMarks();
  }

  /**
   * Updates the duration of a batch.
   *
   * @param pages the number of its pages
   * @param nanos the time from its copies to its completion
   * @param tooFew whether too few frames are available nevertheless
   */
  void wrote(int pages, long nanos, boolean tooFew) {
    batchNanos += (nanos - batchNanos) / 4;
    if (tooFew) {
      batch = Math.min(batchMax, Math.max(batch, 2 * pages));
    } else if (nanos > BATCH_NANOS) {
      // Shrinks in proportion, but at most by half: one slow write says little.
      long fits = pages * BATCH_NANOS / nanos;
      batch = (int) Math.max(batchMin, Math.max(fits, batch / 2));
    } else if (pages >= batch) {
      batch = Math.min(batchMax, batch + Math.max(1, batch / 4));
    }
    updateMarks();
  }

  private void updateMarks() {
    double taken = 2 * perNano * batchNanos;
    low = (int) Math.max(lowMin, Math.min(lowMax, taken));
  }
}
