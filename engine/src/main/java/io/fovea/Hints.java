package io.fovea;

import io.fovea.schema.EntryHints;

/**
 * Selects where the engine stores physical addresses alongside logical names, to skip translation.
 *
 * <pre>
 *   stored in                    logical name    hint                a stale one is detected by
 *   child entry of a tree        page id         frame               page id of the frame
 *   entry of a secondary index   primary key     page, frame, slot   page's tree, fences, key
 *   read and write sets          key             frame, page, slot   version; fences, key
 * </pre>
 *
 * <p>A hint is checked before it is used, so all choices give the same results; they differ in
 * speed and in the size of indexes. The hints in index entries are chosen when the index is
 * created; the others can differ each time the file is opened. Source: Otaki et al., Enhancing
 * Transaction Processing through Indirection Skipping, PVLDB 18 (11), 2025: logical ids with
 * physical address hints (LIPAH).
 *
 * @param frames whether child entries, and entries of secondary indexes with page hints, store
 *     frame hints
 * @param pages whether entries of secondary indexes store page and slot hints
 * @param sets whether read and write sets store where a record was
 * @since 0.1.0
 */
public record Hints(boolean frames, boolean pages, boolean sets) {
  /** No hints: every access starts at a root, and every page is looked up by its id. */
  public static final Hints NONE = new Hints(false, false, false);

  /** Frame hints in child entries only: the paper's buffer pool skipping. */
  public static final Hints FRAME = new Hints(true, false, false);

  /** Page and slot hints in indexes and in read and write sets: the paper's index skipping. */
  public static final Hints PAGE = new Hints(false, true, true);

  /** {@link #FRAME} and {@link #PAGE} together. */
  public static final Hints BOTH = new Hints(true, true, true);

  /** All hints: at present those of {@link #BOTH}. */
  public static final Hints ALL = new Hints(true, true, true);

  /** Returns the hints of a new index whose specification names no hints. */
  EntryHints ofNewIndexes() {
    return !pages ? EntryHints.NONE : frames ? EntryHints.PAGE_FRAME_SLOT : EntryHints.PAGE_SLOT;
  }
}
