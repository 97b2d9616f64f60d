package io.fovea.buffer;

/**
 * Whether inner nodes remember the frames of their children.
 *
 * @since 0.1.0
 */
public enum FrameHints {
  /** No: every child is looked up by its page id. */
  OFF,

  /** Yes: see {@link ChildHints}. */
  ON
}
