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
  ON,

  /**
   * For tests: all that is remembered is made up, half of it frames of the pool, half of it any
   * number that fits. Every check is asked, and none of the answers may depend on it.
   */
  POISONED
}
