package io.fovea.object;

/** Propagates the exceptions of method handles. */
final class Throwables {
  private Throwables() {}

  /**
   * Throws an exception of a constructor or an accessor unchanged.
   *
   * @return never; the return type lets callers write {@code throw}
   */
  static RuntimeException rethrow(Throwable thrown) {
    throw Throwables.<RuntimeException>throwUnchecked(thrown);
  }

  @SuppressWarnings("unchecked") // the cast is for the compiler only
  private static <T extends Throwable> T throwUnchecked(Throwable thrown) throws T {
    throw (T) thrown;
  }
}
