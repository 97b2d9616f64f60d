package io.fovea.buffer;

/** What must hold of the references of a pool that nobody uses. */
public final class Swizzles {
  private Swizzles() {}

  /**
   * Checks all frames: whatever a reference names is there and has this node for its parent, and
   * who has a parent is named by it.
   *
   * @return how many pages are named by a reference
   */
  public static int check(BufferPool pool) {
    // No batch is under way, and the background writer lets nothing go.
    pool.writeBack.begin();
    try {
      Frames frames = pool.frames;
      int swizzled = 0;
      for (int frame = 0; frame < frames.count; frame++) {
        require(frame, pool.swizzling().problem(frame));
        require(frame, pool.swizzling().orphan(frame));
        boolean named = FrameHeader.parent(frames.headers, frame) != 0;
        swizzled += named ? 1 : 0;
        int type = PageHeader.type(frames.pages, frames.base(frame));
        if (named
            && (frames.pid(frame) == 0 || type != PageHeader.LEAF && type != PageHeader.INNER)) {
          throw new AssertionError("frame " + frame + " has a parent, and no node");
        }
      }
      return swizzled;
    } finally {
      pool.writeBack.end();
    }
  }

  private static void require(int frame, String problem) {
    if (problem != null) {
      throw new AssertionError("frame " + frame + ": " + problem);
    }
  }

  /** How many references were taken back so that a page could leave. */
  public static long unswizzled(BufferPool pool) {
    return pool.frames.counters.unswizzled.sum();
  }

  /** How many victims stayed, for a child or for their parent's latch. */
  public static long stayed(BufferPool pool) {
    return pool.frames.counters.staysForChildren.sum() + pool.frames.counters.staysForParent.sum();
  }
}
