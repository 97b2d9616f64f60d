package io.fovea.examples;

import io.fovea.Database;
import io.fovea.Index;
import io.fovea.IndexCursor;
import io.fovea.ObjectSpec;
import io.fovea.Options;
import io.fovea.ScanOrder;
import io.fovea.Table;
import io.fovea.config.Durability;
import io.fovea.schema.Id;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

/**
 * A cache in front of a slow store. It survives a restart, its entries expire, and its size is
 * limited.
 *
 * <p>An index by expiry time serves two purposes: expired entries are at its beginning, and if
 * there are too many entries, those that expire next are removed. The slow store is called outside
 * of any transaction, because a body runs again after a conflict and should be short.
 *
 * <p>A caller that loads a value while another removes it may store the old value again, until it
 * expires.
 *
 * <p>Usage: {@code Cache FOLDER}
 */
public final class Cache {
  record Entry(@Id String name, Instant expires, String value) {}

  private static final ObjectSpec<String, Entry> SPEC =
      ObjectSpec.of("cache", String.class, Entry.class).index("byExpiry", "expires");

  private final Database db;
  private final Table<String, Entry> entries;
  private final Index<Instant, String, Entry> byExpiry;
  private final Function<String, String> store;
  private final Duration life;
  private final int entriesMax;

  /**
   * Opens a cache in a database.
   *
   * @param store loads what is not in the cache
   * @param life how long an entry may be used
   * @param entriesMax the maximum number of entries
   */
  public Cache(Database db, Function<String, String> store, Duration life, int entriesMax) {
    this.db = db;
    this.entries = db.table(SPEC);
    this.byExpiry = entries.index("byExpiry", Instant.class);
    this.store = store;
    this.life = life;
    this.entriesMax = entriesMax;
  }

  public static void main(String[] args) {
    Path file = Path.of(args[0]).resolve("cache.fovea");
    // Entries lost in a crash are loaded again, so commits need not wait for the disk.
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

  /** Returns the cached value, or loads it. */
  public String get(String name) {
    Optional<String> cached = find(name);
    if (cached.isPresent()) {
      return cached.get();
    }
    String value = store.apply(name); // slow: not in a transaction
    put(name, value);
    return value;
  }

  /** Removes an entry after its value was changed in the store. */
  public void remove(String name) {
    db.run(tx -> entries.delete(tx, name));
  }

  /** Returns the number of entries, which the engine maintains. */
  public long size() {
    return entries.count();
  }

  private Optional<String> find(String name) {
    Instant now = Instant.now();
    return db.read(tx -> Optional.ofNullable(entries.get(tx, name)))
        .filter(e -> e.expires().isAfter(now))
        .map(Entry::value);
  }

  private void put(String name, String value) {
    Entry entry = new Entry(name, Instant.now().plus(life), value);
    db.run(tx -> entries.put(tx, entry));
    long over = entries.count() - entriesMax;
    if (over > 0) {
      evict(over);
    }
  }

  /** Removes the entries that expire next. */
  private void evict(long count) {
    db.run(
        tx -> {
          try (IndexCursor<Instant, String, Entry> c =
              byExpiry.scan(tx, null, null, ScanOrder.ASCENDING)) {
            for (long i = 0; i < count && c.next(); i++) {
              entries.delete(tx, c.key());
            }
          }
        });
  }
}
