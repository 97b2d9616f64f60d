package io.fovea.object;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.InvalidUseException;
import io.fovea.schema.Id;
import io.fovea.schema.Initial;
import io.fovea.schema.Shape;
import java.math.BigDecimal;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.function.Function;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.junit.jupiter.api.Test;

/** Encoded keys sort like the keys, and objects round-trip through both readers. */
class ObjectCodecTest {
  private static final ObjectCodec CODEC = ObjectCodec.of(Long.class, Value.class, null, Map.of());
  private static final ObjectCodec NONE = ObjectCodec.of(Long.class, None.class, null, Map.of());
  private static final List<Function<ObjectReader, Object>> READERS =
      List.of(CODEC::read, CODEC.reading(CODEC.shape())::read);

  enum Kind {
    ONE,
    TWO,
    THREE
  }

  record Inner(String text, double number) {}

  record Value(
      int i,
      Long boxed,
      String text,
      Kind kind,
      List<Inner> list,
      Optional<Inner> maybe,
      Map<Kind, Set<String>> map) {}

  record Key(String text, long number, Kind kind, boolean flag, byte small, char c, short s) {}

  record None() {}

  sealed interface Payment {}

  record Cash(int cents) implements Payment {}

  sealed interface ByBank extends Payment {}

  record Card(String number, LocalDate until) implements ByBank {}

  record Transfer(Optional<String> iban) implements ByBank {}

  /** A class that is stored by a codec only. */
  static final class Point {
    final int x;
    final int y;

    Point(int x, int y) {
      this.x = x;
      this.y = y;
    }

    @Override
    public boolean equals(Object o) {
      return o instanceof Point p && p.x == x && p.y == y;
    }

    @Override
    public int hashCode() {
      return 31 * x + y;
    }
  }

  record Pair(int x, int y) {}

  record Coded(
      OffsetDateTime offset,
      ZonedDateTime zoned,
      URI uri,
      Payment payment,
      List<Payment> payments,
      Optional<Point> point,
      Map<Point, URI> byPoint) {}

  private static final Map<Class<?>, TypeCodec> POINTS =
      Map.of(
          Point.class,
          TypeCodec.of(
              Point.class, Pair.class, true, p -> new Pair(p.x, p.y), p -> new Point(p.x, p.y)));
  private static final ObjectCodec CODED = ObjectCodec.of(Point.class, Coded.class, null, POINTS);

  private static byte[] key(ObjectCodec codec, Object key) {
    ObjectWriter out = new ObjectWriter();
    codec.writeKey(out, key);
    return out.toArray();
  }

  private static <K> void ordered(Class<K> type, Comparator<? super K> order, List<K> keys) {
    ObjectCodec codec = ObjectCodec.of(type, None.class, null, Map.of());
    for (K a : keys) {
      assertEquals(a, codec.readKey(new ObjectReader().of(key(codec, a))));
      for (K b : keys) {
        int expected = Integer.signum(order.compare(a, b));
        int found = Integer.signum(Arrays.compareUnsigned(key(codec, a), key(codec, b)));
        assertEquals(expected, found, a + " and " + b);
      }
    }
  }

  @Test
  void keysAreOrdered() {
    ordered(Boolean.class, Comparator.naturalOrder(), List.of(false, true));
    ordered(
        Byte.class,
        Comparator.naturalOrder(),
        List.of((byte) -128, (byte) -1, (byte) 0, (byte) 127));
    ordered(
        Short.class,
        Comparator.naturalOrder(),
        List.of(Short.MIN_VALUE, (short) -1, (short) 0, Short.MAX_VALUE));
    ordered(Character.class, Comparator.naturalOrder(), List.of('\0', 'a', '\u8000', '\uFFFF'));
    ordered(
        Float.class,
        Comparator.naturalOrder(),
        List.of(Float.NEGATIVE_INFINITY, -1f, -Float.MIN_VALUE, -0f, 0f, 1e-9f, 3f, Float.NaN));
    ordered(
        Double.class,
        Comparator.naturalOrder(),
        List.of(
            Double.NEGATIVE_INFINITY,
            -1d,
            -Double.MIN_VALUE,
            -0d,
            0d,
            1e-9,
            Double.MAX_VALUE,
            Double.NaN));
    ordered(
        Instant.class,
        Comparator.naturalOrder(),
        List.of(Instant.MIN, Instant.EPOCH.minusNanos(1), Instant.EPOCH, Instant.MAX));
    ordered(
        Duration.class,
        Comparator.naturalOrder(),
        List.of(Duration.ofSeconds(Long.MIN_VALUE), Duration.ofNanos(-1), Duration.ZERO));
    ordered(
        LocalDate.class,
        Comparator.naturalOrder(),
        List.of(LocalDate.MIN, LocalDate.EPOCH, LocalDate.MAX));
    ordered(
        LocalTime.class,
        Comparator.naturalOrder(),
        List.of(LocalTime.MIN, LocalTime.NOON, LocalTime.MAX));
    ordered(
        LocalDateTime.class,
        Comparator.naturalOrder(),
        List.of(LocalDateTime.MIN, LocalDateTime.of(1969, 12, 31, 23, 59), LocalDateTime.MAX));
    ordered(Kind.class, Comparator.naturalOrder(), List.of(Kind.values()));
    ordered(
        UUID.class,
        Comparator.comparing(UUID::toString),
        List.of(new UUID(0, 0), new UUID(-1, 5), new UUID(5, -1), new UUID(-1, -1)));
  }

