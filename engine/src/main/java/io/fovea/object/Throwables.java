package io.fovea.object;

/** What method handles throw. */
final class Throwables {
  private Throwables() {}

  /**
   * An exception of a constructor or an accessor, to be thrown on as it is.
   *
   * @return nothing, so that a caller can say {@code throw}
   */
  static RuntimeException raised(Throwable thrown) {
    throw Throwables.<RuntimeException>sneaky(thrown);
  }

  @SuppressWarnings("unchecked") // for the compiler only
  private static <T extends Throwable> T sneaky(Throwable thrown) throws T {
    throw (T) thrown;
  }
}
