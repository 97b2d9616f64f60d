package io.fovea.config;

/**
 * Which pages the buffer pool evicts.
 *
 * @since 0.1.0
 */
public enum Replacement {
  /**
   * The clock algorithm: visits pages in turn and skips those used since its last visit. Cheap, and
   * needs no statistics; works well if recently used pages are soon used again. The default.
   */
  SECOND_CHANCE,
  /**
   * Evicts the least recently used of a random sample. Keeps frequently used pages during scans.
   * Takes 8 bytes for each page of the buffer.
   */
  SAMPLING
}
