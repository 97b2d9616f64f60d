package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.config.Protocol;
import io.fovea.error.SnapshotTooOldException;
import io.fovea.schema.TableSpec;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import io.fovea.support.TestEnvironment;
import io.fovea.support.UnreliableStorage;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Compares snapshots with copies of a model: tables are created and dropped, records and long
 * values change, and up to four open snapshots are checked at random times.
 */
@Tag("slow")
class SnapshotModelTest {
  private static final List<String> NAMES = List.of("a", "b", "c");
  private static final int STEPS = 260;

  private record Frozen(Database db, Map<String, TreeMap<byte[], byte[]>> model) {}

  private static final class Run {
    private final TestEnvironment environment;
    private final Random random;
    private final Database db;
    private final int pageSize;
    private final Map<String, TreeMap<byte[], byte[]>> model = new TreeMap<>();
    private final List<Frozen> snapshots = new ArrayList<>();
    private int looks;
    private int givenUp;

    Run(TestEnvironment environment, Database db, long seed) {
      this.environment = environment;
      this.db = db;
      this.random = new Random(seed);
      this.pageSize = environment.pageSize();
    }

    void step() {
      switch (random.nextInt(17)) {
        case 0, 1 -> {
          if (snapshots.size() < 4) {
            open();
          }
        }
        case 2 -> {
          if (!snapshots.isEmpty()) {
            snapshots.remove(random.nextInt(snapshots.size())).db.close();
          }
        }
        case 3 -> drop(name());
        case 4 -> environment.patiently(db::checkpoint);
        case 5, 6, 7 -> look();
        case 8 -> {
          if (db.options().durability() != Durability.NONE) {
            environment.patiently(() -> db.compact(CompactOptions.defaults()));
          }
        }
        default -> change(name());
      }
    }

    private String name() {
      return NAMES.get(random.nextInt(NAMES.size()));
    }

    private void open() {
      Map<String, TreeMap<byte[], byte[]>> copy = new TreeMap<>();
      model.forEach((name, records) -> copy.put(name, new TreeMap<>(records)));
      Database[] then = new Database[1];
      environment.patiently(() -> then[0] = db.snapshot());
      snapshots.add(new Frozen(then[0], copy));
    }

    private void drop(String name) {
      environment.patiently(() -> db.dropTable(name));
      model.remove(name);
    }

    private void change(String name) {
      TreeMap<byte[], byte[]> records =
          model.computeIfAbsent(name, n -> new TreeMap<>(Arrays::compareUnsigned));
      TreeMap<byte[], byte[]> changes = new TreeMap<>(Arrays::compareUnsigned);
      int base = random.nextInt(800);
      for (int n = 1 + random.nextInt(30); n > 0; n--) {
        byte[] key = key(random.nextBoolean() ? base + n : random.nextInt(800));
        changes.put(key, random.nextInt(3) == 0 ? new byte[0] : value());
      }
      environment.patiently(
          () -> {
            Table<byte[], byte[]> t = db.table(TableSpec.bytes(name, 40)).bytes();
            db.run(
                tx ->
                    changes.forEach(
                        (k, v) -> {
                          if (v.length == 0) {
                            t.delete(tx, k);
                          } else {
                            t.put(tx, k, v);
                          }
                        }));
          });
      changes.forEach(
          (k, v) -> {
            if (v.length == 0) {
              records.remove(k);
            } else {
              records.put(k, v);
            }
          });
    }

    private static byte[] key(int n) {
      return ("key " + n).getBytes(java.nio.charset.StandardCharsets.US_ASCII);
    }

    /** Mostly short values; some in chains. */
    private byte[] value() {
      int length = random.nextInt(12) == 0 ? random.nextInt(3 * pageSize) : random.nextInt(200);
      byte[] v = new byte[1 + length];
      random.nextBytes(v);
      return v;
    }

