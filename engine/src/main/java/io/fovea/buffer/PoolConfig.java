package io.fovea.buffer;

import io.fovea.config.Pretouch;
import io.fovea.config.Replacement;
import io.fovea.config.Translation;
import io.fovea.error.InvalidUseException;
import io.fovea.io.BlockDevice;
import io.fovea.io.ReadRing;
import org.jspecify.annotations.Nullable;

/**
 * The configuration of a pool.
 *
 * @param pageSize the page size in bytes: a power of two from 4 KiB to 64 KiB
 * @param bufferBytes the maximum total size of frames, headers, tables and I/O buffers
 * @param translation how page ids are translated to frames
 * @param replacement which pages are evicted first
 * @param pretouch when memory is populated
 * @param exhaustedMillis how long a thread waits for a frame before {@link
 *     io.fovea.error.PoolExhaustedException}
 * @param frameHints whether inner nodes remember the frames of their children
 * @param maxInFlightReads the maximum number of reads in flight for one thread, 1 to {@link
 *     PageReads#CAPACITY}
 * @param share the source of memory for frames; null if all of it is the pool's own
 * @param leastBytes with a share, the part of {@code bufferBytes} that the pool is guaranteed
 * @param hugePages whether the system is advised to use huge pages, if the translation supports
 *     them
 * @param fileBytesMax if the frame of a page is its page id, the maximum size of the file; 0 for
 *     the largest that the buffer has room for
 * @since 0.1.0
 */
public record PoolConfig(
    int pageSize,
    long bufferBytes,
    Translation translation,
    Replacement replacement,
    Pretouch pretouch,
    long exhaustedMillis,
    boolean frameHints,
    int maxInFlightReads,
    @Nullable PoolShare share,
    long leastBytes,
    boolean hugePages,
    long fileBytesMax) {
  /** The minimum number of frames of a pool. */
  public static final int FRAMES_MIN = 64;

  /** How long a thread waits for a frame. */
  public static final long EXHAUSTED_MILLIS = 5_000;

  /** Returns a configuration with these sizes and the default for everything else. */
  public static PoolConfig of(int pageSize, long bufferBytes) {
    return of(
        pageSize, bufferBytes, Translation.PREDICTIVE, Replacement.SECOND_CHANCE, ReadRing.DEPTH);
  }

  /** Returns a pool of exactly this number of frames. */
  public static PoolConfig ofFrames(int pageSize, int frames, Translation translation) {
    return ofFrames(pageSize, frames, translation, Replacement.SECOND_CHANCE);
  }

  /** Returns a pool of exactly this number of frames, with a replacement policy. */
  public static PoolConfig ofFrames(
      int pageSize, int frames, Translation translation, Replacement replacement) {
    return of(
        pageSize,
        MemoryPlan.bytes(pageSize, frames, translation, replacement),
        translation,
        replacement,
        ReadRing.DEPTH);
  }

  /** Returns a configuration with the parameters that determine sizes; the rest are defaults. */
  public static PoolConfig of(
      int pageSize,
      long bufferBytes,
      Translation translation,
      Replacement replacement,
      int maxInFlightReads) {
    return new PoolConfig(
        pageSize,
        bufferBytes,
        translation,
        replacement,
        Pretouch.NONE,
        EXHAUSTED_MILLIS,
        true,
        maxInFlightReads,
        null,
        0,
        true,
        0);
  }

  /** Returns this configuration with another page size and another buffer size. */
  public PoolConfig sized(int otherPageSize, long otherBytes) {
    return sized(otherPageSize, otherBytes, translation, leastBytes);
  }

  /**
   * Returns a configuration for pages that are in no file of the user: a translation that suits any
   * number of them, in a small buffer that is not shared.
   */
  public PoolConfig forScratch(long bytes) {
    Translation suits = Translator.isOwn(translation) ? Translation.PREDICTIVE : translation;
    return sized(pageSize, bytes, suits, share == null ? 0 : bytes);
  }

  private PoolConfig sized(int pages, long bytes, Translation kind, long min) {
    return new PoolConfig(
        pages,
        bytes,
        kind,
        replacement,
        pretouch,
        exhaustedMillis,
        frameHints,
        maxInFlightReads,
        share,
        min,
        hugePages,
        fileBytesMax);
  }

  /**
   * Checks that a pool can have this configuration.
   *
   * @param device the source of its pages
   * @param area the area that receives copies of its pages first; null for none
   * @throws InvalidUseException if sizes don't fit
   */
  void check(BlockDevice device, @Nullable DoubleWrite area) {
    if (Integer.bitCount(pageSize) != 1 || pageSize < 4096 || pageSize > 65536) {
      throw new InvalidUseException(
          "A page size of " + pageSize + " is not a power of two from 4096 to 65536.");
    }
    if (pageSize % device.blockSize() != 0) {
      throw new InvalidUseException(
          "Pages of " + pageSize + " bytes on blocks of " + device.blockSize() + " bytes.");
    }
    if (area != null && area.pageSize() != pageSize) {
      throw new InvalidUseException(
          "A double-write area for pages of " + area.pageSize() + " bytes, not " + pageSize + ".");
    }
    if (share != null && Translator.isOwn(translation)) {
      throw new InvalidUseException(
          "A BufferShare moves frames between databases, but with translation "
              + translation
              + " every page has its own frame: choose another translation, or "
              + "a separate buffer.");
    }
  }

  /** Returns the minimum {@code bufferBytes}. */
  public static long bytesMin(int pageSize, Translation translation, Replacement replacement) {
    return MemoryPlan.bytes(pageSize, FRAMES_MIN, translation, replacement);
  }
}
