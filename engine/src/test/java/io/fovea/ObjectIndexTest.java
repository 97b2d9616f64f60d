package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.btree.BTree;
import io.fovea.btree.TreeWalk;
import io.fovea.catalog.CatalogEntry;
import io.fovea.config.Duplicates;
import io.fovea.config.Protocol;
import io.fovea.error.CorruptionException;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.error.IncompatibleSchemaException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.memory.Mem;
import io.fovea.schema.Dropped;
import io.fovea.schema.Formerly;
import io.fovea.schema.Id;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.Initial;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.txn.Tx;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.math.BigDecimal;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Indexes on components of Java records, even when the class changes. */
class ObjectIndexTest {
  enum State {
    OPEN,
    CLOSED
  }

  record Address(String street, String city) {}

  record Account(@Id long id, String owner, State state, Address address, int cents) {}

  record OwnerState(String owner, State state) {}

  record City(String name) {}

  private static final ObjectSpec<Long, Account> PLAIN =
      ObjectSpec.of("accounts", Long.class, Account.class);
  private static final ObjectSpec<Long, Account> ACCOUNTS =
      PLAIN
          .index("byOwner", "owner", "state")
          .index("byCity", "address.city")
          .unique("byCents", "cents");

  @TempDir Path dir;

  private static Database memory() {
    return Database.inMemory(Options.defaults());
  }

  private Database file() {
    return Database.open(dir.resolve("file"), Options.defaults());
  }

  private static Account account(long id, String owner, State state, String city, int cents) {
    return new Account(id, owner, state, city == null ? null : new Address("s", city), cents);
  }

  private static List<Long> keys(List<? extends Map.Entry<Long, ?>> entries) {
    List<Long> keys = new ArrayList<>();
    entries.forEach(e -> keys.add(e.getKey()));
    return keys;
  }

  private static <I, V> List<Long> keys(Database db, Index<I, Long, V> index, I key) {
    return db.call(tx -> keys(index.stream(tx, key, ScanOrder.ASCENDING).toList()));
  }

  private static <I, V> List<Long> all(Database db, Index<I, Long, V> index) {
    return db.call(tx -> keys(index.stream(tx, null, null, ScanOrder.ASCENDING).toList()));
  }

  private static void requireSound(Database db) {
    assertEquals(List.of(), db.verify().problems());
  }

  private static void fill(Database db, Table<Long, Account> t) {
    db.run(
        tx -> {
          t.insert(tx, account(1, "Ada", State.CLOSED, "London", 10));
          t.insert(tx, account(2, "Bob", State.OPEN, "Paris", 20));
          t.insert(tx, account(3, "Ada", State.OPEN, null, 30));
          t.insert(tx, account(4, null, State.OPEN, "Paris", -40));
          t.put(tx, account(5, "Ada", null, "Bonn", 50));
        });
  }

  @Test
  void objectsAreFoundByTheirComponents() {
    try (Database db = memory()) {
      Table<Long, Account> t = db.table(ACCOUNTS);
      fill(db, t);
      Index<OwnerState, Long, Account> byOwner = t.index("byOwner", OwnerState.class);
      Index<String, Long, Account> owners = t.index("byOwner", String.class);
      Index<String, Long, Account> byCity = t.index("byCity", String.class);
      Index<Integer, Long, Account> byCents = t.index("byCents", Integer.class);
      assertEquals(List.of(4L, 5L, 3L, 1L, 2L), all(db, byOwner)); // null first
      assertEquals(List.of(5L, 3L, 1L), keys(db, owners, "Ada"));
      assertEquals(List.of(3L), keys(db, byOwner, new OwnerState("Ada", State.OPEN)));
      assertEquals(List.of(5L), keys(db, byOwner, new OwnerState("Ada", null)));
      assertEquals(List.of(2L, 4L), keys(db, byCity, "Paris"));
      assertEquals(List.of(3L), keys(db, t.index("byCity", City.class), new City(null)));
      assertEquals(List.of(4L, 1L, 2L, 3L, 5L), all(db, byCents));
      db.run(
          tx -> {
            assertEquals(
                account(2, "Bob", State.OPEN, "Paris", 20), byCents.get(tx, 20).getValue());
            assertEquals(2, byCents.get(tx, 20).getKey());
            assertNull(byCents.get(tx, 21));
            assertEquals(5, owners.get(tx, "Ada").getKey());
            assertNull(owners.get(tx, "Ad"));
            assertEquals(
                List.of(1L, 2L), keys(byCents.stream(tx, 10, 30, ScanOrder.ASCENDING).toList()));
            assertEquals(
                List.of(2L, 1L), keys(byCents.stream(tx, 10, 30, ScanOrder.DESCENDING).toList()));
            List<Long> visited = new ArrayList<>();
            byCents.forEach(tx, 20, null, (k, v) -> visited.add(k));
            owners.forEach(tx, "Bob", (k, v) -> visited.add(k));
            assertEquals(List.of(2L, 3L, 5L, 2L), visited);
          });
      assertEquals(5, byOwner.count());
      assertTrue(byCents.isUnique() && !byOwner.isUnique());
      requireSound(db);
    }
  }

