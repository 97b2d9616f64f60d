package io.fovea.streams;

import io.fovea.Database;
import io.fovea.micrometer.FoveaMetrics;
import io.micrometer.core.instrument.MeterRegistry;
import org.apache.kafka.common.config.ConfigException;

/**
 * Registers the engine's meters. A separate class because Micrometer and {@code fovea-micrometer}
 * are optional.
 */
final class EngineMeters {
  private EngineMeters() {}

  /** Registers the meters of a database, which removes them when it is closed. */
  static void bind(Database database, Object registry) {
    try {
      Binding.bind(database, registry);
    } catch (NoClassDefFoundError e) {
      throw new ConfigException(
          "The setting "
              + FoveaStores.METER_REGISTRY_CONFIG
              + " needs fovea-micrometer and micrometer-core on the class path: "
              + e.getMessage());
    }
  }

  /** Loaded only if meters are configured. */
  private static final class Binding {
    static void bind(Database database, Object registry) {
      if (!(registry instanceof MeterRegistry to)) {
        throw new ConfigException(
            FoveaStores.METER_REGISTRY_CONFIG,
            registry.getClass(),
            "Must be an io.micrometer.core.instrument.MeterRegistry.");
      }
      new FoveaMetrics(database).bindTo(to);
    }
  }
}
