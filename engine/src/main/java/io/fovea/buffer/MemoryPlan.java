package io.fovea.buffer;

import io.fovea.error.PoolTooSmallException;

/**
 * Where everything of a pool is in its one region of memory.
 *
 * <pre>
 *   0                                                                                    bytes
 *   +----------+--------------+---------+-------------+----------------------+------------+
 *   | frames   | write buffer | headers | buckets     | stack of free frames | statistics |
 *   | pageSize | 4096 + batch | 64 each | 0, 16 or 32 | 4 each               | 0 or 8     |
 *   +----------+--------------+---------+-------------+----------------------+------------+
 *     aligned to a huge page; all of it counts against the budget, nothing else is native memory
 * </pre>
 *
 * <p>The write buffer holds what one batch writes to the double-write area: a header, and the
 * copies of an eighth of the frames, 8 to 256 of them. A batch costs two or three syncs where there
 * is such an area, which is why it is that large.
 *
 * @param frames how many frames
 * @param batch how many pages a batch of writes has at most
 * @param bufferAt where the write buffer begins
 * @param headersAt where the headers begin
 * @param tableAt where the buckets begin
 * @param stackAt where the stack of free frames begins
 * @param statisticsAt where what the replacement policy remembers begins
 * @param bytes how large the region is
 */
record MemoryPlan(
    int frames,
    int batch,
    long bufferAt,
    long headersAt,
    long tableAt,
    long stackAt,
    long statisticsAt,
    long bytes) {

  private static final int BATCH_MIN = 8;
  private static final int BATCH_MAX = DoubleWrite.PAGES_MAX;

  static int batch(int frames) {
    return Math.max(BATCH_MIN, Math.min(BATCH_MAX, frames / 8));
  }

  /** Bytes of statistics for each frame. */
  static int statisticsBytes(ReplacementKind kind) {
    return kind == ReplacementKind.SAMPLING ? Sampling.BYTES : 0;
  }

  static MemoryPlan of(
      int pageSize, int frames, Translation translation, ReplacementKind replacement) {
    long bufferAt = (long) frames * pageSize;
    int batch = batch(frames);
    long headersAt = bufferAt + DoubleWrite.HEADER_BYTES + (long) batch * pageSize;
    long tableAt = headersAt + (long) frames * FrameHeader.BYTES;
    long table =
        translation == Translation.PREDICTIVE
            ? 0
            : (long) Translator.buckets(frames) * Translator.bucketBytes(translation);
    long stackAt = tableAt + table;
    // Aligned to longs: an odd number of frames leaves four bytes of nothing where there are any.
    int each = statisticsBytes(replacement);
    long statisticsAt = stackAt + 4L * (each == 0 ? frames : frames + 1 & ~1);
    long bytes = statisticsAt + (long) each * frames;
    return new MemoryPlan(
        frames, batch, bufferAt, headersAt, tableAt, stackAt, statisticsAt, bytes);
  }

  /** What a pool of so many frames takes. */
  static long bytes(
      int pageSize, int frames, Translation translation, ReplacementKind replacement) {
    return of(pageSize, frames, translation, replacement).bytes;
  }

  /** The largest pool that fits. */
  static MemoryPlan fit(PoolConfig config) {
    int pageSize = config.pageSize();
    Translation translation = config.translation();
    ReplacementKind replacement = config.replacement();
    long least = bytes(pageSize, PoolConfig.FRAMES_MIN, translation, replacement);
    if (config.bufferBytes() < least) {
      throw new PoolTooSmallException(config.bufferBytes(), least);
    }
    // bytes() grows with frames: bisect.
    int low = PoolConfig.FRAMES_MIN;
    int high = (int) Math.min(config.bufferBytes() / pageSize + 1, Integer.MAX_VALUE / 4);
    while (high - low > 1) {
      int middle = (low + high) >>> 1;
      if (bytes(pageSize, middle, translation, replacement) <= config.bufferBytes()) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return of(pageSize, low, translation, replacement);
  }
}
