package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.DuplicateKeyException;
import io.fovea.error.IncompatibleSchemaException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.RecordNotFoundException;
import io.fovea.schema.Dropped;
import io.fovea.schema.Formerly;
import io.fovea.schema.Id;
import io.fovea.schema.Initial;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tables of Java records, even when the class changes. */
class ObjectTableTest {
  enum State {
    OPEN,
    CLOSED
  }

  record Address(String street, int number, Optional<String> city) {}

  record Pair<A, B>(A first, B second) {}

  record Everything(
      @Id long id,
      boolean bool,
      byte int8,
      short int16,
      char character,
      int int32,
      float float32,
      double float64,
      Boolean boxedBoolean,
      Byte boxedByte,
      Short boxedShort,
      Character boxedChar,
      Integer boxedInt,
      Long boxedLong,
      Float boxedFloat,
      Double boxedDouble,
      String text,
      BigInteger integer,
      BigDecimal decimal,
      UUID uuid,
      Instant instant,
      Duration duration,
      LocalDate date,
      LocalTime time,
      LocalDateTime dateTime,
      State state,
      Address address,
      Optional<Integer> maybe,
      List<String> list,
      Set<Long> set,
      Map<String, Address> map,
      List<List<Optional<UUID>>> nested,
      Pair<String, Pair<Long, State>> pair) {}

  record Bytes(@Id String name, byte[] content) {}

  record Point(int x, int y) {}

  record Place(@Id Point at, String name) {}

  record Account(@Id long id, String owner, BigDecimal balance) {
    Account {
      if (balance.signum() < 0) {
        throw new IllegalArgumentException("in debt");
      }
    }
  }

  private static final ObjectSpec<Long, Account> ACCOUNTS =
      ObjectSpec.of("accounts", Long.class, Account.class);

  @TempDir Path dir;

  private Database memory() {
    return Database.inMemory(Options.defaults());
  }

  private static Everything full(long id) {
    Map<String, Address> map = new LinkedHashMap<>();
    map.put("home", new Address("Rue d'Été", 7, Optional.of("Zürich")));
    map.put("work", new Address("a".repeat(300), -1, Optional.empty()));
    return new Everything(
        id,
        true,
        (byte) -5,
        Short.MIN_VALUE,
        'ß',
        Integer.MAX_VALUE,
        -0.0f,
        Double.MIN_VALUE,
        false,
        Byte.MAX_VALUE,
        (short) 3,
        '\0',
        Integer.MIN_VALUE,
        Long.MIN_VALUE,
        Float.NaN,
        Double.NEGATIVE_INFINITY,
        "𝄞 \0 text",
        BigInteger.TWO.pow(300).negate(),
        new BigDecimal("-12.3400"),
        new UUID(-1, 1),
        Instant.MIN,
        Duration.ofNanos(-1),
        LocalDate.MAX,
        LocalTime.MAX,
        LocalDateTime.MIN,
        State.CLOSED,
        new Address("", 0, Optional.of("")),
        Optional.of(0),
        Arrays.asList("a", null, ""),
        Set.of(1L),
        map,
        List.of(List.of(), List.of(Optional.empty(), Optional.of(new UUID(1, 2)))),
        new Pair<>(null, new Pair<>(9L, State.OPEN)));
  }

  private static Everything empty(long id) {
    return new Everything(
        id,
        false,
        (byte) 0,
        (short) 0,
        '\0',
        0,
        0,
        0,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        Optional.empty(),
        null,
        null,
        null,
        null,
        null);
  }

  @Test
  void everyTypeRoundTrips() {
    try (Database db = memory()) {
      Table<Long, Everything> table = db.table(ObjectSpec.of("all", Long.class, Everything.class));
      db.run(
          tx -> {
            table.insert(tx, full(1));
            table.put(tx, 2L, empty(2));
          });
      db.run(
          tx -> {
            assertEquals(full(1), table.get(tx, 1L));
            assertEquals(empty(2), table.get(tx, 2L));
            assertNull(table.get(tx, 3L));
            List<Everything> all = new ArrayList<>();
            table.scan(tx, null, null, ScanOrder.DESCENDING, (k, v) -> all.add(v));
            assertEquals(List.of(empty(2), full(1)), all);
          });
    }
  }

