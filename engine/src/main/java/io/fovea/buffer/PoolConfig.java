package io.fovea.buffer;

import io.fovea.wal.Log;
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
 * @param readsMax how many reads one thread has under way at most, 1 to {@link PageReads#CAPACITY}
 * @since 0.1.0
 */
public record PoolConfig(
    int pageSize,
    long bufferBytes,
    Translation translation,
    ReplacementKind replacement,
    Pretouch pretouch,
    long exhaustedMillis,
    PoolLog log,
    LongSupplier lsnLimit,
    @Nullable DoubleWrite doubleWrite,
    FrameHints frameHints,
    int readsMax) {
  /** The least number of frames that a pool works with. */
  public static final int FRAMES_MIN = 64;

  private static final LongSupplier ANY_LSN = () -> Long.MAX_VALUE;

  /** Pages of this size and a buffer of this size, everything else as is best, and no log. */
  public static PoolConfig of(int pageSize, long bufferBytes) {
    return new PoolConfig(
        pageSize,
        bufferBytes,
        Translation.PREDICTIVE,
        ReplacementKind.SECOND_CHANCE,
        Pretouch.NONE,
        5_000,
        PoolLog.NONE,
        ANY_LSN,
        null,
        FrameHints.ON,
        PageReads.CAPACITY);
  }

  /** A pool of exactly so many frames. */
  public static PoolConfig ofFrames(int pageSize, int frames, Translation translation) {
    return ofFrames(pageSize, frames, translation, ReplacementKind.SECOND_CHANCE);
  }

  /** The same with a replacement of choice. */
  public static PoolConfig ofFrames(
      int pageSize, int frames, Translation translation, ReplacementKind replacement) {
    return of(pageSize, MemoryPlan.bytes(pageSize, frames, translation, replacement))
        .with(translation)
        .with(replacement);
  }

  /** The same with another translation. */
  public PoolConfig with(Translation other) {
    return new PoolConfig(
        pageSize,
        bufferBytes,
        other,
        replacement,
        pretouch,
        exhaustedMillis,
        log,
        lsnLimit,
        doubleWrite,
        frameHints,
        readsMax);
  }

  /** The same with another replacement; the bytes stay, and have to do for its statistics, too. */
  public PoolConfig with(ReplacementKind other) {
    return new PoolConfig(
        pageSize,
        bufferBytes,
        translation,
        other,
        pretouch,
        exhaustedMillis,
        log,
        lsnLimit,
        doubleWrite,
        frameHints,
        readsMax);
  }

  /** The same with another way to populate memory. */
  public PoolConfig with(Pretouch other) {
    return new PoolConfig(
        pageSize,
        bufferBytes,
        translation,
        replacement,
        other,
        exhaustedMillis,
        log,
        lsnLimit,
        doubleWrite,
        frameHints,
        readsMax);
  }

  /** The same with another wait for a frame. */
  public PoolConfig withExhaustedMillis(long millis) {
    return new PoolConfig(
        pageSize,
        bufferBytes,
        translation,
        replacement,
        pretouch,
        millis,
        log,
        lsnLimit,
        doubleWrite,
        frameHints,
        readsMax);
  }

  /** The same with a double-write area, which belongs to this pool alone. */
  public PoolConfig with(DoubleWrite area) {
    return new PoolConfig(
        pageSize,
        bufferBytes,
        translation,
        replacement,
        pretouch,
        exhaustedMillis,
        log,
        lsnLimit,
        area,
        frameHints,
        readsMax);
  }

  /** The same with or without frame hints. */
  public PoolConfig with(FrameHints other) {
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
        other,
        readsMax);
  }

  /** The same with another number of reads that one thread has under way at most. */
  public PoolConfig withReadsMax(int reads) {
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
        reads);
  }

  /** The same with a log behind it, which also says what LSN a page may have. */
  public PoolConfig withLog(Log other) {
    return withLog(PoolLog.of(other)).withLsnLimit(other::durableLsn);
  }

  /** The same with what stands for a log behind it. */
  public PoolConfig withLog(PoolLog other) {
    return new PoolConfig(
        pageSize,
        bufferBytes,
        translation,
        replacement,
        pretouch,
        exhaustedMillis,
        other,
        lsnLimit,
        doubleWrite,
        frameHints,
        readsMax);
  }

  /** The same with another limit of the LSNs of pages in the file. */
  public PoolConfig withLsnLimit(LongSupplier limit) {
    return new PoolConfig(
        pageSize,
        bufferBytes,
        translation,
        replacement,
        pretouch,
        exhaustedMillis,
        log,
        limit,
        doubleWrite,
        frameHints,
        readsMax);
  }

  /** The least {@code bufferBytes} that is accepted. */
  public static long bytesMin(int pageSize, Translation translation, ReplacementKind replacement) {
    return MemoryPlan.bytes(pageSize, FRAMES_MIN, translation, replacement);
  }
}
