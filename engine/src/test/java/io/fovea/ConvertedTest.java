package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Durability;
import io.fovea.error.DatabaseClosedException;
import io.fovea.error.FoveaException;
import io.fovea.error.IncompatibleSchemaException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.RecordNotFoundException;
import io.fovea.schema.Converted;
import io.fovea.schema.Dropped;
import io.fovea.schema.Formerly;
import io.fovea.schema.Id;
import io.fovea.schema.Initial;
import io.fovea.support.SetClock;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Components that change their type by a converter, when read or rewritten. */
class ConvertedTest {
  record One(@Id long id, String name, int price, Integer size, Place place) {}

  record Place(int x, int floor) {}

  /** Whole units become hundredths, although a widening would do. */
  static final class Hundredths implements Function<Integer, Long> {
    @Override
    public Long apply(Integer units) {
      return units * 100L;
    }
  }

  static final class Decimal implements Function<Object, String> {
    @Override
    public String apply(Object number) {
      long hundredths = number instanceof Integer i ? i * 100L : (Long) number;
      return hundredths / 100 + "." + hundredths % 100;
    }
  }

  static final class Present implements Function<Integer, Optional<String>> {
    @Override
    public Optional<String> apply(Integer size) {
      return size < 0 ? Optional.empty() : Optional.of("size " + size);
    }
  }

  static final class Text implements Function<Object, String> {
    @Override
    public String apply(Object value) {
      return value.toString();
    }
  }

  record Spot(
      @Formerly("x") @Converted(from = int.class, by = Text.class) String east, int floor) {}

  record Two(
      @Id long id,
      @Converted(from = int.class, by = Hundredths.class) long price,
      String name,
      @Converted(from = Integer.class, by = Present.class) Optional<String> size,
      Spot place) {}

  record Three(
      @Id long id,
      @Formerly("name") String title,
      @Formerly("price")
          @Converted(from = int.class, by = Decimal.class)
          @Converted(from = long.class, by = Decimal.class)
          String cost,
      @Converted(from = Integer.class, by = Present.class) Optional<String> size,
      @Initial("7") int rank,
      Spot place) {}

  /** What a table contains, in terms of all versions; a price is in hundredths. */
  record State(String name, long price, Optional<Integer> size, int x, int floor, int rank) {
    One one(long id) {
      return new One(id, name, (int) (price / 100), size.orElse(null), new Place(x, floor));
    }

    private Optional<String> text() {
      return size.filter(s -> s >= 0).map(s -> "size " + s);
    }

    Two two(long id) {
      return new Two(id, price, name, text(), new Spot("" + x, floor));
    }

    Three three(long id) {
      String cost = price / 100 + "." + price % 100;
      return new Three(id, name, cost, text(), rank, new Spot("" + x, floor));
    }
  }

  private record Version(
      ObjectSpec<Long, ?> spec, String price, BiFunction<State, Long, Object> view) {
    ObjectSpec<Long, ?> indexed() {
      return spec.index("byPrice", price);
    }
  }

  private static <V> ObjectSpec<Long, V> spec(Class<V> type, String name) {
    return ObjectSpec.of("things", Long.class, type).index("byName", name);
  }

  private static final List<Version> VERSIONS =
      List.of(
          new Version(spec(One.class, "name"), "price", State::one),
          new Version(spec(Two.class, "name"), "price", State::two),
          new Version(spec(Three.class, "title"), "cost", State::three));

  private static Options options() {
    return Options.defaults().bufferBytes(2 << 20);
  }

  @SuppressWarnings("unchecked") // of the class of the version
  private static Table<Long, Object> open(Database db, ObjectSpec<Long, ?> spec) {
    return (Table<Long, Object>) db.table(spec);
  }

  // ---------------------------------------------------------------------------------- the model

  private static final class Run {
    private final Random random;
    private SimDisk disk;
    private Database db;
    private final Map<Long, State> model = new TreeMap<>();
    private int newest;

    /** Whether all objects have the newest version, and whether the price is in an index. */
    private boolean rewritten = true;

    private boolean indexed;

    Run(long seed) {
      random = new Random(seed);
      disk = new SimDisk(seed);
      db = open();
      db.table(VERSIONS.getFirst().spec);
    }

    private Database open() {
      return SimDatabase.open(new SimStorage(disk), options().durability(Durability.SYNC));
    }

    private Version version() {
      return VERSIONS.get(newest);
    }

    private Table<Long, Object> table() {
      return ConvertedTest.open(db, indexed ? version().indexed() : version().spec);
    }

