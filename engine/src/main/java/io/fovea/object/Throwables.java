package io.fovea.object;

/** Propagates the exceptions of method handles. */
final class Throwables {
  private Throwables() {}

  /**
   * Throws an exception of a constructor or an accessor unchanged.
   *
   * @return never; lets callers write {@code throw}
   */
  static RuntimeException raised(Throwable thrown) {
    throw Throwables.<RuntimeException>sneaky(thrown);
  }

  @SuppressWarnings("unchecked") // for the compiler only
  private static <T extends Throwable> T sneaky(Throwable thrown) throws T {
    throw (T) thrown;
  }
}