  @Test
  void collectionsAndTextsOfAnySize() {
    record Large(@Id int id, List<Integer> numbers, String text) {}
    try (Database db = memory()) {
      Table<Integer, Large> table = db.table(ObjectSpec.of("t", Integer.class, Large.class));
      for (int n : new int[] {0, 1, 125, 126, 127, 128, 20_000, 300_000}) {
        List<Integer> numbers = new ArrayList<>();
        for (int i = 0; i < n; i++) {
          numbers.add(i % 7 == 0 ? null : i);
        }
        for (String c : new String[] {"x", "é", "𝄞"}) {
          Large large = new Large(n, numbers, c.repeat(n));
          db.run(
              tx -> {
                table.put(tx, large);
              });
          assertEquals(large, db.call(tx -> table.get(tx, n)));
        }
      }
    }
  }

  @Test
  void bytesAreNotShared() {
    try (Database db = memory()) {
      Table<String, Bytes> table = db.table(ObjectSpec.of("b", String.class, Bytes.class));
      byte[] bytes = {1, 0, 2};
      db.run(
          tx -> {
            table.put(tx, new Bytes("a\0b", bytes));
            bytes[0] = 9;
          });
      Bytes found = db.call(tx -> table.get(tx, "a\0b"));
      assertNotNull(found);
      assertArrayEquals(new byte[] {1, 0, 2}, found.content());
    }
  }

  @Test
  void keysOfSeveralPartsAreSorted() {
    try (Database db = memory()) {
      Table<Point, Place> table = db.table(ObjectSpec.of("p", Point.class, Place.class));
      int[] numbers = {5, -1, 0, Integer.MIN_VALUE, Integer.MAX_VALUE};
      db.run(
          tx -> {
            for (int x : numbers) {
              for (int y : numbers) {
                table.insert(tx, new Place(new Point(x, y), x + "," + y));
              }
            }
          });
      Arrays.sort(numbers);
      List<String> expected = new ArrayList<>();
      for (int x : numbers) {
        for (int y : numbers) {
          expected.add(x + "," + y);
        }
      }
      List<String> found = new ArrayList<>();
      db.run(
          tx -> {
            found.clear();
            table.scan(tx, null, null, ScanOrder.ASCENDING, (k, v) -> found.add(v.name()));
          });
      assertEquals(expected, found);
      long removed =
          db.call(tx -> table.deleteRange(tx, new Point(-1, Integer.MIN_VALUE), new Point(0, 0)));
      assertEquals(7, removed);
    }
  }

  @Test
  void updatesAndRefusals() {
    try (Database db = memory()) {
      Table<Long, Account> accounts = db.table(ACCOUNTS);
      db.run(
          tx -> {
            accounts.insert(tx, new Account(1, "Ada", BigDecimal.TEN));
            assertThrows(
                DuplicateKeyException.class,
                () -> accounts.insert(tx, new Account(1, "Bob", BigDecimal.ONE)));
            Account after =
                accounts.update(
                    tx, 1L, a -> new Account(a.id(), a.owner(), a.balance().add(BigDecimal.ONE)));
            assertEquals(new Account(1, "Ada", new BigDecimal(11)), after);
            assertNull(accounts.updateIfPresent(tx, 2L, a -> a));
            RecordNotFoundException none =
                assertThrows(RecordNotFoundException.class, () -> accounts.update(tx, 2L, a -> a));
            assertEquals("accounts", none.table());
            assertEquals(8, none.key().length);
            InvalidUseException other =
                assertThrows(
                    InvalidUseException.class,
                    () -> accounts.put(tx, 5L, new Account(6, "Eve", BigDecimal.ONE)));
            assertTrue(other.getMessage().contains("a key other than"), other.getMessage());
            assertThrows(
                IllegalArgumentException.class,
                () ->
                    accounts.update(
                        tx, 1L, a -> new Account(1, a.owner(), BigDecimal.ONE.negate())));
            assertNull(accounts.update(tx, 1L, a -> null));
            assertNull(accounts.get(tx, 1L));
            assertFalse(accounts.delete(tx, 1L));
          });
    }
  }

