package io.fovea.object;

import org.jspecify.annotations.Nullable;

/**
 * Thrown if the converter of a component throws, or returns a value that the component can't have.
 * Its catcher adds the table and the key.
 */
public final class ConversionFailedException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param message the component, and what happened
   */
  ConversionFailedException(String message, @Nullable RuntimeException cause) {
    super(message, cause);
  }
}
