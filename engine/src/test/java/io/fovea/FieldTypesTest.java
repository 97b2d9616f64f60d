package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.DuplicateKeyException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.ValueTooLargeException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.support.FieldValues;
import io.fovea.support.FieldValues.Kind;
import java.math.BigDecimal;
import java.nio.ByteOrder;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.stream.Stream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Fields of each type in rows, keys and indexes: values, order and nulls. */
class FieldTypesTest {
  private static final Options SMALL = Options.defaults().bufferBytes(8 << 20);

  private static final UUID ID = UUID.fromString("00112233-4455-6677-8899-aabbccddeeff");
  private static final Instant TIME = Instant.parse("2026-11-25T22:00:00.000000001Z");

  private static final Layout.Definition B = Layout.define();
  private static final Field BOOL = B.bool("bool");
  private static final Field DOUBLE = B.float64("double");
  private static final Field UUID_ = B.uuid("uuid");
  private static final Field INSTANT = B.instant("instant");
  private static final Field DECIMAL = B.decimal("decimal", 10, 2);
  private static final Field WIDE = B.decimal("wide", 38, 10);
  private static final Field MAYBE = B.nullable().int32("maybe");
  private static final Field NAME = B.nullable().text("name", 10);
  private static final Field AMOUNT = B.nullable().decimal("amount", 4, 4);
  private static final Field LAST = B.int64("last");
  private static final Layout LAYOUT = B.build();

  private static Row row(Layout layout) {
    return new Row(
        layout, new io.fovea.index.RowFields(layout), layout.size(), FieldTypesTest.class, 0);
  }

  private static Row row() {
    return row(LAYOUT).clear();
  }

  private static Key key(Consumer<KeySpec.Definition> parts) {
    KeySpec.Definition b = KeySpec.define();
    parts.accept(b);
    return new Key(b.build(), FieldTypesTest.class);
  }

  private static String hex(Key key) {
    byte[] out = new byte[key.length()];
    io.fovea.memory.Mem.getBytes(key.segment(), key.base(), out, 0, out.length);
    return HexFormat.of().formatHex(out);
  }

  private static String hex(Row row, Field f) {
    byte[] out = new byte[f.rowBytes()];
    io.fovea.memory.Mem.getBytes(row.segment(), row.base() + f.start(), out, 0, out.length);
    return HexFormat.of().formatHex(out);
  }

  static Stream<Kind> kinds() {
    return Stream.of(
            Kind.of(FieldType.INT32),
            Kind.of(FieldType.INT64),
            Kind.of(FieldType.TEXT, 12),
            Kind.of(FieldType.BYTES, 12),
            Kind.of(FieldType.BOOLEAN),
            Kind.of(FieldType.FLOAT64),
            Kind.of(FieldType.UUID),
            Kind.of(FieldType.INSTANT),
            Kind.decimal(1, 0),
            Kind.decimal(9, 2),
            Kind.decimal(18, 18),
            Kind.decimal(19, 0),
            Kind.decimal(38, 10))
        .flatMap(k -> Stream.of(k, k.orNull()));
  }

  /**
   * Keys with any parts compare like their values, part by part, and return the parts that were
   * set.
   */
  @Property(tries = 2000)
  void keysSortLikeTheirValues(@ForAll long seed) {
    Random r = new Random(seed);
    List<Kind> kinds = new ArrayList<>();
    for (int n = 1 + r.nextInt(4); n > 0; n--) {
      kinds.add(FieldValues.any(r, 12));
    }
    Key[] keys = new Key[2];
    List<List<Object>> values = List.of(new ArrayList<>(), new ArrayList<>());
    for (int i = 0; i < 2; i++) {
      KeySpec.Definition b = KeySpec.define();
      for (int p = 0; p < kinds.size(); p++) {
        kinds.get(p).addTo(b, "p" + p);
      }
      Key k = new Key(b.build(), FieldTypesTest.class);
      keys[i] = k;
      for (int p = 0; p < kinds.size(); p++) {
        boolean same = i == 1 && r.nextInt(2) == 0;
        Object v = same ? values.getFirst().get(p) : kinds.get(p).value(r);
        values.get(i).add(v);
        FieldValues.append(k, k.spec().parts().get(p), v);
      }
      Key loaded = new Key(k.spec(), FieldTypesTest.class);
      loaded.load(k.segment(), k.base(), k.length());
      assertTrue(loaded.isComplete());
      assertTrue(k.length() <= k.spec().maxBytes());
      for (int p = 0; p < kinds.size(); p++) {
        assertEquals(values.get(i).get(p), FieldValues.get(loaded, p));
      }
      assertEquals(k.toString(), loaded.toString());
    }
    int expected = 0;
    for (int p = 0; p < kinds.size() && expected == 0; p++) {
      Comparator<Object> order = kinds.get(p).order();
      expected = order.compare(values.getFirst().get(p), values.getLast().get(p));
    }
    assertEquals(
        Integer.signum(expected), Integer.signum(keys[0].compareTo(keys[1])), values::toString);
  }

