package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Protocol;
import io.fovea.error.FoveaException;
import io.fovea.index.IndexCore;
import io.fovea.schema.TableSpec;
import io.fovea.support.Sample;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.support.SimFault;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Indexes built bottom-up: their pages are either written once or logged. */
@Tag("slow")
class BottomUpIndexTest extends IndexBuilds {
  @ParameterizedTest
  @EnumSource(Protocol.class)
  void concurrentChangesAreApplied(Protocol protocol) throws Exception {
    try (Database db = Database.inMemory(MEMORY.experiments(exp -> exp.protocol(protocol)))) {
      RowTable t = db.table(PLAIN);
      put(db, t, 0, 1000);
      Held held = new Held();
      TableSpec with = PLAIN.with(held.spec(500));
      Builder builder = held.start(() -> db.table(with));
      // Of every ten records, before and after the build's position: changed, changed and reverted,
      // changed twice, deleted, deleted and reinserted, inserted and deleted.
      for (long k = 0; k < 1000; k += 10) {
        set(db, t, k, 5_000);
        set(db, t, k + 1, 5_000);
        set(db, t, k + 1, k + 1);
        set(db, t, k + 2, 6_000);
        set(db, t, k + 2, 7_000);
        remove(db, t, k + 3);
        remove(db, t, k + 4);
        set(db, t, k + 4, 8_000);
        remove(db, t, k + 5);
        set(db, t, k + 5, k + 5);
        set(db, t, 10_000 + k, 1);
        set(db, t, 20_000 + k, 2);
        remove(db, t, 20_000 + k);
      }
      held.go.countDown();
      builder.done();
      verify(db);
      RowIndex i = db.table(with).index("computed");
      assertEquals(1000, entries(db, i));
      assertEquals(1000, i.count());
      awaitNoDrops(db);
    }
  }

  private static void set(Database db, RowTable t, long key, long v) {
    db.run(tx -> t.put(tx, t.key().set(key), t.row().setLong(V, v).setLong(U, key)));
  }

  private static void remove(Database db, RowTable t, long key) {
    db.run(tx -> t.delete(tx, t.key().set(key)));
  }

  @Test
  void closedDuringTheBuild() throws Exception {
    SimDisk disk = new SimDisk(1);
    Database db = open(disk, SMALL);
    RowTable t = db.table(PLAIN);
    put(db, t, 0, 700);
    Held held = new Held();
    Builder builder = held.start(() -> db.table(PLAIN.with(held.spec(300))));
    Builder closer = new Builder(db::close);
    closer.start();
    while (db.isOpen()) {
      Thread.sleep(1);
    }
    held.go.countDown();
    builder.join();
    if (!(builder.failure.get() instanceof FoveaException)) {
      throw new AssertionError(builder.failure.get());
    }
    closer.done();
    try (Database again = open(disk, SMALL)) {
      verify(again);
      again.table(PLAIN.with(BY_V)); // the first change continues drops
      awaitNoDrops(again);
      verify(again);
    }
  }

