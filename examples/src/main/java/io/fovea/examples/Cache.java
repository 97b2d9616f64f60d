package io.fovea.examples;

import io.fovea.Cursor;
import io.fovea.Database;
import io.fovea.Durability;
import io.fovea.Index;
import io.fovea.Key;
import io.fovea.Options;
import io.fovea.Order;
import io.fovea.Range;
import io.fovea.Row;
import io.fovea.Table;
import io.fovea.schema.Field;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

/**
 * A cache in front of a slow store: it survives a restart, its entries expire, and it has a limit.
 *
 * <p>An index by the time of expiry serves two purposes. Expired entries are at its beginning, and
 * where there are too many entries, those that expire next leave first. The slow store is asked
 * outside of any transaction: a body runs again after a conflict, and should be short.
 *
 * <p>A caller that loads a value while another removes it may put the old value back. It is gone
 * when it expires.
 *
 * <p>Usage: {@code Cache FOLDER}
 */
public final class Cache {
  private static final KeySpec.Builder KEY = KeySpec.builder();
  private static final Field NAME = KEY.text("name", 100);
  private static final Layout.Builder LAYOUT = Layout.builder();
  private static final Field EXPIRES = LAYOUT.int64("expires_millis");
  private static final Field VALUE = LAYOUT.text("value", 500);
  private static final TableSpec SPEC =
      TableSpec.of("cache", KEY.build(), LAYOUT.build()).with(IndexSpec.on("by_expiry", EXPIRES));

  private final Database db;
  private final Table entries;
  private final Index byExpiry;
  private final Function<String, String> store;
  private final Duration life;
  private final int entriesMax;

  /** How many entries there are. Counted when the cache is opened, then kept. */
  private final AtomicInteger size;

  /**
   * A cache in a database.
   *
   * @param store loads what is not in the cache
   * @param life how long an entry may be used
   * @param entriesMax how many entries there may be
   */
  public Cache(Database db, Function<String, String> store, Duration life, int entriesMax) {
    this.db = db;
    this.entries = db.table(SPEC);
    this.byExpiry = entries.index("by_expiry");
    this.store = store;
    this.life = life;
    this.entriesMax = entriesMax;
    this.size = new AtomicInteger(count());
  }

  public static void main(String[] args) {
    Path file = Path.of(args[0]).resolve("cache.fovea");
    // What a crash takes is loaded again: a commit need not wait for the disk.
    Options options = Options.defaults().durability(Durability.ASYNC);
    AtomicInteger loads = new AtomicInteger();
    Function<String, String> store = name -> "value " + loads.incrementAndGet() + " of " + name;
    try (Database db = Database.open(file, options)) {
      Cache cache = new Cache(db, store, Duration.ofHours(1), 10);
      for (int i = 0; i < 30; i++) {
        cache.get("old page " + i);
      }
      cache.getMany();
      System.out.println("loads: " + loads.get() + ", entries: " + cache.size());
    }
    try (Database db = Database.open(file, options)) {
      Cache cache = new Cache(db, store, Duration.ofHours(1), 10);
      cache.getMany();
      System.out.println("loads: " + loads.get() + ", entries: " + cache.size());
    }
    try (Database db = Database.open(file, options)) {
      Cache expired = new Cache(db, store, Duration.ZERO, 10);
      String first = expired.get("page");
      System.out.println("expired: " + !first.equals(expired.get("page")));
    }
  }

  private void getMany() {
    for (int i = 0; i < 100; i++) {
      get("page " + i % 8);
    }
  }

  /** Returns what the cache has, or else loads it. */
  public String get(String name) {
    Optional<String> cached = find(name);
    if (cached.isPresent()) {
      return cached.get();
    }
    String value = store.apply(name); // slow: not in a transaction
    put(name, value);
    return value;
  }

  /** Removes an entry, after its value was changed in the store. */
  public void remove(String name) {
    Key key = entries.key().set(name);
    if (db.call(tx -> entries.delete(tx, key))) {
      size.decrementAndGet();
    }
  }

  /** How many entries there are. */
  public int size() {
    return size.get();
  }

  private Optional<String> find(String name) {
    long now = System.currentTimeMillis();
    Key key = entries.key().set(name);
    Row row = entries.row();
    return db.read(
        tx ->
            entries.get(tx, key, row) && row.getLong(EXPIRES) > now
                ? Optional.of(row.getText(VALUE))
                : Optional.empty());
  }

  private void put(String name, String value) {
    Key key = entries.key().set(name);
    Row row = entries.row().setText(VALUE, value);
    row.setLong(EXPIRES, System.currentTimeMillis() + life.toMillis());
    boolean isNew =
        db.call(
            tx -> {
              boolean there = entries.exists(tx, key);
              entries.put(tx, key, row);
              return !there;
            });
    if (isNew && size.incrementAndGet() > entriesMax) {
      size.addAndGet(-evict(size.get() - entriesMax));
    }
  }

  /** Removes the entries that expire next; returns how many. */
  private int evict(int count) {
    return db.call(
        tx -> {
          int evicted = 0;
          try (Cursor c = byExpiry.scan(tx, Range.all(), Order.ASCENDING)) {
            while (evicted < count && c.next()) {
              entries.delete(tx, c.key());
              evicted++;
            }
          }
          return evicted;
        });
  }

  private int count() {
    return db.read(
        tx -> {
          int count = 0;
          try (Cursor c = entries.scan(tx, Range.all(), Order.ASCENDING)) {
            while (c.next()) {
              count++;
            }
          }
          return count;
        });
  }
}
