package io.fovea.spring.boot;

import io.fovea.Database;
import io.fovea.micrometer.FoveaMetrics;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;

/**
 * Auto-configuration of the meters of all {@link Database} beans, if {@code fovea-micrometer} is on
 * the class path. Spring Boot Actuator binds them to its registries. A {@link FoveaMetrics} bean of
 * the application replaces them.
 *
 * @since 0.2.0
 */
@AutoConfiguration(after = FoveaAutoConfiguration.class)
@ConditionalOnClass({MeterRegistry.class, FoveaMetrics.class})
@ConditionalOnBean(Database.class)
public final class FoveaMetricsAutoConfiguration {
  /** Creates the configuration; called by Spring. */
  public FoveaMetricsAutoConfiguration() {}

  @Bean
  @ConditionalOnMissingBean(FoveaMetrics.class)
  MeterBinder foveaMeterBinder(ObjectProvider<Database> databases) {
    return registry ->
        databases.orderedStream().forEach(db -> new FoveaMetrics(db).bindTo(registry));
  }
}
