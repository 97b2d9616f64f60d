package io.fovea.tpcc.settings;

/** Values of {@code --io}: the engine's I/O backends, and a database in memory. */
public enum IoKind {
  AUTO,
  URING,
  POSIX,
  MEMORY
}
