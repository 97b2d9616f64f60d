package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Protocol;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.IncompatibleSchemaException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.schema.EntryHints;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.Id;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Secondary indexes of byte-string tables. */
class ByteIndexTest {
  private static final Options SMALL = Options.defaults().bufferBytes(4 << 20);
  private static final TableSpec PLAIN = TableSpec.bytes("t", 40);

  /** By the length of the value; empty values have no entry. */
  private static final IndexSpec BY_LENGTH =
      IndexSpec.bytes(
          "by_length",
          KeySpec.of(FieldType.INT32),
          false,
          (key, value, entry) -> {
            entry.int32(value.length);
            return value.length > 0;
          });

  /** By the value as a byte string, and the first byte of the key. */
  private static final IndexSpec BY_VALUE =
      IndexSpec.bytes(
          "by_value",
          KeySpec.builder().bytes("value", 30).int32("first").build(),
          false,
          (key, value, entry) -> {
            entry.bytes(value, 0, Math.min(30, value.length)).int32(key[0]);
            return true;
          });

  /** Unique, by the value; values with a dash have no entry. */
  private static final IndexSpec UNIQUE =
      IndexSpec.bytes(
          "unique",
          KeySpec.builder().text("value", 30).build(),
          true,
          (key, value, entry) -> {
            String s = string(value);
            if (s.startsWith("-")) {
              return false;
            }
            entry.text(s);
            return true;
          });

  private static final TableSpec SPEC = PLAIN.with(BY_LENGTH).with(BY_VALUE).with(UNIQUE);

  @TempDir Path dir;

  private static byte[] bytes(String s) {
    return s.getBytes(StandardCharsets.UTF_8);
  }

  private static String string(byte[] b) {
    return new String(b, StandardCharsets.UTF_8);
  }

  private static @Nullable String string(Map.@Nullable Entry<byte[], byte[]> e) {
    return e == null ? null : string(e.getKey()) + "=" + string(e.getValue());
  }

  private static void put(Database db, Table<byte[], byte[]> t, String... records) {
    db.run(
        tx -> {
          for (String r : records) {
            int at = r.indexOf('=');
            t.put(tx, bytes(r.substring(0, at)), bytes(r.substring(at + 1)));
          }
        });
  }

  private static List<String> all(Database db, Index<Key, byte[], byte[]> index, ScanOrder order) {
    return db.read(tx -> index.stream(tx, null, null, order).map(e -> string(e)).toList());
  }

  private static List<String> all(Database db, Index<Key, byte[], byte[]> index) {
    return all(db, index, ScanOrder.ASCENDING);
  }

  private static void requireSound(Database db) {
    VerifyReport report = db.verify();
    assertTrue(report.ok(), report::toString);
  }

