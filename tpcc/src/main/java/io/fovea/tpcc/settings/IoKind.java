package io.fovea.tpcc.settings;

/** {@code --io}: the engine's kinds, and no file at all. */
public enum IoKind {
  AUTO,
  URING,
  POSIX,
  MEMORY
}
