package io.fovea;

/**
 * How the buffer pool finds the frame of a page.
 *
 * @since 0.1.0
 */
public enum Translation {
  /**
   * The frame is computed from the page id and checked; a table only helps where the prediction is
   * wrong. The default.
   */
  PREDICTIVE,
  /** Predictive translation with hashed positions and the table asked first, as in the paper. */
  PREDICTIVE_HASHED,
  /** A table, read optimistically, without a prediction. A baseline. */
  OPTIMISTIC,
  /** The same without the first page of a bucket beside the bucket: one more wait. A baseline. */
  OPTIMISTIC_CHAINED,
  /**
   * Pointers: a reference from an inner node to a child that is in memory names its frame and is
   * believed, so that a descent looks nothing up and compares nothing. A page takes the pointer to
   * it back before it leaves. A baseline, after Graefe et al., "In-Memory Performance for Big Data"
   * (PVLDB 8, 2014); as fast as {@link #PREDICTIVE} where all data is in memory. Without {@link
   * Hints#frames} no reference names a frame, and this is {@link #OPTIMISTIC_CHAINED}.
   */
  SWIZZLED,
  /** A table behind latches, as in traditional buffer managers. A baseline. */
  LATCHED
}
