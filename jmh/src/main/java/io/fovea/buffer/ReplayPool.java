package io.fovea.buffer;

import io.fovea.config.Replacement;
import io.fovea.config.Translation;
import org.jspecify.annotations.Nullable;

/**
 * A buffer pool without a device, for replays of traces: the engine's frames, translation and
 * replacement, but pages have no content, all of them are clean, and there is one thread.
 *
 * <p>In the package of what it drives, so that nothing there has to be public for a benchmark.
 */
public final class ReplayPool implements AutoCloseable {
  private static final int PAGE_SIZE = 4096;

  /** With clean pages only nobody ever waits for it. */
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
   * An empty pool.
   *
   * @param count how many frames it has, {@link PoolConfig#FRAMES_MIN} or more
   * @param kind which pages leave first
   * @param preferred whether a page takes its preferred frame where that costs nothing, as in the
   *     engine; else the policy alone chooses
   */
  public ReplayPool(int count, Replacement kind, boolean preferred) {
    this.frames =
        new Frames(PoolConfig.ofFrames(PAGE_SIZE, count, Translation.PREDICTIVE, kind), null);
    this.replacement = new FrameAllocator(frames, 1_000, IDLE);
    this.preferred = preferred;
  }

  /**
   * Accesses a page, which is brought in where it is in no frame.
   *
   * @param pid above 0
   * @return whether it was there
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

  /** Gives the memory back. */
  @Override
  public void close() {
    frames.release();
  }
}
