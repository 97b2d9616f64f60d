package io.fovea.streams;

import io.fovea.Database;
import io.fovea.micrometer.FoveaMetrics;
import io.micrometer.core.instrument.MeterRegistry;
import org.apache.kafka.common.config.ConfigException;

/**
 * The meters of the engine in a registry of the application. Apart from all else, since Micrometer
 * and {@code fovea-micrometer} need not be there.
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

  /** Loaded where there are meters. */
  private static final class Binding {
    static void bind(Database database, Object registry) {
      if (!(registry instanceof MeterRegistry to)) {
        throw new ConfigException(
            FoveaStores.METER_REGISTRY_CONFIG,
            registry.getClass(),
            "It is an io.micrometer.core.instrument.MeterRegistry.");
      }
      new FoveaMetrics(database).bindTo(to);
    }
  }
}
