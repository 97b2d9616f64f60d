package io.fovea.spring.boot;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.Options;
import io.fovea.config.Durability;
import io.fovea.config.Replacement;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.annotation.Order;
import org.springframework.util.ClassUtils;

class FoveaAutoConfigurationTest {
  @TempDir Path folder;

  private final ApplicationContextRunner runner =
      new ApplicationContextRunner()
          .withConfiguration(
              AutoConfigurations.of(
                  FoveaAutoConfiguration.class, FoveaMetricsAutoConfiguration.class, health()))
          .withPropertyValues("fovea.buffer-size=8MB");

  /** The class for the version of Spring Boot under test; the other one can't be loaded. */
  private static Class<?> health() {
    return ClassUtils.isPresent("org.springframework.boot.health.contributor.Health", null)
        ? Boot4HealthAutoConfiguration.class
        : Boot3HealthAutoConfiguration.class;
  }

  @Test
  void databaseInMemory() {
    runner
        .withPropertyValues("fovea.in-memory=true")
        .run(
            context -> {
              Database db = context.getBean(Database.class);
              assertEquals("memory", db.stats().io().kind());
              assertEquals(8 << 20, db.options().bufferBytes());
              assertEquals(Durability.SYNC, db.options().durability());
            });
  }

  @Test
  void databaseInFileIsClosedWithItsContext() {
    Path file = folder.resolve("new/directory/bank.fovea");
    AtomicReference<Database> used = new AtomicReference<>();
    runner
        .withPropertyValues("fovea.path=" + file)
        .run(
            context -> {
              used.set(context.getBean(Database.class));
              assertTrue(used.get().isOpen());
              assertTrue(Files.exists(file));
            });
    assertFalse(used.get().isOpen());
  }

  @Test
  void databaseIsClosedIfTheContextFails() {
    Path file = folder.resolve("bank.fovea");
    runner
        .withPropertyValues("fovea.path=" + file)
        .withBean(Failing.class, Failing::new, b -> b.setDependsOn("foveaDatabase"))
        .run(context -> assertTrue(context.getStartupFailure() != null));
    try (Database db = Database.open(file)) { // not locked
      assertTrue(db.isOpen());
    }
  }

  private static final class Failing {
    Failing() {
      throw new IllegalStateException("fails on purpose");
    }
  }

  @Test
  void readOnlyDatabaseDoesNotCreateDirectories() {
    Path file = folder.resolve("missing/bank.fovea");
    runner
        .withPropertyValues("fovea.path=" + file, "fovea.read-only=true")
        .run(context -> assertTrue(context.getStartupFailure() != null));
    assertFalse(Files.exists(file.getParent()));
  }

  @Test
  void missingPathIsExplained() {
    runner.run(
        context -> {
          Throwable failure = context.getStartupFailure();
          while (!(failure instanceof InvalidConfigurationPropertyValueException e)) {
            failure = failure.getCause();
          }
          assertEquals("fovea.path", e.getName());
          assertTrue(e.getReason().contains("fovea.in-memory"), e.getReason());
        });
  }

  @Test
  void customizersFollowTheProperties() {
    runner
        .withUserConfiguration(Customizers.class)
        .withPropertyValues("fovea.in-memory=true", "fovea.name=property")
        .run(
            context -> {
              Options options = context.getBean(Database.class).options();
              assertEquals("property, first, second", options.name());
              assertEquals(Replacement.SAMPLING, options.experiments().replacement());
            });
  }

  @Configuration(proxyBeanMethods = false)
  static class Customizers {
    @Bean
    @Order(2)
    FoveaOptionsCustomizer second() {
      return options -> options.name(options.name() + ", second");
    }

    @Bean
    @Order(1)
    FoveaOptionsCustomizer first() {
      return options -> options.name(options.name() + ", first");
    }

    @Bean
    FoveaOptionsCustomizer sampling() {
      return options -> options.experiments(e -> e.replacement(Replacement.SAMPLING));
    }
  }

  /** Executors are closed before the database, which is created after those that it needs. */
  @Test
  void customizersMayNeedExecutors() {
    List<String> ended = new CopyOnWriteArrayList<>();
    runner
        .withUserConfiguration(NeedsExecutor.class)
        .withBean("ended", List.class, () -> ended)
        .withPropertyValues("fovea.in-memory=true")
        .run(
            context -> {
              assertNull(context.getStartupFailure());
              Database db = context.getBean(Database.class);
              assertEquals("named by a task", db.options().name());
              db.onClose(() -> ended.add("database"));
            });
    assertEquals(List.of("late executor", "executor", "database"), ended);
  }

  /** An executor that reports its end. */
  record Worker(String name, List<String> ended) implements Executor, AutoCloseable {
    @Override
    public void execute(Runnable task) {
      task.run();
    }

    @Override
    public void close() {
      ended.add(name);
    }
  }

  /** Uses an executor. */
  record Names(Executor executor) {
    String next() {
      return CompletableFuture.supplyAsync(() -> "named by a task", executor).join();
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class NeedsExecutor {
    @Bean
    FoveaOptionsCustomizer name(Names names) {
      return options -> options.name(names.next());
    }

    @Bean
    Names names(@Qualifier("worker") Executor executor) {
      return new Names(executor);
    }

    @Bean
    Worker worker(List<String> ended) {
      return new Worker("executor", ended);
    }

    @Bean
    Worker lateWorker(List<String> ended, Database database) {
      return new Worker("late executor", ended);
    }
  }

  @Test
  void databaseOfTheApplicationReplacesIt() {
    runner
        .withUserConfiguration(TwoDatabases.class)
        .run(
            context -> {
              assertEquals(2, context.getBeansOfType(Database.class).size());
              assertFalse(context.containsBean("foveaDatabase"));
              assertFalse(context.containsBean("foveaExecutorsDependOnDatabase"));
            });
  }

  @Test
  void metersAndHealthOfAllDatabases() {
    runner
        .withUserConfiguration(TwoDatabases.class)
        .run(
            context -> {
              MeterRegistry registry = new SimpleMeterRegistry();
              context.getBeansOfType(MeterBinder.class).values().forEach(b -> b.bindTo(registry));
              assertEquals(2, registry.get("fovea.health").gauges().size());
              Iterable<?> health = (Iterable<?>) context.getBean("foveaHealthContributor");
              assertEquals(2, StreamSupport.stream(health.spliterator(), false).count());
            });
  }

  @Configuration(proxyBeanMethods = false)
  static class TwoDatabases {
    @Bean
    Database orders() {
      return Database.inMemory(Options.defaults().bufferBytes(8 << 20).name("orders"));
    }

    @Bean
    Database stock() {
      return Database.inMemory(Options.defaults().bufferBytes(8 << 20).name("stock"));
    }
  }

  @Test
  void healthCanBeDisabled() {
    ApplicationContextRunner inMemory = runner.withPropertyValues("fovea.in-memory=true");
    inMemory.run(context -> assertTrue(context.containsBean("foveaHealthContributor")));
    inMemory
        .withPropertyValues("management.health.fovea.enabled=false")
        .run(context -> assertFalse(context.containsBean("foveaHealthContributor")));
  }

  @Test
  void metersNeedMicrometer() {
    ApplicationContextRunner inMemory = runner.withPropertyValues("fovea.in-memory=true");
    inMemory.run(context -> assertTrue(context.containsBean("foveaMeterBinder")));
    inMemory
        .withClassLoader(new FilteredClassLoader("io.fovea.micrometer"))
        .run(
            context -> {
              assertSame(null, context.getStartupFailure());
              assertFalse(context.containsBean("foveaMeterBinder"));
            });
  }
}
