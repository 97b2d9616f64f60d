package io.fovea.consumers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;

import io.fovea.Database;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.osgi.framework.Bundle;
import org.osgi.framework.Constants;
import org.osgi.framework.launch.Framework;
import org.osgi.framework.launch.FrameworkFactory;

/** The engine as a bundle in an OSGi framework. */
class BundlesTest {
  @TempDir Path work;

  @Test
  void theEngineResolvesAndOpensADatabase() throws Exception {
    Map<String, String> settings = new HashMap<>();
    settings.put(Constants.FRAMEWORK_STORAGE, work.resolve("bundles").toString());
    Framework framework =
        ServiceLoader.load(FrameworkFactory.class).findFirst().orElseThrow().newFramework(settings);
    framework.start();
    try {
      Bundle engine = null;
      for (Path jar : PublishedTest.jars()) {
        String name = jar.getFileName().toString();
        if (List.of("fovea-bindings", "fovea-engine").contains(name.replaceFirst("-[0-9].*", ""))) {
          Bundle bundle = framework.getBundleContext().installBundle(jar.toUri().toString());
          engine = name.startsWith("fovea-engine") ? bundle : engine;
        }
      }
      engine.start();
      assertEquals(Bundle.ACTIVE, engine.getState());
      Class<?> database = engine.loadClass(Database.class.getName());
      assertNotSame(Database.class, database, "the test's own class, not the bundle's");
      Path file = work.resolve("bank.fovea");
      try (AutoCloseable opened =
          (AutoCloseable) database.getMethod("open", Path.class).invoke(null, file)) {
        assertEquals(database, opened.getClass());
      }
    } finally {
      framework.stop();
      framework.waitForStop(0);
    }
  }
}