    private State state() {
      long price = random.nextInt(500) * (newest == 0 ? 100L : 1L);
      int size = random.nextInt(4) - 1;
      Optional<Integer> some = random.nextInt(4) == 0 ? Optional.empty() : Optional.of(size);
      return new State(
          "n" + random.nextInt(5),
          price,
          some,
          random.nextInt(9),
          random.nextInt(3),
          newest < 2 ? 7 : random.nextInt(9));
    }

    private void change() {
      Table<Long, Object> table = table();
      long id = random.nextInt(60);
      if (random.nextInt(4) == 0) {
        assertEquals(model.remove(id) != null, db.call(tx -> table.delete(tx, id)));
      } else {
        State state = state();
        Object value = version().view.apply(state, id);
        db.run(tx -> table.put(tx, value));
        model.put(id, state);
      }
    }

    private void upgrade() {
      if (newest == VERSIONS.size() - 1) {
        return;
      }
      Version next = VERSIONS.get(newest + 1);
      if (indexed) {
        refused(next.indexed(), "Drop it with dropIndex");
        refused(next.spec, "byPrice");
        assertTrue(db.dropIndex("things", "byPrice"));
        indexed = false;
      }
      refused(next.indexed(), "call finishEvolution");
      newest++;
      rewritten = false;
      table();
      refused(VERSIONS.get(newest - 1).spec, "@Converted");
    }

    private void refused(ObjectSpec<Long, ?> spec, String message) {
      IncompatibleSchemaException e =
          assertThrows(IncompatibleSchemaException.class, () -> db.table(spec));
      assertTrue(e.getMessage().contains(message), e.getMessage());
    }

    private void finish() {
      if (random.nextInt(3) == 0) {
        disk.powerOffAt(disk.operations() + 1 + random.nextInt(30));
      }
      try {
        RewriteReport report = db.finishEvolution(version().spec, at -> {});
        if (!rewritten) {
          assertEquals(model.size(), report.read());
        } else {
          assertEquals(0, report.rewritten());
        }
        rewritten = true;
      } catch (IncompatibleSchemaException e) {
        assertTrue(indexed && e.getMessage().contains("byPrice"), e.getMessage());
      } catch (FoveaException e) {
        crash();
        // The last record of the rewrite may or may not be in the log.
        try {
          ConvertedTest.open(db, version().indexed());
          rewritten = true;
          indexed = true;
        } catch (IncompatibleSchemaException expected) {
          assertFalse(rewritten);
        }
        return;
      }
      disk.powerOffAt(Long.MAX_VALUE);
    }

    private void index() {
      if (rewritten) {
        indexed = true;
        table();
      } else {
        refused(version().indexed(), "byPrice");
      }
    }

    private void crash() {
      SimDatabase.abandon(db);
      disk = disk.crash(random.nextBoolean() ? SimCrash.LOSE_ALL : SimCrash.RANDOM);
      db = open();
    }

    private void reopen() {
      if (random.nextBoolean()) {
        crash();
      } else {
        db.close();
        db = open();
      }
    }

    private void check() {
      Table<Long, Object> table = table();
      List<Object> expected = new ArrayList<>();
      model.forEach((id, state) -> expected.add(version().view.apply(state, id)));
      assertEquals(expected, List.copyOf(table.asMap().values()));
      VerifyReport report = db.verify();
      assertTrue(report.ok(), report::toString);
      if (indexed) {
        model.forEach(
            (id, state) -> {
              if (newest == 2) {
                found(table, String.class, state.three(id).cost, state.three(id));
              } else if (newest == 1) {
                found(table, Long.class, state.price, state.two(id));
              }
            });
      }
    }

    private <I> void found(Table<Long, Object> table, Class<I> type, I key, Object value) {
      Index<I, Long, Object> by = table.index("byPrice", type);
      List<Object> all = new ArrayList<>();
      db.run(
          tx -> {
            all.clear();
            try (IndexCursor<I, Long, Object> c = by.scan(tx, key, ScanOrder.ASCENDING)) {
              while (c.next()) {
                all.add(c.value());
              }
            }
          });
      assertTrue(all.contains(value), all + " lacks " + value);
    }

    void run() {
      for (int i = 0; i < 25; i++) {
        switch (random.nextInt(8)) {
          case 0 -> upgrade();
          case 1 -> finish();
          case 2 -> index();
          case 3 -> reopen();
          default -> {
            for (int n = 0; n < 15; n++) {
              change();
            }
          }
        }
        if (random.nextInt(3) == 0) {
          check();
        }
      }
      check();
      db.close();
    }
  }

  @Property(tries = 25, shrinking = ShrinkingMode.OFF)
  void versionsAgreeWithAModel(@ForAll long seed) {
    new Run(seed).run();
  }

  // --------------------------------------------------------------------------------- by example