  @Test
  void everyChangeMaintainsIndexes() {
    try (Database db = memory()) {
      Table<Long, Account> t = db.table(ACCOUNTS);
      fill(db, t);
      Index<String, Long, Account> owners = t.index("byOwner", String.class);
      Index<Integer, Long, Account> byCents = t.index("byCents", Integer.class);
      db.run(
          tx -> {
            t.update(tx, 1L, a -> account(1, "Bob", a.state(), "Rome", 11));
            assertNull(byCents.get(tx, 10));
            assertEquals(1, byCents.get(tx, 11).getKey());
            t.delete(tx, 2L);
          });
      assertEquals(List.of(1L), keys(db, owners, "Bob"));
      db.run(tx -> assertEquals(2, t.deleteRange(tx, 3L, 5L)));
      assertEquals(List.of(5L, 1L), all(db, owners));
      t.asMap().put(6L, account(6, "Eve", State.OPEN, "Oslo", 60));
      assertEquals(List.of(6L), keys(db, owners, "Eve"));
      t.asMap().remove(6L);
      assertEquals(List.of(), keys(db, owners, "Eve"));
      List<Map.Entry<Long, Account>> source = new ArrayList<>();
      for (long i = 100; i < 400; i++) {
        source.add(Map.entry(i, account(i, "L" + i % 3, State.OPEN, null, (int) i)));
      }
      t.load(LoadOptions.defaults(), source.iterator());
      assertEquals(100, keys(db, owners, "L1").size());
      assertEquals(1, db.call(tx -> byCents.get(tx, 11)).getKey());
      source.set(7, Map.entry(107L, account(107, "x", State.OPEN, null, 399)));
      assertThrows(
          DuplicateKeyException.class,
          () -> t.load(LoadOptions.defaults().duplicates(Duplicates.REPLACE), source.iterator()));
      requireSound(db);
    }
  }

  @Test
  void uniqueValuesBelongToOneAndNullsToMany() {
    record User(@Id long id, String mail, Optional<Integer> pin) {}
    ObjectSpec<Long, User> users =
        ObjectSpec.of("users", Long.class, User.class).unique("byMail", "mail", "pin");
    record MailPin(String mail, Optional<Integer> pin) {}
    try (Database db = memory()) {
      Table<Long, User> t = db.table(users);
      Index<MailPin, Long, User> byMail = t.index("byMail", MailPin.class);
      db.run(
          tx -> {
            t.insert(tx, new User(1, "a", Optional.of(1)));
            t.insert(tx, new User(2, "a", Optional.empty()));
            t.insert(tx, new User(3, "a", Optional.empty()));
            t.insert(tx, new User(4, null, Optional.of(1)));
            t.insert(tx, new User(5, null, Optional.of(1)));
          });
      db.run(
          tx -> {
            DuplicateKeyException e =
                assertThrows(
                    DuplicateKeyException.class,
                    () -> t.insert(tx, new User(6, "a", Optional.of(1))));
            assertTrue(e.getMessage().contains("(\"a\", 1)"), e.getMessage());
            assertThrows(
                DuplicateKeyException.class, () -> t.put(tx, new User(2, "a", Optional.of(1))));
            t.put(tx, new User(1, "a", Optional.of(1))); // does not conflict with itself
          });
      assertEquals(List.of(2L, 3L), keys(db, byMail, new MailPin("a", Optional.empty())));
      assertEquals(List.of(4L, 5L), keys(db, byMail, new MailPin(null, Optional.of(1))));
      assertEquals(2, db.call(tx -> byMail.get(tx, new MailPin("a", Optional.empty()))).getKey());
      db.run(tx -> t.put(tx, new User(1, null, Optional.empty())));
      db.run(tx -> t.put(tx, new User(6, "a", Optional.of(1))));
      assertEquals(6, db.call(tx -> byMail.get(tx, new MailPin("a", Optional.of(1)))).getKey());
      requireSound(db);
    }
  }

