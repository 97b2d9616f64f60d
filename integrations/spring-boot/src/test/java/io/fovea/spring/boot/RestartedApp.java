package io.fovea.spring.boot;

import io.fovea.Database;
import io.fovea.ObjectSpec;
import io.fovea.Options;
import io.fovea.Sequence;
import io.fovea.Table;
import io.fovea.schema.Id;
import java.nio.file.Path;
import java.util.function.UnaryOperator;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;

/**
 * An application that starts, adds a record and stops. {@link RestartTest} loads it several times.
 */
public final class RestartedApp implements UnaryOperator<String> {
  record Visit(@Id long number, String by) {}

  @Configuration(proxyBeanMethods = false)
  @ImportAutoConfiguration(FoveaAutoConfiguration.class)
  static class App {}

  /** Returns the number of records in the file, with the one that was added. */
  @Override
  public String apply(String file) {
    try (ConfigurableApplicationContext context =
        new SpringApplicationBuilder(App.class)
            .web(WebApplicationType.NONE)
            .registerShutdownHook(false)
            .run("--fovea.path=" + file, "--fovea.buffer-size=8MB")) {
      return visit(context.getBean(Database.class));
    }
  }

  private static String visit(Database db) {
    Table<Long, Visit> visits = db.table(ObjectSpec.of("visits", Long.class, Visit.class));
    Sequence numbers = db.sequence("visits");
    return db.call(
        tx -> {
          visits.insert(tx, new Visit(numbers.next(), "application"));
          return String.valueOf(
              visits.stream(tx).filter(e -> !e.getValue().by().isEmpty()).count());
        });
  }

  /** The same without Spring, whose caches keep classes for longer. */
  public static final class WithoutSpring implements UnaryOperator<String> {
    @Override
    public String apply(String file) {
      try (Database db = Database.open(Path.of(file), Options.defaults().bufferBytes(8 << 20))) {
        return visit(db);
      }
    }
  }
}