  private static One one(long id, int price, Integer size) {
    return new One(id, "n" + id, price, size, new Place(3, 1));
  }

  @Test
  void olderObjectsAreConvertedWhenReadAndStoredWhenWritten() {
    try (Database db = Database.inMemory(options())) {
      Table<Long, One> ones = db.table(spec(One.class, "name"));
      db.run(tx -> List.of(one(1, 2, null), one(2, 3, -1)).forEach(o -> ones.put(tx, o)));
      Table<Long, Two> twos = db.table(spec(Two.class, "name"));
      Two two = new Two(1, 200, "n1", Optional.empty(), new Spot("3", 1));
      assertEquals(two, db.read(tx -> twos.get(tx, 1L)));
      assertEquals(List.of(two), db.read(tx -> twos.getAll(tx, List.of(1L))));
      // Tools see what is stored.
      ObjectDump dump = ObjectDump.of(twos.table());
      Table<byte[], byte[]> bytes = twos.table().bytes();
      byte[] key = dump.key(List.of("1"));
      byte[] stored = db.read(tx -> bytes.get(tx, key));
      assertEquals(2, dump.object(stored).get("price"));
      db.run(tx -> twos.update(tx, 1L, old -> old));
      byte[] written = db.read(tx -> bytes.get(tx, key));
      assertEquals(200L, dump.object(written).get("price"));
      assertEquals(two, db.read(tx -> twos.get(tx, 1L)));
      // The handle of before can't read what the newer class has written.
      assertThrows(InvalidUseException.class, () -> db.read(tx -> ones.get(tx, 1L)));
      assertEquals(one(2, 3, -1), db.read(tx -> ones.get(tx, 2L)));
    }
  }

  record Before(@Id long id, String year, Integer size) {}

  record After(@Id long id, LocalDate year, @Initial("-5") int size) {}

  private static ObjectSpec<Long, Before> before() {
    return ObjectSpec.of("years", Long.class, Before.class);
  }

  private static ObjectSpec<Long, After> after() {
    return ObjectSpec.of("years", Long.class, After.class)
        .convert("size", Integer.class, size -> size + 1)
        .convert("year", String.class, y -> LocalDate.ofYearDay(Integer.parseInt(y), 1));
  }

  @Test
  void nullStaysNullOrBecomesTheInitialValue() {
    try (Database db = Database.inMemory(options())) {
      Table<Long, Before> old = db.table(before());
      db.run(tx -> old.put(tx, new Before(1, null, null)));
      db.run(tx -> old.put(tx, new Before(2, "1999", 3)));
      Table<Long, After> table = db.table(after());
      assertEquals(new After(1, null, -5), db.read(tx -> table.get(tx, 1L)));
      assertEquals(new After(2, LocalDate.of(1999, 1, 1), 4), db.read(tx -> table.get(tx, 2L)));
    }
  }

  @Test
  void aFailureNamesTheTableTheKeyAndTheComponent() {
    try (Database db = Database.inMemory(options())) {
      Table<Long, Before> old = db.table(before());
      db.run(tx -> old.put(tx, new Before(17, "MCM", 0)));
      Table<Long, After> table = db.table(after());
      InvalidUseException e =
          assertThrows(InvalidUseException.class, () -> db.read(tx -> table.get(tx, 17L)));
      assertInstanceOf(NumberFormatException.class, e.getCause());
      assertEquals(
          "The object with key 17 of table years has version 1 and can't be read. The converter"
              + " of component After.year threw java.lang.NumberFormatException: For input string:"
              + " \"MCM\". Use a converter that accepts the value.",
          e.getMessage());
      e = assertThrows(InvalidUseException.class, () -> db.finishEvolution(after(), at -> {}));
      assertInstanceOf(NumberFormatException.class, e.getCause());

      ObjectSpec<Long, After> spec =
          ObjectSpec.of("years", Long.class, After.class)
              .convert("size", Integer.class, size -> null)
              .convert("year", String.class, y -> null);
      Table<Long, After> nulls = db.table(spec);
      e = assertThrows(InvalidUseException.class, () -> db.read(tx -> nulls.get(tx, 17L)));
      assertTrue(
          e.getMessage().contains("After.size returned null, but the component is of type int"),
          e.getMessage());

      Table<Long, After> wrong = db.table(spec(y -> y, 1));
      e = assertThrows(InvalidUseException.class, () -> db.read(tx -> wrong.get(tx, 17L)));
      assertTrue(e.getMessage().contains("returned a java.lang.String instead"), e.getMessage());

      // Exceptions of Fovea are not wrapped.
      RecordNotFoundException thrown = new RecordNotFoundException("none", new byte[0]);
      Table<Long, After> throwing =
          db.table(
              spec(
                  y -> {
                    throw thrown;
                  },
                  1));
      assertSame(
          thrown,
          assertThrows(RecordNotFoundException.class, () -> db.read(tx -> throwing.get(tx, 17L))));
    }
  }

