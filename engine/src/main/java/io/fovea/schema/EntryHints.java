package io.fovea.schema;

/**
 * The physical addresses of records that the entries of a secondary index hold beside the primary
 * keys.
 *
 * <pre>
 *                      bytes an entry   skips                                       goes wrong by
 *   NONE                     0
 *   PAGE                     6          the descent of the table's tree             splits, merges
 *   PAGE_FRAME              10          and the translation of the page id          leaving memory
 *   PAGE_SLOT                8          and the search in the leaf                  inserts, deletes
 *   PAGE_FRAME_SLOT         12          all of these
 * </pre>
 *
 * <p>A hint is checked before it is used, and what is wrong is put right in passing: results are
 * the same with any. They differ in the time of a lookup and in the size of the index. A frame or a
 * slot without a page would be of no use.
 *
 * <p>Source: Otaki et al., Enhancing Transaction Processing through Indirection Skipping, PVLDB 18
 * (11), 2025, sections 3.2 and 4.2.
 *
 * @since 0.1.0
 */
public enum EntryHints {
  /** Nothing: every record is looked up by its key. */
  NONE(false, false, false),
  /** The page. */
  PAGE(true, false, false),
  /** The page, and where it was in memory. */
  PAGE_FRAME(true, true, false),
  /** The page, and the place in it. */
  PAGE_SLOT(true, false, true),
  /** The page, where it was in memory, and the place in it. */
  PAGE_FRAME_SLOT(true, true, true);

  private final boolean pages;
  private final boolean frames;
  private final boolean slots;

  EntryHints(boolean pages, boolean frames, boolean slots) {
    this.pages = pages;
    this.frames = frames;
    this.slots = slots;
  }

  /**
   * Whether the page is remembered.
   *
   * @return true if so
   */
  public boolean pages() {
    return pages;
  }

  /**
   * Whether the frame is remembered.
   *
   * @return true if so
   */
  public boolean frames() {
    return frames;
  }

  /**
   * Whether the slot is remembered.
   *
   * @return true if so
   */
  public boolean slots() {
    return slots;
  }
}
