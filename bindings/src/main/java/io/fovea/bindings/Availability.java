package io.fovea.bindings;

/**
 * Tells whether a native facility can be used here. It is a value, so a missing library or a
 * refusal by the kernel is an ordinary result, not an error from a static initializer.
 *
 * @since 0.1.0
 */
public sealed interface Availability {

  /**
   * Returns one line for the log: what was found, or what is missing and how to fix it.
   *
   * @return the line, without a newline
   * @since 0.1.0
   */
  String describe();

  /**
   * The facility works.
   *
   * @param library what was loaded, for example {@code "liburing.so.2"}
   * @param kernel the release of the running kernel
   * @param features the {@code IORING_FEAT_*} bits that the kernel reported; 0 for libc
   * @param setupFlags the {@code IORING_SETUP_*} bits that {@link Ring#open(int)} will set here; 0
   *     for libc
   * @since 0.1.0
   */
  record Available(String library, String kernel, int features, int setupFlags)
      implements Availability {
    @Override
    public String describe() {
      return library
          + " on kernel "
          + kernel
          + (features == 0
              ? ""
              : ", features 0x"
                  + Integer.toHexString(features)
                  + ", setup flags 0x"
                  + Integer.toHexString(setupFlags));
    }
  }

  /**
   * The facility cannot be used.
   *
   * @param reason what is missing or refused, and what the user can do about it
   * @param errno the kernel's error number, positive, or 0 if no call was made
   * @since 0.1.0
   */
  record Unavailable(String reason, int errno) implements Availability {
    @Override
    public String describe() {
      return errno == 0 ? reason : reason + ": " + Errno.describe(errno);
    }
  }
}