  /** Rows with any fields: the last value set is read, and no field affects another. */
  @Property(tries = 1000)
  void rowsHoldTheValuesSet(@ForAll long seed) {
    Random r = new Random(seed);
    Layout.Definition b = Layout.define();
    List<Kind> kinds = new ArrayList<>();
    for (int n = 1 + r.nextInt(8); n > 0; n--) {
      kinds.add(FieldValues.any(r, 12));
      kinds.getLast().addTo(b, "f" + n);
    }
    Layout layout = b.build();
    Row row = row(layout).clear();
    List<Object> values = new ArrayList<>();
    kinds.forEach(k -> values.add(k.zero()));
    for (int n = r.nextInt(30); n >= 0; n--) {
      for (Field f : layout.fields()) {
        assertEquals(values.get(f.ordinal()), FieldValues.get(row, f));
      }
      int i = r.nextInt(kinds.size());
      values.set(i, kinds.get(i).value(r));
      FieldValues.set(row, layout.fields().get(i), values.get(i));
    }
    Row copy = row(layout).clear().set(row);
    assertEquals(row.toString(), copy.toString());
  }

  @Test
  void keysHaveTheDocumentedBytes() {
    Key bools = key(b -> b.bool("a"));
    assertEquals("00", hex(bools.clear().bool(false)));
    assertEquals("01", hex(bools.clear().bool(true)));
    Key doubles = key(b -> b.float64("a"));
    assertEquals("bff0000000000000", hex(doubles.clear().float64(1.0)));
    assertEquals("400fffffffffffff", hex(doubles.clear().float64(-1.0)));
    assertEquals("8000000000000000", hex(doubles.clear().float64(0.0)));
    assertEquals("7fffffffffffffff", hex(doubles.clear().float64(-0.0)));
    assertEquals("fff8000000000000", hex(doubles.clear().float64(Double.NaN)));
    assertEquals(
        "fff8000000000000",
        hex(doubles.clear().float64(Double.longBitsToDouble(0xfff0_0000_0000_0001L))));
    assertEquals("00112233445566778899aabbccddeeff", hex(key(b -> b.uuid("a")).clear().uuid(ID)));
    Key times = key(b -> b.instant("a"));
    assertEquals("800000006ae5f9a000000001".length(), hex(times.clear().instant(TIME)).length());
    assertEquals(
        HexFormat.of().toHexDigits(TIME.getEpochSecond() ^ Long.MIN_VALUE) + "00000001",
        hex(times));
    assertEquals(
        "7fffffffffffffff3b9ac9ff", hex(times.clear().instant(Instant.EPOCH.minusNanos(1))));
    Key prices = key(b -> b.decimal("a", 9, 2));
    assertEquals("80003039", hex(prices.clear().decimal(new BigDecimal("123.45"))));
    assertEquals("80000064", hex(prices.clear().decimal(BigDecimal.ONE)));
    assertEquals("7fffffff", hex(prices.clear().decimal(new BigDecimal("-0.01"))));
    Key maybe = key(b -> b.nullable().int32("a"));
    assertEquals("00", hex(maybe.clear().nullValue()));
    assertEquals("0180000001", hex(maybe.clear().int32(1)));
    assertEquals("0180000001", hex(maybe.set(1)));
    assertEquals("01610001", hex(key(b -> b.nullable().text("a", 3)).set("a")));
  }

  @Test
  void rowsHaveTheDocumentedBytes() {
    Row row = row();
    row.setBoolean(BOOL, true).setDouble(DOUBLE, -0.0).setUuid(UUID_, ID);
    row.setInstant(INSTANT, Instant.ofEpochSecond(1, 2)).setDecimal(DECIMAL, new BigDecimal("-1"));
    row.setInt(MAYBE, 1).setText(NAME, "é");
    assertEquals("01", hex(row, BOOL));
    assertEquals("00112233445566778899aabbccddeeff", hex(row, UUID_));
    assertEquals("ffffffff9c", hex(row, DECIMAL));
    if (ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN) {
      assertEquals("0000000000000080", hex(row, DOUBLE));
      assertEquals("010000000000000002000000", hex(row, INSTANT));
      assertEquals("0101000000", hex(row, MAYBE));
      assertEquals("010200c3a90000000000000000", hex(row, NAME));
    }
    assertEquals("00000000000000000000000000", hex(row.setNull(NAME), NAME));
    assertEquals("000000", hex(row, AMOUNT));
    assertEquals(1 + 8 + 16 + 12 + 5 + 16 + 5 + 13 + 3 + 8, LAYOUT.size());
  }