  /** Any device operation fails once: the index exists or not, and no page is lost. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void anyOperationFails(boolean unique) throws Exception {
    SimDisk filled = new SimDisk(3);
    try (Database db = open(filled, SMALL)) {
      RowTable t = db.table(PLAIN);
      t.load(
          LoadOptions.defaults(),
          into -> {
            for (long k = 0; k < 12_000; k++) {
              into.add(t.key().set(k), t.row().setLong(V, k % 17).setLong(U, k));
            }
          });
    }
    int failures = 0;
    long step = 1;
    boolean over = false;
    for (long n = 1 + Sample.oneOf(3).first(); !over; n += step, step += 3) {
      SimDisk disk = filled.copy();
      try (Database db = open(disk, SMALL)) {
        RowTable t = db.table(PLAIN);
        set(db, t, 1, 1);
        disk.fail(SimFault.once(n));
        try {
          db.table(PLAIN.with(unique ? BY_U : BY_V));
        } catch (FoveaException e) {
          failures++;
        }
        over = disk.faultsHit() == 0;
      } catch (FoveaException e) {
        failures++; // the close
      }
      disk.heal();
      try (Database again = open(disk, SMALL)) {
        verify(again);
        set(again, new RowTable(again, coreOf(again), PLAIN), 2, 2);
        awaitNoDrops(again);
        verify(again);
      }
    }
    Sample.requireMet(failures, 3, "failures");
  }

  /**
   * The power fails at any operation of a build that runs concurrently with a writer: of a tree
   * whose pages are logged, and of one whose pages are written instead. Meanwhile, values of the
   * unique index move between records.
   */
  @ParameterizedTest
  @CsvSource({"600,true,true", "12000,true,false", "12000,false,true"})
  void everyOperationOfABuild(int records, boolean byV, boolean byU) throws Exception {
    SimDisk filled = new SimDisk(7);
    long without;
    try (Database db = open(filled, SMALL)) {
      RowTable t = db.table(PLAIN);
      t.load(
          LoadOptions.defaults(),
          into -> {
            for (long k = 0; k < records; k++) {
              into.add(t.key().set(k), t.row().setLong(V, k % 17).setLong(U, k));
            }
          });
      without = pagesInUse(db);
    }
    int crashes = 0;
    int step = 1;
    boolean over = false;
    for (long n = 1 + Sample.oneOf(3).first(); !over; n += step, step += 3) {
      SimDisk disk = filled.copy();
      Database db = open(disk, SMALL);
      long end = disk.operations() + n;
      disk.powerOffAt(end);
      AtomicLong acknowledged = new AtomicLong(-1);
      boolean built = false;
      AtomicBoolean stop = new AtomicBoolean();
      Builder writer =
          new Builder(
              () -> {
                RowTable t = new RowTable(db, coreOf(db), PLAIN);
                for (long i = 0; !stop.get(); i++) {
                  long k = i * 7 % 598;
                  long v = 100 + i;
                  db.run(tx -> change(t, tx, k, v));
                  acknowledged.set(i);
                }
              });
      writer.start();
      try {
        TableSpec spec = byV ? PLAIN.with(BY_V) : PLAIN;
        db.table(byU ? spec.with(BY_U) : spec);
        built = true;
      } catch (RuntimeException e) {
        // the power is off
      }
      over = disk.operations() < end;
      stop.set(true);
      writer.join();
      db.abandon();
      crashes++;
      SimDisk again = disk.crash(crashes % 2 == 0 ? SimCrash.LOSE_ALL : SimCrash.RANDOM);
      try (Database db2 = open(again, SMALL)) {
        verify(db2);
        List<IndexCore> found = coreOf(db2).readable();
        int all = byV && byU ? 2 : 1;
        assertTrue(!built || found.size() == all, "an acknowledged index was lost");
        TableSpec spec = PLAIN;
        for (IndexCore i : found) {
          spec = spec.with(i.name.equals("by_v") ? BY_V : BY_U);
        }
        RowTable t = db2.table(spec);
        for (long i = Math.max(0, acknowledged.get() - 50); i <= acknowledged.get(); i++) {
          long k = i * 7 % 598;
          long least = 100 + i;
          Row row = t.row();
          db2.run(
              tx -> {
                assertTrue(t.get(tx, t.key().set(k), row));
                assertTrue(row.getLong(V) >= least);
              });
        }
        db2.run(tx -> t.put(tx, t.key().set(1L), t.row().setLong(V, 1).setLong(U, 1_000_000)));
        awaitNoDrops(db2);
        verify(db2);
        for (IndexCore i : found) {
          assertTrue(db2.dropIndex("t", i.name));
        }
        awaitNoDrops(db2);
        assertEquals(without, pagesInUse(db2));
      }
    }
    assertTrue(crashes > 10, "crashes: " + crashes);
  }

  private static void change(RowTable t, Transaction tx, long k, long v) {
    Row row = t.row();
    assertTrue(t.get(tx, t.key().set(k), row));
    long u = row.getLong(U);
    assertTrue(t.get(tx, t.key().set(k + 1), row));
    long next = row.getLong(U);
    long old = row.getLong(V);
    assertTrue(t.delete(tx, t.key().set(k + 1)));
    t.put(tx, t.key().set(k), row.setLong(V, v).setLong(U, next));
    t.put(tx, t.key().set(k + 1), row.setLong(V, old).setLong(U, u));
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void entriesAreNotLogged(boolean unique) throws Exception {
    long[] log = logOf(1 << 20, 40_000, unique ? BY_U : BY_V, false);
    assertTrue(log[0] < 200_000, () -> log[0] + " bytes of log");
  }

  /** A tree too large for the log while the redo point is held back is built by transactions. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void theTreeIsTooLargeForTheLog(boolean unique) throws Exception {
    long max = 256 << 10;
    long[] log = logOf(max, 400_000, unique ? BY_U : BY_V, false);
    assertTrue(log[0] > 3 * max, () -> log[0] + " bytes of log");
    assertTrue(log[1] <= 2 * max, () -> log[1] + " bytes from the redo point to the end");
  }
}
