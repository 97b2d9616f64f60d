package io.fovea.tpcc.plot;

/**
 * Thrown if text cannot be drawn on this machine. The message says what to install.
 *
 * @since 0.1.0
 */
public final class NoFontsException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  NoFontsException(Throwable cause) {
    super(
        "plots need fonts, but Java found none: install the packages fontconfig and"
            + " fonts-dejavu-core (on Debian: apt-get install fontconfig fonts-dejavu-core)",
        cause);
  }
}