  @Test
  void aFreshRowIsZeroOrNull() {
    Row row = row();
    assertFalse(row.getBoolean(BOOL));
    assertEquals(0.0, row.getDouble(DOUBLE));
    assertEquals(new UUID(0, 0), row.getUuid(UUID_));
    assertEquals(Instant.EPOCH, row.getInstant(INSTANT));
    assertEquals(new BigDecimal("0.00"), row.getDecimal(DECIMAL));
    assertTrue(row.isNull(MAYBE) && row.isNull(NAME) && row.isNull(AMOUNT));
    assertFalse(row.isNull(LAST));
    assertEquals(
        "Row[bool=false, double=0.0, uuid=00000000-0000-0000-0000-000000000000,"
            + " instant=1970-01-01T00:00:00Z, decimal=0.00, wide=0.0000000000, maybe=null,"
            + " name=null, amount=null, last=0]",
        row.toString());
    assertEquals("", row.setText(NAME, "").getText(NAME));
    assertEquals(0, row.setInt(MAYBE, 0).getInt(MAYBE));
  }

  @Test
  void aNullHasNoValue() {
    Row row = row();
    String said = assertThrows(InvalidUseException.class, () -> row.getInt(MAYBE)).getMessage();
    assertEquals("Field maybe is null: call isNull first, or set it.", said);
    assertThrows(InvalidUseException.class, () -> row.getText(NAME));
    assertThrows(InvalidUseException.class, () -> row.textEquals(NAME, ""));
    assertThrows(InvalidUseException.class, () -> row.length(NAME));
    assertThrows(InvalidUseException.class, () -> row.getBytes(NAME));
    assertThrows(InvalidUseException.class, () -> row.getDecimal(AMOUNT));
    String never = assertThrows(InvalidUseException.class, () -> row.setNull(LAST)).getMessage();
    assertTrue(never.contains("Field last INT64 can't be null"), never);
    assertThrows(NullPointerException.class, () -> row.setUuid(UUID_, null));
    assertThrows(NullPointerException.class, () -> row.setText(NAME, null));
    // A rejected value leaves the field null.
    assertThrows(ValueTooLargeException.class, () -> row.setText(NAME, "x".repeat(11)));
    assertThrows(ValueTooLargeException.class, () -> row.setBytes(NAME, new byte[11]));
    assertThrows(InvalidUseException.class, () -> row.setDecimal(AMOUNT, BigDecimal.ONE));
    assertThrows(InvalidUseException.class, () -> row.setLong(MAYBE, 1));
    assertTrue(row.isNull(MAYBE) && row.isNull(NAME) && row.isNull(AMOUNT));
    Field other = Layout.define().nullable().int32("maybe");
    assertThrows(InvalidUseException.class, () -> row.isNull(other));
    assertThrows(InvalidUseException.class, () -> row.setNull(other));
  }

  @Test
  void decimalsAreNotRounded() {
    Row row = row();
    row.setDecimal(DECIMAL, new BigDecimal("99999999.99"));
    for (String wrong : List.of("100000000", "-1E8", "1E2147483647", "0.001", "1E-2147483647")) {
      assertThrows(
          InvalidUseException.class, () -> row.setDecimal(DECIMAL, new BigDecimal(wrong)), wrong);
    }
    assertEquals(new BigDecimal("99999999.99"), row.getDecimal(DECIMAL));
    assertEquals(
        "100.001 has more digits after the decimal point than field decimal DECIMAL(10, 2) can hold,"
            + " which is 2: round it first, with BigDecimal.setScale.",
        assertThrows(
                InvalidUseException.class, () -> row.setDecimal(DECIMAL, new BigDecimal("100.001")))
            .getMessage());
    for (String good : List.of("1E7", "1.5000000", "-0.010", "0E-100", "0E+100", "12")) {
      BigDecimal d = new BigDecimal(good);
      assertEquals(0, d.compareTo(row.setDecimal(DECIMAL, d).getDecimal(DECIMAL)), good);
      assertEquals(2, row.getDecimal(DECIMAL).scale());
    }
    BigDecimal widest = new BigDecimal("-9999999999999999999999999999.9999999999");
    assertEquals(widest, row.setDecimal(WIDE, widest).getDecimal(WIDE));
    assertThrows(InvalidUseException.class, () -> row.setDecimal(LAST, BigDecimal.ONE));
    Key key = key(b -> b.decimal("a", 4, 2));
    assertThrows(InvalidUseException.class, () -> key.clear().decimal(new BigDecimal("100")));
    assertEquals(0, key.parts());
  }

