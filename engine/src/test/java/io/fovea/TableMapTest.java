package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.testing.ConcurrentNavigableMapTestSuiteBuilder;
import com.google.common.collect.testing.TestStringSortedMapGenerator;
import com.google.common.collect.testing.features.CollectionFeature;
import com.google.common.collect.testing.features.CollectionSize;
import com.google.common.collect.testing.features.Feature;
import com.google.common.collect.testing.features.MapFeature;
import io.fovea.error.InvalidUseException;
import io.fovea.schema.Field;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.support.Sample;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Enumeration;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import junit.framework.TestFailure;
import junit.framework.TestResult;
import junit.framework.TestSuite;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tables as maps: Guava's suite for concurrent navigable maps, and additional tests. */
@Tag("slow")
class TableMapTest {
  private static final ByteCodec<String> TEXT =
      new ByteCodec<>() {
        @Override
        public byte[] encode(String object) {
          return object.getBytes(StandardCharsets.UTF_8);
        }

        @Override
        public String decode(byte[] bytes) {
          return new String(bytes, StandardCharsets.UTF_8);
        }
      };

  private static final Layout.Definition B = Layout.define();
  private static final Field VALUE = B.text("value", 100);
  private static final Layout LAYOUT = B.build();

  private static final KeyCodec<String> KEYS =
      new KeyCodec<>() {
        @Override
        public void encode(String object, Key key) {
          key.text(object);
        }

        @Override
        public String decode(Key key) {
          return key.getText(0);
        }
      };

  private static final Codec<String> ROWS =
      new Codec<>() {
        @Override
        public void encode(String object, Row row) {
          row.setText(VALUE, object);
        }

        @Override
        public String decode(Row row) {
          return row.getText(VALUE);
        }
      };

  /** The suite creates thousands of empty maps, and uses about two at a time. */
  private static final int TABLES = 50;

  private static Database db;
  private static final List<Table<String, String>> BYTES = new ArrayList<>();
  private static final List<Table<String, String>> ROWS_TABLES = new ArrayList<>();

  @BeforeAll
  static void open() {
    db = Database.inMemory(Options.defaults());
    BYTES.clear();
    ROWS_TABLES.clear();
  }

  @AfterAll
  static void close() {
    db.close();
  }

  private static Table<String, String> bytes() {
    return empty(BYTES, TableMapTest::newBytes);
  }

  private static Table<String, String> rows() {
    return empty(ROWS_TABLES, TableMapTest::newRows);
  }

  private static Table<String, String> empty(
      List<Table<String, String>> tables, Function<String, Table<String, String>> another) {
    Table<String, String> table;
    if (tables.size() < TABLES) {
      table = another.apply("table " + tables.size());
    } else {
      table = tables.removeFirst();
      table.asMap().clear();
    }
    tables.add(table);
    return table;
  }

  private static Table<String, String> newBytes(String name) {
    return db.table(TableSpec.bytes("bytes " + name, 100)).as(TEXT, TEXT);
  }

  private static Table<String, String> newRows(String name) {
    KeySpec.Definition key = KeySpec.define();
    key.text("key", 100);
    return db.table(TableSpec.of("rows " + name, key.build(), LAYOUT)).as(KEYS, ROWS);
  }

  private static final class Generator extends TestStringSortedMapGenerator {
    private final boolean rows;

    Generator(boolean rows) {
      this.rows = rows;
    }

    @Override
    protected SortedMap<String, String> create(Map.Entry<String, String>[] entries) {
      ConcurrentNavigableMap<String, String> map = (rows ? rows() : bytes()).asMap();
      for (Map.Entry<String, String> e : entries) {
        map.put(e.getKey(), e.getValue());
      }
      return map;
    }
  }

  @Test
  void isAConcurrentNavigableMapOfBytes() {
    suite(false, CollectionSize.ANY);
  }

  /** Rows differ from bytes only in how records are read, so a sample of the suite is enough. */
  @Test
  void isAConcurrentNavigableMapOfRows() {
    suite(true, CollectionSize.SEVERAL);
  }