  private static ObjectSpec<Long, After> spec(Function<String, Object> year, int size) {
    return ObjectSpec.of("years", Long.class, After.class)
        .convert("size", Integer.class, s -> size)
        .convert("year", String.class, year);
  }

  record Key(int part) {}

  record ConvertedKey(@Converted(from = long.class, by = Text.class) int part) {}

  record Plain(int x, long y) {}

  record WithId(@Id @Converted(from = String.class, by = Text.class) long id) {}

  record Twice(
      @Converted(from = int.class, by = Text.class) @Converted(from = int.class, by = Text.class)
          String x) {}

  record NeedsInitial(@Converted(from = String.class, by = Text.class) int x) {}

  final class Inner implements Function<Integer, String> {
    @Override
    public String apply(Integer value) {
      return "";
    }
  }

  record ByInner(@Converted(from = int.class, by = Inner.class) String x) {}

  private static void invalid(String message, Runnable what) {
    IllegalArgumentException e = assertThrows(IllegalArgumentException.class, what::run);
    assertTrue(e.getMessage().contains(message), e.getMessage());
  }

  private static void invalid(String message, Class<?> keys, Class<?> values) {
    invalid(message, () -> ObjectSpec.of("t", keys, values));
  }

  @Test
  void convertersThatCannotBeAreRefused() {
    invalid("key of a table can't change", ConvertedKey.class, Plain.class);
    invalid("key of a table can't change", Long.class, WithId.class);
    invalid("two converters from INT32", Long.class, Twice.class);
    invalid("needs an @Initial", Long.class, NeedsInitial.class);
    invalid("needs a constructor without parameters", Long.class, ByInner.class);
    ObjectSpec<Long, Plain> spec = ObjectSpec.of("t", Long.class, Plain.class);
    invalid("Plain.z does not exist", () -> spec.convert("z", int.class, x -> x));
    invalid("Plain.x.z does not exist", () -> spec.convert("x.z", int.class, x -> x));
    invalid("can't be distinguished", () -> spec.convert("x", int.class, x -> x));
    invalid("java.util.List, which can't be", () -> spec.convert("x", List.class, x -> 1));
    ObjectSpec<Long, Plain> once = spec.convert("y", int.class, x -> 1L);
    invalid("two converters", () -> once.convert("y", int.class, x -> 1L));
    ObjectSpec<Long, Before> id = before();
    invalid("key of a table can't change", () -> id.convert("id", String.class, x -> 1L));
  }

  @Test
  void theSpecificationKeepsItsOtherSettings() {
    ObjectSpec<Long, After> spec =
        ObjectSpec.of("years", Long.class, After.class)
            .keyBytesMax(100)
            .index("byYear", "year")
            .cacheLocations()
            .convert("year", int.class, y -> LocalDate.ofYearDay(y, 1));
    assertEquals(100, spec.table().key().maxBytes());
    assertEquals(1, spec.table().indexes().size());
    assertTrue(spec.table().cachesLocations());
  }

  record Nested(@Id long id, Optional<Plain> some, Key key) {}

  record NestedText(@Id long id, Optional<PlainText> some, Key key) {}

  record PlainText(int x, String y) {}

  @Test
  void componentsOfNestedRecordsAreConverted() {
    try (Database db = Database.inMemory(options())) {
      Table<Long, Nested> old = db.table(ObjectSpec.of("nested", Long.class, Nested.class));
      db.run(tx -> old.put(tx, new Nested(1, Optional.of(new Plain(2, 3)), null)));
      db.run(tx -> old.put(tx, new Nested(2, Optional.empty(), new Key(1))));
      ObjectSpec<Long, NestedText> without = ObjectSpec.of("nested", Long.class, NestedText.class);
      IncompatibleSchemaException e =
          assertThrows(IncompatibleSchemaException.class, () -> db.table(without));
      assertTrue(e.getMessage().contains("some.y is INT64 in the file, and TEXT"), e.getMessage());
      Table<Long, NestedText> table = db.table(without.convert("some.y", long.class, y -> "y" + y));
      assertEquals(
          new NestedText(1, Optional.of(new PlainText(2, "y3")), null),
          db.read(tx -> table.get(tx, 1L)));
      assertEquals(
          new NestedText(2, Optional.empty(), new Key(1)), db.read(tx -> table.get(tx, 2L)));
    }
  }

