package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.InvalidUseException;
import io.fovea.schema.TableSpec;
import java.math.BigDecimal;
import java.math.BigInteger;
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
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Objects read without their class. */
class ObjectDumpTest {
  enum Colour {
    RED,
    BLUE
  }

  record Inner(int x, @Nullable String text) {}

  record Everything(
      boolean bool,
      byte small,
      short shorter,
      char letter,
      int number,
      long larger,
      float single,
      double twice,
      @Nullable String text,
      byte @Nullable [] bytes,
      @Nullable BigInteger big,
      @Nullable BigDecimal exact,
      @Nullable UUID uuid,
      @Nullable Instant instant,
      @Nullable LocalDate date,
      @Nullable LocalTime time,
      @Nullable LocalDateTime dateTime,
      @Nullable Duration duration,
      @Nullable Colour colour,
      Optional<String> maybe,
      @Nullable Integer boxed,
      @Nullable List<Inner> inners,
      @Nullable Map<String, Integer> map,
      @Nullable Map<Inner, Colour> pairs,
      @Nullable Inner inner) {}

  record Where(Colour colour, int at, UUID id) {}

  private static final UUID ID = UUID.fromString("00112233-4455-6677-8899-aabbccddeeff");

  private static final ObjectSpec<Where, Everything> SPEC =
      ObjectSpec.of("everything", Where.class, Everything.class)
          .index("byText", "text", "number")
          .index("byColour", "colour", "date");

  private static final Everything FULL =
      new Everything(
          true,
          (byte) -1,
          (short) 2,
          'c',
          -4,
          5L << 40,
          0.5f,
          -0.25,
          "text",
          new byte[] {1, 2},
          BigInteger.TWO.pow(70),
          new BigDecimal("12.50"),
          ID,
          Instant.parse("2026-11-25T22:00:00.000000001Z"),
          LocalDate.parse("2026-11-25"),
          LocalTime.parse("22:00:01"),
          LocalDateTime.parse("2026-11-25T22:00:01"),
          Duration.ofMillis(1500),
          Colour.BLUE,
          Optional.of("there"),
          7,
          List.of(new Inner(1, "a"), new Inner(2, null)),
          Map.of("k", 1),
          Map.of(new Inner(3, "b"), Colour.RED),
          new Inner(9, "deep"));

  private static final Everything EMPTY =
      new Everything(
          false,
          (byte) 0,
          (short) 0,
          'x',
          0,
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
          Optional.empty(),
          null,
          null,
          null,
          null,
          null);

  private static Database filled() {
    Database db = Database.inMemory(Options.defaults().bufferBytes(8 << 20));
    var table = db.table(SPEC);
    db.run(
        tx -> {
          table.put(tx, new Where(Colour.RED, -1, ID), FULL);
          table.put(tx, new Where(Colour.BLUE, 1, ID), EMPTY);
        });
    return db;
  }

  @Test
  void objectsAndKeys() {
    try (Database db = filled()) {
      RowTable table = db.table(Objects.requireNonNull(db.describe("everything")));
      ObjectDump dump = ObjectDump.of(table);
      assertEquals(List.of("colour", "at", "id"), dump.keyNames());
      byte[] key = dump.key(List.of("RED", "-1", ID.toString()));
      assertEquals("{colour=RED, at=-1, id=" + ID + "}", dump.key(key).toString());
      byte[] value = db.read(tx -> table.bytes().get(tx, key));
      Map<String, @Nullable Object> object = dump.object(Objects.requireNonNull(value));
      assertArrayEquals(new byte[] {1, 2}, (byte[]) object.remove("bytes"));
      assertEquals(
          "{bool=true, small=-1, shorter=2, letter=c, number=-4, larger=5497558138880, single=0.5,"
              + " twice=-0.25, text=text, big=1180591620717411303424, exact=12.50, uuid="
              + ID
              + ", instant=2026-11-25T22:00:00.000000001Z, date=2026-11-25, time=22:00:01,"
              + " dateTime=2026-11-25T22:00:01, duration=PT1.5S, colour=BLUE, maybe=there, boxed=7,"
              + " inners=[{x=1, text=a}, {x=2, text=null}], map={k=1},"
              + " pairs=[{key={x=3, text=b}, value=RED}], inner={x=9, text=deep}}",
          object.toString());
      byte[] empty = dump.key(List.of("BLUE", "1", ID.toString()));
      byte[] there = db.read(tx -> table.bytes().get(tx, empty));
      Map<String, @Nullable Object> nulls = dump.object(Objects.requireNonNull(there));
      for (String name : new String[] {"text", "big", "uuid", "maybe", "boxed", "map", "inner"}) {
        assertNull(nulls.get(name), name);
      }
      assertEquals(25, nulls.size());

      // Created from the values read and from their text.
      Map<String, @Nullable Object> full = dump.object(Objects.requireNonNull(value));
      assertArrayEquals(value, dump.object(full));
      full.replaceAll(
          (name, v) ->
              v == null || v instanceof List || v instanceof Map || v instanceof byte[]
                  ? v
                  : v.toString());
      assertArrayEquals(value, dump.object(full));
      assertArrayEquals(there, dump.object(nulls));
      full.put("bytes", "0102");
      assertArrayEquals(value, dump.object(full));
      Object[][] wrong = {
        {"none", 1},
        {"number", null},
        {"number", "x"},
        {"small", 128},
        {"bool", "yes"},
        {"letter", "ab"},
        {"inner", "x"},
        {"inner", Map.of("y", 1)},
        {"inners", "x"},
        {"inners", List.of(1)},
        {"map", List.of(1)},
        {"map", Map.of("k", "x")},
        {"colour", "PINK"},
        {"text", "\uD800"},
        {"uuid", "1-1-1-1-1"},
        {"date", "yesterday"}
      };
      for (Object[] each : wrong) {
        Map<String, @Nullable Object> of = new LinkedHashMap<>(full);
        of.put((String) each[0], each[1]);
        String said =
            assertThrows(IllegalArgumentException.class, () -> dump.object(of)).getMessage();
        assertTrue(said.contains((String) each[0]), said);
      }
    }
  }

