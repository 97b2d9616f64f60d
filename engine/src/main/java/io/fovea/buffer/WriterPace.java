package io.fovea.buffer;

/**
 * How far ahead the background writer works, and how much it hands to the device at once.
 *
 * <pre>
 *   available:  0 ............ low ............... high ............ all
 *               |  works       |  finishes         |  sleeps
 *
 *   low   what is taken while two batches are written, at the rate of late; within bounds
 *   high  a batch more than that
 *   batch shrinks when one takes longer than {@value #BATCH_NANOS} ns, grows when it is faster,
 *         and where the writer is behind: fewer are available after it than half of low
 * </pre>
 *
 * <p>Available are frames that are free and those whose pages are ready to leave. The latter are
 * still pages of the pool, so a high mark costs no hits, only writes of pages that might have been
 * changed once more.
 *
 * <p>Reads of the foreground queue up behind a batch in the device, so a batch is what a reader has
 * to wait for at worst. But a batch costs two or three syncs where there is a double-write area,
 * which is why it does not become smaller than {@value #BATCH_MIN} pages. And those who want frames
 * wait for all of it, syncs and the writer's own turns on the processor included, which more pages
 * hardly lengthen: so a writer that is behind hands over more at once, however long that takes. A
 * smaller batch would be fewer pages a second, and the writer further behind.
 *
 * <p>No clock of its own, and one thread: the writer's. The marks are read by all.
 */
final class WriterPace {
  /** How long a batch should hold the device. */
  static final long BATCH_NANOS = 4_000_000;

  static final int BATCH_MIN = 32;

  /** Over how long the rate is measured at least. */
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
   * The pace of a pool that does nothing yet.
   *
   * @param frames how many there are
   * @param batchMax how many pages a batch has at most
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

  /** Fewer available than this: there is work to do. */
  int low() {
    return low;
  }

  /** So many available: it is done. */
  int high() {
    return low + Math.min(batch, spread);
  }

  /** How many frames should be free at least; the others may be ready. */
  int free() {
    return Math.max(2, lowMin / 4);
  }

  /** How many pages the next batch has at most. */
  int batch() {
    return batch;
  }

  /**
   * Learns how fast frames are taken.
   *
   * @param taken how many were taken since the pool was opened
   * @param now the time
   */
  void taken(long taken, long now) {
    long nanos = now - since;
    if (nanos < RATE_NANOS) {
      return;
    }
    double rate = (double) (taken - takenThen) / nanos;
    // Up at once, for a burst can't wait; down by halves.
    perNano = Math.max(rate, (perNano + rate) / 2);
    since = now;
    takenThen = taken;
    mark();
  }

  /**
   * Learns how long a batch takes.
   *
   * @param pages how many it had
   * @param nanos from its copies to its completion
   * @param behind whether too few frames are available all the same
   */
  void wrote(int pages, long nanos, boolean behind) {
    batchNanos += (nanos - batchNanos) / 4;
    if (behind) {
      batch = Math.min(batchMax, Math.max(batch, 2 * pages));
    } else if (nanos > BATCH_NANOS) {
      // As much less as it was too long, but by half at most: one slow write says little.
      long fits = pages * BATCH_NANOS / nanos;
      batch = (int) Math.max(batchMin, Math.max(fits, batch / 2));
    } else if (pages >= batch) {
      batch = Math.min(batchMax, batch + Math.max(1, batch / 4));
    }
    mark();
  }

  private void mark() {
    double taken = 2 * perNano * batchNanos;
    low = (int) Math.max(lowMin, Math.min(lowMax, taken));
  }
}