  /** A converter that is dropped too early is missed when an object needs it. */
  @Test
  void aMissingConverterIsReportedByTheReader() {
    try (Database db = Database.inMemory(options())) {
      Table<Long, Before> old = db.table(before());
      db.run(tx -> old.put(tx, new Before(1, "1999", 3)));
      db.table(after());
      Table<Long, After> table = db.table(ObjectSpec.of("years", Long.class, After.class));
      IncompatibleSchemaException e =
          assertThrows(IncompatibleSchemaException.class, () -> db.read(tx -> table.get(tx, 1L)));
      assertTrue(e.getMessage().contains("year is TEXT in the file"), e.getMessage());
    }
  }

  /** The older class with converters back. */
  @Test
  void anOlderClassThatConvertsBackCanOpenTheTableAgain() {
    try (Database db = Database.inMemory(options())) {
      db.table(before());
      Table<Long, After> table = db.table(after());
      db.run(tx -> table.put(tx, new After(1, LocalDate.of(2000, 1, 1), 4)));
      assertThrows(IncompatibleSchemaException.class, () -> db.table(before()));
      ObjectSpec<Long, Before> back =
          before()
              .convert("year", LocalDate.class, d -> "" + d.getYear())
              .convert("size", int.class, s -> s - 1);
      Table<Long, Before> older = db.table(back);
      assertEquals(new Before(1, "2000", 3), db.read(tx -> older.get(tx, 1L)));
      db.run(tx -> older.put(tx, new Before(1, "2001", 7)));
      assertEquals(new After(1, LocalDate.of(2001, 1, 1), 8), db.read(tx -> table.get(tx, 1L)));
      IncompatibleSchemaException e =
          assertThrows(IncompatibleSchemaException.class, () -> db.finishEvolution(back, at -> {}));
      assertTrue(e.getMessage().contains("of a newer class"), e.getMessage());
      assertEquals(1, db.finishEvolution(after(), at -> {}).rewritten());
      assertThrows(
          InvalidUseException.class, () -> db.run(tx -> older.put(tx, new Before(1, "2002", 7))));
      // Its type may change back, in a new version.
      Table<Long, Before> again = db.table(back);
      assertEquals(new Before(1, "2001", 7), db.read(tx -> again.get(tx, 1L)));
      db.run(tx -> again.put(tx, new Before(2, "2002", null)));
      assertEquals(new Before(2, "2002", null), db.read(tx -> again.get(tx, 2L)));
    }
  }

  // ----------------------------------------------------------------------------------- rewriting

  /** Returns a table with a thousand objects. */
  private static Table<Long, Before> filled(Database db) {
    Table<Long, Before> old = db.table(before());
    db.run(
        tx -> {
          for (long i = 0; i < 1000; i++) {
            old.put(tx, new Before(i, "" + (1900 + i), 3));
          }
        });
    return old;
  }

  @Test
  void aRewriteReportsItsProgressAndContinuesAfterAFailure() {
    try (Database db = Database.inMemory(options())) {
      Table<Long, Before> old = filled(db);
      assertEquals(0, db.finishEvolution(before(), at -> {}).read());
      Table<Long, After> table = db.table(after());
      db.run(tx -> table.update(tx, 4L, a -> a));
      List<RewriteReport> reports = new ArrayList<>();
      assertThrows(
          IllegalStateException.class,
          () ->
              db.finishEvolution(
                  after(),
                  at -> {
                    reports.add(at);
                    if (reports.size() == 3) {
                      throw new IllegalStateException();
                    }
                  }));
      assertEquals(3, reports.size());
      assertEquals(1000, reports.getFirst().total());
      assertEquals(reports.getFirst().rewritten() + 1, reports.getFirst().read());
      // Handles of older classes don't write any more; those of the newest do.
      InvalidUseException e =
          assertThrows(
              InvalidUseException.class, () -> db.run(tx -> old.put(tx, new Before(1, "", 1))));
      assertTrue(e.getMessage().contains("use a handle of the newest class"), e.getMessage());
      assertThrows(
          InvalidUseException.class, () -> db.run(tx -> old.insert(tx, new Before(-1, "", 1))));
      db.run(tx -> table.insert(tx, new After(-1, null, 1)));
      RewriteReport rest = db.finishEvolution(after(), at -> {});
      assertEquals(999 - reports.getLast().rewritten(), rest.rewritten());
      assertEquals(1001, rest.read());
      assertEquals(new RewriteReport(0, 0, 1001), db.finishEvolution(after(), at -> {}));
      // No converter is needed any more, and an index may contain the components.
      ObjectSpec<Long, After> plain =
          ObjectSpec.of("years", Long.class, After.class).index("byYear", "year");
      Table<Long, After> now = db.table(plain);
      assertEquals(LocalDate.of(1905, 1, 1), db.read(tx -> now.get(tx, 5L)).year());
      assertTrue(db.verify().ok());
    }
  }