  private static void suite(boolean rows, Feature<?> sizes) {
    TestSuite suite =
        ConcurrentNavigableMapTestSuiteBuilder.using(new Generator(rows))
            .named(rows ? "rows" : "bytes")
            .withFeatures(
                sizes,
                CollectionFeature.KNOWN_ORDER,
                CollectionFeature.SUPPORTS_ITERATOR_REMOVE,
                MapFeature.GENERAL_PURPOSE)
            .createTestSuite();
    List<junit.framework.Test> all = new ArrayList<>();
    collect(suite, all);
    TestResult result = new TestResult();
    Sample sample = Sample.oneOf(3);
    for (int i = sample.first(); i < all.size(); i += sample.stride()) {
      all.get(i).run(result);
    }
    List<String> wrong = new ArrayList<>();
    for (Enumeration<TestFailure> e = result.errors(); e.hasMoreElements(); ) {
      wrong.add(e.nextElement().trace());
    }
    for (Enumeration<TestFailure> e = result.failures(); e.hasMoreElements(); ) {
      wrong.add(e.nextElement().trace());
    }
    assertTrue(
        wrong.isEmpty(),
        () ->
            wrong.size()
                + " tests of the suite fail, -Dsample.seed="
                + Sample.seed()
                + ": "
                + wrong.stream().limit(5).toList());
    assertTrue(result.runCount() > 1_600, () -> result.runCount() + " tests");
  }

  /** Collects the tests of a suite, of which a sample is run. */
  private static void collect(junit.framework.Test test, List<junit.framework.Test> all) {
    if (test instanceof TestSuite suite) {
      for (int i = 0; i < suite.testCount(); i++) {
        collect(suite.testAt(i), all);
      }
    } else {
      all.add(test);
    }
  }

  @Test
  void iteratorBatchesAreContiguous() {
    for (Table<String, String> t : List.of(bytes(), rows())) {
      ConcurrentNavigableMap<String, String> map = t.asMap();
      for (int n : new int[] {0, 255, 256, 257, 512, 513}) {
        map.clear();
        TreeMap<String, String> model = new TreeMap<>();
        for (int i = 0; i < n; i++) {
          model.put("key " + i, "value " + i);
        }
        map.putAll(model);
        assertEquals(n, map.size());
        assertEquals(new ArrayList<>(model.keySet()), new ArrayList<>(map.keySet()));
        assertEquals(
            new ArrayList<>(model.descendingMap().values()),
            new ArrayList<>(map.descendingMap().values()));
        assertEquals(
            new ArrayList<>(model.headMap("key 300", true).entrySet()),
            new ArrayList<>(map.headMap("key 300", true).entrySet()));
        assertEquals(model, map);
      }
    }
  }

  /** All combinations of existing bounds, excluded bounds and descending maps, for a few keys. */
  @Test
  void navigatesLikeASkipList() {
    ConcurrentSkipListMap<String, String> model = new ConcurrentSkipListMap<>();
    ConcurrentNavigableMap<String, String> map = bytes().asMap();
    for (String k : List.of("b", "d", "dd", "f")) {
      model.put(k, k + k);
      map.put(k, k + k);
    }
    List<String> keys = List.of("a", "b", "c", "d", "dd", "de", "f", "g");
    for (String lo : keys) {
      for (String hi : keys) {
        for (int mode = 0; mode < 8; mode++) {
          boolean loIn = (mode & 1) != 0;
          boolean hiIn = (mode & 2) != 0;
          boolean down = (mode & 4) != 0;
          String from = down ? hi : lo;
          String to = down ? lo : hi;
          var a =
              outcome(() -> (down ? model.descendingMap() : model).subMap(from, loIn, to, hiIn));
          var b = outcome(() -> (down ? map.descendingMap() : map).subMap(from, loIn, to, hiIn));
          if (a instanceof ConcurrentNavigableMap<?, ?> m && b instanceof TableMap<?, ?> t) {
            same(m, t, keys);
          } else {
            assertEquals(a, b);
          }
        }
      }
    }
  }

  @SuppressWarnings("unchecked")
  private static void same(
      ConcurrentNavigableMap<?, ?> expected, ConcurrentNavigableMap<?, ?> found, List<String> at) {
    ConcurrentNavigableMap<String, String> a = (ConcurrentNavigableMap<String, String>) expected;
    ConcurrentNavigableMap<String, String> b = (ConcurrentNavigableMap<String, String>) found;
    assertEquals(new ArrayList<>(a.entrySet()), new ArrayList<>(b.entrySet()));
    assertEquals(a.firstEntry(), b.firstEntry());
    assertEquals(a.lastEntry(), b.lastEntry());
    for (String k : at) {
      assertEquals(a.get(k), b.get(k));
      assertEquals(a.floorKey(k), b.floorKey(k));
      assertEquals(a.lowerKey(k), b.lowerKey(k));
      assertEquals(a.ceilingKey(k), b.ceilingKey(k));
      assertEquals(a.higherKey(k), b.higherKey(k));
      assertEquals(
          outcome(() -> new ArrayList<>(a.tailMap(k, false).keySet())),
          outcome(() -> new ArrayList<>(b.tailMap(k, false).keySet())));
    }
  }

