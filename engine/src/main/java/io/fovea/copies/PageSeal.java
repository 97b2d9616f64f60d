package io.fovea.copies;

import java.lang.foreign.MemorySegment;

/** Sets the checksum of a page that no thread is changing. */
@FunctionalInterface
public interface PageSeal {
  /**
   * Seals a page.
   *
   * @param pages the memory of the page
   * @param base its offset
   */
  void seal(MemorySegment pages, long base);
}
