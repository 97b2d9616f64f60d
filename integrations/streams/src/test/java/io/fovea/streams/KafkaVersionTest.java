package io.fovea.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import org.apache.kafka.common.utils.LogCaptureAppender;
import org.apache.kafka.streams.StreamsConfig;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfSystemProperty;

/** The behavior on a version of Kafka Streams that lacks what the stores need. */
class KafkaVersionTest {
  private static final String STREAMS = "org.apache.kafka.streams.";

  /** The version that the build names; see the executions in the pom. */
  @Test
  void runsWithDeclaredVersion() {
    String version = System.getProperty("kafka.expected");
    if (version != null) {
      assertEquals(version, KafkaVersion.version());
      assertTrue(StreamsConfig.class.getProtectionDomain().toString().contains(version));
    }
  }

  /** Defines the classes of Streams and of this module, as if on an older class path. */
  private static final class Older extends ClassLoader {
    private static final Set<String> MISSING =
        Set.of(
            STREAMS + "DslStoreFormat",
            STREAMS + "state.HeadersBytesStore",
            STREAMS + "state.HeadersBytesStoreSupplier");

    Older() {
      super(KafkaVersionTest.class.getClassLoader());
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      synchronized (getClassLoadingLock(name)) {
        if (MISSING.contains(name)) {
          throw new ClassNotFoundException(name);
        }
        Class<?> loaded = findLoadedClass(name);
        if (loaded != null) {
          return loaded;
        }
        if (!name.startsWith(STREAMS) && !name.startsWith("io.fovea.streams.")) {
          return super.loadClass(name, resolve);
        }
        String file = name.replace('.', '/') + ".class";
        try (InputStream in = getParent().getResourceAsStream(file)) {
          if (in == null) {
            throw new ClassNotFoundException(name);
          }
          byte[] bytes = in.readAllBytes();
          return defineClass(name, bytes, 0, bytes.length);
        } catch (IOException e) {
          throw new ClassNotFoundException(name, e);
        }
      }
    }

    @Override
    public InputStream getResourceAsStream(String name) {
      return name.endsWith("kafka-streams-version.properties")
          ? new ByteArrayInputStream("version=4.2.2\n".getBytes(StandardCharsets.UTF_8))
          : super.getResourceAsStream(name);
    }
  }

  @Test
  void olderVersionIsRefused() throws Exception {
    Class<?> stores = Class.forName(FoveaStores.class.getName(), true, new Older());
    for (String method :
        List.of("", "keyValueStore", "timestampedKeyValueStore", "keyValueStoreWithHeaders")) {
      Throwable e =
          assertThrows(
                  InvocationTargetException.class,
                  () -> {
                    if (method.isEmpty()) {
                      stores.getConstructor().newInstance();
                    } else {
                      stores.getMethod(method, String.class).invoke(null, "a");
                    }
                  })
              .getCause();
      assertEquals(STREAMS + "errors.StreamsException", e.getClass().getName(), e::toString);
      assertTrue(
          e.getMessage().contains("need Kafka Streams 4.3") && e.getMessage().contains("4.2.2"),
          e.getMessage());
    }
  }

  /** A lost restored position must not go unnoticed. */
  @Test
  @DisabledIfSystemProperty(
      named = "kafka.expected",
      matches = ".+",
      disabledReason = "the log can't be captured on that class path")
  void missingInternalIsLogged() {
    ClassLoader none =
        new ClassLoader(KafkaVersionTest.class.getClassLoader()) {
          @Override
          protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.contains(".internals.")) {
              throw new ClassNotFoundException(name);
            }
            return super.loadClass(name, resolve);
          }
        };
    try (LogCaptureAppender log = LogCaptureAppender.createAndRegister(KafkaInternals.class)) {
      KafkaInternals.of(true);
      KafkaInternals.of(false, none);
      assertEquals(List.of(), log.getMessages(), "all internals are found, or none is wanted");
      KafkaInternals internals = KafkaInternals.of(true, none);
      assertFalse(internals.givesRecords());
      assertEquals(5, log.getMessages().size(), log.getMessages()::toString);
      for (String what : List.of("positions are not restored", "dropped records are not counted")) {
        assertTrue(log.getMessages().stream().anyMatch(m -> m.contains(what)), what);
      }
      KafkaInternals.of(true, none);
      assertEquals(5, log.getMessages().size(), "once per process");
    }
  }
}