  @ParameterizedTest
  @EnumSource(Protocol.class)
  void recordsInAnotherOrder(Protocol protocol) {
    Options options = SMALL.experiments(e -> e.protocol(protocol));
    try (Database db = Database.inMemory(options)) {
      Table<byte[], byte[]> t = db.table(SPEC).bytes();
      put(db, t, "a=333", "b=1", "c=22", "d=", "e=99", "f=-none");
      Index<Key, byte[], byte[]> byLength = t.index("by_length", Key.class);
      Index<Key, byte[], byte[]> unique = t.index("unique", Key.class);
      assertEquals(List.of("b=1", "c=22", "e=99", "a=333", "f=-none"), all(db, byLength));
      assertEquals(5, byLength.count());
      assertEquals(5, unique.count());
      assertEquals(6, t.index("by_value", Key.class).count());
      assertTrue(byLength.dataBytes() > 0);
      assertEquals("by_length", byLength.name());
      assertFalse(byLength.isUnique());
      assertTrue(unique.isUnique());
      assertEquals(BY_LENGTH, byLength.spec());
      Key two = byLength.key().set(2);
      assertEquals(
          List.of("e=99", "c=22"),
          db.read(
              tx -> byLength.stream(tx, two, ScanOrder.DESCENDING).map(e -> string(e)).toList()));
      db.run(
          tx -> {
            assertEquals("c=22", string(byLength.get(tx, two)));
            assertNull(byLength.get(tx, byLength.key().set(4)));
            assertEquals("b=1", string(byLength.first(tx)));
            assertEquals("f=-none", string(byLength.last(tx)));
            assertEquals("e=99", string(byLength.floor(tx, two)));
            assertEquals("c=22", string(byLength.ceiling(tx, two)));
            assertEquals("b=1", string(byLength.lower(tx, two)));
            assertEquals("a=333", string(byLength.higher(tx, two)));
            assertNull(byLength.lower(tx, byLength.key().set(1)));
            assertEquals("e=99", string(unique.get(tx, unique.key().text("99"))));
            assertNull(unique.get(tx, unique.key().text("-none")));
            assertEquals("e=99", string(unique.get(tx, unique.key().textPrefix("9"))));
            assertEquals("d=", string(unique.get(tx, unique.key().text(""))));
            assertEquals("d=", string(unique.get(tx, unique.key())));
            assertEquals(
                Arrays.asList("a=333", null, "d=", "a=333"),
                unique
                    .getAll(
                        tx,
                        List.of(
                            unique.key().text("333"),
                            unique.key().text("4"),
                            unique.key().text(""),
                            unique.key().text("333")))
                    .stream()
                    .map(e -> string(e))
                    .toList());
            assertEquals(
                Arrays.asList(null, "c=22"),
                byLength.getAll(tx, List.of(byLength.key().set(9), two)).stream()
                    .map(e -> string(e))
                    .toList());
            assertEquals(List.of(), byLength.getAll(tx, List.of()));
            assertTrue(byLength.estimate(tx, null, null).count() > 0);
          });
      requireSound(db);
    }
  }

  @Test
  void cursorReturnsIndexKeyPrimaryKeyAndValue() {
    try (Database db = Database.inMemory(SMALL)) {
      Table<byte[], byte[]> t = db.table(PLAIN.with(BY_LENGTH).with(BY_VALUE)).bytes();
      put(db, t, "a=xx", "b=x", "c=xx", "da=y");
      Index<Key, byte[], byte[]> byValue = t.index("by_value", Key.class);
      Index<Key, byte[], byte[]> other = t.index("by_length", Key.class);
      db.run(
          tx -> {
            try (IndexCursor<Key, byte[], byte[]> c =
                byValue.scan(tx, null, null, ScanOrder.ASCENDING)) {
              assertThrows(InvalidUseException.class, c::indexKey);
              assertTrue(c.next());
              assertArrayEquals(bytes("x"), c.indexKey().getBytes(0));
              assertEquals('b', c.indexKey().getInt(1));
              assertArrayEquals(bytes("b"), c.key());
              assertArrayEquals(bytes("x"), c.value());
              assertTrue(c.next());
              assertEquals('a', c.indexKey().getInt(1));
              assertTrue(c.last());
              assertArrayEquals(bytes("da"), c.key());
              assertTrue(c.indexKey().isComplete());
              assertTrue(c.previous());
              assertArrayEquals(bytes("c"), c.key());
              assertTrue(c.first());
              assertArrayEquals(bytes("b"), c.key());
              assertTrue(c.seek(byValue.key().bytes(bytes("xx")).int32('b')));
              assertArrayEquals(bytes("c"), c.key());
              assertTrue(c.seek(byValue.key().bytes(bytes("xx"))));
              assertArrayEquals(bytes("a"), c.key());
              assertFalse(c.seek(byValue.key().bytes(bytes("z"))));
              assertThrows(InvalidUseException.class, c::key);
              assertThrows(InvalidUseException.class, () -> c.seek(other.key().set(1)));
            }
            IndexCursor<Key, byte[], byte[]> down =
                byValue.scan(tx, null, null, ScanOrder.DESCENDING);
            assertTrue(down.seek(byValue.key().bytes(bytes("xx"))));
            assertArrayEquals(bytes("c"), down.key());
            down.close();
            down.close();
            assertThrows(InvalidUseException.class, down::next);
            assertThrows(
                InvalidUseException.class,
                () -> byValue.scan(tx, other.key().set(1), ScanOrder.ASCENDING));
          });
    }
  }

