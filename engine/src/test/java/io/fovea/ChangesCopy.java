package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.HexFormat;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A copy of a database that follows its changes: what it holds, and up to where. It is kept beside
 * the database, and what happens to that does not happen to it.
 */
final class ChangesCopy {
  /** By table, by key: values, in hexadecimal digits. */
  final TreeMap<String, TreeMap<String, String>> tables = new TreeMap<>();

  /** How many batches it has taken, and of how many tables it was told that they were loaded. */
  long batches;

  long loads;

  /** Where it goes on; null before it has begun. */
  @Nullable ChangePosition position;

  private static String hex(byte[] bytes) {
    return HexFormat.of().formatHex(bytes);
  }

  /** Begins with what a database is now. */
  void begin(Database db) {
    try (Database then = db.snapshot()) {
      tables.clear();
      tables.putAll(read(then));
      position = then.changesPosition();
    }
  }

  /** All that a database holds. Tables of byte strings. */
  static TreeMap<String, TreeMap<String, String>> read(Database db) {
    TreeMap<String, TreeMap<String, String>> all = new TreeMap<>();
    for (String name : db.tables()) {
      ByteTable t = db.table(db.describe(name)).bytes();
      TreeMap<String, String> records = new TreeMap<>();
      db.read(
          tx -> {
            try (ByteCursor c = t.scan(tx, null, null, Order.ASCENDING)) {
              while (c.next()) {
                records.put(hex(c.key()), hex(c.value()));
              }
            }
            return records;
          });
      all.put(name, records);
    }
    return all;
  }

  /** Takes all that there is; of a database whose tables are loaded it reads these anew. */
  void follow(Database db) {
    ChangePosition from = position;
    assertTrue(from != null);
    try (Changes changes = db.changes(from)) {
      boolean anew = false;
      ChangeBatch batch;
      while ((batch = changes.poll(Duration.ZERO)) != null) {
        anew |= take(batch);
      }
      position = changes.position();
      if (anew) {
        begin(db);
      }
    }
  }

  /** Takes a batch; says whether a table was loaded. */
  boolean take(ChangeBatch batch) {
    ChangePosition before = position;
    assertTrue(before == null || batch.position().lsn() > before.lsn(), "a repetition");
    boolean loaded = false;
    for (Change c : batch.changes()) {
      loaded |= take(c);
    }
    position = batch.position();
    batches++;
    return loaded;
  }

  private boolean take(Change c) {
    switch (c.kind()) {
      case PUT -> records(c).put(hex(c.keyBytes()), hex(c.valueBytes()));
      case DELETE -> assertTrue(records(c).remove(hex(c.keyBytes())) != null, "a gap: " + c);
      case CREATED -> assertEquals(null, tables.put(c.table(), new TreeMap<>()), c.toString());
      case DROPPED -> assertTrue(tables.remove(c.table()) != null, "a gap: " + c);
      case RENAMED -> {
        TreeMap<String, String> records = tables.remove(c.table());
        assertTrue(records != null, "a gap: " + c);
        assertEquals(null, tables.put(c.newName(), records), c.toString());
      }
      case LOADED -> {
        loads++;
        return true;
      }
    }
    return false;
  }

  private Map<String, String> records(Change c) {
    TreeMap<String, String> records = tables.get(c.table());
    assertTrue(records != null, "a gap: there is no table of " + c);
    return records;
  }

  /** Follows, and is then what the database is. */
  void check(Database db) {
    follow(db);
    assertEquals(read(db), tables);
  }
}
