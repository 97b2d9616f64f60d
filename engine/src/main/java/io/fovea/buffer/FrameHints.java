package io.fovea.buffer;

/**
 * Whether inner nodes store the frames of their children.
 *
 * @since 0.1.0
 */
public enum FrameHints {
  /** Every child is looked up by its page id. */
  OFF,

  /** Inner nodes store frame hints: see {@link ChildHints}. */
  ON
}