  /** Keys that are prefixes of others or contain zeros sort as unsigned bytes. */
  @Test
  void anyBytesAreSorted() {
    try (Database db = Database.inMemory(SMALL)) {
      Table<byte[], byte[]> t = db.table(PLAIN.with(BY_VALUE)).bytes();
      List<byte[]> values = new ArrayList<>();
      for (int a : new int[] {-1, 0, 1, 0xFE, 0xFF}) {
        for (int b : new int[] {-1, 0, 1, 0xFF}) {
          values.add(
              a < 0
                  ? new byte[Math.max(0, b & 1)]
                  : b < 0 ? new byte[] {(byte) a} : new byte[] {(byte) a, (byte) b});
        }
      }
      db.run(
          tx -> {
            int n = 0;
            for (byte[] v : values) {
              t.put(tx, new byte[] {(byte) n, (byte) (n++ * 37)}, v);
              t.put(tx, new byte[] {(byte) n++}, v);
            }
          });
      TreeSet<byte[]> sorted = new TreeSet<>(Arrays::compareUnsigned);
      sorted.addAll(values);
      List<byte[]> found =
          db.read(
              tx ->
                  t.index("by_value", Key.class).stream(tx, null, null, ScanOrder.ASCENDING)
                      .map(Map.Entry::getValue)
                      .toList());
      assertEquals(2 * values.size(), found.size());
      List<byte[]> distinct = new ArrayList<>();
      for (byte[] v : found) {
        if (distinct.isEmpty() || !Arrays.equals(distinct.getLast(), v)) {
          distinct.add(v);
        }
      }
      assertArrayEquals(sorted.toArray(), distinct.toArray());
      requireSound(db);
    }
  }

  @Test
  void everyStatementMaintainsTheIndex() {
    try (Database db = Database.inMemory(SMALL)) {
      Table<byte[], byte[]> t = db.table(SPEC).bytes();
      Index<Key, byte[], byte[]> byLength = t.index("by_length", Key.class);
      put(db, t, "a=1", "b=22", "c=333", "d=4444", "e=55555");
      db.run(
          tx -> {
            t.update(tx, bytes("a"), bytes("1111111"));
            assertFalse(t.updateIfPresent(tx, bytes("x"), bytes("1")));
            assertTrue(t.delete(tx, bytes("b")));
            assertFalse(t.delete(tx, bytes("b")));
            t.insert(tx, bytes("f"), bytes("6"));
            assertEquals("f=6", string(byLength.first(tx)));
            assertEquals("a=1111111", string(byLength.last(tx)));
            t.put(tx, bytes("f"), bytes("66"));
            t.put(tx, bytes("f"), bytes("66"));
          });
      assertEquals(List.of("f=66", "c=333", "d=4444", "e=55555", "a=1111111"), all(db, byLength));
      db.run(tx -> assertEquals(2, t.deleteRange(tx, bytes("c"), bytes("e"))));
      db.run(tx -> assertEquals(1, t.deleteRange(tx, null, null, 1)));
      assertEquals(List.of("f=66", "e=55555"), all(db, byLength));
      db.run(tx -> assertEquals(1, t.deletePrefix(tx, bytes("e"))));
      ByteCodec<String> codec =
          new ByteCodec<>() {
            @Override
            public byte[] encode(String s) {
              return bytes(s);
            }

            @Override
            public String decode(byte[] b) {
              return string(b);
            }
          };
      ConcurrentNavigableMap<String, String> map = t.table().as(codec, codec).asMap();
      map.compute("f", (k, v) -> v + "6");
      map.putIfAbsent("g", "7");
      map.merge("g", "7", String::concat);
      map.replace("g", "77", "7");
      assertEquals(List.of("g=7", "f=666"), all(db, byLength));
      map.remove("g");
      map.clear();
      assertEquals(0, byLength.count());
      requireSound(db);
      try (Transaction tx = db.begin()) {
        t.put(tx, bytes("z"), bytes("z"));
      }
      assertEquals(0, byLength.count());
      requireSound(db);
    }
  }