  @Test
  void cursorsAndPagesOfAnIndex() {
    try (Database db = memory()) {
      Table<Long, Account> t = db.table(ACCOUNTS);
      db.run(
          tx -> {
            for (int i = 0; i < 100; i++) {
              t.insert(tx, account(i, "o" + i % 10, State.OPEN, null, 1000 - i));
            }
          });
      Index<String, Long, Account> owners = t.index("byOwner", String.class);
      db.run(
          tx -> {
            try (IndexCursor<String, Long, Account> c =
                owners.scan(tx, null, null, ScanOrder.ASCENDING)) {
              assertTrue(c.seek("o3"));
              assertEquals(3, c.key());
              assertEquals("o3", c.value().owner());
              assertTrue(c.next());
              assertEquals(13, c.key());
              assertTrue(c.previous() && c.previous());
              assertEquals(92, c.key());
              assertTrue(c.last());
              assertEquals(99, c.key());
              assertTrue(c.first());
              assertEquals(0, c.key());
              assertFalse(c.seek("p"));
            }
            try (IndexCursor<String, Long, Account> c =
                owners.scan(tx, null, null, ScanOrder.DESCENDING)) {
              assertTrue(c.seek("o3"));
              assertEquals(93, c.key());
            }
            try (IndexCursor<String, Long, Account> c =
                owners.scan(tx, "o4", ScanOrder.DESCENDING)) {
              assertTrue(c.next());
              assertEquals(94, c.key());
              t.delete(tx, 94L);
              assertThrows(InvalidUseException.class, c::value);
              assertTrue(c.next());
              assertEquals(84, c.key());
            }
          });
      for (ScanOrder order : ScanOrder.values()) {
        List<Long> seen = new ArrayList<>();
        String after = null;
        do {
          String at = after;
          Page<Map.Entry<Long, Account>> page =
              db.call(tx -> owners.page(tx, "o2", "o5", order, at, 7));
          seen.addAll(keys(page.items()));
          after = page.next();
        } while (after != null);
        assertEquals(29, seen.size());
        assertEquals(order == ScanOrder.ASCENDING ? 2L : 84L, seen.getFirst());
      }
      Page<Map.Entry<Long, Account>> first =
          db.call(tx -> owners.page(tx, "o2", ScanOrder.ASCENDING, null, 7));
      Page<Map.Entry<Long, Account>> rest =
          db.call(tx -> owners.page(tx, "o2", ScanOrder.ASCENDING, first.next(), 7));
      assertEquals(List.of(72L, 82L, 92L), keys(rest.items()));
      assertNull(rest.next());
      assertThrows(
          InvalidUseException.class,
          () ->
              db.call(
                  tx ->
                      t.index("byCents", Integer.class)
                          .page(tx, null, null, ScanOrder.ASCENDING, first.next(), 7)));
    }
  }

  record Kinds(
      @Id long id,
      boolean bool,
      byte int8,
      short int16,
      char character,
      long int64,
      float float32,
      double float64,
      String text,
      byte[] bytes,
      UUID uuid,
      Instant instant,
      Duration duration,
      LocalDate date,
      LocalTime time,
      LocalDateTime dateTime,
      Optional<Short> maybe,
      List<String> list) {}

  private static Kinds kinds(long id) {
    return new Kinds(
        id,
        id > 5,
        (byte) (id - 5),
        (short) (1000 * (id - 5)),
        (char) id,
        (id - 5) << 40,
        (id - 5) / 3f,
        (id - 5) * 1e200,
        "\0".repeat((int) id),
        new byte[] {(byte) id, -1},
        new UUID(id, -id),
        Instant.ofEpochSecond(id - 5, 3),
        Duration.ofMillis(id - 5),
        LocalDate.ofEpochDay(id - 5),
        LocalTime.ofSecondOfDay(id),
        LocalDateTime.ofEpochSecond(id - 5, 0, java.time.ZoneOffset.UTC),
        id == 0 ? Optional.empty() : Optional.of((short) (id - 5)),
        List.of("x"));
  }