  private static final Comparator<Key> ORDER =
      Comparator.comparing((Key k) -> k.text, ObjectCodecTest::byCodePoints)
          .thenComparing(Key::number)
          .thenComparing(Key::kind)
          .thenComparing(Key::flag)
          .thenComparing(Key::small)
          .thenComparing(Key::c)
          .thenComparing(Key::s);

  private static int byCodePoints(String a, String b) {
    return Arrays.compare(a.codePoints().toArray(), b.codePoints().toArray());
  }

  @Property(tries = 300)
  void keysOfSeveralPartsAreOrdered(@ForAll Parts a, @ForAll Parts b) {
    ordered(Key.class, ORDER, List.of(a.key(), b.key()));
  }

  /** Values of key parts: few, so that prefixes are often equal. */
  enum Parts {
    A("", 0),
    B("\0", 0),
    C("\0\u0001", -1),
    D("a", Long.MIN_VALUE),
    E("a\0", 1),
    F("a\u00FF", 1),
    G("a𝄞", 7),
    H("a\uFFFD", 7);

    private final String text;
    private final long number;

    Parts(String text, long number) {
      this.text = text;
      this.number = number;
    }

    Key key() {
      return new Key(text, number, Kind.TWO, number > 0, (byte) number, 'x', (short) ordinal());
    }
  }

  @Property(tries = 500)
  void bothReadersAgree(
      @ForAll int i,
      @ForAll long n,
      @ForAll int size,
      @ForAll double number,
      @ForAll byte[] bytes) {
    String text = new String(bytes, java.nio.charset.StandardCharsets.ISO_8859_1);
    Inner inner = new Inner(i % 3 == 0 ? null : text, number);
    List<Inner> list = new ArrayList<>();
    for (int at = 0; at < Math.abs(size % 5); at++) {
      list.add(at % 2 == 0 ? inner : null);
    }
    Value value =
        new Value(
            i,
            n % 2 == 0 ? null : n,
            text,
            i % 4 == 0 ? null : Kind.values()[Math.abs(i % 3)],
            size % 7 == 0 ? null : list,
            n % 3 == 0 ? Optional.empty() : Optional.of(inner),
            Map.of(Kind.ONE, Set.of(), Kind.THREE, Set.of("", text + "x")));
    ObjectWriter out = new ObjectWriter();
    CODEC.write(out, value);
    byte[] stored = out.toArray();
    ObjectReader in = new ObjectReader().of(stored);
    assertEquals(value, CODEC.read(in));
    assertTrue(in.isAtEnd());
    Shape again = Shapes.parse(CODEC.shape().toString());
    assertEquals(CODEC.shape(), again);
    ObjectReader slow = new ObjectReader().of(stored);
    assertEquals(value, CODEC.reading(again).read(slow));
    assertTrue(slow.isAtEnd());
    ObjectReader skipping = new ObjectReader().of(stored);
    assertEquals(new None(), NONE.reading(again).read(skipping));
    assertTrue(skipping.isAtEnd());
  }

  @Property(tries = 2_000)
  void arbitraryBytesAreReadWithinBounds(@ForAll byte[] bytes) {
    for (Function<ObjectReader, Object> reader : READERS) {
      try {
        reader.apply(new ObjectReader().of(bytes));
      } catch (IndexOutOfBoundsException | IllegalArgumentException e) {
        continue; // rejected by the reader
      }
    }
  }

  private static final List<ZoneId> ZONES =
      List.of(
          ZoneId.of("Europe/Berlin"),
          ZoneOffset.MAX,
          ZoneOffset.UTC,
          ZoneId.of("UTC+01:00"),
          ZoneId.of("Asia/Kathmandu"));