    private void look() {
      if (snapshots.isEmpty()) {
        return;
      }
      Frozen f = snapshots.get(random.nextInt(snapshots.size()));
      long once = random.nextLong();
      try {
        environment.patiently(() -> check(f, new Random(once)));
        looks++;
      } catch (SnapshotTooOldException e) {
        // The file of copies could not be written.
        assertTrue(environment.failsWrites(), e::getMessage);
        snapshots.remove(f);
        f.db.close();
        givenUp++;
      }
    }

    private void check(Frozen f, Random r) {
      assertEquals(List.copyOf(f.model.keySet()), f.db.tables());
      for (Map.Entry<String, TreeMap<byte[], byte[]>> e : f.model.entrySet()) {
        Table<byte[], byte[]> t = f.db.table(TableSpec.bytes(e.getKey(), 40)).bytes();
        TreeMap<byte[], byte[]> records = e.getValue();
        ScanOrder order = r.nextBoolean() ? ScanOrder.ASCENDING : ScanOrder.DESCENDING;
        if (r.nextBoolean()) {
          f.db.run(TxOptions.forReading(), tx -> scan(t, tx, order, records));
        } else {
          byte[] key = key(r.nextInt(800));
          assertArrayEquals(records.get(key), f.db.read(tx -> t.get(tx, key)));
        }
      }
    }

    private static void scan(
        Table<byte[], byte[]> t, Transaction tx, ScanOrder order, TreeMap<byte[], byte[]> records) {
      Map<byte[], byte[]> expected =
          order == ScanOrder.ASCENDING ? records : records.descendingMap();
      try (Cursor<byte[], byte[]> c = t.scan(tx, null, null, order)) {
        for (Map.Entry<byte[], byte[]> e : expected.entrySet()) {
          assertTrue(c.next(), "the snapshot is complete");
          assertEquals(hex(e.getKey()), hex(c.key()));
          assertArrayEquals(e.getValue(), c.value());
        }
        assertTrue(!c.next(), "the snapshot has no further records");
      }
    }

    private static String hex(byte[] bytes) {
      return HexFormat.of().formatHex(bytes);
    }

    void end() {
      for (Frozen f : snapshots) {
        f.db.close();
      }
      assertEquals(0, db.store().pool().copies().snapshots());
      assertEquals(0, db.store().pool().copies().memoryBytes());
      assertEquals(0, db.store().pool().copies().fileBytes());
      assertEquals(0, db.store().pool().copies().entries());
    }
  }

  @ParameterizedTest
  @EnumSource
  void inAllEnvironments(TestEnvironment environment) {
    environment.each(
        6,
        (deviceState, seed) -> {
          deviceState.faults(false);
          SimDisk disk = new SimDisk(seed);
          Protocol protocol = Protocol.values()[(int) (seed % Protocol.values().length)];
          Options options =
              Options.defaults()
                  .bufferBytes(environment.smallest() ? 100L * environment.pageSize() : 8 << 20)
                  .device(d -> d.pageSize(environment.pageSize()))
                  .durability(seed % 2 == 0 ? Durability.NONE : Durability.ASYNC)
                  .log(log -> log.maxBytes(8 << 20).bufferBytes(256 << 10).segmentBytes(256 << 10))
                  .snapshots(
                      s ->
                          s.bufferBytes(100L * environment.pageSize())
                              .memoryBytes(20L * environment.pageSize()))
                  .experiments(exp -> exp.protocol(protocol));
          try (Database db =
              SimDatabase.open(
                  new UnreliableStorage(new SimStorage(disk), deviceState), options, environment)) {
            Run run = new Run(environment, db, seed);
            deviceState.faults(true);
            for (int i = 0, n = environment.steps(STEPS); i < n; i++) {
              run.step();
            }
            deviceState.faults(false);
            run.end();
            assertTrue(run.looks > 0, () -> run.looks + " checks, " + run.givenUp + " evicted");
            assertTrue(db.verify().ok(), () -> db.verify().toString());
          }
        });
  }
}
