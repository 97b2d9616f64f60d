package io.fovea.tpcc.plot;

/**
 * Text cannot be drawn on this machine. The message says what to install.
 *
 * @since 0.1.0
 */
public final class NoFontsException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  NoFontsException(Throwable cause) {
    super(
        "plots need fonts, and Java finds none: install the packages fontconfig and"
            + " fonts-dejavu-core (on Debian: apt-get install fontconfig fonts-dejavu-core)",
        cause);
  }
}
