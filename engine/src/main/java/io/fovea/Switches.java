package io.fovea;

/**
 * What a test may break, to see that its checks would notice, or what it may make worse, to see
 * that nothing comes of it.
 *
 * @param pageBeforeLog pages are written without waiting for the log
 * @param poisonedHints frame hints are made up: all that are remembered lead astray
 */
record Switches(boolean pageBeforeLog, boolean poisonedHints) {
  /** Nothing is broken. */
  static final Switches NONE = new Switches(false, false);
}