  @Test
  void aWrongTypeIsRefused() {
    Row row = row();
    assertThrows(InvalidUseException.class, () -> row.getBoolean(LAST));
    assertThrows(InvalidUseException.class, () -> row.getDouble(LAST));
    assertThrows(InvalidUseException.class, () -> row.getUuid(LAST));
    assertThrows(InvalidUseException.class, () -> row.getInstant(LAST));
    assertThrows(InvalidUseException.class, () -> row.getDecimal(LAST));
    assertThrows(InvalidUseException.class, () -> row.getLong(DOUBLE));
    assertThrows(InvalidUseException.class, () -> row.getInt(BOOL));
    assertThrows(InvalidUseException.class, () -> row.setInt(BOOL, 1));
    assertThrows(InvalidUseException.class, () -> row.getBytes(UUID_));
    Key key =
        key(
            b -> {
              b.uuid("id");
              b.nullable().instant("at");
              b.int32("n");
            });
    assertThrows(InvalidUseException.class, () -> key.clear().int32(1));
    assertThrows(InvalidUseException.class, () -> key.clear().nullValue());
    key.clear().uuid(ID);
    assertThrows(InvalidUseException.class, () -> key.bool(true));
    assertThrows(InvalidUseException.class, () -> key.isNull(1));
    key.nullValue();
    assertTrue(key.isNull(1));
    assertFalse(key.isNull(0));
    assertEquals(
        "Part at of a key of KeySpec(id UUID, at INSTANT NULL, n INT32) is null: call isNull first.",
        assertThrows(InvalidUseException.class, () -> key.getInstant(1)).getMessage());
    assertThrows(InvalidUseException.class, () -> key.getDouble(0));
    assertThrows(InvalidUseException.class, () -> key.nullValue());
    assertEquals("(" + ID + ", null, 7)", key.int32(7).toString());
    assertEquals(7, key.getInt(2));
  }

  @Test
  void invalidFieldsAreRefused() {
    Layout.Definition b = Layout.define();
    assertThrows(IllegalArgumentException.class, () -> b.decimal("a", 0, 0));
    assertThrows(IllegalArgumentException.class, () -> b.decimal("a", 39, 0));
    assertThrows(IllegalArgumentException.class, () -> b.decimal("a", 3, 4));
    assertThrows(IllegalArgumentException.class, () -> b.decimal("a", 3, -1));
    assertThrows(IllegalArgumentException.class, () -> b.add("a", FieldType.DECIMAL, 8));
    assertThrows(IllegalArgumentException.class, () -> b.add("a", FieldType.INT32, 5));
    assertThrows(IllegalArgumentException.class, () -> b.nullable().build());
    assertThrows(IllegalArgumentException.class, () -> KeySpec.of(FieldType.DECIMAL));
    assertThrows(IllegalArgumentException.class, () -> KeySpec.define().nullable().build());
    KeySpec.Definition k = KeySpec.define();
    k.nullable().int32("a");
    KeySpec nullable = k.build();
    assertEquals(
        "The key of table t has a part that may be null: KeySpec(a INT32 NULL).",
        assertThrows(IllegalArgumentException.class, () -> TableSpec.of("t", nullable, LAYOUT))
            .getMessage());
    assertEquals("k0 UUID", KeySpec.of(FieldType.UUID).parts().getFirst().toString());
  }

