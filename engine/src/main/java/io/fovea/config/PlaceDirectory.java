package io.fovea.config;

/**
 * How the places of records lie in memory, where tables or indexes are {@linkplain
 * io.fovea.schema.TableSpec#cacheLocations() remembered}. Both give the same results.
 *
 * @since 0.1.0
 */
public enum PlaceDirectory {
  /** One table, in huge pages. It doubles by a copy behind itself. */
  FLAT,

  /**
   * Granules of 64 KiB that are split one by one, behind a directory of virtual memory:
   * Schuhknecht, <i>Taking the Shortcut</i>, CIDR 2024. Linux 5.14 or later is best. Where the
   * kernel or the JVM does not allow it the places are {@link #FLAT}, and a line of the log says
   * so. At most 64 GiB.
   */
  SHORTCUT
}
