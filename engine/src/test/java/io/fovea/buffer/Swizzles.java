package io.fovea.buffer;

import io.fovea.memory.Mem;

/** The invariants of the references of an idle pool. */
public final class Swizzles {
  private Swizzles() {}

  /**
   * Checks all frames: the page that a reference names is resident and has this node as its parent,
   * and a parent names its children.
   *
   * @return the number of pages named by a reference
   */
  public static int check(BufferPool pool) {
    // No batch is in progress, and the background writer evicts nothing.
    pool.writeBack.begin();
    try {
      Frames frames = pool.frames;
      int swizzled = 0;
      for (int frame = 0; frame < frames.count; frame++) {
        require(frame, pool.swizzling().problem(frame));
        require(frame, orphan(frames, frame));
        boolean named = FrameHeader.parent(frames.headers, frame) != 0;
        swizzled += named ? 1 : 0;
        int type = PageHeader.type(frames.pages, frames.base(frame));
        if (named
            && (frames.pid(frame) == 0 || type != PageHeader.LEAF && type != PageHeader.INNER)) {
          throw new AssertionError("frame " + frame + " has a parent but is not a node");
        }
      }
      return swizzled;
    } finally {
      pool.writeBack.end();
    }
  }

  /** Returns what is wrong if a page has a parent that does not name it; null if nothing is. */
  private static String orphan(Frames frames, int frame) {
    int parent = FrameHeader.parent(frames.headers, frame) - 1;
    if (!frames.swizzling.on || parent < 0) {
      return null;
    }
    long at = frames.base(parent);
    int count =
        frames.isInner(parent) ? Mem.getUnsignedShort(frames.pages, at + PageRef.COUNT) : -1;
    for (int i = 0; i <= count; i++) {
      long ref = Mem.getLong(frames.pages, at + PageRef.FIRST + (long) i * PageRef.STRIDE);
      if (PageRef.frame(ref) == frame) {
        return null;
      }
    }
    return "the node in frame " + parent + " does not name frame " + frame + ", whose parent it is";
  }

  private static void require(int frame, String problem) {
    if (problem != null) {
      throw new AssertionError("frame " + frame + ": " + problem);
    }
  }

  /** The number of references cleared so that a page could be evicted. */
  public static long unswizzled(BufferPool pool) {
    return pool.frames.counters.unswizzled.sum();
  }

  /** The number of victims kept because of a child or their parent's latch. */
  public static long stayed(BufferPool pool) {
    return pool.frames.counters.retainedForChildren.sum()
        + pool.frames.counters.retainedForParent.sum();
  }
}
