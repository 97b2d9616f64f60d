package io.fovea.spring.boot;

import io.fovea.Database;
import io.fovea.ObjectSpec;
import io.fovea.Sequence;
import io.fovea.Table;
import io.fovea.schema.Id;
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
      Database db = context.getBean(Database.class);
      Table<Long, Visit> visits = db.table(ObjectSpec.of("visits", Long.class, Visit.class));
      Sequence numbers = db.sequence("visits");
      return db.call(
          tx -> {
            visits.insert(tx, new Visit(numbers.next(), getClass().getName()));
            return String.valueOf(visits.stream(tx).filter(e -> !e.getValue().by().isEmpty()).count());
          });
    }
  }
}
