package io.fovea.buffer;

import java.lang.foreign.MemorySegment;

/**
 * Copies of pages that leave the process, for a file, the log or a backup: without frame hints,
 * which mean nothing elsewhere.
 */
public final class PageCopy {
  private PageCopy() {}

  /**
   * Clears the frame hints in a copy of a page.
   *
   * @param s the memory of the copy, which no other thread reads yet
   * @param base the offset of the copy
   * @param pageSize the page's size
   */
  public static void clearFrameHints(MemorySegment s, long base, int pageSize) {
    clearFrameHints(s, base, pageSize, pageSize, pageSize);
  }

  /** Clears the hints of a copy that lacks the bytes between two offsets of the page. */
  static void clearFrameHints(MemorySegment s, long base, int pageSize, int from, int to) {
    PageRef.clear(s, base, from);
    LeafHints.clear(s, base, pageSize, to - from);
  }
}
