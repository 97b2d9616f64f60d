package io.fovea;

/**
 * What a test may break, to see that its checks would notice.
 *
 * @param pageBeforeLog pages are written without waiting for the log
 */
record Switches(boolean pageBeforeLog) {
  /** Nothing is broken. */
  static final Switches NONE = new Switches(false);
}