  @ParameterizedTest
  @MethodSource("kinds")
  void tablesAndIndexesOfEachType(Kind kind) {
    KeySpec.Definition k = KeySpec.define();
    if (!kind.nullable()) {
      kind.addTo(k, "k");
    }
    k.int32("n");
    Layout.Definition l = Layout.define();
    Field number = l.int32("number");
    Field f = kind.addTo(l, "f");
    TableSpec spec =
        TableSpec.of("t", k.build(), l.build())
            .with(IndexSpec.on("i", f))
            .with(IndexSpec.on("both", number, f))
            .with(IndexSpec.unique("u", f, number));
    Random r = new Random(kind.hashCode());
    try (Database db = Database.inMemory(SMALL)) {
      RowTable t = db.table(spec);
      List<Object> values = new ArrayList<>();
      Row row = t.row();
      db.run(
          tx -> {
            values.clear();
            for (int i = 0; i < 200; i++) {
              Object v = kind.value(r);
              values.add(v);
              FieldValues.set(row.clear().setInt(number, i), f, v);
              t.insert(tx, primaryKey(t, kind, v, i), row);
            }
          });
      db.run(
          tx -> {
            for (int i = 0; i < 200; i += 3) {
              Object before = values.get(i);
              assertTrue(t.get(tx, primaryKey(t, kind, before, i), row));
              assertEquals(before, FieldValues.get(row, f));
              Object v = kind.value(r);
              FieldValues.set(row, f, v);
              if (kind.nullable()) {
                t.update(tx, row);
              } else {
                assertTrue(t.delete(tx, primaryKey(t, kind, before, i)));
                t.put(tx, primaryKey(t, kind, v, i), row(t, row, f, v, number, i));
              }
              values.set(i, v);
            }
          });
      db.run(
          tx -> {
            List<Object> sorted = new ArrayList<>(values);
            sorted.sort(kind.order());
            assertEquals(sorted, values(tx, t.index("i"), Range.all(), f));
            if (!kind.nullable()) {
              List<Object> keys = new ArrayList<>();
              try (RowCursor c = t.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
                while (c.next()) {
                  keys.add(FieldValues.get(c.key(), 0));
                }
              }
              assertEquals(sorted, keys);
            }
            for (Object v : values) {
              Key key = t.index("i").key();
              FieldValues.append(key, f, v);
              long same = values.stream().filter(o -> kind.order().compare(o, v) == 0).count();
              assertEquals(same, values(tx, t.index("i"), Range.prefix(key), f).size());
            }
            for (int i = 0; i < values.size(); i++) {
              Key key = t.index("u").key();
              FieldValues.append(key, f, values.get(i));
              // A unique index has no entry for a record with a null in one of its fields.
              assertEquals(values.get(i) != null, t.index("u").get(tx, key.int32(i), row));
              if (values.get(i) != null) {
                assertEquals(i, row.getInt(number));
              }
              Key both = t.index("both").key().int32(i);
              FieldValues.append(both, f, values.get(i));
              assertTrue(t.index("both").get(tx, both, row));
              assertEquals(values.get(i), FieldValues.get(row, f));
            }
          });
      VerifyReport report = db.verify();
      assertTrue(report.ok(), report::toString);
      TableSpec described = db.describe("t");
      assertEquals(spec.key(), described.key());
      assertEquals(spec.layout(), described.layout());
    }
  }

  private static Row row(RowTable t, Row row, Field f, Object v, Field number, int i) {
    Row fresh = t.row().setInt(number, i);
    FieldValues.set(fresh, f, v);
    assertEquals(FieldValues.get(row, f), FieldValues.get(fresh, f));
    return fresh;
  }

  private static Key primaryKey(RowTable t, Kind kind, Object v, int i) {
    Key key = t.key();
    if (!kind.nullable()) {
      FieldValues.append(key, t.spec().key().parts().getFirst(), v);
    }
    return key.int32(i);
  }

  private static List<Object> values(Transaction tx, RowIndex index, Range range, Field f) {
    List<Object> found = new ArrayList<>();
    try (RowCursor c = index.scan(tx, range, ScanOrder.ASCENDING)) {
      while (c.next()) {
        found.add(FieldValues.get(c.row(), f));
        if (c.indexKey().spec().parts().getFirst().name().equals(f.name())) {
          assertEquals(found.getLast(), FieldValues.get(c.indexKey(), 0));
        }
      }
    }
    return found;
  }

