package io.fovea.buffer;

import io.fovea.config.Pretouch;
import io.fovea.config.Replacement;
import io.fovea.config.Translation;
import io.fovea.error.InvalidUseException;
import io.fovea.io.BlockDevice;
import io.fovea.io.ReadRing;
import io.fovea.wal.Log;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * What a pool is made from.
 *
 * @param pageSize bytes, a power of two of 4 KiB to 64 KiB
 * @param bufferBytes what frames, headers, tables and I/O buffers take together at most
 * @param translation how page ids become frames
 * @param replacement which pages leave first
 * @param pretouch when memory is populated
 * @param exhaustedMillis how long a frame is waited for before {@link
 *     io.fovea.error.PoolExhaustedException}
 * @param log what says up to where the log is durable
 * @param lsnLimit the largest LSN that a page of the file may have: one beyond the end of the log
 *     says that the log was lost or replaced. Asked at each miss
 * @param doubleWrite where copies of pages go before they are written in place; null for none
 * @param frameHints whether inner nodes remember the frames of their children
 * @param maxInFlightReads how many reads one thread has under way at most, 1 to {@link
 *     PageReads#CAPACITY}
 * @param share from where the memory of frames comes; null where all of it is the pool's own
 * @param leastBytes with a share, how much of {@code bufferBytes} the pool can always have
 * @param hugePages whether the system is advised to use huge pages, where the translation can
 * @param fileBytesMax where a page's frame is its own, how large the file may become; 0 for as
 *     large as the buffer has room for
 * @since 0.1.0
 */
public record PoolConfig(
    int pageSize,
    long bufferBytes,
    Translation translation,
    Replacement replacement,
    Pretouch pretouch,
    long exhaustedMillis,
    PoolLog log,
    LongSupplier lsnLimit,
    @Nullable DoubleWrite doubleWrite,
    boolean frameHints,
    int maxInFlightReads,
    @Nullable PoolShare share,
    long leastBytes,
    boolean hugePages,
    long fileBytesMax) {
  /** The least number of frames that a pool works with. */
  public static final int FRAMES_MIN = 64;

  private static final LongSupplier ANY_LSN = () -> Long.MAX_VALUE;

  /** Pages of this size and a buffer of this size, everything else as is best, and no log. */
  public static PoolConfig of(int pageSize, long bufferBytes) {
    return new PoolConfig(
        pageSize,
        bufferBytes,
        Translation.PREDICTIVE,
        Replacement.SECOND_CHANCE,
        Pretouch.NONE,
        5_000,
        PoolLog.NONE,
        ANY_LSN,
        null,
        true,
        ReadRing.DEPTH,
        null,
        0,
        true,
        0);
  }

  /** A pool of exactly so many frames. */
  public static PoolConfig ofFrames(int pageSize, int frames, Translation translation) {
    return ofFrames(pageSize, frames, translation, Replacement.SECOND_CHANCE);
  }

  /** The same with a replacement of choice. */
  public static PoolConfig ofFrames(
      int pageSize, int frames, Translation translation, Replacement replacement) {
    return of(pageSize, MemoryPlan.bytes(pageSize, frames, translation, replacement))
        .with(translation)
        .with(replacement);
  }

  /** The same with pages of another size. */
  public PoolConfig withPageSize(int other) {
    return with(draft -> draft.pageSize = other);
  }

  /** The same with another buffer. */
  public PoolConfig withBufferBytes(long other) {
    return with(draft -> draft.bufferBytes = other);
  }

  /** The same with another translation. */
  public PoolConfig with(Translation other) {
    return with(draft -> draft.translation = other);
  }

  /** The same with another replacement; the bytes stay, and have to do for its statistics, too. */
  public PoolConfig with(Replacement other) {
    return with(draft -> draft.replacement = other);
  }

  /** The same with another way to populate memory. */
  public PoolConfig with(Pretouch other) {
    return with(draft -> draft.pretouch = other);
  }

  /** The same with another wait for a frame. */
  public PoolConfig withExhaustedMillis(long millis) {
    return with(draft -> draft.exhaustedMillis = millis);
  }

  /** The same with a double-write area, which belongs to this pool alone. */
  public PoolConfig with(DoubleWrite area) {
    return with(draft -> draft.doubleWrite = area);
  }

  /** The same with or without frame hints. */
  public PoolConfig withFrameHints(boolean remembered) {
    return with(draft -> draft.frameHints = remembered);
  }

  /** The same with another number of reads that one thread has under way at most. */
  public PoolConfig withReadsMax(int reads) {
    return with(draft -> draft.maxInFlightReads = reads);
  }

  /** The same with memory from a share, of which so much is its own. */
  public PoolConfig withShare(PoolShare from, long least) {
    return with(
        draft -> {
          draft.share = from;
          draft.leastBytes = least;
        });
  }

  /** The same with or without huge pages. */
  public PoolConfig withHugePages(boolean huge) {
    return with(draft -> draft.hugePages = huge);
  }

  /** The same with another bound of the file; 0 for the buffer's own. */
  public PoolConfig withFileBytesMax(long bytes) {
    return with(draft -> draft.fileBytesMax = bytes);
  }

  /** The same with a log behind it, which also says what LSN a page may have. */
  public PoolConfig withLog(Log other) {
    return withLog(PoolLog.of(other)).withLsnLimit(other::durableLsn);
  }

  /** The same with what stands for a log behind it. */
  public PoolConfig withLog(PoolLog other) {
    return with(draft -> draft.log = other);
  }

  /** The same with another limit of the LSNs of pages in the file. */
  public PoolConfig withLsnLimit(LongSupplier limit) {
    return with(draft -> draft.lsnLimit = limit);
  }

  /**
   * Whether a pool can be made of it.
   *
   * @param device where its pages come from
   * @throws InvalidUseException if sizes don't fit
   */
  void check(BlockDevice device) {
    if (Integer.bitCount(pageSize) != 1 || pageSize < 4096 || pageSize > 65536) {
      throw new InvalidUseException(
          "A page size of " + pageSize + " is no power of two from 4096 to 65536.");
    }
    if (pageSize % device.blockSize() != 0) {
      throw new InvalidUseException(
          "Pages of " + pageSize + " bytes on blocks of " + device.blockSize() + " bytes.");
    }
    if (doubleWrite != null && doubleWrite.pageSize() != pageSize) {
      throw new InvalidUseException(
          "A double-write area for pages of "
              + doubleWrite.pageSize()
              + " bytes, not "
              + pageSize
              + ".");
    }
    if (share != null && Translator.isOwn(translation)) {
      throw new InvalidUseException(
          "A BufferShare gives and takes frames, and with translation "
              + translation
              + " every page has its own: choose another translation, or a buffer of its own.");
    }
  }

  /** For pages that are in no file of the user's: a translation that any number of them suits. */
  public PoolConfig forScratch() {
    return Translator.isOwn(translation) ? with(Translation.PREDICTIVE) : this;
  }

  /** The least {@code bufferBytes} that is accepted. */
  public static long bytesMin(int pageSize, Translation translation, Replacement replacement) {
    return MemoryPlan.bytes(pageSize, FRAMES_MIN, translation, replacement);
  }

  /** The same but for what the change does to a copy. */
  private PoolConfig with(Consumer<Draft> change) {
    Draft draft = new Draft(this);
    change.accept(draft);
    return draft.build();
  }

  /** A config that can be changed: the components in one place, for all of the methods above. */
  private static final class Draft {
    int pageSize;
    long bufferBytes;
    Translation translation;
    Replacement replacement;
    Pretouch pretouch;
    long exhaustedMillis;
    PoolLog log;
    LongSupplier lsnLimit;
    @Nullable DoubleWrite doubleWrite;
    boolean frameHints;
    int maxInFlightReads;
    @Nullable PoolShare share;
    long leastBytes;
    boolean hugePages;
    long fileBytesMax;

    Draft(PoolConfig of) {
      pageSize = of.pageSize;
      bufferBytes = of.bufferBytes;
      translation = of.translation;
      replacement = of.replacement;
      pretouch = of.pretouch;
      exhaustedMillis = of.exhaustedMillis;
      log = of.log;
      lsnLimit = of.lsnLimit;
      doubleWrite = of.doubleWrite;
      frameHints = of.frameHints;
      maxInFlightReads = of.maxInFlightReads;
      share = of.share;
      leastBytes = of.leastBytes;
      hugePages = of.hugePages;
      fileBytesMax = of.fileBytesMax;
    }

    PoolConfig build() {
      return new PoolConfig(
          pageSize,
          bufferBytes,
          translation,
          replacement,
          pretouch,
          exhaustedMillis,
          log,
          lsnLimit,
          doubleWrite,
          frameHints,
          maxInFlightReads,
          share,
          leastBytes,
          hugePages,
          fileBytesMax);
    }
  }
}
