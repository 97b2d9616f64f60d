package io.fovea.config;

/**
 * The memory layout of {@linkplain io.fovea.schema.TableSpec#cacheLocations() cached key
 * locations}. Both give the same results.
 *
 * @since 0.1.0
 */
public enum LocationCacheLayout {
  /** One table in huge pages, doubled by copying. */
  FLAT,

  /**
   * Granules of 64 KiB that are split one at a time, behind a directory of virtual memory:
   * Schuhknecht, <i>Taking the Shortcut</i>, CIDR 2024. Linux 5.14 or later is best. If the kernel
   * or the JVM does not allow it, the layout is {@link #FLAT} and a warning is logged. At most 64
   * GiB.
   */
  SHORTCUT
}