  @Test
  void indexes() {
    try (Database db = filled()) {
      RowTable table = db.table(Objects.requireNonNull(db.describe("everything")));
      ObjectDump dump = ObjectDump.of(table);
      assertEquals(List.of("text"), texts(db, dump, "byText", "text"));
      assertEquals(List.of("text"), texts(db, dump, "byText", "text", "-4"));
      assertEquals(List.of(), texts(db, dump, "byText", "text", "4"));
      assertEquals(List.of("null"), texts(db, dump, "byText", (String) null));
      assertEquals(List.of("text"), texts(db, dump, "byColour", "BLUE", "2026-11-25"));
      assertEquals(List.of("null"), texts(db, dump, "byColour", null, null));
      assertEquals(List.of("null", "text"), texts(db, dump, "byText"));
      for (String[] wrong : new String[][] {{"text", "x"}, {"text", "1", "2"}}) {
        assertThrows(IllegalArgumentException.class, () -> texts(db, dump, "byText", wrong));
      }
      assertThrows(IllegalArgumentException.class, () -> texts(db, dump, "byColour", "GREEN"));
      assertThrows(IllegalArgumentException.class, () -> texts(db, dump, "by"));
    }
  }

  @Test
  void pagesOfIndexes() {
    try (Database db = filled()) {
      RowTable table = db.table(Objects.requireNonNull(db.describe("everything")));
      ObjectDump dump = ObjectDump.of(table);
      Page<String> first = page(db, dump, ScanOrder.ASCENDING, null);
      assertEquals(List.of("null"), first.items());
      assertTrue(first.hasNext());
      Page<String> last = page(db, dump, ScanOrder.ASCENDING, first.next());
      assertEquals(List.of("text"), last.items());
      assertFalse(last.hasNext());
      Page<String> back = page(db, dump, ScanOrder.DESCENDING, null);
      assertEquals(List.of("text"), back.items());
      assertEquals(List.of("null"), page(db, dump, ScanOrder.DESCENDING, back.next()).items());
      // Parts limit what is read, whatever the token contains.
      assertEquals(List.of("text"), page(db, dump, ScanOrder.ASCENDING, null, "text").items());
      String after = first.next();
      assertEquals(List.of("text"), page(db, dump, ScanOrder.ASCENDING, after, "text").items());
      assertEquals(List.of(), page(db, dump, ScanOrder.ASCENDING, after, (String) null).items());
      assertThrows(InvalidUseException.class, () -> page(db, dump, ScanOrder.DESCENDING, after));
      assertThrows(
          InvalidUseException.class, () -> page(db, dump, ScanOrder.ASCENDING, after + "x"));
      assertThrows(
          IllegalArgumentException.class,
          () -> page(db, dump, ScanOrder.ASCENDING, null, "a", "x"));
      assertThrows(
          IllegalArgumentException.class,
          () ->
              db.read(
                  tx ->
                      dump.pageIndex(
                          tx, "byText", List.of(), ScanOrder.ASCENDING, null, 0, (k, v) -> k)));
    }
  }

  private static Page<String> page(
      Database db,
      ObjectDump dump,
      ScanOrder order,
      @Nullable String after,
      @Nullable String... parts) {
    return db.read(
        tx ->
            dump.pageIndex(
                tx,
                "byText",
                Arrays.asList(parts),
                order,
                after,
                1,
                (k, v) -> String.valueOf(dump.object(v).get("text"))));
  }

  private static List<String> texts(
      Database db, ObjectDump dump, String index, @Nullable String... parts) {
    return db.read(
        tx -> {
          List<String> all = new ArrayList<>();
          try (Cursor<byte[], byte[]> c =
              dump.scanIndex(tx, index, Arrays.asList(parts), ScanOrder.ASCENDING)) {
            while (c.next()) {
              all.add(String.valueOf(dump.object(c.value()).get("text")));
            }
          }
          return all;
        });
  }

  @Test
  void tablesWithoutObjects() {
    try (Database db = filled()) {
      RowTable table = db.table(Objects.requireNonNull(db.describe("everything")));
      ObjectDump dump = ObjectDump.of(table);
      for (byte[] wrong : new byte[][] {{}, {0}, {1}, {2, 0}, {9, 9, 9}}) {
        assertThrows(IllegalArgumentException.class, () -> dump.object(wrong));
        assertThrows(IllegalArgumentException.class, () -> dump.key(wrong));
      }
      assertThrows(IllegalArgumentException.class, () -> dump.key(List.of("GREEN")));
      assertThrows(IllegalArgumentException.class, () -> dump.key(List.of("RED", "1", "x", "y")));
      RowTable bytes = db.table(TableSpec.bytes("bytes", 20));
      String message =
          assertThrows(InvalidUseException.class, () -> ObjectDump.of(bytes)).getMessage();
      assertTrue(message.contains("no objects"), message);
    }
  }
}
