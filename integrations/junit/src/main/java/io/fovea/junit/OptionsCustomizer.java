package io.fovea.junit;

import io.fovea.Options;

/**
 * Changes the options of a {@link FoveaDatabase}. An implementation has a constructor without
 * parameters, which may be private.
 *
 * <p>Called by the thread that opens the database, with a new instance each time.
 *
 * @since 0.2.0
 */
@FunctionalInterface
public interface OptionsCustomizer {
  /**
   * Returns the options to open a database with.
   *
   * @param options the {@linkplain FoveaDatabase#options() defaults for tests}
   * @return the options
   */
  Options customize(Options options);
}
