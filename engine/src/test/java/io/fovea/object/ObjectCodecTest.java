package io.fovea.object;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.InvalidUseException;
import io.fovea.schema.Id;
import io.fovea.schema.Initial;
import io.fovea.schema.Shape;
import java.math.BigDecimal;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.function.Function;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

/** Encoded keys sort like the keys, and objects round-trip through both readers. */
class ObjectCodecTest {
  private static final ObjectCodec CODEC = ObjectCodec.of(Long.class, Value.class, null);
  private static final ObjectCodec NONE = ObjectCodec.of(Long.class, None.class, null);
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

  private static byte[] key(ObjectCodec codec, Object key) {
    ObjectWriter out = new ObjectWriter();
    codec.writeKey(out, key);
    return out.toArray();
  }

  private static <K> void ordered(Class<K> type, Comparator<? super K> order, List<K> keys) {
    ObjectCodec codec = ObjectCodec.of(type, None.class, null);
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

  record Self(int i, List<Self> more) {}

  record Date(java.util.Date date) {}

  record TwoIds(@Id int a, @Id int b) {}

  record Nested(@Id int a, TwoIds b) {}

  record WrongInitial(@Initial("x") int a) {}

  record Parameter<T>(T t) {}

  record Maybe(Optional<Optional<String>> twice) {}

  private static void refused(Class<?> key, Class<?> type, String... words) {
    IllegalArgumentException e =
        assertThrows(IllegalArgumentException.class, () -> ObjectCodec.of(key, type, null));
    for (String word : words) {
      assertTrue(e.getMessage().contains(word), e.getMessage());
    }
  }

  @Test
  void reportsUnsupportedTypes() {
    refused(Long.class, Self.class, "Self.more[]", "contains itself");
    refused(Long.class, Date.class, "Date.date", "java.util.Date", "Instant");
    refused(Integer.class, TwoIds.class, "two components with @Id");
    refused(Integer.class, Nested.class, "Nested.b.a is an @Id");
    refused(Long.class, Nested.class, "the keys are of java.lang.Long");
    refused(Long.class, WrongInitial.class, "@Initial of component WrongInitial.a is no INT32");
    refused(Long.class, Parameter.class, "type parameters");
    refused(Long.class, Maybe.class, "Optional of an Optional");
    refused(Long.class, String.class, "not a record class");
    refused(BigDecimal.class, None.class, "The key is DECIMAL", "no order");
    refused(Value.class, None.class, "The key.m", "no key can contain it");
    refused(None.class, None.class, "without components");
  }

  @Test
  void unpairedSurrogatesAndNullKeysAreRefused() {
    ObjectCodec codec = ObjectCodec.of(String.class, Inner.class, null);
    for (String half : List.of("\uD800", "a\uDC00b", "x\uD834", "\uDD1E\uD834")) {
      assertThrows(
          InvalidUseException.class, () -> codec.write(new ObjectWriter(), new Inner(half, 0)));
      assertThrows(InvalidUseException.class, () -> key(codec, half));
    }
    ObjectCodec keys = ObjectCodec.of(Key.class, None.class, null);
    assertThrows(
        InvalidUseException.class,
        () -> key(keys, new Key(null, 0, Kind.ONE, true, (byte) 0, 'a', (short) 0)));
  }

  @Test
  void shapesDescribeStoredObjects() {
    assertEquals(
        "record(i INT32, boxed optional(INT64), text TEXT, kind enum(ONE, TWO, THREE), "
            + "list list(record(text TEXT, number FLOAT64)), "
            + "maybe optional(record(text TEXT, number FLOAT64)), "
            + "map map(enum(ONE, TWO, THREE), set(TEXT)))",
        ObjectCodec.of(Long.class, Value.class, null).shape().toString());
    for (String wrong :
        List.of(
            "",
            "INT33",
            "list(INT32",
            "list()",
            "record(a)",
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
