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
 * copies of an eighth of the frames, 8 to 256 of them; in a share, of those that are its own. A
 * batch costs two or three syncs where there is such an area, which is why it is that large.
 *
 * @param frames how many frames
 * @param least how many of them it can always have memory for: all, but in a share
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
    int least,
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
    return of(pageSize, frames, frames, translation, replacement);
  }

  private static MemoryPlan of(
      int pageSize, int frames, int least, Translation translation, ReplacementKind replacement) {
    long bufferAt = (long) frames * pageSize;
    int batch = batch(least);
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
        frames, least, batch, bufferAt, headersAt, tableAt, stackAt, statisticsAt, bytes);
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
    if (config.share() == null) {
      return fit(config, config.bufferBytes(), Integer.MAX_VALUE);
    }
    int own = fit(config, config.leastBytes(), Integer.MAX_VALUE).frames;
    MemoryPlan plan = fit(config, config.bufferBytes(), own);
    return own > plan.frames ? fit(config, config.bufferBytes(), plan.frames) : plan;
  }

  /** The largest of so many bytes, in batches for so many frames or for all. */
  private static MemoryPlan fit(PoolConfig config, long bytes, int least) {
    int pageSize = config.pageSize();
    // Bytes grow with frames: bisect.
    int low = PoolConfig.FRAMES_MIN;
    int high = (int) Math.min(bytes / pageSize + 1, Integer.MAX_VALUE / 4);
    while (high - low > 1) {
      int middle = (low + high) >>> 1;
      if (of(config, middle, Math.min(least, middle)).bytes <= bytes) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return of(config, low, Math.min(least, low));
  }

  private static MemoryPlan of(PoolConfig config, int frames, int least) {
    return of(config.pageSize(), frames, least, config.translation(), config.replacement());
  }

  /** What there is beside the frames. */
  long fixedBytes() {
    return bytes - bufferAt;
  }
}
