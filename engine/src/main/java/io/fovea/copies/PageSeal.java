package io.fovea.copies;

import java.lang.foreign.MemorySegment;

/** Gives a page that nobody changes its checksum. */
@FunctionalInterface
public interface PageSeal {
  /**
   * Seals a page.
   *
   * @param pages where it is
   * @param base its offset
   */
  void seal(MemorySegment pages, long base);
}
