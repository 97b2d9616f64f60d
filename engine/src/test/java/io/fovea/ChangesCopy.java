package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.btree.TreeWalk;
import io.fovea.error.StorageException;
import io.fovea.index.TableCore;
import io.fovea.inspection.FollowedFile;
import io.fovea.io.BlockDevice;
import io.fovea.io.Storage;
import io.fovea.memory.Mem;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** A copy of a database that follows its change feed, independent of the database's crashes. */
public final class ChangesCopy {
  /** Values by table and key, as hexadecimal digits. */
  public final TreeMap<String, TreeMap<String, String>> tables = new TreeMap<>();

  /** The number of batches taken, and of notices that a table was loaded. */
  public long batches;

  public long loads;

  /** Where the next batch starts; null before {@link #begin}. */
  public @Nullable ChangePosition position;

  private static String hex(byte[] bytes) {
    return HexFormat.of().formatHex(bytes);
  }

  /** Starts from the current contents of a database. */
  public void begin(Database db) {
    try (Database then = db.snapshot()) {
      tables.clear();
      tables.putAll(read(then));
      position = then.changesPosition();
    }
  }

  /** Reads the contents of all trees. The database must not be written to. */
  public static TreeMap<String, TreeMap<String, String>> read(Database db) {
    TreeMap<String, TreeMap<String, String>> all = new TreeMap<>();
    for (TableCore table : db.schema().tables()) {
      TreeMap<String, String> records = new TreeMap<>();
      TreeWalk.forEach(
          table.tree,
          (k, kOff, kLen, v, vOff, vLen) ->
              records.put(hex(Mem.bytes(k, kOff, kLen)), hex(Mem.bytes(v, vOff, vLen))));
      all.put(table.name, records);
    }
    return all;
  }

  public ChangesCopy copy() {
    ChangesCopy copy = new ChangesCopy();
    tables.forEach((name, records) -> copy.tables.put(name, new TreeMap<>(records)));
    copy.batches = batches;
    copy.loads = loads;
    copy.position = position;
    return copy;
  }

  /** Takes all available batches; after a load, reads the whole database again. */
  public void follow(Database db) {
    ChangePosition from = position;
    assertTrue(from != null);
    try (Changes changes = db.changes(from)) {
      ChangeBatch batch;
      while ((batch = changes.poll(Duration.ZERO)) != null) {
        if (take(batch)) {
          begin(db); // covers all that has been committed
          return;
        }
      }
      position = changes.position();
    }
  }

  /** Follows the files of a database from the current position, as another process would. */
  public FileChanges ofFiles(SimDisk disk) {
    BlockDevice log = new SimStorage(disk).open(Storage.LOG);
    return ofFiles(disk, () -> synced(log));
  }

  /** The same, with an external sync of the log that returns whether it succeeded. */
  public FileChanges ofFiles(SimDisk disk, BooleanSupplier sync) {
    ChangePosition from = position;
    assertTrue(from != null);
    SimStorage files = new SimStorage(disk);
    return FileChanges.from(
        FollowedFile.of(files.name(), files.open(""), files.open(Storage.LOG), sync), from);
  }

  private static boolean synced(BlockDevice log) {
    try {
      log.sync();
      return true;
    } catch (StorageException e) {
      return false;
    }
  }

  /**
   * Takes batches from the files of a database on a disk.
   *
   * @param most the maximum number of batches
   * @return whether a table was loaded; its records are not available here, and nothing after the
   *     load was taken
   */
  public boolean followFiles(SimDisk disk, int most) {
    try (FileChanges changes = ofFiles(disk)) {
      for (int i = 0; i < most; i++) {
        ChangeBatch batch = changes.poll();
        if (batch == null) {
          position = changes.position();
          return false;
        }
        if (take(batch)) {
          return true;
        }
      }
    }
    return false;
  }

  /** Follows from the files and checks that the copy equals the database. */
  public void checkFiles(Database db, SimDisk disk) {
    long end = db.changesPosition().lsn();
    if (followFiles(disk, Integer.MAX_VALUE)) {
      begin(db);
    }
    equal(db, end);
  }

  /** Takes a batch; returns whether a table was loaded. */
  public boolean take(ChangeBatch batch) {
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
    assertTrue(records != null, "a gap: there is no table for " + c);
    return records;
  }

  public void check(Database db) {
    long end = db.changesPosition().lsn(); // everything before it is durable then
    follow(db);
    equal(db, end);
  }

  private void equal(Database db, long end) {
    assertTrue(position.lsn() >= end);
    TreeMap<String, TreeMap<String, String>> is = read(db);
    assertEquals(is.keySet(), tables.keySet());
    is.forEach((name, records) -> check(name, records, tables.get(name)));
  }

  private static void check(String name, Map<String, String> is, Map<String, String> copy) {
    assertEquals(is.keySet(), copy.keySet(), name);
    is.forEach((key, value) -> assertTrue(value.equals(copy.get(key)), name + " " + key));
  }
}
