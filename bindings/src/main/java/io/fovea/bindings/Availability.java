package io.fovea.bindings;

/**
 * Whether something outside the JVM can be used here. A value, so that a missing library or a
 * kernel that refuses is an ordinary answer and not an error out of a static initializer.
 *
 * @since 0.1.0
 */
public sealed interface Availability {

  /**
   * One line for the log that says what was found, or what is missing and what would help.
   *
   * @return the line, without a newline
   * @since 0.1.0
   */
  String describe();

  /**
   * It is there and it works.
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
                  + ", set-up flags 0x"
                  + Integer.toHexString(setupFlags));
    }
  }

  /**
   * It cannot be used.
   *
   * @param reason what is missing or refused, and what the user can do about it
   * @param errno the kernel's error number, positive, or 0 where no call was made
   * @since 0.1.0
   */
  record Unavailable(String reason, int errno) implements Availability {
    @Override
    public String describe() {
      return errno == 0 ? reason : reason + ": " + Errno.describe(errno);
    }
  }
}
