package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.schema.Id;
import io.fovea.support.PowerCuts;
import io.fovea.support.SimDisk;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The power fails at any operation of a migration during which the table changes: the old table is
 * complete, and can be migrated again, or the new one is.
 */
@Tag("slow")
class MigrateCrashTest extends IndexBuilds {
  private static final int RECORDS = 150;

  record Old(@Id int number, String email, String text) {}

  record Person(@Id String email, int number, String text) {}

  private static final ObjectSpec<Integer, Old> OLD =
      ObjectSpec.of("t", Integer.class, Old.class).index("texts", "text");
  private static final ObjectSpec<String, Person> NEW =
      ObjectSpec.of("t2", String.class, Person.class).unique("numbers", "number");
  private static final ObjectSpec<String, Person> SAME_NAME =
      ObjectSpec.of("t", String.class, Person.class).unique("numbers", "number");

  /** What has been acknowledged: nothing, the change of the old table, or the migration. */
  private enum Stage {
    BEGUN,
    CHANGED,
    MIGRATED
  }

  private volatile Stage stage = Stage.BEGUN;

  private static String mail(int n) {
    return Integer.toHexString(n * 0x9E37_79B9) + "@" + n;
  }

  private static void fill(Database db) {
    Table<Integer, Old> old = db.table(OLD);
    db.run(
        tx -> {
          for (int n = 0; n < RECORDS; n++) {
            old.put(tx, new Old(n, mail(n), "x".repeat(n % 100)));
          }
        });
  }

  private static void change(Database db) {
    Table<Integer, Old> old = db.table(OLD);
    db.run(
        tx -> {
          old.put(tx, new Old(3, mail(4), "exchanged"));
          old.put(tx, new Old(4, mail(3), "exchanged"));
          old.delete(tx, 5);
          old.put(tx, new Old(140, mail(140), "changed"));
          old.put(tx, new Old(1_000, mail(5), "inserted"));
        });
  }

  private void migrate(Database db, ObjectSpec<String, Person> to, boolean changes) {
    AtomicBoolean changed = new AtomicBoolean(!changes);
    db.migrate(
        db.table(OLD),
        to,
        (number, o, into) -> {
          if (number == 130 && changed.compareAndSet(false, true)) {
            Builder other = new Builder(() -> change(db));
            other.start();
            try {
              other.done();
            } catch (Exception e) {
              throw new AssertionError(e);
            }
            stage = Stage.CHANGED;
          }
          into.add(o.email, new Person(o.email, number, o.text));
        });
  }

  private static Map<Integer, Person> expected(boolean changed) {
    Map<Integer, Person> all = new TreeMap<>();
    for (int n = 0; n < RECORDS; n++) {
      all.put(n, new Person(mail(n), n, "x".repeat(n % 100)));
    }
    if (changed) {
      all.put(3, new Person(mail(4), 3, "exchanged"));
      all.put(4, new Person(mail(3), 4, "exchanged"));
      all.remove(5);
      all.put(140, new Person(mail(140), 140, "changed"));
      all.put(1_000, new Person(mail(5), 1_000, "inserted"));
    }
    return all;
  }

  private static Map<Integer, Person> contents(
      Database db, ObjectSpec<String, Person> to, boolean migrated) {
    Map<Integer, Person> all = new TreeMap<>();
    db.read(
        tx -> {
          if (migrated) {
            try (Cursor<String, Person> c =
                db.table(to).scan(tx, null, null, ScanOrder.ASCENDING)) {
              while (c.next()) {
                assertEquals(c.key(), c.value().email);
                all.put(c.value().number, c.value());
              }
            }
          } else {
            try (Cursor<Integer, Old> c = db.table(OLD).scan(tx, null, null, ScanOrder.ASCENDING)) {
              while (c.next()) {
                Old o = c.value();
                all.put(o.number, new Person(o.email, o.number, o.text));
              }
            }
          }
          return null;
        });
    return all;
  }

  private static boolean isMigrated(Database db) {
    assertEquals(1, db.tables().size());
    String name = db.tables().get(0);
    return SimDatabase.indexes(db, name).contains("numbers");
  }

  @ParameterizedTest
  @EnumSource(names = {"SYNC", "ASYNC"})
  void powerFailsAnywhere(Durability durability) throws Exception {
    ObjectSpec<String, Person> to = durability == Durability.SYNC ? NEW : SAME_NAME;
    Options options = SMALL.durability(durability).log(log -> log.changeRetentionBytes(256 << 10));
    SimDisk disk = new SimDisk(1);
    PowerCuts<Stage> cuts = new PowerCuts<>(disk, () -> stage);
    Database work = open(disk, options);
    fill(work);
    work.checkpoint();
    cuts.during(
        () -> {
          migrate(work, to, true);
          stage = Stage.MIGRATED;
          work.close();
        });
    assertTrue(cuts.size() > 10, cuts.size() + " cuts");
    boolean[] seen = new boolean[2];
    cuts.forEach((left, acked) -> seen[goesOn(left, options, to, acked) ? 1 : 0] = true);
    assertTrue(seen[0] && seen[1], "both outcomes");
  }

  /** Returns whether the migration had happened. */
  private boolean goesOn(
      SimDisk left, Options options, ObjectSpec<String, Person> to, Stage acked) {
    boolean migrated;
    try (Database db = open(left, options)) {
      migrated = isMigrated(db);
      assertTrue(migrated || acked != Stage.MIGRATED, "an acknowledged migration is lost");
      Map<Integer, Person> is = contents(db, to, migrated);
      boolean changed = is.containsKey(1_000);
      assertEquals(expected(changed), is);
      boolean durable = options.durability() == Durability.SYNC && acked != Stage.BEGUN;
      assertTrue(changed || !durable && !migrated, "an acknowledged change is lost");
      verify(db);
      if (!migrated) {
        migrate(db, to, false);
        assertEquals(expected(changed), contents(db, to, true));
      }
      // The trees of the first attempt are freed.
      db.run(tx -> db.table(to).put(tx, new Person("last", 2_000, "")));
      awaitNoDrops(db);
      verify(db);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
    try (Database db = open(left, options)) {
      assertTrue(isMigrated(db));
      assertNotEquals(null, contents(db, to, true).get(2_000));
      assertEquals(List.of(to.table().name()), db.tables());
    }
    return migrated;
  }
}
