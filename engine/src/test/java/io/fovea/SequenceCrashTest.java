package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.error.FoveaException;
import io.fovea.schema.SequenceSpec;
import io.fovea.schema.TableSpec;
import io.fovea.support.PowerCuts;
import io.fovea.support.Sample;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.support.SimFault;
import io.fovea.support.SimStorage;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The power fails at any operation, or operations fail, while sequences return values and are
 * created and dropped: no value is returned twice, and no more are skipped than documented.
 */
@Tag("slow")
class SequenceCrashTest {
  private static final int CACHED = 4;
  private static final SequenceSpec ORDERS = SequenceSpec.of("orders").cached(CACHED);
  private static final SequenceSpec OTHERS = SequenceSpec.of("others").from(100).cached(CACHED);

  /** The highest value returned so far, and the acknowledged catalog changes. */
  private record Told(long given, boolean others, boolean dropped) {}

  private long given;

  private boolean others;
  private boolean dropped;

  private static Options options(Durability durability) {
    return Options.defaults()
        .bufferBytes(600_000)
        .durability(durability)
        .transactions(x -> x.maxActive(2));
  }

  private static Database open(SimDisk disk, Durability durability) {
    return SimDatabase.open(new SimStorage(disk), options(durability));
  }

  private void way(Database db) {
    Sequence s = db.sequence(ORDERS);
    Table<byte[], byte[]> t = db.table(TableSpec.bytes("t", 8)).bytes();
    for (int i = 0; i < 14; i++) {
      if (i == 5) {
        db.checkpoint();
      }
      long v = s.next();
      assertTrue(v > given, "returned twice: " + v);
      given = v;
      byte[] key = {(byte) v};
      db.run(tx -> t.put(tx, key, key));
      if (i == 8) {
        db.run(
            tx -> {
              Sequence o = tx.sequence(OTHERS);
              assertEquals(100, o.next());
              t.put(tx, new byte[] {0}, new byte[] {0});
            });
        others = true;
      }
    }
    s.skipTo(given + 50);
    given += 49;
    db.run(tx -> tx.dropSequence("others"));
    dropped = true;
  }

  @ParameterizedTest
  @EnumSource(names = {"SYNC", "ASYNC"})
  void crashesAtAnyOperation(Durability durability) {
    SimDisk disk = new SimDisk(1);
    PowerCuts<Told> cuts = new PowerCuts<>(disk, () -> new Told(given, others, dropped));
    Database work = open(disk, durability);
    cuts.during(
        () -> {
          way(work);
          work.close();
        });
    assertTrue(cuts.size() > 20, cuts.size() + " cuts");
    cuts.forEachOfSample((left, told) -> goesOn(left, told, durability));
  }

  private void goesOn(SimDisk left, Told told, Durability durability) {
    try (Database db = open(left, durability)) {
      long next = db.sequence(ORDERS).peek();
      assertTrue(next > told.given, next + " is returned again after " + told.given);
      // Changes between the cut and the next operation may be in the file.
      assertTrue(next <= told.given + 51 + 2 * CACHED, next + " after " + told.given);
      if (durability == Durability.SYNC && told.others && !told.dropped) {
        assertNotNull(db.table(TableSpec.bytes("t", 8)).bytes());
      }
      SequenceSpec there = db.describeSequence("others");
      assertTrue(durability != Durability.SYNC || !told.dropped || there == null, "it was dropped");
      if (there != null) {
        assertEquals(OTHERS, there);
        assertTrue(db.sequence(OTHERS).next() > 100, "100 is returned again");
      }
      given = told.given;
      others = false;
      dropped = false;
      db.dropSequence("others");
      way(db);
      assertTrue(db.verify().ok());
    }
  }

  /** The highest value returned, and the number of acknowledged changes. */
  private record Changed(long given, int told) {}

  private int told;

  /**
   * Renames and alters sequences, and renames one back together with a record in one transaction.
   */
  private void changes(Database db) {
    Sequence s = db.sequence(ORDERS);
    take(s, 6);
    db.renameSequence("orders", "renamed");
    told = 1;
    take(s, 6);
    db.alterSequence(db.describeSequence("renamed").from(1000));
    told = 2;
    take(s, 6);
    db.run(
        tx -> {
          tx.renameSequence("renamed", "orders");
          Sequence last = tx.alterSequence(ORDERS.from(2000));
          assertNotNull(last);
          tx.table(TableSpec.bytes("t", 8)).bytes().put(tx, new byte[1], new byte[1]);
        });
    told = 3;
    take(s, 6);
  }

  private void take(Sequence s, int values) {
    for (int i = 0; i < values; i++) {
      long v = s.next();
      assertTrue(v > given, "returned twice: " + v);
      given = v;
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"SYNC", "ASYNC"})
  void crashesAtAnyOperationOfChanges(Durability durability) {
    SimDisk disk = new SimDisk(2);
    PowerCuts<Changed> cuts = new PowerCuts<>(disk, () -> new Changed(given, told));
    Database work = open(disk, durability);
    cuts.during(
        () -> {
          changes(work);
          work.close();
        });
    assertTrue(cuts.size() > 20, cuts.size() + " cuts");
    cuts.forEachOfSample(
        (left, was) -> {
          try (Database db = open(left, durability)) {
            List<String> names = db.sequences();
            assertTrue(names.size() <= 1, names::toString);
            String name = names.isEmpty() ? "orders" : names.getFirst();
            boolean back = db.tables().contains("t");
            if (durability == Durability.SYNC) {
              assertTrue(was.told != 1 || name.equals("renamed"), name);
              assertTrue(was.told < 3 || back, "acknowledged changes are present");
            }
            assertTrue(!back || name.equals("orders"), name);
            long next = db.sequence(name).next();
            assertTrue(next > was.given, next + " is returned again after " + was.given);
            assertTrue(back == next >= 2000, next + (back ? " with the table" : " without"));
            assertTrue(db.verify().ok());
          }
        });
  }

  @Test
  void failingOperations() {
    boolean hit = true;
    Sample sample = Sample.oneOf(4);
    for (int n = 1 + sample.first(); hit; n += sample.stride()) {
      for (boolean once : new boolean[] {true, false}) {
        SimDisk disk = new SimDisk(n);
        given = 0;
        try (Database db = open(disk, Durability.SYNC)) {
          db.sequence(ORDERS).next();
          given = 1;
        }
        disk.fail(once ? SimFault.once(n) : SimFault.from(n));
        try (Database db = open(disk, Durability.SYNC)) {
          Sequence s = db.sequence(ORDERS);
          for (int i = 0; i < 30; i++) {
            try {
              long v = s.next();
              assertTrue(v > given, "returned twice: " + v);
              given = v;
            } catch (FoveaException e) {
              assertNotNull(e.getMessage());
            }
          }
        } catch (FoveaException e) {
          assertNotNull(e.getMessage());
        }
        hit = disk.faultsHit() > 0;
        disk.heal();
        try (Database db = open(disk.crash(SimCrash.RANDOM), Durability.SYNC)) {
          assertTrue(db.sequence(ORDERS).next() > given, "returned twice");
          assertTrue(db.verify().ok());
        }
      }
    }
  }
}
