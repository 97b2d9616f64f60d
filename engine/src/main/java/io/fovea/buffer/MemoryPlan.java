package io.fovea.buffer;

import io.fovea.error.PoolTooSmallException;

/**
 * Where everything of a pool is in its one region of memory.
 *
 * <pre>
 *   0            pagesBytes                                                         bytes
 *   +------------+--------------+-----------+----------------+----------------------+
 *   | frames     | write buffer | headers   | buckets        | stack of free frames |
 *   | pageSize   | 4096 + batch | 64 each   | 0, 16 or 32    | 4 each               |
 *   +------------+--------------+-----------+----------------+----------------------+
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
 * @param bytes how large the region is
 */
record MemoryPlan(
    int frames, int batch, long bufferAt, long headersAt, long tableAt, long stackAt, long bytes) {

  private static final int BATCH_MIN = 8;
  private static final int BATCH_MAX = DoubleWrite.PAGES_MAX;

  static int batch(int frames) {
    return Math.max(BATCH_MIN, Math.min(BATCH_MAX, frames / 8));
  }

  static MemoryPlan of(int pageSize, int frames, Translation translation) {
    long bufferAt = (long) frames * pageSize;
    int batch = batch(frames);
    long headersAt = bufferAt + DoubleWrite.HEADER_BYTES + (long) batch * pageSize;
    long tableAt = headersAt + (long) frames * FrameHeader.BYTES;
    long table =
        translation == Translation.PREDICTIVE
            ? 0
            : (long) Translator.buckets(frames) * Translator.bucketBytes(translation);
    long stackAt = tableAt + table;
    long bytes = stackAt + 4L * frames;
    return new MemoryPlan(frames, batch, bufferAt, headersAt, tableAt, stackAt, bytes);
  }

  /** What a pool of so many frames takes. */
  static long bytes(int pageSize, int frames, Translation translation) {
    return of(pageSize, frames, translation).bytes;
  }

  /** The largest pool that fits. */
  static MemoryPlan fit(PoolConfig config) {
    int pageSize = config.pageSize();
    Translation translation = config.translation();
    long least = bytes(pageSize, PoolConfig.FRAMES_MIN, translation);
    if (config.bufferBytes() < least) {
      throw new PoolTooSmallException(config.bufferBytes(), least);
    }
    // bytes() grows with frames: bisect.
    int low = PoolConfig.FRAMES_MIN;
    int high = (int) Math.min(config.bufferBytes() / pageSize + 1, Integer.MAX_VALUE / 4);
    while (high - low > 1) {
      int middle = (low + high) >>> 1;
      if (bytes(pageSize, middle, translation) <= config.bufferBytes()) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return of(pageSize, low, translation);
  }
}
