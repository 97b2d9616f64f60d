package io.fovea.buffer;

/**
 * How page ids become frames. They differ in speed and in nothing else, so that each can be
 * measured against the next: the ladder of section 6.4 of "Predictive Translation: High-Performance
 * Buffer Management Without the Trade-Offs" (Zinsmeister, Nguyen, Leis, Neumann; SIGMOD 2026).
 *
 * <pre>
 *                       first look             dependent misses of a hit        memory/frame
 *   LATCHED             table, shared latch    bucket, header, page              16 bytes
 *   OPTIMISTIC_CHAINED  table                  bucket, header, page              16
 *   OPTIMISTIC          table                  bucket, page                      32
 *   PREDICTIVE_HASHED   table and prediction   page (bucket beside it)           32
 *   PREDICTIVE          prediction             page                               0
 *   SWIZZLED            parent, then table     page                              16
 *   VIRTUAL             none                   page, and the MMU's page table     72 a page of the file
 *   DIRECT              none                   page                              76 a page of the file
 * </pre>
 *
 * @since 0.1.0
 */
public enum Translation {
  /**
   * The preferred frame of a page is its id modulo the number of frames. A page is looked for there
   * before anything else. A page elsewhere is found through the header line of that frame.
   */
  PREDICTIVE,

  /**
   * The paper's own order: the position is a hash of the page id, the table is read first, and a
   * branch says whether the page is where it was predicted.
   */
  PREDICTIVE_HASHED,

  /** A hash table without latches for readers; the first slot is inlined. No prediction. */
  OPTIMISTIC,

  /** The same without the inlined slot: a bucket is the head of a chain of frame headers. */
  OPTIMISTIC_CHAINED,

  /**
   * Pointers from parents to children, which are believed; a table as of {@link
   * #OPTIMISTIC_CHAINED} for all else. See {@link Swizzling}.
   */
  SWIZZLED,

  /** The traditional pool: a reader-writer latch for each bucket of a chained table. */
  LATCHED,

  /**
   * The operating system's page table, as in vmcache (Leis et al., "Virtual-Memory Assisted Buffer
   * Management", SIGMOD 2023): the frame of a page is its page id. See {@link VirtualTranslation},
   * {@link ResidencyBudget}.
   */
  VIRTUAL,

  /**
   * As {@link #VIRTUAL}, with memory for all pages of the file: none leaves, so that a reference is
   * where its page is, and is not checked. The bound for all others.
   */
  DIRECT;

  /** Whether a page has its own frame, whose number is its page id. */
  boolean isOwn() {
    return this == VIRTUAL || this == DIRECT;
  }
}
