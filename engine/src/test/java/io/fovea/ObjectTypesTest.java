package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.IncompatibleSchemaException;
import io.fovea.error.InvalidUseException;
import io.fovea.schema.Formerly;
import io.fovea.schema.Id;
import java.net.URI;
import java.nio.file.Path;
import java.time.OffsetDateTime;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.Currency;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Types with codecs and sealed interfaces in tables, keys and indexes, and their changes. */
class ObjectTypesTest {
  private static final TypeCodecs CODECS =
      TypeCodecs.of(Currency.class, String.class, Currency::getCurrencyCode, Currency::getInstance)
          .and(StringBuilder.class, int.class, StringBuilder::length, StringBuilder::new);

  record Shown(Optional<ZonedDateTime> at) {}

  record Other(Optional<Currency> code) {}

  record Event(
      @Id OffsetDateTime at,
      URI source,
      Currency currency,
      Optional<ZonedDateTime> shown,
      Optional<Currency> other) {}

  private static final OffsetDateTime NOON = OffsetDateTime.parse("2026-11-30T12:00:00+01:00");

  @TempDir Path dir;

  private static Event event(int i) {
    return new Event(
        NOON.plusMinutes(i).withOffsetSameInstant(java.time.ZoneOffset.ofHours(i % 5)),
        URI.create("https://example.org/" + i % 3),
        Currency.getInstance(i % 2 == 0 ? "EUR" : "USD"),
        i % 4 == 0 ? Optional.empty() : Optional.of(NOON.toZonedDateTime().plusDays(i % 6)),
        i % 3 == 0 ? Optional.empty() : Optional.of(Currency.getInstance("CHF")));
  }

  @Test
  void keysAndIndexesAreSortedByTheStoredForm() {
    ObjectSpec<OffsetDateTime, Event> spec =
        ObjectSpec.of("events", OffsetDateTime.class, Event.class, CODECS)
            .index("bySource", "source")
            .index("byCurrency", "currency")
            .index("byShown", "shown")
            .index("byOther", "other");
    List<Event> all = new ArrayList<>();
    for (int i = 0; i < 40; i++) {
      all.add(event(i));
    }
    try (Database db = Database.open(dir.resolve("db"), Options.defaults())) {
      Table<OffsetDateTime, Event> events = db.table(spec);
      db.run(tx -> all.reversed().forEach(e -> events.put(tx, e)));
      assertEquals(all, List.copyOf(events.asMap().values()));
      db.run(
          tx -> {
            assertEquals(all.get(7), events.get(tx, all.get(7).at()));
            Index<URI, OffsetDateTime, Event> bySource = events.index("bySource", URI.class);
            assertEquals(
                all.stream().filter(e -> e.source().equals(all.get(1).source())).toList(),
                values(bySource.scan(tx, all.get(1).source(), ScanOrder.ASCENDING)));
            Index<Currency, OffsetDateTime, Event> byCurrency =
                events.index("byCurrency", Currency.class);
            assertEquals(
                all.stream().filter(e -> e.currency().getCurrencyCode().equals("USD")).toList(),
                values(byCurrency.scan(tx, Currency.getInstance("USD"), ScanOrder.ASCENDING)));
            Index<Shown, OffsetDateTime, Event> byShown = events.index("byShown", Shown.class);
            for (Optional<ZonedDateTime> at : List.of(all.get(1).shown(), all.get(4).shown())) {
              assertEquals(
                  all.stream().filter(e -> e.shown().equals(at)).toList(),
                  values(byShown.scan(tx, new Shown(at), ScanOrder.ASCENDING)));
            }
            Index<Other, OffsetDateTime, Event> byOther = events.index("byOther", Other.class);
            assertEquals(
                all.stream().filter(e -> e.other().isPresent()).toList(),
                values(byOther.scan(tx, new Other(all.get(1).other()), ScanOrder.ASCENDING)));
          });
      assertTrue(db.verify().ok());
    }
  }

  private static <V> List<V> values(IndexCursor<?, ?, V> cursor) {
    List<V> all = new ArrayList<>();
    try (cursor) {
      while (cursor.next()) {
        all.add(cursor.value());
      }
    }
    return all;
  }