  record Short(@Id long id, String name) {}

  @Dropped("name")
  record Other(@Id long id, @Initial("0") int n) {}

  record Reused(@Id long id, int n, @Initial("x") String name) {}

  @Test
  void namesOfDroppedComponentsAreFreeAfterARewrite() {
    try (Database db = Database.inMemory(options())) {
      Table<Long, Short> old = db.table(ObjectSpec.of("t", Long.class, Short.class));
      db.run(tx -> old.put(tx, new Short(1, "Ada")));
      ObjectSpec<Long, Other> other = ObjectSpec.of("t", Long.class, Other.class);
      db.table(other);
      ObjectSpec<Long, Reused> reused = ObjectSpec.of("t", Long.class, Reused.class);
      assertThrows(IncompatibleSchemaException.class, () -> db.table(reused));
      db.finishEvolution(other, at -> {});
      Table<Long, Reused> table = db.table(reused);
      assertEquals(new Reused(1, 0, "x"), db.read(tx -> table.get(tx, 1L)));
    }
  }

  record Numbered(@Id long id, @Initial("0") int n, String name) {}

  record Ranked(@Id long id, @Initial("0") int n, String name, @Initial("7") int rank) {}

  private static ObjectSpec<Long, Short> shorts() {
    return ObjectSpec.of("t", Long.class, Short.class);
  }

  private static ObjectSpec<Long, Numbered> numbered() {
    return ObjectSpec.of("t", Long.class, Numbered.class);
  }

  private static MemorySegment key(Table<Long, ?> table, long key) {
    return MemorySegment.ofArray(table.coding().encode(key));
  }

  private static MemorySegment stored(Database db, Table<Long, ?> table, long key, int version) {
    MemorySegment all = MemorySegment.ofArray(new byte[100]);
    long n = db.read(tx -> table.get(tx, key(table, key), all));
    assertEquals(version, all.get(ValueLayout.JAVA_BYTE, 0));
    return all.asSlice(0, n);
  }

  /** Writes an object in stored form, in each way, and expects an exception. */
  private static void refused(
      Database db, Table<Long, ?> table, MemorySegment object, String message) {
    byte[] bytes = object.toArray(ValueLayout.JAVA_BYTE);
    MemorySegment there = key(table, 0);
    MemorySegment absent = key(table, -1);
    Table<byte[], byte[]> raw = table.table().bytes();
    List<Consumer<Transaction>> writes =
        List.of(
            tx -> table.put(tx, there, object),
            tx -> table.insert(tx, absent, object),
            tx -> raw.put(tx, there.toArray(ValueLayout.JAVA_BYTE), bytes),
            tx -> raw.insert(tx, absent, object));
    for (Consumer<Transaction> write : writes) {
      InvalidUseException e = assertThrows(InvalidUseException.class, () -> db.run(write::accept));
      assertTrue(e.getMessage().contains(message), e.getMessage());
    }
  }

  private static void refusedByLoads(Table<Long, ?> table, MemorySegment object, String message) {
    MemorySegment absent = key(table, -1);
    Table<byte[], byte[]> raw = table.table().bytes();
    List<Executable> loads =
        List.of(
            () -> table.load(to -> to.add(absent, object)),
            () -> raw.load(to -> to.add(absent, object)));
    for (Executable load : loads) {
      InvalidUseException e = assertThrows(InvalidUseException.class, load);
      assertTrue(e.getMessage().contains(message), e.getMessage());
    }
  }