  @Test
  void allKeyTypesAreSorted() {
    List<String> names =
        List.of(
            "bool",
            "int8",
            "int16",
            "character",
            "int64",
            "float32",
            "float64",
            "text",
            "bytes",
            "uuid",
            "instant",
            "duration",
            "date",
            "time",
            "dateTime",
            "maybe");
    ObjectSpec<Long, Kinds> spec = ObjectSpec.of("kinds", Long.class, Kinds.class);
    for (String name : names) {
      spec = spec.index(name, name);
    }
    try (Database db = memory()) {
      Table<Long, Kinds> t = db.table(spec);
      db.run(
          tx -> {
            for (long i : new long[] {7, 0, 3, 9, 1, 5, 4, 8, 6, 2}) {
              t.insert(tx, kinds(i));
            }
          });
      List<Long> sorted = LongStream.range(0, 10).boxed().toList();
      assertEquals(sorted, all(db, t.index("bool", Boolean.class)));
      assertEquals(sorted, all(db, t.index("int8", int.class)));
      assertEquals(sorted, all(db, t.index("int16", Long.class)));
      assertEquals(sorted, all(db, t.index("character", Character.class)));
      assertEquals(sorted, all(db, t.index("int64", long.class)));
      assertEquals(sorted, all(db, t.index("float32", Float.class)));
      assertEquals(sorted, all(db, t.index("float64", double.class)));
      assertEquals(sorted, all(db, t.index("text", String.class)));
      assertEquals(sorted, all(db, t.index("bytes", byte[].class)));
      assertEquals(sorted, all(db, t.index("uuid", UUID.class)));
      assertEquals(sorted, all(db, t.index("instant", Instant.class)));
      assertEquals(sorted, all(db, t.index("duration", Duration.class)));
      assertEquals(sorted, all(db, t.index("date", LocalDate.class)));
      assertEquals(sorted, all(db, t.index("time", LocalTime.class)));
      assertEquals(sorted, all(db, t.index("dateTime", LocalDateTime.class)));
      assertEquals(sorted, all(db, t.index("maybe", Short.class)));
      db.run(
          tx -> {
            Kinds k = kinds(7);
            assertEquals(7, t.index("float32", Float.class).get(tx, k.float32).getKey());
            assertEquals(7, t.index("float64", Double.class).get(tx, k.float64).getKey());
            assertEquals(7, t.index("text", String.class).get(tx, k.text).getKey());
            assertEquals(7, t.index("bytes", byte[].class).get(tx, k.bytes).getKey());
            assertEquals(7, t.index("uuid", UUID.class).get(tx, k.uuid).getKey());
            assertEquals(7, t.index("instant", Instant.class).get(tx, k.instant).getKey());
            assertEquals(7, t.index("duration", Duration.class).get(tx, k.duration).getKey());
            assertEquals(7, t.index("date", LocalDate.class).get(tx, k.date).getKey());
            assertEquals(7, t.index("time", LocalTime.class).get(tx, k.time).getKey());
            assertEquals(7, t.index("dateTime", LocalDateTime.class).get(tx, k.dateTime).getKey());
            assertEquals(7, t.index("maybe", Integer.class).get(tx, 2).getKey());
          });
      requireSound(db);
    }
  }

  @Test
  void invalidIndexesAreRefused() {
    refused("There is no component name", () -> PLAIN.index("i", "name"));
    refused("There is no component owner.x", () -> PLAIN.index("i", "owner.x"));
    refused("is the @Id", () -> PLAIN.index("i", "id"));
    refused("appears twice", () -> PLAIN.index("i", "owner", "owner"));
    refused("at least one component", () -> PLAIN.index("i"));
    refused("already", () -> PLAIN.index("i", "owner").unique("i", "cents"));
    refused(
        "which has no order", () -> ObjectSpec.of("k", Long.class, Kinds.class).index("i", "list"));
    record Rich(@Id long id, BigDecimal balance) {}
    refused(
        "which has no order",
        () -> ObjectSpec.of("k", Long.class, Rich.class).index("i", "balance"));
    refused("holds objects", () -> PLAIN.table().with(IndexSpec.on("i", LAYOUT.fields().get(0))));
    refused(
        "holds rows",
        () ->
            TableSpec.of("t", KeySpec.of(io.fovea.schema.FieldType.INT64), LAYOUT)
                .with(IndexSpec.components("i", false, List.of("x"))));
    try (Database db = memory()) {
      Table<Long, Account> t = db.table(ACCOUNTS);
      refused("has no index", () -> t.index("byName", String.class));
      refused("part 1 of java.lang.Long is INT64", () -> t.index("byOwner", Long.class));
      refused("has 2 parts, and the index 1", () -> t.index("byCity", OwnerState.class));
      refused("which has no order", () -> t.index("byCents", BigDecimal.class));
      db.run(
          tx -> {
            String long1 = "x".repeat(3000);
            assertThrows(
                KeyTooLargeException.class,
                () -> t.insert(tx, account(1, long1, State.OPEN, null, 1)));
            assertThrows(
                KeyTooLargeException.class, () -> t.index("byOwner", String.class).get(tx, long1));
            t.insert(tx, account(1, "short", State.OPEN, null, 1));
          });
      Table<byte[], byte[]> bytes = db.table(ACCOUNTS.table()).bytes();
      db.run(
          tx -> {
            InvalidUseException e =
                assertThrows(
                    InvalidUseException.class,
                    () -> bytes.put(tx, new byte[] {9}, new byte[] {9, 9}));
            assertTrue(e.getMessage().contains("is not an object of table"), e.getMessage());
            assertThrows(
                InvalidUseException.class, () -> bytes.put(tx, new byte[] {9}, new byte[] {1, 9}));
          });
      Index<String, Long, Account> owners = t.index("byOwner", String.class);
      db.dropIndex("accounts", "byOwner");
      assertThrows(InvalidUseException.class, () -> db.run(tx -> owners.get(tx, "short")));
      IncompatibleSchemaException e =
          assertThrows(IncompatibleSchemaException.class, () -> db.table(PLAIN));
      assertTrue(e.getMessage().contains("has an index \"byC"), e.getMessage());
      Table<Long, Account> again = db.table(ACCOUNTS);
      assertEquals(List.of(1L), all(db, again.index("byOwner", String.class)));
      assertThrows(
          InvalidUseException.class,
          () ->
              db.table(TableSpec.bytes("b", 9))
                  .as(Plain.CODEC, Plain.CODEC)
                  .index("i", String.class));
      requireSound(db);
    }
  }

