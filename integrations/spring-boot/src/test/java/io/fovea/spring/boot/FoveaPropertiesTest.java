package io.fovea.spring.boot;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Options;
import io.fovea.config.Durability;
import io.fovea.config.Io;
import io.fovea.config.LeakDetection;
import io.fovea.config.Pretouch;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.boot.json.JsonParserFactory;

class FoveaPropertiesTest {
  private final Map<String, String> set = new LinkedHashMap<>();
  private final Map<String, Object> expected = new TreeMap<>();
  private final Map<String, Function<Options, Object>> getters = new TreeMap<>();

  private void property(String name, String text, Object value, Function<Options, Object> getter) {
    set.put("fovea." + name, text);
    expected.put(name, value);
    getters.put(name, getter);
  }

  private static FoveaProperties bind(Map<String, String> properties) {
    return new Binder(new MapConfigurationPropertySource(properties))
        .bindOrCreate("fovea", FoveaProperties.class);
  }

  @Test
  void eachPropertySetsItsOption() throws Exception {
    property("name", "bank", "bank", Options::name);
    property("buffer-size", "7MB", 7L << 20, Options::bufferBytes);
    property("durability", "async", Durability.ASYNC, Options::durability);
    property("create", "false", false, Options::create);
    property("read-only", "true", true, Options::readOnly);
    property("log.max-size", "100MB", 100L << 20, o -> o.log().maxBytes());
    property("log.buffer-size", "2MB", 2 << 20, o -> o.log().bufferBytes());
    property("log.segment-size", "1MB", 1L << 20, o -> o.log().segmentBytes());
    property("log.max-flush-delay", "3ms", Duration.ofMillis(3), o -> o.log().maxFlushDelay());
    property("log.max-flush-size", "9KB", 9 << 10, o -> o.log().asyncWindowBytes());
    property(
        "log.checkpoint-interval", "1m", Duration.ofMinutes(1), o -> o.log().checkpointInterval());
    property("log.idle-timeout", "5s", Duration.ofSeconds(5), o -> o.log().idleTimeout());
    property("log.change-retention", "3MB", 3L << 20, o -> o.log().changeRetentionBytes());
    property("log.double-write", "false", false, o -> o.log().doubleWrite());
    property("device.io", "posix", Io.POSIX, o -> o.device().io());
    property("device.direct-io", "false", false, o -> o.device().directIo());
    property("device.page-size", "8KB", 8 << 10, o -> o.device().pageSize());
    property("device.max-in-flight-reads", "16", 16, o -> o.device().maxInFlightReads());
    property(
        "transactions.timeout", "30s", Duration.ofSeconds(30), o -> o.transactions().timeout());
    property("transactions.max-active", "8", 8, o -> o.transactions().maxActive());
    property("transactions.max-size", "4MB", 4L << 20, o -> o.transactions().maxBytes());
    property(
        "transactions.close-timeout",
        "2s",
        Duration.ofSeconds(2),
        o -> o.transactions().closeTimeout());
    property(
        "transactions.pessimistic-after-aborts",
        "3",
        3,
        o -> o.transactions().pessimisticAfterAborts());
    property(
        "transactions.strict-serializability",
        "true",
        true,
        o -> o.transactions().strictSerializability());
    property(
        "transactions.leak-detection",
        "all",
        LeakDetection.ALL,
        o -> o.transactions().leakDetection());
    property("memory.timestamp-size", "32MB", 32L << 20, o -> o.memory().timestampBytes());
    property("memory.location-cache-size", "1MB", 1L << 20, o -> o.memory().locationCacheBytes());
    property("memory.pretouch", "background", Pretouch.BACKGROUND, o -> o.memory().pretouch());
    property("snapshots.buffer-size", "1MB", 1L << 20, o -> o.snapshots().bufferBytes());
    property("snapshots.memory-size", "2MB", 2L << 20, o -> o.snapshots().memoryBytes());
    property("snapshots.file-size", "3MB", 3L << 20, o -> o.snapshots().fileBytes());
    property("expiry.sweep-interval", "7s", Duration.ofSeconds(7), o -> o.expiry().sweepInterval());

    Options defaults = bind(Map.of()).toOptions();
    Options options = bind(set).toOptions();
    getters.forEach(
        (name, getter) -> {
          assertEquals(getter.apply(Options.defaults()), getter.apply(defaults), name);
          assertNotEquals(getter.apply(defaults), expected.get(name), name);
          assertEquals(expected.get(name), getter.apply(options), name);
        });

    set.put("fovea.path", "data/bank.fovea");
    set.put("fovea.in-memory", "true");
    assertEquals(Path.of("data/bank.fovea"), bind(set).path());
    assertTrue(bind(set).inMemory());
    assertFalse(bind(Map.of()).inMemory());
    assertEquals(descriptions().keySet(), new TreeSet<>(set.keySet()));
  }

  @Test
  void metadataDescribesEachProperty() throws Exception {
    Map<String, Object> descriptions = descriptions();
    assertFalse(descriptions.isEmpty());
    descriptions.forEach(
        (name, text) -> assertTrue(text instanceof String s && s.endsWith("."), name));
  }

  /** The properties in the metadata that development environments read, with descriptions. */
  static Map<String, Object> descriptions() throws Exception {
    Map<String, Object> descriptions = new TreeMap<>();
    String file = "/META-INF/spring-configuration-metadata.json";
    for (var url : FoveaProperties.class.getClassLoader().resources(file.substring(1)).toList()) {
      try (InputStream in = url.openStream()) {
        String json = new String(in.readAllBytes(), StandardCharsets.UTF_8);
        Map<String, Object> metadata = JsonParserFactory.getJsonParser().parseMap(json);
        for (Object property : (List<?>) metadata.get("properties")) {
          Map<?, ?> p = (Map<?, ?>) property;
          if (p.get("name") instanceof String name && name.startsWith("fovea.")) {
            descriptions.put(name, p.get("description"));
          }
        }
      }
    }
    return descriptions;
  }

  @Test
  void pageShowsTheSample() throws Exception {
    Set<String> known = descriptions().keySet();
    for (String line : SpringBootPage.block("properties").lines().toList()) {
      String name = line.substring(0, line.indexOf('='));
      assertTrue(!name.startsWith("fovea.") || known.contains(name), name);
      assertTrue(SpringBootPage.sample().contains(line + "\n"), line);
    }
  }
}
