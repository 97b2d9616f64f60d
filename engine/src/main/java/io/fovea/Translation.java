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
  /** A table behind latches, as in traditional buffer managers. A baseline. */
  LATCHED
}
