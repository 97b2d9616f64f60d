package io.fovea.spring.boot;

import io.fovea.Options;

/**
 * Changes the options of the auto-configured database. Define a bean of this type to set an option
 * that has no property. All such beans are applied after the properties, in the order given by
 * {@link org.springframework.core.annotation.Order}.
 *
 * <pre>{@code
 * @Bean
 * FoveaOptionsCustomizer changeFeed() {
 *   return options -> options.expiry(e -> e.clock(clock));
 * }
 * }</pre>
 *
 * <p>Called once, on the thread that creates the database.
 *
 * @since 0.2.0
 */
@FunctionalInterface
public interface FoveaOptionsCustomizer {
  /**
   * Derives the options to open the database with.
   *
   * @param options the options so far
   * @return the new options
   */
  Options customize(Options options);
}
