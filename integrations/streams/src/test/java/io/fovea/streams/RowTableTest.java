package io.fovea.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.fovea.Database;
import io.fovea.Options;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Keys of any length, compared with a sorted map. {@code -Drowtable.seed=N} replays a run. */
class RowTableTest {
  private static final int ROUNDS = Integer.getInteger("rowtable.rounds", 150);
  private static final int MAX = 512;

  /** At the ends of slices, and next to them. */
  private static final int[] LENGTHS = {
    1, 2, 9, 510, 511, 512, 513, 1005, 1006, 1007, 1501, 1502, 3000
  };

  @TempDir Path directory;

  @Test
  void agreesWithASortedMap() {
    long seed = Long.getLong("rowtable.seed", new Random().nextLong());
    String replay = "-Dtest=RowTableTest -Drowtable.seed=" + seed;
    Random random = new Random(seed);
    NavigableMap<byte[], byte[]> model = new TreeMap<>(Arrays::compareUnsigned);
    try (Database database =
        Database.open(directory.resolve("rows"), Options.defaults().bufferBytes(16L << 20))) {
      RowTable table = RowTable.open(database, "kv.1", MAX);
      table.prepareLong();
      for (int round = 0; round < ROUNDS; round++) {
        database.run(
            tx -> {
              for (int i = 0; i < 10; i++) {
                byte[] key = key(random, model);
                if (random.nextInt(3) == 0) {
                  table.delete(tx, key);
                  model.remove(key);
                } else {
                  byte[] value = {(byte) random.nextInt()};
                  table.put(tx, key, value);
                  model.put(key, value);
                }
              }
            });
        byte[] key = key(random, model);
        byte[] value = database.read(tx -> table.get(tx, key));
        byte[] expected = model.get(key);
        assertEquals(
            expected == null ? null : expected[0], value == null ? null : value[0], replay);
        compare(database, table, model, random, replay);
      }
      RowTable again = RowTable.open(database, "kv.1", MAX);
      compare(database, again, model, new Random(seed), replay);

      // Deleting the rows also deletes links and layers.
      database.run(tx -> List.copyOf(model.keySet()).forEach(key -> again.delete(tx, key)));
      assertEquals(1, again.count(), replay); // the number of the last layer
      database.run(tx -> RowTable.drop(tx, "kv.1"));
      assertEquals(List.of(), database.tables());
    }
  }

  private static void compare(
      Database database,
      RowTable table,
      NavigableMap<byte[], byte[]> model,
      Random random,
      String replay) {
    byte[] a = random.nextInt(8) == 0 ? null : key(random, model);
    byte[] b = random.nextInt(8) == 0 ? null : key(random, model);
    if (a != null && b != null && Arrays.compareUnsigned(a, b) > 0) {
      byte[] c = a;
      a = b;
      b = c;
    }
    NavigableMap<byte[], byte[]> part = model;
    part = a == null ? part : part.tailMap(a, true);
    part = b == null ? part : part.headMap(b, false);
    boolean forward = random.nextBoolean();
    int most = 1 + random.nextInt(30);
    List<String> expected = new ArrayList<>();
    for (Map.Entry<byte[], byte[]> e :
        (forward ? part : part.descendingMap()).entrySet().stream().limit(most).toList()) {
      expected.add(text(e.getKey(), e.getValue()));
    }
    ByteInterval interval = new ByteInterval(a, b);
    List<String> rows =
        database.read(
            tx -> {
              List<String> read = new ArrayList<>();
              table.scan(
                  tx,
                  interval,
                  forward,
                  (k, v) -> {
                    read.add(text(k, v));
                    return read.size() < most;
                  });
              return read;
            });
    assertEquals(expected, rows, replay);
  }

  private static String text(byte[] key, byte[] value) {
    return key.length + " " + HexFormat.of().formatHex(key) + "=" + value[0];
  }

  /** Mostly equal bytes, so that many keys share slices; often an existing key or its neighbor. */
  private static byte[] key(Random random, NavigableMap<byte[], byte[]> model) {
    byte[] key = new byte[LENGTHS[random.nextInt(LENGTHS.length)]];
    Arrays.fill(key, (byte) (random.nextInt(6) == 0 ? -1 : 1));
    for (int n = random.nextInt(3); n > 0; n--) {
      key[random.nextInt(key.length)] = (byte) random.nextInt(3);
    }
    byte[] there = random.nextInt(3) == 0 ? model.ceilingKey(key) : null;
    return there == null
        ? key
        : random.nextBoolean() ? there : Arrays.copyOf(there, there.length + random.nextInt(2));
  }

  /** Rows of windows: the head is the segment, and a cut deletes the layers. */
  @Test
  void cutsLongKeys() {
    try (Database database =
        Database.open(directory.resolve("rows"), Options.defaults().bufferBytes(16L << 20))) {
      RowTable table = RowTable.open(database, "win.1", MAX);
      table.prepareLong();
      byte[] key = new byte[2000];
      database.run(
          tx -> {
            for (int segment = 1; segment <= 3; segment++) {
              table.put(tx, SegmentKeys.window(segment, key, 5, 0), new byte[] {1});
              table.put(tx, SegmentKeys.window(segment, key, 6, 0), new byte[] {1});
            }
          });
      database.run(tx -> table.deleteBelow(tx, SegmentKeys.segment(3)));
      assertNull(database.read(tx -> table.get(tx, SegmentKeys.window(2, key, 6, 0))));
      assertEquals(1, database.read(tx -> table.get(tx, SegmentKeys.window(3, key, 6, 0)))[0]);
      // A link; in the layers three links, two rows, and the number of the last layer.
      assertEquals(1 + 3 + 2 + 1, table.count());
    }
  }
}
