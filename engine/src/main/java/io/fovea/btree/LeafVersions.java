package io.fovea.btree;

import io.fovea.buffer.BufferPool;
import java.util.Arrays;

/**
 * Leaves that were read, with their versions, to check later that all are unchanged.
 *
 * <p>A frame's version moves with every change under its exclusive latch, so an equal version means
 * that the frame held the same page with the same bytes throughout. The reverse is not true: a leaf
 * that was moved, or evicted and loaded again, has another version.
 *
 * <p>Used by one thread. A scan adds each leaf that it copies to the list that is set by {@link
 * LeafScan#collectVersions}.
 */
public final class LeafVersions {
  private static final int INITIAL = 16;
  private static final int KEPT = 1 << 11;

  private int[] frames = new int[INITIAL];
  private long[] versions = new long[INITIAL];
  private int size;

  /** Creates an empty list. */
  public LeafVersions() {}

  /** Adds a leaf, unless it was the last one added. */
  void add(int frame, long version) {
    int n = size;
    if (n > 0 && frames[n - 1] == frame && versions[n - 1] == version) {
      return;
    }
    if (n == versions.length) {
      // Published when both are allocated: an error leaves the old state.
      int[] moreFrames = Arrays.copyOf(frames, 2 * n);
      versions = Arrays.copyOf(versions, 2 * n);
      frames = moreFrames;
    }
    frames[n] = frame;
    versions[n] = version;
    size = n + 1;
  }

  /** Returns the number of leaves; a leaf copied twice may count twice. */
  public int size() {
    return size;
  }

  /**
   * Returns whether all leaves are unchanged. If so, they all had these contents at once, at any
   * time between the last copy and this call.
   */
  public boolean unchanged(BufferPool pool) {
    for (int i = 0; i < size; i++) {
      if (!pool.validate(frames[i], versions[i])) {
        return false;
      }
    }
    return true;
  }

  /** Removes all leaves. */
  public void clear() {
    size = 0;
    if (versions.length > KEPT) {
      try {
        int[] few = new int[INITIAL];
        versions = new long[INITIAL];
        frames = few;
      } catch (OutOfMemoryError e) {
        // The larger arrays stay, empty.
      }
    }
  }
}
