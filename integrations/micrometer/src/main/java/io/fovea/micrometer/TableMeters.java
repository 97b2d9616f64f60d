package io.fovea.micrometer;

import io.fovea.Database;
import io.fovea.TableSize;
import io.fovea.error.DatabaseClosedException;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;

/**
 * The meters of each table. Tables may be created and dropped at any time: each read of the sizes
 * adds meters of new tables and removes those of dropped ones, with effect from the next scrape.
 *
 * <p>Thread-safe.
 */
final class TableMeters {
  private static final long FRESH_NANOS = 50_000_000;

  private final Database database;
  private final MeterRegistry registry;
  private final OwnMeters own;
  private final Tags tags;
  private final Map<String, List<Meter>> meters = new HashMap<>();
  private Map<String, TableSize> sizes = Map.of();
  private long lookedNanos;
  private boolean looked;
  private boolean removed;

  TableMeters(Database database, MeterRegistry registry, OwnMeters own, Tags tags) {
    this.database = database;
    this.registry = registry;
    this.own = own;
    this.tags = tags;
  }

  /** Returns the number of tables, after a refresh. */
  synchronized double tables() {
    refresh();
    return sizes.size();
  }

  /** Removes all meters permanently. */
  synchronized void remove() {
    removed = true;
    meters.values().forEach(all -> all.forEach(own::remove));
    meters.clear();
  }

  private synchronized double value(String table, ToLongFunction<TableSize> what) {
    refresh();
    TableSize size = sizes.get(table);
    long value = size == null ? -1 : what.applyAsLong(size);
    return value < 0 ? Double.NaN : value;
  }

  private void refresh() {
    long now = System.nanoTime();
    if (removed || looked && now - lookedNanos < FRESH_NANOS) {
      return;
    }
    looked = true;
    lookedNanos = now;
    try {
      sizes = database.tableSizes();
    } catch (DatabaseClosedException e) {
      return; // the last known value
    }
    for (String gone : new HashSet<>(meters.keySet())) {
      if (!sizes.containsKey(gone)) {
        meters.remove(gone).forEach(own::remove);
      }
    }
    for (String table : sizes.keySet()) {
      if (!meters.containsKey(table)) {
        meters.put(table, add(table));
      }
    }
  }

  private List<Meter> add(String table) {
    List<Meter> all = new ArrayList<>();
    String entries = "Records of a table and entries of its indexes";
    all.add(gauge("records", entries, null, table, "table", TableSize::records));
    all.add(gauge("records", entries, null, table, "indexes", TableSize::indexEntries));
    String bytes = "Keys and values of a table and of its indexes";
    all.add(gauge("size", bytes, "bytes", table, "table", TableSize::bytes));
    all.add(gauge("size", bytes, "bytes", table, "indexes", TableSize::indexBytes));
    return all;
  }

  private Gauge gauge(
      String name,
      String what,
      @org.jspecify.annotations.Nullable String unit,
      String table,
      String part,
      ToLongFunction<TableSize> value) {
    return own.add(
        Gauge.builder("fovea.table." + name, this, x -> x.value(table, value))
            .description(what)
            .baseUnit(unit)
            .tags(tags.and("table", table, "part", part))
            .strongReference(true)
            .register(registry));
  }
}
