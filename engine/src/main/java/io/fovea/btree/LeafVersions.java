package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import java.util.Arrays;

/**
 * The leaves that scans have copied, each with the version that it had: for who asks later whether
 * all of them are what they were.
 *
 * <p>A frame's version moves with everything that is done under its exclusive latch, so an equal
 * version says that the frame has held the same page with the same bytes all the time. The reverse
 * does not hold: a leaf that was moved, or evicted and loaded again, has another version.
 *
 * <p>Of one thread. One that {@link LeafScan#note} was told of grows with each leaf that is copied.
 *
 * @since 0.1.0
 */
public final class LeafVersions {
  private static final int INITIAL = 64;
  private static final int KEPT = 1 << 11;

  private int[] frames = new int[INITIAL];
  private long[] versions = new long[INITIAL];
  private int size;

  /** Makes an empty list. */
  public LeafVersions() {}

  /** Adds a leaf, unless it is the last one that was added. */
  void add(int frame, long version) {
    int n = size;
    if (n > 0 && frames[n - 1] == frame && versions[n - 1] == version) {
      return;
    }
    if (n == versions.length) {
      // The longer ones take their place when both are there: an error leaves what there was.
      int[] moreFrames = Arrays.copyOf(frames, 2 * n);
      versions = Arrays.copyOf(versions, 2 * n);
      frames = moreFrames;
    }
    frames[n] = frame;
    versions[n] = version;
    size = n + 1;
  }

  /**
   * How many leaves there are; one that was copied twice may count twice.
   *
   * @return leaves
   */
  public int size() {
    return size;
  }

  /**
   * Whether every leaf is what it was when it was copied. If so, there was a moment at which all of
   * them were so: any moment between the last copy and this call.
   *
   * @param pool where the leaves are
   * @return true if none has changed, moved or left
   */
  public boolean unchanged(BufferPool pool) {
    for (int i = 0; i < size; i++) {
      if (!pool.validate(frames[i], versions[i])) {
        return false;
      }
    }
    return true;
  }

  /** Forgets all. */
  public void clear() {
    size = 0;
    if (versions.length > KEPT) {
      try {
        int[] few = new int[INITIAL];
        versions = new long[INITIAL];
        frames = few;
      } catch (OutOfMemoryError e) {
        // What there was stays: larger than needed, and empty.
      }
    }
  }
}