  private static final Layout LAYOUT;

  static {
    Layout.Definition b = Layout.define();
    b.int64("v");
    LAYOUT = b.build();
  }

  private static void refused(String why, org.junit.jupiter.api.function.Executable what) {
    IllegalArgumentException e = assertThrows(IllegalArgumentException.class, what);
    assertTrue(e.getMessage().contains(why), e.getMessage());
  }

  /** Stores byte strings unchanged. */
  private static final class Plain implements ByteCodec<byte[]> {
    static final Plain CODEC = new Plain();

    @Override
    public byte[] encode(byte[] object) {
      return object;
    }

    @Override
    public byte[] decode(byte[] bytes) {
      return bytes;
    }
  }

  @Test
  void objectsOfAnySizeHaveEntries() {
    record Note(@Id long id, String text, int stars) {}
    ObjectSpec<Long, Note> notes =
        ObjectSpec.of("notes", Long.class, Note.class).index("byStars", "stars");
    try (Database db = memory()) {
      Table<Long, Note> t = db.table(notes);
      Index<Integer, Long, Note> byStars = t.index("byStars", Integer.class);
      for (int size : new int[] {0, 100, 3_000, 70_000, 3_000_000}) {
        String text = "t".repeat(size);
        db.run(tx -> t.put(tx, new Note(size, text, size % 7)));
        db.run(tx -> t.put(tx, new Note(size, text, size % 7 + 1)));
        assertEquals(
            text,
            db.call(
                tx ->
                    byStars.stream(tx, size % 7 + 1, ScanOrder.ASCENDING)
                        .filter(e -> e.getKey() == size)
                        .findFirst()
                        .orElseThrow()
                        .getValue()
                        .text()));
      }
      assertEquals(5, byStars.count());
      requireSound(db);
      db.run(tx -> assertEquals(5, t.deleteRange(tx, null, null)));
      assertEquals(0, byStars.count());
      requireSound(db);
    }
  }

  @Test
  void hintsOfEntriesAreUsed() {
    try (Database db = memory()) {
      Table<Long, Account> t = db.table(ACCOUNTS);
      db.run(
          tx -> {
            for (int i = 0; i < 2_000; i++) {
              t.insert(tx, account(i, "o" + i % 10, State.OPEN, null, i));
            }
          });
      Index<Integer, Long, Account> byCents = t.index("byCents", Integer.class);
      Index<String, Long, Account> owners = t.index("byOwner", String.class);
      for (int pass = 0; pass < 3; pass++) {
        db.run(
            tx -> {
              for (int i = 0; i < 2_000; i += 7) {
                assertEquals(i, byCents.get(tx, i).getKey().intValue());
              }
              owners.forEach(tx, "o3", (k, v) -> assertEquals("o3", v.owner()));
            });
      }
      DatabaseStats.HintedLookups h = db.stats().hintedLookups();
      assertTrue(h.lookups() > 1_000, h::toString);
      assertTrue(h.hits() > h.lookups() / 2, h::toString);
    }
  }

