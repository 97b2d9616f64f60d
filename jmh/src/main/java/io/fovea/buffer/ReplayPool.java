package io.fovea.buffer;

import io.fovea.config.Replacement;
import io.fovea.config.Translation;
import org.jspecify.annotations.Nullable;

/**
 * A buffer pool without a device, to replay traces: the engine's frames, translation and
 * replacement, with empty clean pages and one thread.
 *
 * <p>In this package so that the engine exposes nothing for benchmarks.
 */
public final class ReplayPool implements AutoCloseable {
  private static final int PAGE_SIZE = 4096;

  /** All pages are clean, so no thread waits for the writer. */
  private static final FrameAllocator.Writer IDLE =
      new FrameAllocator.Writer() {
        @Override
        public void wake(boolean urgent) {}

        @Override
        public @Nullable Throwable failure() {
          return null;
        }
      };

  private final Frames frames;
  private final FrameAllocator replacement;
  private final boolean preferred;

  /**
   * Creates an empty pool.
   *
   * @param count the number of frames, {@link PoolConfig#FRAMES_MIN} or more
   * @param kind the replacement policy
   * @param preferred whether a page takes its preferred frame if that is free of cost, as in the
   *     engine; otherwise the policy alone chooses
   */
  public ReplayPool(int count, Replacement kind, boolean preferred) {
    this.frames =
        new Frames(PoolConfig.ofFrames(PAGE_SIZE, count, Translation.PREDICTIVE, kind), null);
    this.replacement = new FrameAllocator(frames, 1_000, IDLE);
    this.preferred = preferred;
  }

  /**
   * Accesses a page, and loads it if it is not resident.
   *
   * @param pid above 0
   * @return whether it was resident
   */
  public boolean access(long pid) {
    Translator translator = frames.translator;
    if (FrameHeader.use(frames.headers, translator.predict(pid), pid)) {
      return true;
    }
    int frame = translator.lookup(pid);
    if (frame >= 0 && FrameHeader.use(frames.headers, frame, pid)) {
      return true;
    }
    frame = replacement.acquire(preferred ? translator.preferred(pid) : -1);
    int bucket = translator.bucket(pid);
    translator.lock(bucket);
    translator.insert(bucket, pid, frame);
    translator.unlock(bucket);
    FrameHeader.setUsed(frames.headers, frame, true);
    Latch.releaseExclusive(frames.headers, frame);
    return false;
  }

  /** Releases the memory. */
  @Override
  public void close() {
    frames.release();
  }
}