  @Provide
  Arbitrary<OffsetDateTime> offsetTimes() {
    // Few instants, so that some are equal.
    Arbitrary<Instant> instants =
        Arbitraries.oneOf(
            Arbitraries.longs().between(-2, 2).map(Instant::ofEpochSecond),
            Combinators.combine(
                    Arbitraries.longs().between(-1L << 40, 1L << 40),
                    Arbitraries.integers().between(0, 999_999_999))
                .as(Instant::ofEpochSecond));
    Arbitrary<ZoneOffset> offsets =
        Arbitraries.integers().between(-64_800, 64_800).map(ZoneOffset::ofTotalSeconds);
    return Arbitraries.oneOf(
        Arbitraries.of(OffsetDateTime.MIN, OffsetDateTime.MAX),
        Combinators.combine(instants, offsets).as(OffsetDateTime::ofInstant));
  }

  @Property(tries = 500)
  void offsetTimesInKeysAreOrdered(
      @ForAll("offsetTimes") OffsetDateTime a, @ForAll("offsetTimes") OffsetDateTime b) {
    ordered(OffsetDateTime.class, Comparator.naturalOrder(), List.of(a, b));
  }

  @Property(tries = 300)
  void keysWithCodecsAreOrderedAsStored(@ForAll int ax, @ForAll int ay, @ForAll int by) {
    Comparator<Point> order = Comparator.comparing((Point p) -> p.x).thenComparing(p -> p.y);
    List<Point> keys = List.of(new Point(ax, ay), new Point(ax, by), new Point(ay, by));
    for (Point a : keys) {
      assertEquals(a, CODED.readKey(new ObjectReader().of(key(CODED, a))));
      for (Point b : keys) {
        assertEquals(
            Integer.signum(order.compare(a, b)),
            Integer.signum(Arrays.compareUnsigned(key(CODED, a), key(CODED, b))));
      }
    }
  }

  @Property(tries = 500)
  void typesWithCodecsAndSealedInterfacesRoundTrip(
      @ForAll("offsetTimes") OffsetDateTime time, @ForAll int n, @ForAll byte[] bytes) {
    int kind = Math.floorMod(n, 7);
    String text = Base64.getUrlEncoder().encodeToString(bytes);
    List<Payment> all = new ArrayList<>();
    all.add(new Cash(n));
    all.add(null);
    all.add(new Card(text, LocalDate.ofEpochDay(n)));
    all.add(new Transfer(n < 0 ? Optional.empty() : Optional.of(text)));
    Coded value =
        new Coded(
            kind == 0 ? null : time,
            kind == 1 ? null : time.atZoneSimilarLocal(ZONES.get(Math.floorMod(n, 5))),
            kind == 2 ? null : URI.create("https://example.org/" + text),
            all.get(kind % 4),
            kind == 3 ? null : all,
            kind == 4 ? Optional.empty() : Optional.of(new Point(n, -n)),
            Map.of(new Point(0, n), URI.create("")));
    ObjectWriter out = new ObjectWriter();
    CODED.write(out, value);
    byte[] stored = out.toArray();
    Shape again = Shapes.parse(CODED.shape().toString());
    assertEquals(CODED.shape(), again);
    for (Function<ObjectReader, Object> reader :
        List.<Function<ObjectReader, Object>>of(CODED::read, CODED.reading(again)::read)) {
      ObjectReader in = new ObjectReader().of(stored);
      assertEquals(value, reader.apply(in));
      assertTrue(in.isAtEnd());
    }
    ObjectReader skipping = new ObjectReader().of(stored);
    assertEquals(new None(), NONE.reading(again).read(skipping));
    assertTrue(skipping.isAtEnd());
    // Without the class: the text form has all values.
    byte[] versioned = new byte[stored.length + 1];
    versioned[0] = 1;
    System.arraycopy(stored, 0, versioned, 1, stored.length);
    List<Shape.Composite> versions = List.of((Shape.Composite) again);
    assertArrayEquals(
        versioned, ObjectText.object(versions, 1, ObjectText.object(versions, versioned)));
  }

  @Test
  void bothPartsOfAnOverlapOfZonedTimesAreKept() {
    LocalDateTime local = LocalDateTime.of(2026, 10, 25, 2, 30);
    ZonedDateTime summer = local.atZone(ZoneId.of("Europe/Berlin")).withEarlierOffsetAtOverlap();
    for (ZonedDateTime time : List.of(summer, summer.withLaterOffsetAtOverlap())) {
      ObjectWriter out = new ObjectWriter();
      Coded value = new Coded(null, time, null, null, null, null, null);
      CODED.write(out, value);
      Coded read = (Coded) CODED.read(new ObjectReader().of(out.toArray()));
      assertEquals(time, read.zoned);
    }
  }

  sealed interface Tree {}

  record Leaf(int i) implements Tree {}

  record Fork(Tree left) implements Tree {}

  sealed interface Mixed {}

  enum Nothing implements Mixed {
    NOTHING
  }

  record HasTree(Tree tree) {}

  record HasMixed(Mixed mixed) {}

