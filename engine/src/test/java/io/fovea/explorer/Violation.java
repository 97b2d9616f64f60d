package io.fovea.explorer;

/**
 * The database broke a promise. Thrown in bodies, too: the engine lets it pass if reads are valid.
 */
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
