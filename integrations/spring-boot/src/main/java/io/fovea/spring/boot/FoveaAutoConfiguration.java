package io.fovea.spring.boot;

import io.fovea.Database;
import io.fovea.Options;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Executor;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;

/**
 * Auto-configuration of a {@link Database}, opened as {@link FoveaProperties} says, unless the
 * application defines a bean of that type.
 *
 * <p>The database is closed when the context destroys its beans: after the web server has finished
 * its requests and listeners and schedulers have stopped, and after all beans that depend on the
 * database. All {@link Executor} beans are destroyed before it, so that tasks that an executor
 * finishes while it shuts down still find the database open.
 *
 * @since 0.2.0
 */
@AutoConfiguration
@EnableConfigurationProperties(FoveaProperties.class)
public final class FoveaAutoConfiguration {
  private static final String BEAN = "foveaDatabase";

  /** Creates the configuration; called by Spring. */
  public FoveaAutoConfiguration() {}

  /** Separate, so that the post-processor exists only if the database is auto-configured. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnMissingBean(Database.class)
  static class DatabaseConfiguration {
    @Bean(BEAN)
    Database database(
        FoveaProperties properties, ObjectProvider<FoveaOptionsCustomizer> customizers) {
      Options options = properties.toOptions();
      for (FoveaOptionsCustomizer customizer : customizers.orderedStream().toList()) {
        options = customizer.customize(options);
      }
      if (properties.inMemory()) {
        return Database.inMemory(options);
      }
      Path file = properties.path();
      if (file == null) {
        throw new InvalidConfigurationPropertyValueException(
            "fovea.path",
            null,
            "Set it to the data file, or set fovea.in-memory to true for a database that is"
                + " discarded when the application stops.");
      }
      if (options.create() && !options.readOnly()) {
        createDirectory(file);
      }
      return Database.open(file, options);
    }

    private static void createDirectory(Path file) {
      Path directory = file.toAbsolutePath().getParent();
      if (directory != null) {
        try {
          Files.createDirectories(directory);
        } catch (IOException e) {
          throw new UncheckedIOException(e);
        }
      }
    }

    @Bean
    static ExecutorsEndFirst foveaExecutorsDependOnDatabase() {
      return new ExecutorsEndFirst();
    }
  }

  /**
   * Makes each executor a dependent of the database when beans are destroyed, and not when they are
   * created. Spring destroys beans in the reverse order of their creation, dependents first; an
   * executor would otherwise be destroyed after the database if it was created before it.
   *
   * <p>With {@code dependsOn} in the definition of the executor, which has both effects, a {@link
   * FoveaOptionsCustomizer} could use no executor: the executor would wait for the database, and
   * the database for the customizer.
   */
  static final class ExecutorsEndFirst implements BeanFactoryPostProcessor, Ordered {
    @Override
    public int getOrder() {
      return LOWEST_PRECEDENCE; // after those that define further beans
    }

    @Override
    public void postProcessBeanFactory(ConfigurableListableBeanFactory factory) {
      for (String name : factory.getBeanNamesForType(Executor.class, true, false)) {
        factory.registerDependentBean(BEAN, BeanFactoryUtils.transformedBeanName(name));
      }
    }
  }
}