  @Test
  void visitorsMayChangeTheTable() {
    try (Database db = Database.inMemory(SMALL)) {
      Table<byte[], byte[]> t = db.table(SPEC).bytes();
      Index<Key, byte[], byte[]> byLength = t.index("by_length", Key.class);
      put(db, t, "a=1", "b=22", "c=333");
      db.run(
          tx ->
              byLength.forEach(
                  tx,
                  null,
                  byLength.key().set(3),
                  (k, v) -> {
                    t.delete(tx, k);
                    t.put(tx, bytes(string(k) + "+"), new byte[10 + v.length]);
                  }));
      assertEquals(3, byLength.count());
      db.run(
          tx -> {
            try (IndexCursor<Key, byte[], byte[]> c =
                byLength.scan(tx, null, null, ScanOrder.ASCENDING)) {
              assertTrue(c.next());
              t.delete(tx, c.key());
              assertThrows(InvalidUseException.class, c::value);
            }
          });
      requireSound(db);
    }
  }

  @Test
  void aValueOfAUniqueIndexHasOneRecord() {
    try (Database db = Database.inMemory(SMALL)) {
      Table<byte[], byte[]> t = db.table(SPEC).bytes();
      put(db, t, "a=1", "b=-1", "c=-1");
      db.run(
          tx -> {
            String why =
                assertThrows(DuplicateKeyException.class, () -> t.put(tx, bytes("d"), bytes("1")))
                    .getMessage();
            assertTrue(why.contains("unique") && why.contains("1"), why);
            assertThrows(DuplicateKeyException.class, () -> t.insert(tx, bytes("b"), bytes("1")));
            assertThrows(DuplicateKeyException.class, () -> t.insert(tx, bytes("b"), bytes("9")));
            assertThrows(DuplicateKeyException.class, () -> t.put(tx, bytes("b"), bytes("1")));
            t.put(tx, bytes("a"), bytes("1"));
            t.put(tx, bytes("a"), bytes("2"));
            t.put(tx, bytes("d"), bytes("1"));
          });
      assertEquals(List.of("d=1", "a=2"), all(db, t.index("unique", Key.class)));
      requireSound(db);
      assertTrue(db.dropIndex("t", "unique"));
      put(db, t, "e=1");
      assertThrows(DuplicateKeyException.class, () -> db.table(SPEC));
      assertEquals(2, db.describe("t").indexes().size());
      db.run(tx -> t.delete(tx, bytes("e")));
      assertEquals(2, db.table(SPEC).bytes().index("unique", Key.class).count());
      requireSound(db);
    }
  }

