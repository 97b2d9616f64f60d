package io.fovea.txn;

/**
 * Where the timestamps of items are that no running transaction uses. Those in use have an exact
 * entry in {@link TimestampTable}, whatever the kind.
 *
 * <pre>
 *                   out of use          leaves the exact table                       memory
 *   DISK            page of a file      with its last user                           in use
 *   DISK_CACHE      page of a file      when its place is wanted, longest unused     in use + cache
 *   MEMORY          the exact table     never                                        all items
 *   FOCUS_COUNTER   one cell for all    when its place is wanted, longest unused     in use + cache
 *   FOCUS_SKETCH    rows x columns      when its place is wanted                     in use + sketch
 * </pre>
 *
 * <p>After the variants of the dissertation (sections 3.2.2 and 3.4.1). Each is an approximate
 * timestamp store in its sense (section 3.1): the first three with bounds that are exact.
 */
public enum StoreKind {
  /** In pages; each transaction fetches them anew. */
  DISK,
  /** In pages, with a cache in the exact table. */
  DISK_CACHE,
  /** All in memory, for ever. */
  MEMORY,
  /** One bound for all, with a cache in the exact table. */
  FOCUS_COUNTER,
  /** A sketch of bounds. */
  FOCUS_SKETCH;

  /** Whether there are pages. */
  public boolean onDisk() {
    return this == DISK || this == DISK_CACHE;
  }

  /** Whether the entry that is longest out of use makes room, rather than the nearest. */
  boolean isCache() {
    return this == DISK_CACHE || this == FOCUS_COUNTER;
  }
}
