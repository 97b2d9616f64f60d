package io.fovea;

/**
 * The direction of a scan.
 *
 * @since 0.1.0
 */
public enum ScanOrder {
  /** From the least key to the greatest. */
  ASCENDING,
  /** From the greatest key to the least. */
  DESCENDING
}