  /** Any byte of the catalog's index components is changed or missing. */
  @Test
  void damagedComponentsAreCorruption() {
    try (Database db = memory()) {
      db.table(ONE);
      db.table(TWO);
      List<CatalogEntry> entries = new ArrayList<>();
      CatalogEntry.forEach(db.store().catalog(), entries::add);
      byte[] key = entries.getFirst().catalogKey();
      byte[] whole = entries.getFirst().encode();
      assertArrayEquals(whole, CatalogEntry.decode(key, whole).encode());
      for (int at = 0; at < whole.length; at++) {
        for (int xor : new int[] {1, 2, 0x80, 0xFF}) {
          byte[] damaged = whole.clone();
          damaged[at] ^= (byte) xor;
          decode(key, damaged);
        }
        decode(key, Arrays.copyOf(whole, at));
      }
    }
  }

  private static void decode(byte[] key, byte[] bytes) {
    try {
      CatalogEntry.decode(key, bytes);
    } catch (CorruptionException | IncompatibleFormatException e) {
      assertNotNull(e.getMessage());
    }
  }

  @Test
  void verificationFindsWrongEntries() {
    try (Database db = memory()) {
      Table<Long, Account> t = db.table(ACCOUNTS);
      fill(db, t);
      requireSound(db);
      BTree tree = t.table().core().index("byOwner").tree;
      byte[][] first = new byte[2][];
      TreeWalk.forEach(
          tree,
          (k, kOff, kLen, v, vOff, vLen) -> {
            if (first[0] == null) {
              first[0] = Mem.bytes(k, kOff, kLen);
              first[1] = Mem.bytes(v, vOff, vLen);
            }
          });
      try (Arena arena = Arena.ofShared()) {
        MemorySegment key = arena.allocate(512);
        MemorySegment value = arena.allocate(512);
        MemorySegment.copy(first[0], 0, key, ValueLayout.JAVA_BYTE, 0, first[0].length);
        MemorySegment.copy(first[1], 0, value, ValueLayout.JAVA_BYTE, 0, first[1].length);
        change(db, x -> x.delete(tree, key, 0, first[0].length));
        assertEquals(2, db.verify().problems().size(), db.verify()::toString);
        change(db, x -> x.put(tree, key, 0, first[0].length, value, 0, first[1].length));
        requireSound(db);
        change(db, x -> x.put(tree, key, 0, first[0].length + 1, value, 0, first[1].length));
        assertEquals(1, db.verify().problems().size(), db.verify()::toString);
      }
    }
  }

  private static void change(Database db, Consumer<Tx> what) {
    db.run(
        tx -> {
          Tx t = tx.enter(db);
          try {
            what.accept(t);
          } finally {
            tx.exit();
          }
        });
  }

  @Test
  void aTransactionCreatesATableWithIndexes() {
    try (Database db = file()) {
      assertThrows(
          IllegalStateException.class,
          () ->
              db.run(
                  tx -> {
                    tx.table(ACCOUNTS).put(tx, account(1, "Ada", State.OPEN, null, 1));
                    throw new IllegalStateException("no");
                  }));
      assertEquals(List.of(), db.tables());
      db.run(
          tx -> {
            Table<Long, Account> t = tx.table(ACCOUNTS);
            t.put(tx, account(1, "Ada", State.OPEN, null, 1));
            assertEquals(1, t.index("byOwner", String.class).get(tx, "Ada").getKey());
          });
      db.run(tx -> tx.renameTable("accounts", "others"));
      requireSound(db);
    }
    try (Database db = file();
        Database snapshot = db.snapshot()) {
      Table<Long, Account> t = snapshot.table(OTHERS);
      assertEquals(List.of(1L), keys(snapshot, t.index("byOwner", String.class), "Ada"));
      requireSound(snapshot);
    }
    Options options = Options.defaults().readOnly(true);
    try (Database db = Database.open(dir.resolve("file"), options)) {
      Table<Long, Account> t = db.table(OTHERS);
      assertEquals(1, db.read(tx -> t.index("byCents", long.class).get(tx, 1L)).getKey());
    }
  }

  private static final ObjectSpec<Long, Account> OTHERS =
      ObjectSpec.of("others", Long.class, Account.class)
          .index("byOwner", "owner", "state")
          .index("byCity", "address.city")
          .unique("byCents", "cents")
          .keyBytesMax(256);

  enum Mood {
    SAD,
    GLAD
  }

  enum MoodMore {
    SAD,
    GLAD,
    MAD
  }

  enum MoodOther {
    MAD,
    SAD,
    GLAD
  }

