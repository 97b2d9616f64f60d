package io.fovea.buffer;

import java.util.Arrays;

/**
 * Inspects the frames of a pool without a latch, repeatedly, and fails if a frame shows two pages,
 * or a page and no page, with the same version. Optimistic readers rely on this rule.
 *
 * <p>A version never goes back, so remembering the last one of each frame is enough.
 *
 * <p>For one thread.
 */
public final class FrameVersions {
  private static final int FRAMES_MAX = 4096;

  private final BufferPool pool;
  private final long[] versions;
  private final long[] pids;

  public FrameVersions(BufferPool pool) {
    this.pool = pool;
    int n = Math.min(FRAMES_MAX, pool.frames.count);
    versions = new long[n];
    pids = new long[n];
    Arrays.fill(versions, Latch.LATCHED);
  }

  /** Inspects each frame once. */
  public void inspect() {
    for (int frame = 0; frame < versions.length; frame++) {
      long version = Latch.optimistic(pool.frames.headers, frame);
      if (version == Latch.LATCHED) {
        continue;
      }
      long pid = pool.frames.pid(frame);
      if (!Latch.validate(pool.frames.headers, frame, version)) {
        continue;
      }
      if (version == versions[frame] && pid != pids[frame]) {
        throw new AssertionError(
            "frame "
                + frame
                + " shows page "
                + pids[frame]
                + " and page "
                + pid
                + " with version "
                + version);
      }
      if (version < versions[frame]) {
        throw new AssertionError(
            "frame " + frame + " has version " + version + " after " + versions[frame]);
      }
      versions[frame] = version;
      pids[frame] = pid;
    }
  }
}
