package io.fovea.buffer;

import io.fovea.config.Replacement;
import io.fovea.config.Translation;
import io.fovea.error.PoolTooSmallException;

/**
 * The layout of a pool's memory, which is one region.
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
 * <p>If the frame of a page is its page id ({@link ResidencyBudget}), there are as many frames as
 * the file may have pages, most of them without memory. There are no buckets, and the list of
 * resident pages, with statistics for each of them, replaces the stack. The region then reserves
 * addresses.
 *
 * <p>The write buffer holds a batch for the double-write area: a header and copies of an eighth of
 * the frames (in a share, of the guaranteed ones), 8 to 256. A batch is large because with such an
 * area it costs two or three syncs.
 *
 * @param frames the number of frames
 * @param min the number of frames that always have memory: all, except in a share
 * @param maxResidents the maximum number of pages in memory: all frames, unless the frame of a page
 *     is its page id
 * @param batch the maximum number of pages in a batch of writes
 * @param bufferAt the offset of the write buffer
 * @param headersAt the offset of the headers
 * @param tableAt the offset of the buckets
 * @param stackAt the offset of the stack of free frames
 * @param statisticsAt the offset of the replacement policy's statistics
 * @param bytes the size of the region
 */
record MemoryPlan(
    int frames,
    int least,
    int maxResidents,
    int batch,
    long bufferAt,
    long headersAt,
    long tableAt,
    long stackAt,
    long statisticsAt,
    long bytes) {

  private static final int BATCH_MIN = 8;

  /** The limit of VIRTUAL: header lines take 64 GiB of addresses, and pages of 4 KiB take 4 TiB. */
  private static final long FRAMES_MAX = 1L << 30;

  private static final int BATCH_MAX = DoubleWrite.PAGES_MAX;

  static int batch(int frames) {
    return Math.max(BATCH_MIN, Math.min(BATCH_MAX, frames / 8));
  }

  static int statisticsBytes(Replacement kind) {
    return kind == Replacement.SAMPLING ? Sampling.BYTES : 0;
  }

  static MemoryPlan of(int pageSize, int frames, Translation translation, Replacement replacement) {
    return of(pageSize, frames, frames, translation, replacement);
  }

  private static MemoryPlan of(
      int pageSize, int frames, int min, Translation translation, Replacement replacement) {
    long bufferAt = (long) frames * pageSize;
    int batch = batch(min);
    long headersAt = bufferAt + DoubleWrite.HEADER_BYTES + (long) batch * pageSize;
    long tableAt = headersAt + (long) frames * FrameHeader.BYTES;
    long table =
        translation == Translation.PREDICTIVE
            ? 0
            : (long) Translator.buckets(frames) * Translator.bucketBytes(translation);
    long stackAt = tableAt + table;
    // Statistics are aligned to longs.
    int each = statisticsBytes(replacement);
    long statisticsAt = stackAt + 4L * (each == 0 ? frames : frames + 1 & ~1);
    long bytes = statisticsAt + (long) each * frames;
    return new MemoryPlan(
        frames, min, frames, batch, bufferAt, headersAt, tableAt, stackAt, statisticsAt, bytes);
  }

  // ------------------------------------------------------------------------ VIRTUAL and DIRECT

  /** {@link #bytes} allows for this many pages of the file per page in memory. */
  private static final int FILE_PAGES = 12;

  /** Bytes of a header line and of an entry of the system's page table. */
  static final int FILE_PAGE_BYTES = FrameHeader.BYTES + Long.BYTES;

  /** Headers, residents and statistics each end in the middle of a page of the system. */
  private static final long ROUNDED_BYTES = 3 * 4096;

  /** Returns the cost of a page in memory, if the frame of a page is its page id. */
  static int grantBytes(int pageSize, Replacement replacement) {
    return pageSize + Integer.BYTES + statisticsBytes(replacement);
  }

  private static long writeBufferBytes(int pageSize, int batch) {
    return DoubleWrite.HEADER_BYTES + (long) batch * pageSize;
  }

  /** Returns the memory not used for pages, without the part that grows with their number. */
  long ownFixedBytes() {
    return headersAt - bufferAt + ROUNDED_BYTES;
  }

  /**
   * Plans as many frames as the budget allows with the minimum number of pages in memory, but no
   * more than the file may have pages.
   */
  private static MemoryPlan own(PoolConfig config) {
    int pageSize = config.pageSize();
    long budget = config.bufferBytes();
    int grant = grantBytes(pageSize, config.replacement());
    long max = Math.min(budget / grant, Integer.MAX_VALUE / 4);
    int batch = batch((int) Math.min(max, Math.max(PoolConfig.FRAMES_MIN, max - max / 8)));
    long rest = budget - writeBufferBytes(pageSize, batch) - ROUNDED_BYTES;
    int maxResidents = (int) Math.min(max, rest / grant);
    // DIRECT: each page of the file has memory, plus a reserve for grants taken ahead.
    boolean stays = config.translation() == Translation.DIRECT;
    int each = FILE_PAGE_BYTES + (stays ? grant : 0);
    long pages = (rest - (long) PoolConfig.FRAMES_MIN * grant) / each;
    if (config.fileBytesMax() > 0 && !stays) {
      pages = Math.min(pages, config.fileBytesMax() / pageSize);
    }
    int frames = (int) Math.max(PoolConfig.FRAMES_MIN, Math.min(pages, FRAMES_MAX));
    long bufferAt = (long) frames * pageSize;
    long headersAt = bufferAt + writeBufferBytes(pageSize, batch);
    long stackAt = headersAt + (long) frames * FrameHeader.BYTES;
    long statisticsAt = stackAt + 4L * (maxResidents + 1 & ~1);
    long bytes = statisticsAt + (long) statisticsBytes(config.replacement()) * maxResidents;
    return new MemoryPlan(
        frames,
        maxResidents,
        maxResidents,
        batch,
        bufferAt,
        headersAt,
        stackAt,
        stackAt,
        statisticsAt,
        bytes);
  }

  /** Returns the size of a pool of the given number of frames. */
  static long bytes(int pageSize, int frames, Translation translation, Replacement replacement) {
    if (Translator.isOwn(translation)) {
      int grant = grantBytes(pageSize, replacement);
      long each =
          translation == Translation.DIRECT
              ? grant + FILE_PAGE_BYTES
              : grant + FILE_PAGES * FILE_PAGE_BYTES;
      long extra = translation == Translation.DIRECT ? (long) PoolConfig.FRAMES_MIN * grant : 0;
      int max = frames + frames / 2 + (extra == 0 ? 0 : PoolConfig.FRAMES_MIN);
      return writeBufferBytes(pageSize, batch(max)) + ROUNDED_BYTES + extra + frames * each;
    }
    return of(pageSize, frames, translation, replacement).bytes;
  }

  static MemoryPlan fit(PoolConfig config) {
    int pageSize = config.pageSize();
    Translation translation = config.translation();
    Replacement replacement = config.replacement();
    long min = bytes(pageSize, PoolConfig.FRAMES_MIN, translation, replacement);
    if (config.bufferBytes() < min) {
      throw new PoolTooSmallException(config.bufferBytes(), min);
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

  /** Plans the largest pool of the given size, with batches for the given number of frames. */
  private static MemoryPlan fit(PoolConfig config, long bytes, int min) {
    int pageSize = config.pageSize();
    int low = PoolConfig.FRAMES_MIN;
    int high = (int) Math.min(bytes / pageSize + 1, Integer.MAX_VALUE / 4);
    while (high - low > 1) {
      int middle = (low + high) >>> 1;
      if (of(config, middle, Math.min(min, middle)).bytes <= bytes) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return of(config, low, Math.min(min, low));
  }

  private static MemoryPlan of(PoolConfig config, int frames, int min) {
    return of(config.pageSize(), frames, min, config.translation(), config.replacement());
  }

  long fixedBytes() {
    return bytes - bufferAt;
  }
}