  private static Object outcome(java.util.function.Supplier<?> what) {
    try {
      return what.get();
    } catch (IllegalArgumentException e) {
      return e.getClass();
    }
  }

  /** Concurrent calls are atomic: sums are right, and each key is taken once. */
  @Test
  void callsAreAtomic() throws Exception {
    ConcurrentNavigableMap<String, String> map = bytes().asMap();
    IntStream.range(0, 200).forEach(i -> map.put("job " + i, "x"));
    int threads = 8;
    try (ExecutorService pool = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<List<String>>> all = new ArrayList<>();
      for (int t = 0; t < threads; t++) {
        all.add(
            pool.submit(
                () -> {
                  List<String> taken = new ArrayList<>();
                  for (int i = 0; i < 100; i++) {
                    map.merge("sum", "1", (a, b) -> "" + (Integer.parseInt(a) + 1));
                    map.compute("n", (k, old) -> old == null ? "1" : old + "1");
                    map.putIfAbsent("once", Thread.currentThread().toString());
                    Map.Entry<String, String> job = map.subMap("job", "k").pollFirstEntry();
                    if (job != null) {
                      taken.add(job.getKey());
                    }
                  }
                  return taken;
                }));
      }
      List<String> taken = new ArrayList<>();
      for (Future<List<String>> f : all) {
        taken.addAll(f.get());
      }
      assertEquals(200, taken.size());
      assertEquals(200, taken.stream().distinct().count());
    }
    assertEquals("" + 100 * threads, map.get("sum"));
    assertEquals(100 * threads, map.get("n").length());
  }

  @Test
  void failingFunctionsChangeNothing() {
    ConcurrentNavigableMap<String, String> map = bytes().asMap();
    map.put("a", "1");
    assertThrows(
        IllegalStateException.class,
        () ->
            map.compute(
                "a",
                (k, v) -> {
                  throw new IllegalStateException("on purpose");
                }));
    assertThrows(InvalidUseException.class, () -> map.compute("a", (k, v) -> map.get("a")));
    assertThrows(InvalidUseException.class, () -> db.run(tx -> map.put("a", "2")));
    assertThrows(NullPointerException.class, () -> map.merge("a", null, (a, b) -> a));
    assertEquals("1", map.get("a"));
    assertNull(map.computeIfPresent("a", (k, v) -> null));
    assertNull(map.get("a"));
  }

  @Test
  void ordersLikeTheTable() {
    ConcurrentNavigableMap<String, String> map = bytes().asMap();
    // UTF-8 and UTF-16 order differ beyond the surrogates.
    List<String> keys = List.of("\uFF61", "\uD83D\uDE00", "z");
    keys.forEach(k -> map.put(k, k));
    List<String> byBytes =
        keys.stream()
            .sorted(Comparator.comparing(TEXT::encode, java.util.Arrays::compareUnsigned))
            .collect(Collectors.toList());
    assertEquals(byBytes, new ArrayList<>(map.keySet()));
    assertEquals(byBytes, keys.stream().sorted(map.comparator()).toList());
    assertEquals(
        byBytes.reversed(), keys.stream().sorted(map.descendingMap().comparator()).toList());
  }

  @Test
  void aMapOfASnapshotIsConsistent() {
    TableSpec spec = TableSpec.bytes("for a snapshot", 100);
    ConcurrentNavigableMap<String, String> now = db.table(spec).as(TEXT, TEXT).asMap();
    IntStream.range(0, 1000).forEach(i -> now.put("k" + i, "old"));
    try (Database snapshot = db.snapshot()) {
      ConcurrentNavigableMap<String, String> then = snapshot.table(spec).as(TEXT, TEXT).asMap();
      Iterator<String> values = then.values().iterator();
      int n = 0;
      while (values.hasNext()) {
        assertEquals("old", values.next());
        now.put("k" + n, "new");
        n++;
      }
      assertEquals(1000, n);
      assertThrows(InvalidUseException.class, () -> then.put("a", "b"));
    }
    assertTrue(now.values().stream().allMatch("new"::equals));
  }
}