  record One(@Id long id, String owner, int size, Mood mood, Address home) {}

  record Two(
      @Id long id,
      @Initial("none") String nick,
      Optional<MoodMore> mood,
      @Formerly("home") Address place,
      @Formerly("size") long bytes,
      @Formerly("owner") String holder,
      @Initial Integer rank) {}

  private static final ObjectSpec<Long, One> ONE =
      ObjectSpec.of("t", Long.class, One.class)
          .index("byOwner", "owner", "size")
          .index("byMood", "mood")
          .index("byHome", "home");
  private static final ObjectSpec<Long, Two> TWO =
      ObjectSpec.of("t", Long.class, Two.class)
          .index("byOwner", "holder", "bytes")
          .index("byMood", "mood")
          .index("byHome", "place.street", "place.city")
          .index("byNick", "nick")
          .index("byRank", "rank");

  @ParameterizedTest
  @EnumSource(Protocol.class)
  void indexesStayWhenTheClassChanges(Protocol protocol) {
    Options options = Options.defaults().experiments(e -> e.protocol(protocol));
    Path path = dir.resolve("evolving");
    try (Database db = Database.open(path, options)) {
      Table<Long, One> one = db.table(ONE);
      db.run(
          tx -> {
            for (long i = 0; i < 300; i++) {
              Address home = i % 7 == 0 ? null : new Address("s" + i % 3, "c" + i % 5);
              one.insert(tx, new One(i, "o" + i % 4, (int) i, Mood.values()[(int) i % 2], home));
            }
          });
      Table<Long, Two> two = db.table(TWO);
      db.run(
          tx -> {
            for (long i = 300; i < 400; i++) {
              two.insert(
                  tx,
                  new Two(
                      i,
                      "n" + i % 2,
                      i % 3 == 0 ? Optional.empty() : Optional.of(MoodMore.MAD),
                      null,
                      i << 33,
                      "o" + i % 4,
                      (int) i));
            }
            one.put(tx, new One(4, "older", 4, Mood.SAD, null)); // an older handle still works
          });
      look(db, two);
      requireSound(db);
    }
    try (Database db = Database.open(path, options)) {
      look(db, db.table(TWO));
      requireSound(db);
      TableSpec described = db.describe("t");
      assertEquals(List.of("holder", "bytes"), described.indexes().get(0).components());
      assertEquals(5, described.indexes().size());
      assertNotNull(db.table(described).index("byNick"));
    }
    assertEquals(List.of(), FileReport.verify(path, Options.defaults()).problems());
  }

  private static void look(Database db, Table<Long, Two> two) {
    record Holder(String holder, long bytes) {}
    Index<Holder, Long, Two> byOwner = two.index("byOwner", Holder.class);
    assertEquals(List.of(5L), keys(db, byOwner, new Holder("o1", 5)));
    assertEquals(List.of(301L), keys(db, byOwner, new Holder("o1", 301L << 33)));
    assertEquals(List.of(4L), keys(db, byOwner, new Holder("older", 4)));
    Index<MoodMore, Long, Two> byMood = two.index("byMood", MoodMore.class);
    assertEquals(150, keys(db, byMood, MoodMore.GLAD).size());
    assertEquals(66, keys(db, byMood, MoodMore.MAD).size());
    Index<Address, Long, Two> byHome = two.index("byHome", Address.class);
    assertEquals(List.of(1L), keys(db, byHome, new Address("s1", "c1")).subList(0, 1));
    assertEquals(144, keys(db, byHome, new Address(null, null)).size());
    assertEquals(300, keys(db, two.index("byNick", String.class), "none").size());
    record Rank(Integer rank) {}
    assertEquals(300, keys(db, two.index("byRank", Rank.class), new Rank(null)).size());
    assertEquals(List.of(333L), keys(db, two.index("byRank", int.class), 333));
    db.run(
        tx ->
            two.forEach(
                tx,
                null,
                null,
                (k, v) ->
                    assertEquals(
                        v, byOwner.get(tx, new Holder(v.holder(), v.bytes())).getValue())));
  }

  private <V> void refusedFor(String why, ObjectSpec<Long, V> spec) {
    try (Database db = file()) {
      Table<Long, One> one = db.table(ONE);
      db.run(tx -> one.put(tx, new One(1, "o", 1, Mood.GLAD, null)));
    }
    try (Database db = file()) {
      IncompatibleSchemaException e =
          assertThrows(IncompatibleSchemaException.class, () -> db.table(spec));
      assertTrue(e.getMessage().contains(why), e.getMessage());
      assertTrue(e.getMessage().contains("dropIndex"), e.getMessage());
      assertEquals(1, db.table(ONE).index("byOwner", String.class).count());
    }
  }

