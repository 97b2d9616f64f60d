package io.fovea.schema;

/**
 * The physical addresses of records in the entries of a secondary index, in addition to the primary
 * keys.
 *
 * <pre>
 *                     bytes per entry   skips                                     invalidated by
 *   NONE                     0
 *   PAGE                     6          the descent of the table's tree           splits, merges
 *   PAGE_FRAME              10          and the translation of the page id        eviction
 *   PAGE_SLOT                8          and the search in the leaf                inserts, deletes
 *   PAGE_FRAME_SLOT         12          all of these
 * </pre>
 *
 * <p>A hint is checked before it is used, and repaired if it is wrong: all choices give the same
 * results. They differ in the time of a lookup and the size of the index. A hint with a frame or a
 * slot also contains the page.
 *
 * <p>Source: Otaki et al., Enhancing Transaction Processing through Indirection Skipping, PVLDB 18
 * (11), 2025, sections 3.2 and 4.2.
 *
 * @since 0.1.0
 */
public enum EntryHints {
  /** No hint: every record is looked up by its key. */
  NONE(false, false, false),
  /** The page. */
  PAGE(true, false, false),
  /** The page and its frame in memory. */
  PAGE_FRAME(true, true, false),
  /** The page and the slot in it. */
  PAGE_SLOT(true, false, true),
  /** The page, its frame in memory, and the slot. */
  PAGE_FRAME_SLOT(true, true, true);

  private final boolean pages;
  private final boolean frames;
  private final boolean slots;

  EntryHints(boolean pages, boolean frames, boolean slots) {
    this.pages = pages;
    this.frames = frames;
    this.slots = slots;
  }

  /** {@return whether entries contain the page} */
  public boolean pages() {
    return pages;
  }

  /** {@return whether entries contain the frame} */
  public boolean frames() {
    return frames;
  }

  /** {@return whether entries contain the slot} */
  public boolean slots() {
    return slots;
  }
}
