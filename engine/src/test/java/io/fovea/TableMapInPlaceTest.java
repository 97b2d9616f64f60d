package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.schema.TableSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.UnaryOperator;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Compares a table viewed as a map of mutable values with a JDK map: functions mutate and return
 * their argument, leave it unchanged, create another, or return null.
 */
class TableMapInPlaceTest {
  private static final int KEYS = 8;
  private static final int STEPS = 400;

  private static final ByteCodec<Byte> KEY =
      new ByteCodec<>() {
        @Override
        public byte[] encode(Byte object) {
          return new byte[] {object};
        }

        @Override
        public Byte decode(byte[] bytes) {
          return bytes[0];
        }
      };

  private static final ByteCodec<List<Byte>> LIST =
      new ByteCodec<>() {
        @Override
        public byte[] encode(List<Byte> object) {
          byte[] bytes = new byte[object.size()];
          for (int i = 0; i < bytes.length; i++) {
            bytes[i] = object.get(i);
          }
          return bytes;
        }

        @Override
        public List<Byte> decode(byte[] bytes) {
          List<Byte> list = new ArrayList<>();
          for (byte b : bytes) {
            list.add(b);
          }
          return list;
        }
      };

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void changesInPlaceAreWritten(long seed) {
    try (Database db = Database.inMemory(Options.defaults().bufferBytes(4 << 20))) {
      Table<Byte, List<Byte>> table = db.table(TableSpec.bytes("lists", 10)).as(KEY, LIST);
      ConcurrentNavigableMap<Byte, List<Byte>> map = table.asMap();
      ConcurrentNavigableMap<Byte, List<Byte>> model = new ConcurrentSkipListMap<>();
      Random random = new Random(seed);
      for (int step = 0; step < STEPS; step++) {
        int kind = random.nextInt(8);
        byte key = (byte) random.nextInt(KEYS);
        byte number = (byte) step;
        int how = random.nextInt(4);
        String what = "seed " + seed + ", step " + step + ", operation " + kind + ", how " + how;
        boolean down = random.nextBoolean();
        Object expected = applyOnce(down ? model.descendingMap() : model, kind, key, number, how);
        Object found = applyOnce(down ? map.descendingMap() : map, kind, key, number, how);
        assertEquals(expected, found, what);
        assertEquals(model, map, what);
      }
    }
  }

  /** Executes one operation; returns a copy of the result. */
  private static Object applyOnce(
      ConcurrentNavigableMap<Byte, List<Byte>> map, int kind, byte key, byte number, int how) {
    int[] calls = {0};
    UnaryOperator<List<Byte>> change =
        old -> {
          assertTrue(++calls[0] <= KEYS, "called too often");
          return changed(old, number, how);
        };
    List<Byte> result =
        switch (kind) {
          case 0 -> map.compute(key, (k, old) -> old == null ? fresh(number) : change.apply(old));
          case 1 -> map.computeIfPresent(key, (k, old) -> change.apply(old));
          case 2 -> map.merge(key, fresh(number), (old, value) -> change.apply(old));
          case 3 -> map.computeIfAbsent(key, k -> how == 3 ? null : fresh(number));
          case 4 -> {
            map.replaceAll((k, old) -> how == 3 ? fresh(number) : change.apply(old));
            yield null;
          }
          case 5 -> {
            for (Map.Entry<Byte, List<Byte>> e : map.entrySet()) {
              if (e.getKey() == key) {
                e.getValue().add(number);
                if (map instanceof TableMap<?, ?>) {
                  e.setValue(e.getValue()); // entries of a skip list don't support it
                }
              }
            }
            yield null;
          }
          case 6 -> map.putIfAbsent(key, fresh(number));
          default -> map.remove(key);
        };
    return result == null ? "null" : List.copyOf(result);
  }

  private static List<Byte> fresh(byte number) {
    return new ArrayList<>(List.of(number));
  }

  private static List<Byte> changed(List<Byte> old, byte number, int how) {
    return switch (how) {
      case 0 -> {
        old.add(number);
        if (old.size() > 12) {
          old.clear();
        }
        yield old;
      }
      case 1 -> old;
      case 2 -> fresh(number);
      default -> null;
    };
  }
}