  @Test
  void aClassThatReadsOtherValuesIsRefused() {
    record OtherOrder(@Id long id, String owner, int size, MoodOther mood, Address home) {}
    refusedFor(
        "component mood is sorted as enum(SAD, GLAD)",
        ObjectSpec.of("t", Long.class, OtherOrder.class)
            .index("byOwner", "owner", "size")
            .index("byMood", "mood")
            .index("byHome", "home"));
    record OtherKind(@Id long id, String owner, double size, Mood mood, Address home) {}
    refusedFor(
        "component size is sorted as INT64",
        ObjectSpec.of("t", Long.class, OtherKind.class)
            .index("byOwner", "owner", "size")
            .index("byMood", "mood")
            .index("byHome", "home"));
    record NoOrder(@Id long id, String owner, java.math.BigInteger size, Mood mood, Address home) {}
    refusedFor(
        "that the specification lacks",
        ObjectSpec.of("t", Long.class, NoOrder.class)
            .index("byMood", "mood")
            .index("byHome", "home"));
    @Dropped("owner")
    record Gone(@Id long id, int size, Mood mood, Address home, @Initial String other) {}
    refusedFor(
        "its components in the file are [owner, size], here they are [other, size]",
        ObjectSpec.of("t", Long.class, Gone.class)
            .index("byOwner", "other", "size")
            .index("byMood", "mood")
            .index("byHome", "home"));
    refusedFor(
        "its components in the file are [mood], here they are [owner]",
        ObjectSpec.of("t", Long.class, One.class)
            .index("byOwner", "owner", "size")
            .index("byMood", "owner")
            .index("byHome", "home"));
  }

  @Test
  void anotherInitialIsRefusedUntilTheIndexIsRebuilt() {
    record First(@Id long id, String a) {}
    record With(@Id long id, String a, @Initial("x") String b) {}
    record Other(@Id long id, String a, @Initial("y") String b) {}
    try (Database db = file()) {
      Table<Long, First> t = db.table(ObjectSpec.of("t", Long.class, First.class));
      db.run(tx -> t.put(tx, new First(1, "a")));
      Table<Long, With> with =
          db.table(ObjectSpec.of("t", Long.class, With.class).index("byB", "b"));
      assertEquals(List.of(1L), keys(db, with.index("byB", String.class), "x"));
      ObjectSpec<Long, Other> other = ObjectSpec.of("t", Long.class, Other.class).index("byB", "b");
      IncompatibleSchemaException e =
          assertThrows(IncompatibleSchemaException.class, () -> db.table(other));
      assertTrue(
          e.getMessage().contains("component b in objects of version 1 is \"x\" in the index"),
          e.getMessage());
      db.dropIndex("t", "byB");
      assertEquals(List.of(1L), keys(db, db.table(other).index("byB", String.class), "y"));
      requireSound(db);
    }
  }

  @Test
  void changesWithoutTheClassLoseNothing() {
    try (Database db = file()) {
      fill(db, db.table(ACCOUNTS));
      db.renameIndex("accounts", "byCity", "cities");
    }
    try (Database db = file()) {
      // Without the class, the file describes the table.
      Table<byte[], byte[]> bytes = db.table(db.describe("accounts")).bytes();
      db.run(
          tx -> {
            byte[] key = bytes.first(tx).getKey();
            byte[] other = bytes.last(tx).getValue();
            assertTrue(bytes.delete(tx, key));
            assertThrows(DuplicateKeyException.class, () -> bytes.put(tx, key, other));
            assertTrue(bytes.delete(tx, bytes.last(tx).getKey()));
            bytes.put(tx, key, other);
          });
      requireSound(db);
    }
    assertEquals(List.of(), FileReport.verify(dir.resolve("file"), Options.defaults()).problems());
    try (Database db = file()) {
      ObjectSpec<Long, Account> spec =
          PLAIN
              .index("byOwner", "owner", "state")
              .index("cities", "address.city")
              .unique("byCents", "cents");
      Table<Long, Account> t = db.table(spec);
      assertEquals(
          List.of(1L, 3L),
          keys(db, t.index("byOwner", String.class), "Ada").reversed().stream().sorted().toList());
      assertEquals(1, db.call(tx -> t.index("byCents", Integer.class).get(tx, 50)).getKey());
      assertEquals(List.of(1L), keys(db, t.index("cities", String.class), "Bonn"));
    }
  }
}
