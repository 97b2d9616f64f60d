package io.fovea.config;

/**
 * Which pages are evicted from the buffer pool when others need their frames.
 *
 * @since 0.1.0
 */
public enum Replacement {
  /**
   * The clock: pages take their turns, and one that was used since its last turn is passed over.
   * Cheap, with no statistics, and good where a page that was used just now is what will be used
   * next. The default.
   */
  SECOND_CHANCE,
  /**
   * Of some pages at random, the one that was used least of late leaves. Keeps pages that are used
   * again and again while others pass through, as those of a scan; takes 8 bytes for each page that
   * the buffer holds.
   */
  SAMPLING
}