  @Test
  void aConstructorMayUseTheTable() {
    try (Database db = memory()) {
      Table<Long, Account> accounts = db.table(ACCOUNTS);
      db.run(
          tx -> {
            accounts.put(tx, new Account(1, "Ada", BigDecimal.TEN));
            accounts.put(tx, new Account(2, "Bob", BigDecimal.ONE));
            List<String> owners = new ArrayList<>();
            accounts.scan(
                tx,
                null,
                null,
                ScanOrder.ASCENDING,
                (k, v) -> {
                  Account other = accounts.get(tx, 3 - k);
                  assertNotNull(other);
                  return owners.add(v.owner() + other.owner());
                });
            assertEquals(List.of("AdaBob", "BobAda"), owners);
          });
    }
  }

  @Test
  void loadsAndMaps() {
    try (Database db = memory()) {
      Table<Long, Account> accounts = db.table(ACCOUNTS);
      Map<Long, Account> source = new LinkedHashMap<>();
      for (long i = 5_000; i > 0; i--) {
        source.put(i, new Account(i, "owner " + i, BigDecimal.valueOf(i)));
      }
      accounts.load(LoadOptions.defaults(), source.entrySet().iterator());
      assertEquals(source, accounts.asMap());
      assertEquals(5_000, accounts.asMap().lastKey());
    }
  }

  /** Successive versions of a class, stored in one table. */
  static final class V1 {
    enum Kind {
      RED,
      GREEN
    }

    record Part(int size, String name) {}

    record Thing(@Id int id, String name, int count, Kind kind, String fax, List<Part> parts) {}
  }

  static final class V2 {
    enum Kind {
      BLUE,
      GREEN,
      RED
    }

    record Part(@Initial("steel") String material, @Formerly("name") String title, long size) {}

    @Dropped("fax")
    record Thing(
        @Id int id,
        List<Part> parts,
        long count,
        Optional<Kind> kind,
        @Formerly("name") String label,
        @Initial("2026-01-01") LocalDate since,
        @Initial double weight,
        Set<String> tags) {}
  }

  private static V1.Thing thing(int id) {
    return new V1.Thing(
        id,
        "thing " + id,
        -id,
        id % 2 == 0 ? V1.Kind.RED : V1.Kind.GREEN,
        "fax",
        List.of(new V1.Part(id, "part")));
  }

  private static V2.Thing asSecond(int id) {
    return new V2.Thing(
        id,
        List.of(new V2.Part("steel", "part", id)),
        -id,
        Optional.of(id % 2 == 0 ? V2.Kind.RED : V2.Kind.GREEN),
        "thing " + id,
        LocalDate.of(2026, 1, 1),
        0,
        Set.of());
  }

  private static <V> ObjectSpec<Integer, V> things(Class<V> values) {
    return ObjectSpec.of("things", Integer.class, values);
  }

  @Test
  void objectsOfAnOlderClassAreReadAsTheNewOne() {
    Path file = dir.resolve("things.fovea");
    try (Database db = Database.open(file, Options.defaults())) {
      Table<Integer, V1.Thing> first = db.table(things(V1.Thing.class));
      db.run(
          tx -> {
            for (int i = 0; i < 10; i++) {
              first.put(tx, thing(i));
            }
          });
      Table<Integer, V2.Thing> second = db.table(things(V2.Thing.class));
      db.run(
          tx -> {
            assertEquals(asSecond(4), second.get(tx, 4));
            second.put(tx, second.get(tx, 4));
            assertEquals(asSecond(4), second.get(tx, 4));
            assertEquals(thing(5), first.get(tx, 5));
          });
      InvalidUseException newer =
          assertThrows(InvalidUseException.class, () -> db.call(tx -> first.get(tx, 4)));
      assertTrue(newer.getMessage().contains("version 2"), newer.getMessage());
      IncompatibleSchemaException back =
          assertThrows(IncompatibleSchemaException.class, () -> db.table(things(V1.Thing.class)));
      assertTrue(
          back.getMessage().contains("a newer class: component count is INT64"), back.getMessage());
    }
    try (Database db = Database.open(file, Options.defaults())) {
      Table<Integer, V2.Thing> second = db.table(things(V2.Thing.class));
      db.run(
          tx -> {
            for (int i = 0; i < 10; i++) {
              assertEquals(asSecond(i), second.get(tx, i));
            }
          });
    }
  }

