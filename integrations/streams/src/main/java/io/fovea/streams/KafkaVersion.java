package io.fovea.streams;

import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;
import org.apache.kafka.streams.errors.StreamsException;
import org.apache.kafka.streams.processor.StateStore;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The version of Kafka Streams on the class path. Stores manage their own offsets, which Kafka
 * Streams supports since 4.3.
 *
 * <p>Thread-safe.
 */
final class KafkaVersion {
  /** The module's tests run with each of them. */
  private static final String TESTED = "4.3 and 4.4";

  private static final String SINCE_4_3 = "org.apache.kafka.streams.DslStoreFormat";
  private static final String RESOURCE = "/kafka/kafka-streams-version.properties";
  private static final Logger LOG = LoggerFactory.getLogger(KafkaVersion.class);
  private static final boolean SUPPORTED = isSupported();

  private KafkaVersion() {}

  private static boolean isSupported() {
    try {
      Class.forName(SINCE_4_3, false, StateStore.class.getClassLoader());
    } catch (ClassNotFoundException e) {
      return false;
    }
    String version = version();
    if (!version.startsWith("4.3.") && !version.startsWith("4.4.")) {
      LOG.warn(
          "Fovea's stores are tested with Kafka Streams {}, but the class path has {}.",
          TESTED,
          version);
    }
    return true;
  }

  /** Throws if the version is too old. */
  static void require() {
    if (!SUPPORTED) {
      throw new StreamsException(
          "Fovea's stores need Kafka Streams 4.3 or later (tested with "
              + TESTED
              + "), but the class path has "
              + version()
              + ". Upgrade org.apache.kafka:kafka-streams.");
    }
  }

  /** Returns the version according to the jar of Kafka Streams. */
  static String version() {
    try (InputStream in = StateStore.class.getResourceAsStream(RESOURCE)) {
      if (in != null) {
        Properties properties = new Properties();
        properties.load(in);
        return properties.getProperty("version", "an unknown version").trim();
      }
    } catch (IOException e) {
      LOG.debug("The version of Kafka Streams can't be read.", e);
    }
    return "an unknown version";
  }
}