  /** If an extractor throws or omits a value, the call fails before any change. */
  @Test
  void failingExtractorsAreRefused() {
    IndexSpec picky =
        IndexSpec.bytes(
            "picky",
            KeySpec.builder().bytes("a", 1_000).bytes("b", 60_000).build(),
            false,
            (key, value, entry) -> {
              switch (string(value)) {
                case "none" -> throw new IllegalArgumentException("none");
                case "bounds" -> throw new ArrayIndexOutOfBoundsException("bounds");
                case "half" -> entry.bytes(value);
                case "long" -> entry.bytes(value).bytes(new byte[50_000]);
                default -> entry.bytes(value).bytes(key);
              }
              return true;
            });
    try (Database db = Database.inMemory(SMALL)) {
      Table<byte[], byte[]> t = db.table(PLAIN.with(picky)).bytes();
      put(db, t, "a=1");
      db.run(
          tx -> {
            for (String key : List.of("a", "b")) {
              byte[] k = bytes(key);
              assertEquals(
                  "none",
                  assertThrows(IllegalArgumentException.class, () -> t.put(tx, k, bytes("none")))
                      .getMessage());
              assertThrows(
                  ArrayIndexOutOfBoundsException.class, () -> t.put(tx, k, bytes("bounds")));
              assertThrows(InvalidUseException.class, () -> t.put(tx, k, bytes("half")));
              assertThrows(KeyTooLargeException.class, () -> t.put(tx, k, bytes("long")));
            }
            assertThrows(KeyTooLargeException.class, () -> t.insert(tx, bytes("b"), bytes("long")));
          });
      assertEquals(List.of("a=1"), all(db, t.index("picky", Key.class)));
      assertThrows(
          KeyTooLargeException.class,
          () ->
              db.run(
                  tx ->
                      t.index("picky", Key.class)
                          .get(
                              tx,
                              t.index("picky", Key.class)
                                  .key()
                                  .bytes(new byte[9])
                                  .bytes(new byte[50_000]))));
      requireSound(db);
    }
    for (String bad : List.of("none", "bounds", "half", "long")) {
      try (Database db = Database.inMemory(SMALL)) {
        Table<byte[], byte[]> t = db.table(PLAIN).bytes();
        put(db, t, "a=1", "b=" + bad);
        assertThrows(RuntimeException.class, () -> db.table(PLAIN.with(picky)), bad);
        assertEquals(List.of(), db.describe("t").indexes());
        put(db, t, "c=" + bad);
        requireSound(db);
      }
    }
  }