  @Test
  void objectsInStoredFormMustHaveAVersionThatMayBeWritten() {
    for (boolean indexed : new boolean[] {false, true}) {
      try (Database db = Database.inMemory(options())) {
        ObjectSpec<Long, Short> one = indexed ? shorts().index("byName", "name") : shorts();
        ObjectSpec<Long, Numbered> two = indexed ? numbered().index("byName", "name") : numbered();
        db.run(
            tx -> {
              Table<Long, Short> old = tx.table(one);
              for (long i = 0; i < 300; i++) {
                old.put(tx, new Short(i, "name " + i));
              }
            });
        Table<Long, Numbered> table = db.table(two);
        db.run(tx -> table.put(tx, new Numbered(298, 5, "")));
        Table<Long, Short> older = db.table(one);
        db.run(tx -> older.put(tx, new Short(298, "Ada")));
        MemorySegment first = stored(db, table, 299, 1);
        MemorySegment merged = stored(db, table, 298, 3);
        db.run(
            tx -> {
              table.put(tx, key(table, 0), merged);
              table.put(tx, key(table, 1), first);
            });
        assertEquals(new Numbered(0, 5, "Ada"), db.read(tx -> table.get(tx, 0L)));
        int[] pieces = {0};
        String gone = "finishEvolution has rewritten the objects of older classes of table t";
        db.finishEvolution(
            two,
            at -> {
              if (pieces[0]++ == 0) {
                // Behind the scan, they would keep their versions.
                refused(db, table, first, gone);
                refused(db, table, merged, gone);
                MemorySegment second = stored(db, table, 0, 2);
                db.run(tx -> table.put(tx, key(table, 2), second));
              }
            });
        assertTrue(pieces[0] > 1);
        MemorySegment second = stored(db, table, 2, 2);
        for (MemorySegment object : List.of(first, merged)) {
          refused(db, table, object, gone);
          refusedByLoads(table, object, gone);
        }
        for (byte version : new byte[] {0, 4, -1}) {
          MemorySegment object = MemorySegment.ofArray(new byte[] {version, 1, 1});
          refused(db, table, object, "table t has no such version");
          refusedByLoads(table, object, "table t has no such version");
        }
        refused(db, table, MemorySegment.ofArray(new byte[0]), "table t has no such version");
        table.load(to -> to.add(key(table, -1), second));
        assertEquals(new Numbered(-1, 5, "Ada"), db.read(tx -> table.get(tx, -1L)));
        assertEquals(new Numbered(1, 0, "name 299"), db.read(tx -> table.get(tx, 1L)));
        assertEquals(301, table.asMap().size());
        assertTrue(db.verify().ok());
      }
    }
  }

  @Test
  void aPieceOfARewriteHasFewBytes() {
    try (Database db = Database.inMemory(options())) {
      Table<Long, Short> old = db.table(shorts());
      db.run(
          tx -> {
            for (long i = 0; i < 4; i++) {
              old.put(tx, new Short(i, "x".repeat(40_000)));
            }
          });
      db.table(numbered());
      List<Long> rewritten = new ArrayList<>();
      db.finishEvolution(numbered(), at -> rewritten.add(at.rewritten()));
      assertEquals(List.of(1L, 2L, 3L, 4L), rewritten.stream().distinct().toList());
    }
  }

  @Test
  void noNewerClassIsAddedDuringARewrite() {
    try (Database db = Database.inMemory(options())) {
      Table<Long, Short> old = db.table(shorts());
      db.run(tx -> old.put(tx, new Short(1, "Ada")));
      db.table(numbered());
      ObjectSpec<Long, Ranked> ranked = ObjectSpec.of("t", Long.class, Ranked.class);
      RewriteReport report =
          db.finishEvolution(
              numbered(),
              at -> {
                InvalidUseException e =
                    assertThrows(InvalidUseException.class, () -> db.table(ranked));
                assertTrue(e.getMessage().contains("finishEvolution of it"), e.getMessage());
              });
      assertEquals(1, report.rewritten());
      Table<Long, Ranked> table = db.table(ranked);
      assertEquals(new Ranked(1, 0, "Ada", 7), db.read(tx -> table.get(tx, 1L)));
      assertTrue(db.verify().ok());
    }
  }

  @Test
  void writersContinueDuringARewrite() throws InterruptedException {
    try (Database db = Database.inMemory(options())) {
      Table<Long, One> ones = db.table(spec(One.class, "name"));
      db.run(
          tx -> {
            for (long i = 0; i < 2000; i++) {
              ones.put(tx, one(i, 1, null));
            }
          });
      Table<Long, Two> twos = db.table(spec(Two.class, "name"));
      AtomicBoolean end = new AtomicBoolean();
      CountDownLatch begun = new CountDownLatch(1);
      AtomicReference<Throwable> failure = new AtomicReference<>();
      long[] added = {0};
      Thread writer =
          Thread.ofPlatform()
              .start(
                  () -> {
                    Random random = new Random(1);
                    try {
                      while (!end.get()) {
                        long id = random.nextInt(2000);
                        db.run(
                            tx -> {
                              Two was = twos.get(tx, id);
                              twos.put(
                                  tx, new Two(id, was.price + 1, was.name, was.size, was.place));
                            });
                        added[0]++;
                        begun.countDown();
                      }
                    } catch (Throwable e) {
                      failure.set(e);
                      begun.countDown();
                    }
                  });
      begun.await();
      RewriteReport report = db.finishEvolution(spec(Two.class, "name"), at -> {});
      end.set(true);
      writer.join();
      assertNull(failure.get());
      assertEquals(2000, report.read());
      Table<Long, Two> indexed = db.table(spec(Two.class, "name").index("byPrice", "price"));
      long sum = indexed.asMap().values().stream().mapToLong(Two::price).sum();
      assertEquals(2000 * 100 + added[0], sum);
      assertTrue(db.verify().ok());
    }
  }

