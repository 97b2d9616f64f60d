package io.fovea.spring.boot;

import io.fovea.Database;
import java.util.Map;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.health.autoconfigure.contributor.CompositeHealthContributorConfiguration;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthContributor;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;

/**
 * Auto-configuration of the health indicator of all {@link Database} beans with Spring Boot 4, if
 * Actuator is on the class path.
 *
 * @since 0.2.0
 */
@AutoConfiguration(after = FoveaAutoConfiguration.class)
@ConditionalOnClass({HealthIndicator.class, ConditionalOnEnabledHealthIndicator.class})
@ConditionalOnBean(Database.class)
@ConditionalOnEnabledHealthIndicator("fovea")
public final class Boot4HealthAutoConfiguration
    extends CompositeHealthContributorConfiguration<
        Boot4HealthAutoConfiguration.Indicator, Database> {
  /** Creates the configuration; called by Spring. */
  public Boot4HealthAutoConfiguration() {
    super(Indicator::new);
  }

  @Bean
  @ConditionalOnMissingBean(name = {"foveaHealthIndicator", "foveaHealthContributor"})
  HealthContributor foveaHealthContributor(Map<String, Database> databases) {
    return createContributor(databases);
  }

  static final class Indicator extends AbstractHealthIndicator {
    private final Database database;

    Indicator(Database database) {
      super("The health check of " + database + " failed");
      this.database = database;
    }

    @Override
    protected void doHealthCheck(Health.Builder builder) {
      FoveaHealth health = FoveaHealth.of(database);
      (health.up() ? builder.up() : builder.down()).withDetails(health.details());
    }
  }
}