  record Thing1(@Id int id, String name, int count) {}

  record Thing2(@Id int id, String name) {}

  record Thing3(@Id int id, String name, int count, int more) {}

  record Thing4(@Id int id, String name, short count) {}

  record Thing5(@Id long id, String name, int count) {}

  @Dropped("count")
  record Thing6(@Id int id, String name) {}

  @Dropped("count")
  record Thing7(@Id int id, String name, @Initial int count, @Initial int more) {}

  private void refused(ObjectSpec<?, ?> spec, String... words) {
    try (Database db = memory()) {
      db.table(things(Thing1.class));
      IncompatibleSchemaException e =
          assertThrows(IncompatibleSchemaException.class, () -> db.table(spec));
      for (String word : words) {
        assertTrue(e.getMessage().contains(word), e.getMessage());
      }
    }
  }

  @Test
  void unreadableObjectsAreRefused() {
    refused(things(Thing2.class), "component count of the file", "@Dropped", "@Formerly");
    refused(things(Thing3.class), "component more is not in the file", "@Initial");
    refused(things(Thing4.class), "component count is INT32 in the file, and INT16 here");
    refused(
        ObjectSpec.of("things", Long.class, Thing5.class),
        "keys are INT32 in the file, and INT64 here");
    try (Database db = memory()) {
      db.table(things(Thing1.class));
      db.table(things(Thing6.class));
      IncompatibleSchemaException again =
          assertThrows(IncompatibleSchemaException.class, () -> db.table(things(Thing7.class)));
      assertTrue(again.getMessage().contains("another name"), again.getMessage());
    }
    try (Database db = memory()) {
      db.table(TableSpec.bytes("things", 256));
      assertThrows(IncompatibleSchemaException.class, () -> db.table(things(Thing1.class)));
      db.table(ACCOUNTS);
      assertThrows(
          IncompatibleSchemaException.class, () -> db.table(TableSpec.bytes("accounts", 256)));
      Layout.Definition layout = Layout.define();
      layout.int32("n");
      assertThrows(
          IncompatibleSchemaException.class,
          () ->
              db.table(
                  TableSpec.of(
                      "accounts", KeySpec.of(io.fovea.schema.FieldType.INT64), layout.build())));
    }
  }

  @Test
  void transactionsCreateTablesButDoNotEvolveThem() {
    try (Database db = memory()) {
      db.run(
          tx -> {
            tx.table(things(Thing1.class)).put(tx, new Thing1(1, "a", 2));
          });
      assertThrows(
          InvalidUseException.class,
          () ->
              db.run(
                  tx -> {
                    tx.table(things(Thing6.class));
                  }));
    }
  }

  @Test
  void aSnapshotIsReadByNewerClasses() {
    try (Database db = memory()) {
      Table<Integer, Thing1> first = db.table(things(Thing1.class));
      db.run(
          tx -> {
            first.put(tx, new Thing1(1, "a", 2));
          });
      try (Database snapshot = db.snapshot()) {
        Table<Integer, Thing6> then = snapshot.table(things(Thing6.class));
        assertEquals(new Thing6(1, "a"), snapshot.call(tx -> then.get(tx, 1)));
        assertEquals(
            new Thing1(1, "a", 2),
            snapshot.call(tx -> snapshot.table(things(Thing1.class)).get(tx, 1)));
      }
    }
  }

  @Test
  void renamedTablesKeepTheirShapes() {
    Path file = dir.resolve("renamed.fovea");
    try (Database db = Database.open(file, Options.defaults())) {
      Table<Long, Account> accounts = db.table(ACCOUNTS);
      db.run(
          tx -> {
            accounts.put(tx, new Account(1, "Ada", BigDecimal.TEN));
          });
      db.renameTable("accounts", "people");
    }
    try (Database db = Database.open(file, Options.defaults())) {
      Table<Long, Account> people = db.table(ObjectSpec.of("people", Long.class, Account.class));
      assertEquals(new Account(1, "Ada", BigDecimal.TEN), db.call(tx -> people.get(tx, 1L)));
    }
  }
}