  /** As in SQL: a value belongs to at most one record, null to any number. */
  @Test
  void aUniqueIndexDoesNotCompareNulls() {
    Layout.Definition l = Layout.define();
    Field mail = l.nullable().text("mail", 40);
    TableSpec spec =
        TableSpec.of("people", KeySpec.of(FieldType.INT32), l.build())
            .with(IndexSpec.unique("by_mail", mail));
    try (Database db = Database.inMemory(SMALL)) {
      RowTable t = db.table(spec);
      Row row = t.row();
      db.run(
          tx -> {
            t.insert(tx, t.key().set(1), row.clear());
            t.insert(tx, t.key().set(2), row.clear());
            t.insert(tx, t.key().set(3), row.clear().setText(mail, "a@b"));
            assertThrows(DuplicateKeyException.class, () -> t.insert(tx, t.key().set(4), row));
            assertTrue(t.get(tx, t.key().set(1), row));
            Row first = t.row();
            assertTrue(t.get(tx, t.key().set(1), first));
            t.update(tx, first.setText(mail, "c@d"));
            assertEquals(2, values(tx, t.index("by_mail"), Range.all(), mail).size());
            t.update(tx, first.setNull(mail));
            assertEquals(List.of("a@b"), values(tx, t.index("by_mail"), Range.all(), mail));
            assertFalse(t.index("by_mail").get(tx, t.index("by_mail").key().nullValue(), row));
            assertTrue(t.index("by_mail").get(tx, t.index("by_mail").key().text("a@b"), row));
          });
      assertTrue(db.verify().ok());
    }
  }

  /** Indexes built later, over existing records; one contains nulls itself. */
  @Test
  void indexesAreBuiltWithNulls() {
    Layout.Definition l = Layout.define();
    Field price = l.nullable().decimal("price", 6, 2);
    TableSpec spec = TableSpec.of("t", KeySpec.of(FieldType.INT32), l.build());
    KeySpec.Definition half = KeySpec.define();
    half.nullable().float64("half");
    try (Database db = Database.inMemory(SMALL)) {
      RowTable t = db.table(spec);
      Row row = t.row();
      db.run(
          tx -> {
            for (int i = 0; i < 100; i++) {
              row.clear();
              if (i % 2 == 0) {
                row.setDecimal(price, BigDecimal.valueOf(50 - i));
              }
              t.insert(tx, t.key().set(i), row);
            }
          });
      RowTable indexed =
          db.table(
              spec.with(IndexSpec.on("all", price))
                  .with(IndexSpec.unique("priced", price))
                  .with(
                      IndexSpec.extracted(
                          "half",
                          half.build(),
                          false,
                          (key, record, entry) -> {
                            if (record.isNull(price)) {
                              entry.nullValue();
                            } else {
                              entry.float64(record.getDecimal(price).doubleValue() / 2);
                            }
                            return true;
                          })));
      db.run(
          tx -> {
            List<Object> all = values(tx, indexed.index("all"), Range.all(), price);
            assertEquals(100, all.size());
            assertNull(all.get(49));
            assertEquals(new BigDecimal("-48"), all.get(50));
            assertEquals(
                all.subList(50, 100), values(tx, indexed.index("priced"), Range.all(), price));
            Key nulls = indexed.index("half").key().nullValue();
            assertEquals(50, values(tx, indexed.index("half"), Range.prefix(nulls), price).size());
          });
      assertTrue(db.verify().ok());
    }
  }

  /** Only changed fields are written, including their null bits. */
  @Test
  void updatesWriteNullBits() {
    try (Database db = Database.inMemory(SMALL)) {
      RowTable t = db.table(TableSpec.of("t", KeySpec.of(FieldType.UUID), LAYOUT));
      Row row = t.row();
      db.run(tx -> t.insert(tx, t.key().uuid(ID), row.clear().setLong(LAST, 1)));
      db.run(
          tx -> {
            assertTrue(t.get(tx, t.key().uuid(ID), row));
            t.update(tx, row.setInt(MAYBE, 0).setText(NAME, "").setInstant(INSTANT, TIME));
          });
      db.run(
          tx -> {
            assertTrue(t.get(tx, t.key().uuid(ID), row));
            assertEquals(0, row.getInt(MAYBE));
            assertEquals("", row.getText(NAME));
            assertEquals(TIME, row.getInstant(INSTANT));
            assertTrue(row.isNull(AMOUNT));
            t.update(tx, row.setNull(MAYBE).setText(NAME, "text"));
          });
      db.run(
          tx -> {
            Projection some = Projection.of(LAYOUT, MAYBE);
            assertTrue(t.get(tx, t.key().uuid(ID), row, some));
            assertTrue(row.isNull(MAYBE));
            assertThrows(InvalidUseException.class, () -> row.isNull(NAME));
            assertTrue(t.get(tx, t.key().uuid(ID), row));
            assertEquals("text", row.getText(NAME));
            assertArrayEquals(new byte[] {'t', 'e', 'x', 't'}, row.getBytes(NAME));
            assertEquals(1, row.getLong(LAST));
          });
    }
  }
}
