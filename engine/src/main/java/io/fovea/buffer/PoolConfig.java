package io.fovea.buffer;

import java.util.function.LongSupplier;

/**
 * What a pool is made from.
 *
 * @param pageSize bytes, a power of two of 4 KiB to 64 KiB
 * @param bufferBytes what frames, headers, tables and I/O buffers take together at most
 * @param translation how page ids become frames
 * @param pretouch when memory is populated
 * @param exhaustedMillis how long a frame is waited for before {@link
 *     io.fovea.error.PoolExhaustedException}
 * @param durableLsn up to where the log is durable: no page with a later LSN is written. Must be
 *     cheap; it may start a flush of the log, but must not wait for one
 * @since 0.1.0
 */
public record PoolConfig(
    int pageSize,
    long bufferBytes,
    Translation translation,
    Pretouch pretouch,
    long exhaustedMillis,
    LongSupplier durableLsn) {
  /** The least number of frames that a pool works with. */
  public static final int FRAMES_MIN = 64;

  /** Pages of this size and a buffer of this size, everything else as is best. */
  public static PoolConfig of(int pageSize, long bufferBytes) {
    return new PoolConfig(
        pageSize, bufferBytes, Translation.PREDICTIVE, Pretouch.NONE, 5_000, () -> Long.MAX_VALUE);
  }

  /** A pool of exactly so many frames. */
  public static PoolConfig ofFrames(int pageSize, int frames, Translation translation) {
    return of(pageSize, MemoryPlan.bytes(pageSize, frames, translation)).with(translation);
  }

  /** The same with another translation. */
  public PoolConfig with(Translation translation) {
    return new PoolConfig(
        pageSize, bufferBytes, translation, pretouch, exhaustedMillis, durableLsn);
  }

  /** The same with another way to populate memory. */
  public PoolConfig with(Pretouch pretouch) {
    return new PoolConfig(
        pageSize, bufferBytes, translation, pretouch, exhaustedMillis, durableLsn);
  }

  /** The same with another wait for a frame. */
  public PoolConfig withExhaustedMillis(long exhaustedMillis) {
    return new PoolConfig(
        pageSize, bufferBytes, translation, pretouch, exhaustedMillis, durableLsn);
  }

  /** The same with a log behind it. */
  public PoolConfig withDurableLsn(LongSupplier durableLsn) {
    return new PoolConfig(
        pageSize, bufferBytes, translation, pretouch, exhaustedMillis, durableLsn);
  }

  /** The least {@code bufferBytes} that is accepted. */
  public static long bytesMin(int pageSize, Translation translation) {
    return MemoryPlan.bytes(pageSize, FRAMES_MIN, translation);
  }
}
