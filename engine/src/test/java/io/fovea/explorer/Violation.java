package io.fovea.explorer;

/** A broken guarantee. Bodies throw it too; the engine passes it on if the reads were valid. */
final class Violation extends RuntimeException {
  private static final long serialVersionUID = 1L;

  Violation(String what) {
    super(what);
  }

  Violation(String what, Throwable cause) {
    super(what, cause);
  }

  static void unless(boolean right, String what) {
    if (!right) {
      throw new Violation(what);
    }
  }

  static void same(long expected, long found, String what) {
    if (expected != found) {
      throw new Violation(what + ": expected " + expected + ", found " + found);
    }
  }
}