  @Test
  void codecsAreChecked() {
    assertThrows(
        IllegalArgumentException.class,
        () -> TypeCodecs.of(Integer.class, String.class, String::valueOf, Integer::valueOf));
    assertThrows(
        IllegalArgumentException.class,
        () ->
            CODECS.and(
                Currency.class, String.class, Currency::getCurrencyCode, Currency::getInstance));
    record Broken(Currency currency) {}
    try (Database db = Database.inMemory(Options.defaults())) {
      Table<Long, Broken> table =
          db.table(
              ObjectSpec.of(
                  "broken",
                  Long.class,
                  Broken.class,
                  TypeCodecs.of(Currency.class, String.class, c -> null, Currency::getInstance)));
      db.run(tx -> table.put(tx, 1L, new Broken(null)));
      assertEquals(new Broken(null), db.read(tx -> table.get(tx, 1L)));
      assertThrows(
          InvalidUseException.class,
          () -> db.run(tx -> table.put(tx, 1L, new Broken(Currency.getInstance("EUR")))));
    }
  }

  record Sized(StringBuilder size) {}

  record Number(Integer size) {}

  /** A component may change from a type with a codec to the stored type. */
  @Test
  void aPrimitiveStoredTypeIsNullable() {
    try (Database db = Database.inMemory(Options.defaults())) {
      Table<Long, Sized> sized = db.table(ObjectSpec.of("n", Long.class, Sized.class, CODECS));
      db.run(tx -> sized.put(tx, 1L, new Sized(new StringBuilder("four"))));
      db.run(tx -> sized.put(tx, 2L, new Sized(null)));
      Table<Long, Number> plain = db.table(ObjectSpec.of("n", Long.class, Number.class));
      assertEquals(new Number(4), db.read(tx -> plain.get(tx, 1L)));
      assertEquals(new Number(null), db.read(tx -> plain.get(tx, 2L)));
    }
  }

  static final class First {
    sealed interface Shape {}

    record Circle(int radius) implements Shape {}

    record Square(int side, String note) implements Shape {}

    record Drawing(@Id long id, Shape shape, List<Shape> more) {}
  }

  static final class Second {
    sealed interface Shape {}

    record Line(long length) implements Shape {}

    @Formerly("Square")
    record Box(
        @Formerly("side") long width,
        Optional<String> note,
        @io.fovea.schema.Initial("9") int depth)
        implements Shape {}

    record Circle(int radius) implements Shape {}

    record Drawing(@Id long id, Shape shape, List<Shape> more) {}
  }

  static final class Third {
    sealed interface Shape {}

    record Circle(int radius) implements Shape {}

    record Drawing(@Id long id, Shape shape, List<Shape> more) {}
  }

  @Test
  void permittedRecordsAreReorderedAddedAndRenamed() {
    Path file = dir.resolve("shapes");
    try (Database db = Database.open(file, Options.defaults())) {
      Table<Long, First.Drawing> first =
          db.table(ObjectSpec.of("drawings", Long.class, First.Drawing.class));
      db.run(
          tx -> {
            List<First.Shape> more = new ArrayList<>();
            more.add(new First.Square(2, "x"));
            more.add(null);
            more.add(new First.Circle(3));
            first.put(tx, new First.Drawing(1, new First.Circle(5), more));
            first.put(tx, new First.Drawing(2, null, List.of()));
          });
    }
    try (Database db = Database.open(file, Options.defaults())) {
      Table<Long, Second.Drawing> second =
          db.table(ObjectSpec.of("drawings", Long.class, Second.Drawing.class));
      List<Second.Shape> more = new ArrayList<>();
      more.add(new Second.Box(2, Optional.of("x"), 9));
      more.add(null);
      more.add(new Second.Circle(3));
      Second.Drawing old = new Second.Drawing(1, new Second.Circle(5), more);
      Second.Drawing drawn = new Second.Drawing(3, new Second.Line(1L << 40), List.of());
      db.run(tx -> second.put(tx, drawn));
      assertEquals(old, db.read(tx -> second.get(tx, 1L)));
      db.run(tx -> second.put(tx, old)); // now with other numbers
      assertEquals(
          List.of(old, new Second.Drawing(2, null, List.of()), drawn),
          List.copyOf(second.asMap().values()));
      ObjectDump dump = ObjectDump.of(second.table());
      byte[] stored = db.read(tx -> second.table().bytes().get(tx, dump.key(List.of("3"))));
      Map<String, Object> text = dump.object(stored);
      assertEquals(Map.of("Line", Map.of("length", 1L << 40)), text.get("shape"));
      IncompatibleSchemaException gone =
          assertThrows(
              IncompatibleSchemaException.class,
              () -> db.table(ObjectSpec.of("drawings", Long.class, Third.Drawing.class)));
      assertTrue(gone.getMessage().contains("component shape may be a Line"), gone.getMessage());
    }
  }
}