  record HasPoint(Point point) {}

  record Self(int i, List<Self> more) {}

  record Date(java.util.Date date) {}

  record TimeKey(OffsetDateTime time) {}

  record TwoIds(@Id int a, @Id int b) {}

  record Nested(@Id int a, TwoIds b) {}

  record WrongInitial(@Initial("x") int a) {}

  record Parameter<T>(T t) {}

  record Maybe(Optional<Optional<String>> twice) {}

  private static void refused(Class<?> key, Class<?> type, String... words) {
    IllegalArgumentException e =
        assertThrows(
            IllegalArgumentException.class, () -> ObjectCodec.of(key, type, null, Map.of()));
    for (String word : words) {
      assertTrue(e.getMessage().contains(word), e.getMessage());
    }
  }

  @Test
  void reportsUnsupportedTypes() {
    refused(Long.class, Self.class, "Self.more[]", "contains itself");
    refused(Long.class, Date.class, "Date.date", "java.util.Date", "Instant");
    refused(Integer.class, TwoIds.class, "two components with @Id");
    refused(Integer.class, Nested.class, "Nested.b.a has @Id");
    refused(Long.class, Nested.class, "the keys are of java.lang.Long");
    refused(
        Long.class,
        WrongInitial.class,
        "@Initial of component WrongInitial.a is not a value of INT32");
    refused(Long.class, Parameter.class, "type parameters");
    refused(Long.class, Maybe.class, "Optional of an Optional");
    refused(Long.class, String.class, "not a record class");
    refused(BigDecimal.class, None.class, "The key is DECIMAL", "no order");
    refused(Value.class, None.class, "The key.m", "no key can contain it");
    refused(None.class, None.class, "without components");
    refused(Long.class, HasTree.class, "HasTree.tree.Fork.left is a", "contains itself");
    refused(Long.class, HasMixed.class, "HasMixed.mixed permits", "Nothing");
    refused(Long.class, HasPoint.class, "HasPoint.point", "TypeCodecs");
    refused(URI.class, None.class, "java.net.URI", "order is undefined");
    refused(ZonedDateTime.class, None.class, "ZonedDateTime", "order is undefined");
    refused(Payment.class, None.class, "oneof", "no order");
  }

  @Test
  void unpairedSurrogatesAndNullKeysAreRefused() {
    ObjectCodec codec = ObjectCodec.of(String.class, Inner.class, null, Map.of());
    for (String half : List.of("\uD800", "a\uDC00b", "x\uD834", "\uDD1E\uD834")) {
      assertThrows(
          InvalidUseException.class, () -> codec.write(new ObjectWriter(), new Inner(half, 0)));
      assertThrows(InvalidUseException.class, () -> key(codec, half));
    }
    ObjectCodec keys = ObjectCodec.of(Key.class, None.class, null, Map.of());
    assertThrows(
        InvalidUseException.class,
        () -> key(keys, new Key(null, 0, Kind.ONE, true, (byte) 0, 'a', (short) 0)));
    ObjectCodec times = ObjectCodec.of(TimeKey.class, None.class, null, Map.of());
    assertThrows(InvalidUseException.class, () -> key(times, new TimeKey(null)));
  }

  @Test
  void shapesDescribeStoredObjects() {
    assertEquals(
        "record(i INT32, boxed optional(INT64), text TEXT, kind enum(ONE, TWO, THREE), "
            + "list list(record(text TEXT, number FLOAT64)), "
            + "maybe optional(record(text TEXT, number FLOAT64)), "
            + "map map(enum(ONE, TWO, THREE), set(TEXT)))",
        ObjectCodec.of(Long.class, Value.class, null, Map.of()).shape().toString());
    assertEquals(
        "record(offset record(instant INSTANT, offset INT32), "
            + "zoned record(instant INSTANT, zone TEXT), uri TEXT, "
            + "payment oneof(Cash record(cents INT32), Card record(number TEXT, until DATE), "
            + "Transfer record(iban optional(TEXT)))",
        CODED.shape().toString().replaceFirst(", payments .*", ""));
    for (String wrong :
        List.of(
            "",
            "INT33",
            "list(INT32",
            "list()",
            "record(a)",
            "oneof(a TEXT)",
            "oneof(a record(), a record())",
            "enum(a, a)",
            "INT32 ",
            "map(TEXT)")) {
      assertThrows(IllegalArgumentException.class, () -> Shapes.parse(wrong), wrong);
    }
    String deep = "list(".repeat(100) + "TEXT" + ")".repeat(100);
    assertThrows(IllegalArgumentException.class, () -> Shapes.parse(deep));
    assertNotEquals(Shapes.parse("list(TEXT)"), Shapes.parse("set(TEXT)"));
  }
}
