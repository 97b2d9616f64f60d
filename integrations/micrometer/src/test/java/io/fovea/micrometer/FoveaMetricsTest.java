package io.fovea.micrometer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.DatabaseStats;
import io.fovea.Options;
import io.fovea.RowTable;
import io.fovea.config.Durability;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.InvalidUseException;
import io.fovea.schema.FieldType;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.config.MeterFilter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FoveaMetricsTest {
  @Test
  void countAndAreRemovedOnClose() throws IOException {
    SimpleMeterRegistry registry = new SimpleMeterRegistry();
    Database db = Database.inMemory(Options.defaults().bufferBytes(4 << 20).name("orders"));
    RowTable t = db.table(TableSpec.of("t", KeySpec.of(FieldType.INT32), Layout.define().build()));
    for (int i = 0; i < 10; i++) {
      int id = i;
      db.run(tx -> t.insert(tx, t.key().set(id), t.row()));
    }
    assertThrows(
        IllegalStateException.class,
        () ->
            db.run(
                tx -> {
                  throw new IllegalStateException();
                }));
    new FoveaMetrics(db, List.of(Tag.of("app", "test"))).bindTo(registry);
    assertEquals(
        10,
        registry
            .get("fovea.transactions")
            .tags("outcome", "commit", "cause", "none", "db", "orders", "app", "test")
            .functionCounter()
            .count());
    assertEquals(
        1,
        registry
            .get("fovea.transactions")
            .tags("outcome", "rollback", "cause", "user")
            .functionCounter()
            .count());
    assertEquals(10, registry.get("fovea.transactions.duration").functionTimer().count());
    assertEquals(4 << 20, registry.get("fovea.buffer.max").gauge().value());
    assertTrue(
        registry.get("fovea.buffer.gets").tag("result", "hit").functionCounter().count() > 9);
    assertEquals(0, registry.get("fovea.transactions.active").gauge().value());
    assertTrue(registry.get("fovea.storage.size").tag("kind", "data").gauge().value() > 0);
    DatabaseStats.Memory memory = db.stats().memory();
    assertEquals(
        memory.bytes(),
        registry.get("fovea.memory.used").gauges().stream().mapToDouble(Gauge::value).sum());
    assertEquals(
        memory.maxBytes() - memory.logBytes() - memory.transactionBytes() - memory.treeBytes(),
        registry.get("fovea.memory.max").gauges().stream().mapToDouble(Gauge::value).sum());
    Set<String> names =
        registry.getMeters().stream().map(m -> m.getId().getName()).collect(Collectors.toSet());
    assertEquals(metersOfThePage(), names, "meters of docs/reference/meters.md, and those bound");
    for (Meter m : registry.getMeters()) {
      assertEquals("orders", m.getId().getTag("db"));
    }
    tables(registry, db);
    bodies(registry, db);
    db.close();
    assertEquals(List.of(), registry.getMeters());
    assertThrows(DatabaseClosedException.class, () -> new FoveaMetrics(db).bindTo(registry));
  }

  private static Set<String> metersOfThePage() throws IOException {
    Path page = Path.of("docs/reference/meters.md");
    Path root = Path.of("").toAbsolutePath();
    while (!Files.exists(root.resolve(page))) {
      root = root.getParent();
    }
    return Pattern.compile("`(fovea(?:\\.[a-z]+)+)`")
        .matcher(Files.readString(root.resolve(page)))
        .results()
        .map(m -> m.group(1))
        .collect(Collectors.toSet());
  }

  /**
   * Two databases may share the name, the file (a copy has the same id), the registry and all of
   * their tags: the meters of each exist until it closes.
   */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void databasesWithSameName(boolean copies, @TempDir Path dir) throws IOException {
    Options options = Options.defaults().bufferBytes(4 << 20).durability(Durability.NONE);
    Path one = Files.createDirectories(dir.resolve("ada")).resolve("data.fovea");
    Path two = Files.createDirectories(dir.resolve("grace")).resolve("data.fovea");
    Database.open(one, options).close();
    if (copies) {
      Files.copy(one, two);
    }
    SimpleMeterRegistry registry = new SimpleMeterRegistry();
    Database ada = Database.open(one, options);
    Database grace = Database.open(two, options);
    RowTable t = grace.table(TableSpec.bytes("t", 10));
    assertEquals(copies, ada.id().equals(grace.id()));
    new FoveaMetrics(ada).bindTo(registry);
    int meters = registry.getMeters().size();
    assertTrue(meters > 60);
    FoveaMetrics others = new FoveaMetrics(grace);
    if (copies) {
      assertThrows(InvalidUseException.class, () -> others.bindTo(registry));
      assertEquals(meters, registry.getMeters().size());
      new FoveaMetrics(grace, List.of(Tag.of("copy", "2"))).bindTo(registry);
    } else {
      others.bindTo(registry);
    }
    int tableMeters = 4;
    assertEquals(2 * meters + tableMeters, registry.getMeters().size());
    // The same database again, while its meters exist.
    assertThrows(InvalidUseException.class, () -> new FoveaMetrics(ada).bindTo(registry));
    assertEquals(2 * meters + tableMeters, registry.getMeters().size());
    // A filter may remove the tags that distinguish them.
    SimpleMeterRegistry filtered = new SimpleMeterRegistry();
    filtered.config().meterFilter(MeterFilter.ignoreTags("db.id", "copy"));
    new FoveaMetrics(ada).bindTo(filtered);
    assertThrows(InvalidUseException.class, () -> new FoveaMetrics(grace).bindTo(filtered));
    assertEquals(meters, filtered.getMeters().size());

    for (int i = 0; i < 5; i++) {
      byte[] key = {(byte) i};
      grace.run(tx -> t.bytes().put(tx, key, key));
    }
    ada.close();
    assertEquals(meters + tableMeters, registry.getMeters().size());
    assertEquals(0, filtered.getMeters().size());
    assertEquals(
        5,
        registry
            .get("fovea.transactions")
            .tags("outcome", "commit", "db", "data.fovea")
            .functionCounter()
            .count());
    new FoveaMetrics(grace).bindTo(filtered);
    SimpleMeterRegistry coarse = new SimpleMeterRegistry();
    coarse.config().meterFilter(MeterFilter.ignoreTags("result", "part", "cause"));
    new FoveaMetrics(grace).bindTo(coarse);
    assertTrue(coarse.getMeters().size() < meters);
    grace.close();
    assertEquals(List.of(), coarse.getMeters());
    assertEquals(List.of(), registry.getMeters());
    assertEquals(List.of(), filtered.getMeters());
  }

  private static double records(SimpleMeterRegistry registry, String table) {
    Gauge gauge =
        registry.find("fovea.table.records").tags("table", table, "part", "table").gauge();
    return gauge == null ? Double.NaN : gauge.value();
  }

  /** Tables are created and dropped; their meters follow. */
  private static void tables(SimpleMeterRegistry registry, Database db) {
    assertEquals(10, records(registry, "t"));
    RowTable late = db.table(TableSpec.bytes("late", 10));
    db.run(tx -> late.bytes().put(tx, new byte[4], new byte[6]));
    Gauge tables = registry.get("fovea.tables").gauge();
    while (tables.value() < 2) {
      Thread.onSpinWait(); // statistics are cached for a short time
    }
    assertEquals(1, records(registry, "late"));
    assertEquals(
        10,
        registry.get("fovea.table.size").tags("table", "late", "part", "table").gauge().value());
    db.dropTable("t");
    while (tables.value() > 1) {
      Thread.onSpinWait();
    }
    assertTrue(Double.isNaN(records(registry, "t")));
  }

  /** A body that gets a name later has meters from the next scrape on. */
  private static void bodies(SimpleMeterRegistry registry, Database db) {
    RowTable t = db.table(TableSpec.bytes("late", 10));
    byte[] key = new byte[4];
    db.run(
        "transfer",
        tx -> {
          t.bytes().get(tx, key);
          if (tx.attempt() == 1) {
            CompletableFuture.runAsync(() -> db.run(o -> t.bytes().put(o, key, key))).join();
          }
          t.bytes().put(tx, key, key);
        });
    Gauge bodies = registry.get("fovea.bodies").gauge();
    while (bodies.value() < 2) {
      Thread.onSpinWait(); // statistics are cached for a short time
    }
    FunctionTimer duration =
        registry.get("fovea.body.duration").tag("body", "transfer").functionTimer();
    assertEquals(1, duration.count());
    assertEquals(
        duration.totalTime(TimeUnit.NANOSECONDS),
        registry
            .get("fovea.body.duration.longest")
            .tag("body", "transfer")
            .timeGauge()
            .value(TimeUnit.NANOSECONDS));
    assertEquals(
        1, registry.get("fovea.body.retries").tag("body", "transfer").functionCounter().count());
    assertEquals(
        1,
        registry
            .get("fovea.body.aborts")
            .tags("body", "transfer", "cause", "validation")
            .functionCounter()
            .count());
    assertEquals(
        0, registry.get("fovea.body.retries").tag("body", "other").functionCounter().count());
  }
}