  @Test
  void valuesOfManyPages() {
    IndexSpec byEnd =
        IndexSpec.bytes(
            "by_end",
            KeySpec.of(FieldType.INT32),
            true,
            (key, value, entry) -> {
              entry.int32(value[value.length - 1]);
              return true;
            });
    try (Database db = Database.inMemory(SMALL)) {
      Table<byte[], byte[]> t = db.table(PLAIN.with(byEnd)).bytes();
      Index<Key, byte[], byte[]> index = t.index("by_end", Key.class);
      for (int i = 0; i < 20; i++) {
        byte[] value = new byte[1 + i * 7_000];
        value[value.length - 1] = (byte) (100 - i);
        byte[] key = {(byte) i};
        db.run(tx -> t.put(tx, key, value));
      }
      for (int i = 0; i < 20; i++) {
        int length = 1 + i * 7_000;
        Key key = index.key().set(100 - i);
        assertEquals(length, db.read(tx -> index.get(tx, key)).getValue().length);
      }
      db.run(
          tx -> {
            List<Key> keys = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
              keys.add(index.key().set(100 - i));
            }
            assertEquals(20, index.getAll(tx, keys).stream().map(Map.Entry::getKey).count());
            assertEquals(19 * 7_000 + 1, index.first(tx).getValue().length);
            assertEquals(10, t.deleteRange(tx, new byte[] {5}, new byte[] {15}));
          });
      assertEquals(10, index.count());
      requireSound(db);
    }
  }

  @Test
  void pagesOfRecords() {
    try (Database db = Database.inMemory(SMALL)) {
      Table<byte[], byte[]> t = db.table(PLAIN.with(BY_LENGTH)).bytes();
      Index<Key, byte[], byte[]> index = t.index("by_length", Key.class);
      db.run(
          tx -> {
            for (int i = 0; i < 100; i++) {
              t.put(tx, new byte[] {(byte) (i + 1)}, new byte[1 + i % 3]);
            }
          });
      for (ScanOrder order : ScanOrder.values()) {
        List<Integer> seen = new ArrayList<>();
        String after = null;
        do {
          String token = after;
          Page<Map.Entry<byte[], byte[]>> page =
              db.read(tx -> index.page(tx, null, null, order, token, 7));
          page.items().forEach(e -> seen.add(e.getValue().length * 1000 + e.getKey()[0]));
          after = page.next();
        } while (after != null);
        assertEquals(100, seen.size());
        assertEquals(100, new TreeSet<>(seen).size());
        List<Integer> sorted = new ArrayList<>(new TreeSet<>(seen));
        assertEquals(order == ScanOrder.ASCENDING ? sorted : sorted.reversed(), seen);
      }
      assertThrows(
          InvalidUseException.class,
          () -> db.read(tx -> index.page(tx, null, null, ScanOrder.ASCENDING, "x", 7)));
    }
  }

  @Test
  void loadsAddEntries() {
    try (Database db = Database.inMemory(SMALL)) {
      Table<byte[], byte[]> t = db.table(SPEC).bytes();
      put(db, t, "b0=000");
      t.load(
          into -> {
            for (int i = 0; i < 2_000; i++) {
              into.add(bytes("a" + i), bytes(i % 10 == 0 ? "-" : "v" + i));
            }
          });
      assertEquals(2_001, t.index("by_length", Key.class).count());
      assertEquals(1_801, t.index("unique", Key.class).count());
      assertThrows(
          DuplicateKeyException.class, () -> t.load(into -> into.add(bytes("c"), bytes("v1"))));
      Index<Key, byte[], byte[]> unique = t.index("unique", Key.class);
      assertEquals(
          "a1999=v1999", db.read(tx -> string(unique.get(tx, unique.key().text("v1999")))));
      requireSound(db);
    }
  }

  private Database file() {
    return Database.open(dir.resolve("file"), SMALL);
  }

  @Test
  void reopenedWithItsExtractors() {
    try (Database db = file()) {
      put(db, db.table(SPEC).bytes(), "a=1", "b=22");
    }
    try (Database db = file()) {
      requireSound(db); // no extractors declared yet
      assertThrows(IncompatibleSchemaException.class, () -> db.table(PLAIN));
      TableSpec described = db.describe("t");
      assertEquals(List.of("by_length", "by_value", "unique"), names(described));
      assertTrue(described.indexes().getFirst().isDescribed());
      assertThrows(InvalidUseException.class, () -> db.table(described));
      IndexSpec other =
          IndexSpec.bytes("by_length", KeySpec.of(FieldType.INT64), false, (k, v, e) -> false);
      assertThrows(
          IncompatibleSchemaException.class,
          () -> db.table(PLAIN.with(other).with(BY_VALUE).with(UNIQUE)));
      Table<byte[], byte[]> t = db.table(SPEC).bytes();
      put(db, t, "c=333", "a=4444");
      assertEquals(List.of("b=22", "c=333", "a=4444"), all(db, t.index("by_length", Key.class)));
      requireSound(db);
      try (Database then = db.snapshot()) {
        Table<byte[], byte[]> old = then.table(SPEC).bytes();
        put(db, t, "d=1");
        assertEquals(3, all(then, old.index("by_length", Key.class)).size());
        assertEquals(3, all(then, old.index("unique", Key.class)).size());
        requireSound(then);
      }
    }
    try (Database db = Database.open(dir.resolve("file"), SMALL.readOnly(true))) {
      Table<byte[], byte[]> t = db.table(db.describe("t")).bytes();
      List<String> keys =
          db.read(
              tx -> {
                List<String> found = new ArrayList<>();
                try (IndexCursor<Key, byte[], byte[]> c =
                    t.index("by_length", Key.class).scan(tx, null, null, ScanOrder.DESCENDING)) {
                  while (c.next()) {
                    found.add(string(c.key()) + "=" + string(c.value()));
                  }
                }
                return found;
              });
      assertEquals(List.of("a=4444", "c=333", "b=22", "d=1"), keys);
      assertEquals(
          List.of("d=1", "b=22", "c=333", "a=4444"), all(db, t.index("by_length", Key.class)));
    }
    assertEquals(List.of(), FileReport.verify(dir.resolve("file"), SMALL).problems());
  }

  private static List<String> names(TableSpec spec) {
    return spec.indexes().stream().map(IndexSpec::name).toList();
  }

  @Test
  void aTransactionCreatesATableWithIndexes() {
    try (Database db = file()) {
      db.run(
          tx -> {
            Table<byte[], byte[]> t = tx.table(SPEC).bytes();
            t.put(tx, bytes("a"), bytes("1"));
            assertEquals("a=1", string(t.index("by_length", Key.class).first(tx)));
          });
      db.run(tx -> tx.renameTable("t", "other"));
      assertTrue(db.renameIndex("other", "unique", "only"));
      requireSound(db);
    }
    try (Database db = file()) {
      IndexSpec only = IndexSpec.bytes("only", UNIQUE.extractedKey(), true, UNIQUE.byteExtractor());
      TableSpec renamed = TableSpec.bytes("other", 40).with(BY_LENGTH).with(BY_VALUE).with(only);
      Table<byte[], byte[]> t = db.table(renamed).bytes();
      assertEquals(1, t.index("only", Key.class).count());
      requireSound(db);
    }
  }

  @ParameterizedTest
  @EnumSource(EntryHints.class)
  void hintsInEntries(EntryHints hints) {
    TableSpec spec = PLAIN.with(BY_LENGTH.hints(hints)).with(UNIQUE.hints(hints));
    try (Database db = Database.inMemory(SMALL)) {
      Table<byte[], byte[]> t = db.table(spec).bytes();
      Index<Key, byte[], byte[]> unique = t.index("unique", Key.class);
      for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 2_000; i += 1 + round) {
          String name = "k" + i * 7919 % 2_000;
          put(db, t, name + "=" + name + "x".repeat(round));
        }
        for (int i = 0; i < 2_000; i++) {
          String name = "k" + i;
          db.run(tx -> assertNotNull(unique.get(tx, unique.key().textPrefix(name)), name));
        }
      }
      requireSound(db);
    }
  }

  record Thing(@Id long id, String name) {}

  @Test
  void wrongKindIsRejected() {
    Layout.Definition b = Layout.define();
    Field f = b.int64("f");
    TableSpec rows = TableSpec.of("rows", KeySpec.of(FieldType.INT64), b.build());
    refused("IndexSpec.bytes", () -> PLAIN.with(IndexSpec.on("i", f)));
    refused(
        "IndexSpec.bytes",
        () ->
            PLAIN.with(
                IndexSpec.extracted("i", KeySpec.of(FieldType.INT64), false, (k, r, e) -> false)));
    refused("IndexSpec.bytes", () -> PLAIN.with(IndexSpec.components("i", false, List.of("a"))));
    refused("holds rows", () -> rows.with(BY_LENGTH));
    refused("already", () -> PLAIN.with(BY_LENGTH).with(BY_LENGTH));
    refused(
        "length is not stored",
        () -> IndexSpec.bytes("i", KeySpec.ofBytes(10), false, (k, v, e) -> false));
    AtomicInteger calls = new AtomicInteger();
    try (Database db = Database.inMemory(SMALL)) {
      Table<byte[], byte[]> t =
          db.table(
                  PLAIN.with(
                      IndexSpec.bytes(
                          "i",
                          KeySpec.of(FieldType.INT64),
                          false,
                          (k, v, e) -> {
                            calls.incrementAndGet();
                            return false;
                          })))
              .bytes();
      put(db, t, "a=1");
      assertTrue(calls.get() > 0);
      assertEquals(0, t.index("i", Key.class).count());
      assertThrows(IllegalArgumentException.class, () -> t.index("j", Key.class));
      RowIndex index = t.table().index("i");
      assertEquals(0, index.count());
      db.run(
          tx ->
              assertThrows(
                  InvalidUseException.class,
                  () -> index.scan(tx, Range.all(), ScanOrder.ASCENDING)));
      Index<Key, byte[], byte[]> i = t.index("i", Key.class);
      assertTrue(db.dropIndex("t", "i"));
      db.run(tx -> assertThrows(InvalidUseException.class, () -> i.first(tx)));
      ObjectSpec<Long, Thing> things = ObjectSpec.of("things", Long.class, Thing.class);
      db.table(things);
      Table<byte[], byte[]> raw = db.table(db.describe("things")).bytes();
      assertThrows(InvalidUseException.class, () -> raw.index("i", Key.class));
    }
  }

  private static void refused(String why, Runnable what) {
    String message = assertThrows(IllegalArgumentException.class, what::run).getMessage();
    assertTrue(message.contains(why), message);
  }
}
