package io.fovea.buffer;

import io.fovea.config.Replacement;
import io.fovea.config.Translation;
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
 * <p>Where a page's frame is its own ({@link ResidencyBudget}) there are as many frames as the file
 * may have pages, most of them without memory; no buckets; in the stack's place the places of pages
 * in memory, as many as there can be; and statistics for each place. The region is addresses then,
 * and what counts against the budget is said there.
 *
 * <p>The write buffer holds what one batch writes to the double-write area: a header, and the
 * copies of an eighth of the frames, 8 to 256 of them; in a share, of those that are its own. A
 * batch costs two or three syncs where there is such an area, which is why it is that large.
 *
 * @param frames how many frames
 * @param least how many of them it can always have memory for: all, but in a share
 * @param places how many pages can be in memory: all frames, but where a page's frame is its own
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
    int places,
    int batch,
    long bufferAt,
    long headersAt,
    long tableAt,
    long stackAt,
    long statisticsAt,
    long bytes) {

  private static final int BATCH_MIN = 8;

  /** So many header lines are 64 GiB of addresses, and pages of 4 KiB are 4 TiB. */
  private static final long FRAMES_MAX = 1L << 30;

  private static final int BATCH_MAX = DoubleWrite.PAGES_MAX;

  static int batch(int frames) {
    return Math.max(BATCH_MIN, Math.min(BATCH_MAX, frames / 8));
  }

  /** Bytes of statistics for each frame. */
  static int statisticsBytes(Replacement kind) {
    return kind == Replacement.SAMPLING ? Sampling.BYTES : 0;
  }

  static MemoryPlan of(int pageSize, int frames, Translation translation, Replacement replacement) {
    return of(pageSize, frames, frames, translation, replacement);
  }

  private static MemoryPlan of(
      int pageSize, int frames, int least, Translation translation, Replacement replacement) {
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
        frames, least, frames, batch, bufferAt, headersAt, tableAt, stackAt, statisticsAt, bytes);
  }

  // ------------------------------------------------------------------------ frames of their own

  /** For so many pages of the file for each page in memory there is room in {@link #bytes}. */
  private static final int FILE_PAGES = 12;

  /** Bytes of a header line, and of an entry of the system's page table. */
  static final int FILE_PAGE_BYTES = FrameHeader.BYTES + Long.BYTES;

  /** Headers, places and statistics end in the middle of a page of the system each. */
  private static final long ROUNDED_BYTES = 3 * 4096;

  /** What a page in memory takes, where its frame is its own. */
  static int rightBytes(int pageSize, Replacement replacement) {
    return pageSize + Integer.BYTES + statisticsBytes(replacement);
  }

  private static long writeBufferBytes(int pageSize, int batch) {
    return DoubleWrite.HEADER_BYTES + (long) batch * pageSize;
  }

  /** What there is beside pages, and what grows with them, where a page's frame is its own. */
  long ownFixedBytes() {
    return headersAt - bufferAt + ROUNDED_BYTES;
  }

  /**
   * As many frames as the least number of pages in memory leaves room for in the budget, and no
   * more than the file may have pages.
   */
  private static MemoryPlan own(PoolConfig config) {
    int pageSize = config.pageSize();
    long budget = config.bufferBytes();
    int right = rightBytes(pageSize, config.replacement());
    long most = Math.min(budget / right, Integer.MAX_VALUE / 4);
    int batch = batch((int) Math.min(most, Math.max(PoolConfig.FRAMES_MIN, most - most / 8)));
    long rest = budget - writeBufferBytes(pageSize, batch) - ROUNDED_BYTES;
    int places = (int) Math.min(most, rest / right);
    // Where no page leaves, each page of the file has memory; some more is for who asks for it
    // early.
    boolean stays = config.translation() == Translation.DIRECT;
    int each = FILE_PAGE_BYTES + (stays ? right : 0);
    long pages = (rest - (long) PoolConfig.FRAMES_MIN * right) / each;
    if (config.fileBytesMax() > 0 && !stays) {
      pages = Math.min(pages, config.fileBytesMax() / pageSize);
    }
    int frames = (int) Math.max(PoolConfig.FRAMES_MIN, Math.min(pages, FRAMES_MAX));
    long bufferAt = (long) frames * pageSize;
    long headersAt = bufferAt + writeBufferBytes(pageSize, batch);
    long stackAt = headersAt + (long) frames * FrameHeader.BYTES;
    long statisticsAt = stackAt + 4L * (places + 1 & ~1);
    long bytes = statisticsAt + (long) statisticsBytes(config.replacement()) * places;
    return new MemoryPlan(
        frames, places, places, batch, bufferAt, headersAt, stackAt, stackAt, statisticsAt, bytes);
  }

  /** What a pool of so many frames takes. */
  static long bytes(int pageSize, int frames, Translation translation, Replacement replacement) {
    if (Translator.isOwn(translation)) {
      int right = rightBytes(pageSize, replacement);
      long each =
          translation == Translation.DIRECT
              ? right + FILE_PAGE_BYTES
              : right + FILE_PAGES * FILE_PAGE_BYTES;
      long beside = translation == Translation.DIRECT ? (long) PoolConfig.FRAMES_MIN * right : 0;
      int most = frames + frames / 2 + (beside == 0 ? 0 : PoolConfig.FRAMES_MIN);
      return writeBufferBytes(pageSize, batch(most)) + ROUNDED_BYTES + beside + frames * each;
    }
    return of(pageSize, frames, translation, replacement).bytes;
  }

  /** The largest pool that fits. */
  static MemoryPlan fit(PoolConfig config) {
    int pageSize = config.pageSize();
    Translation translation = config.translation();
    Replacement replacement = config.replacement();
    long least = bytes(pageSize, PoolConfig.FRAMES_MIN, translation, replacement);
    if (config.bufferBytes() < least) {
      throw new PoolTooSmallException(config.bufferBytes(), least);
    }
    if (Translator.isOwn(translation)) {
      return own(config);
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
