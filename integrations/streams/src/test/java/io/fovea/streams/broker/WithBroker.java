package io.fovea.streams.broker;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/** Provides one broker for all tests, started for the first and stopped after the last. */
public final class WithBroker implements ParameterResolver {
  private record Shared(Broker broker, Path folder) implements AutoCloseable {
    @Override
    public void close() throws IOException {
      broker.close();
      Broker.delete(folder);
    }
  }

  private static Shared start() {
    try {
      Path folder = Files.createTempDirectory("fovea-broker");
      return new Shared(Broker.start(folder), folder);
    } catch (Exception e) {
      throw new AssertionError("no broker", e);
    }
  }

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    return parameter.getParameter().getType() == Broker.class;
  }

  @Override
  public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
    return context
        .getRoot()
        .getStore(Namespace.create(WithBroker.class))
        .getOrComputeIfAbsent(Shared.class, c -> start(), Shared.class)
        .broker();
  }
}
