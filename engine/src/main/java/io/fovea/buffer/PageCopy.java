package io.fovea.buffer;

import java.lang.foreign.MemorySegment;

/**
 * Copies of pages that leave the process, for a file, the log or a backup: hints at frames are
 * taken out of them, for they say nothing to anybody else.
 */
public final class PageCopy {
  private PageCopy() {}

  /**
   * Takes the hints at frames out of a copy of a page.
   *
   * @param s where the copy is; nobody else looks at it yet
   * @param base where in it
   * @param pageSize the page's size
   */
  public static void forgetFrames(MemorySegment s, long base, int pageSize) {
    forgetFrames(s, base, pageSize, pageSize, pageSize);
  }

  /** The same for a copy without the bytes between two offsets of the page. */
  static void forgetFrames(MemorySegment s, long base, int pageSize, int from, int to) {
    PageRef.clear(s, base, from);
    LeafHints.clear(s, base, pageSize, to - from);
  }
}