  @Test
  @SuppressWarnings("try") // closed by the listener
  void aCloseEndsARewrite() {
    try (Database db = Database.inMemory(options())) {
      Table<Long, Before> old = filled(db);
      assertThrows(
          DatabaseClosedException.class, () -> db.finishEvolution(after(), at -> db.close()));
    }
  }

  @Test
  void anOpenSnapshotStillHasOlderObjects() {
    try (Database db = Database.inMemory(options())) {
      Table<Long, Before> old = db.table(before());
      db.run(tx -> old.put(tx, new Before(1, "1999", 3)));
      Table<Long, After> table = db.table(after());
      try (Database snapshot = db.snapshot()) {
        db.finishEvolution(after(), at -> {});
        ObjectSpec<Long, After> plain = ObjectSpec.of("years", Long.class, After.class);
        Table<Long, After> now = db.table(plain);
        After expected = new After(1, LocalDate.of(1999, 1, 1), 4);
        assertEquals(expected, db.read(tx -> table.get(tx, 1L)));
        assertEquals(expected, db.read(tx -> now.get(tx, 1L)));
        Table<Long, After> then = snapshot.table(after());
        assertEquals(expected, snapshot.read(tx -> then.get(tx, 1L)));
        Table<Long, After> missing = snapshot.table(plain);
        assertThrows(
            IncompatibleSchemaException.class, () -> snapshot.read(tx -> missing.get(tx, 1L)));
      }
    }
  }

  record Session(@Id long id, long end, int user) {}

  record NextSession(@Id long id, long end, String user) {}

  @Test
  void expiredObjectsAreRemoved() {
    SetClock clock = new SetClock(1_000);
    Options options = options().expiry(e -> e.clock(clock).sweepInterval(Duration.ZERO));
    try (Database db = Database.inMemory(options)) {
      Table<Long, Session> old =
          db.table(ObjectSpec.of("s", Long.class, Session.class).expireAfter("end", Duration.ZERO));
      db.run(tx -> old.put(tx, new Session(1, 2_000, 7)));
      db.run(tx -> old.put(tx, new Session(2, 3_000, 7)));
      ObjectSpec<Long, NextSession> next =
          ObjectSpec.of("s", Long.class, NextSession.class)
              .expireAfter("end", Duration.ZERO)
              .convert("user", int.class, u -> "u" + u);
      clock.set(2_500);
      assertEquals(2, db.finishEvolution(next, at -> {}).rewritten());
      Table<Long, NextSession> table = db.table(next.index("byUser", "user"));
      assertEquals(List.of(new NextSession(2, 3_000, "u7")), List.copyOf(table.asMap().values()));
      assertEquals(1, table.table().count());
      assertTrue(db.verify().ok());
      // The component by which objects expire is in an index.
      ObjectSpec<Long, ByUser> byUser =
          ObjectSpec.of("s", Long.class, ByUser.class)
              .convert("end", long.class, e -> null)
              .index("byUser", "user")
              .expireAfter("end", Duration.ZERO);
      IncompatibleSchemaException e =
          assertThrows(IncompatibleSchemaException.class, () -> db.table(byUser));
      assertTrue(e.getMessage().contains("end is converted from INT64"), e.getMessage());
    }
  }

  record ByUser(@Id long id, Instant end, String user) {}

  // ------------------------------------------------------------------------------------- changes

  @Test
  void changesDeliverConvertedObjects(@TempDir Path folder) {
    Options options = options().log(l -> l.changeRetentionBytes(1 << 20));
    try (Database db = Database.open(folder.resolve("db"), options)) {
      Table<Long, Before> old = db.table(before());
      ChangePosition from = db.changesPosition();
      db.run(tx -> old.put(tx, new Before(1, "1999", 3)));
      Table<Long, After> table = db.table(after());
      db.finishEvolution(after(), at -> {});
      After expected = new After(1, LocalDate.of(1999, 1, 1), 4);
      try (Changes changes = db.changes(from)) {
        assertEquals(List.of(expected, expected), values(() -> changes.poll(Duration.ZERO), table));
      }
      try (FileChanges changes = FileChanges.from(folder.resolve("db"), from)) {
        assertEquals(List.of(expected, expected), values(changes::poll, changes.table(after())));
      }
    }
  }

  private static List<After> values(Supplier<ChangeBatch> next, Table<Long, After> table) {
    List<After> values = new ArrayList<>();
    for (ChangeBatch b = next.get(); b != null; b = next.get()) {
      for (Change c : b.changes()) {
        values.add(c.value(table));
      }
    }
    return values;
  }
}
