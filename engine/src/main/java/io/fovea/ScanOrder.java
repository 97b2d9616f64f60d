package io.fovea;

/**
 * The direction of a scan.
 *
 * @since 0.1.0
 */
public enum ScanOrder {
  /** From the smallest key to the largest. */
  ASCENDING,
  /** From the largest key to the smallest. */
  DESCENDING
}
