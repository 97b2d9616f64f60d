package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.IncompatibleSchemaException;
import io.fovea.error.InvalidUseException;
import io.fovea.schema.Dropped;
import io.fovea.schema.Formerly;
import io.fovea.schema.Id;
import io.fovea.schema.Initial;
import io.fovea.support.PowerCuts;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.FutureTask;
import java.util.function.BiFunction;
import javax.tools.ToolProvider;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Older record classes open a table again after newer ones, and lose no component of these. */
class OlderClassesTest {
  record A(@Id long id, String name, int visits, String fax, Place place) {}

  @Dropped("fax")
  record B(
      @Id long id,
      @Formerly("name") String title,
      int visits,
      @Initial("none") String mail,
      Optional<String> city,
      WiderPlace place) {}

  @Dropped({"fax", "city"})
  record C(
      @Id long id,
      List<String> tags,
      @Initial("none") String mail,
      @Formerly({"title", "name"}) String heading,
      int visits,
      WiderPlace place) {}

  record Place(int x) {}

  record WiderPlace(@Formerly("x") int east, @Initial("-1") int north) {}

  /** What a table contains: components by their newest names; those never written are absent. */
  record State(
      String name,
      int visits,
      Optional<String> fax,
      Optional<String> mail,
      Optional<String> city,
      Optional<List<String>> tags,
      int x,
      Optional<Integer> y) {
    A a(long id) {
      return new A(id, name, visits, fax.orElse(null), new Place(x));
    }

    B b(long id) {
      return new B(id, name, visits, mail.orElse("none"), city, new WiderPlace(x, y.orElse(-1)));
    }

    C c(long id) {
      return new C(
          id,
          tags.orElse(List.of()),
          mail.orElse("none"),
          name,
          visits,
          new WiderPlace(x, y.orElse(-1)));
    }
  }

  /** A class: its specification, its view of a state, and the state after it has written one. */
  private record Version(
      ObjectSpec<Long, ?> spec,
      BiFunction<State, Long, Object> view,
      BiFunction<State, State, State> written) {}

  private static final State NONE =
      new State(
          "",
          0,
          Optional.empty(),
          Optional.empty(),
          Optional.empty(),
          Optional.empty(),
          0,
          Optional.empty());

  private static <V> ObjectSpec<Long, V> people(Class<V> values, String name) {
    return ObjectSpec.of("people", Long.class, values).index("byName", name, "visits");
  }

  private static final List<Version> VERSIONS =
      List.of(
          new Version(
              people(A.class, "name"),
              State::a,
              (old, s) ->
                  new State(
                      s.name,
                      s.visits,
                      s.fax,
                      old.mail,
                      old.city,
                      old.tags,
                      s.x,
                      Optional.empty())),
          new Version(
              people(B.class, "title").index("byMail", "mail").index("byPlace", "place"),
              State::b,
              (old, s) ->
                  new State(
                      s.name, s.visits, Optional.empty(), s.mail, s.city, old.tags, s.x, s.y)),
          new Version(
              people(C.class, "heading").index("byMail", "mail").index("byPlace", "place"),
              State::c,
              (old, s) ->
                  new State(
                      s.name,
                      s.visits,
                      Optional.empty(),
                      s.mail,
                      Optional.empty(),
                      s.tags,
                      s.x,
                      s.y)));

  private static State random(Random random) {
    String text = "t" + random.nextInt(4);
    return new State(
        text,
        random.nextInt(3),
        Optional.of("fax" + text),
        Optional.of("mail" + text),
        random.nextBoolean() ? Optional.empty() : Optional.of("city" + text),
        Optional.of(random.nextBoolean() ? List.of() : List.of(text, "x")),
        random.nextInt(5),
        Optional.of(random.nextInt(5)));
  }

  private static Options options() {
    return Options.defaults().bufferBytes(2 << 20);
  }

  @SuppressWarnings("unchecked") // of the class of the version
  private static Table<Long, Object> open(Database db, Version version) {
    return (Table<Long, Object>) db.table(version.spec);
  }

  /** Operations by random classes, which open one file in turn, against a model. */
  @Property(tries = 40)
  void classesOpenATableInTurn(@ForAll long seed) {
    Random random = new Random(seed);
    SimDisk disk = new SimDisk(seed);
    Map<Long, State> model = new TreeMap<>();
    Set<Integer> known = new HashSet<>();
    int newest = 0;
    int floor = 0;
    Database db = Database.open(new SimStorage(disk), options());
    try {
      for (int opening = 0; opening < 10; opening++) {
        int v = opening == 0 ? 0 : random.nextInt(VERSIONS.size());
        Version version = VERSIONS.get(v);
        if (v < floor || v < newest && !known.contains(v)) {
          Database opened = db;
          assertThrows(IncompatibleSchemaException.class, () -> open(opened, version));
          continue;
        }
        known.add(v);
        newest = Math.max(newest, v);
        Table<Long, Object> table = open(db, version);
        if (random.nextInt(12) == 0) {
          assertEquals(floor < newest, db.finishEvolution("people"));
          assertFalse(db.finishEvolution("people"));
          floor = newest;
        }
        for (int step = 0; step < 12; step++) {
          change(db, table, version, model, random);
        }
        check(db, table, version, model);
        if (random.nextBoolean()) {
          db.close();
          db = Database.open(new SimStorage(disk), options());
        }
      }
    } finally {
      db.close();
    }
  }

  private static void change(
      Database db,
      Table<Long, Object> table,
      Version version,
      Map<Long, State> model,
      Random random) {
    long id = random.nextInt(12);
    State written = random(random);
    State old = model.get(id);
    State after = version.written.apply(old == null ? NONE : old, written);
    Object value = version.view.apply(after, id);
    switch (random.nextInt(5)) {
      case 0 -> {
        assertEquals(old != null, db.call(tx -> table.delete(tx, id)));
        model.remove(id);
      }
      case 1 -> {
        db.run(
            tx -> {
              assertEquals(old != null, table.updateIfPresent(tx, id, was -> value) != null);
            });
        model.computeIfPresent(id, (key, was) -> after);
      }
      case 2 -> {
        if (old == null) {
          db.run(tx -> table.insert(tx, value));
          model.put(id, after);
        }
      }
      default -> {
        db.run(tx -> table.put(tx, value));
        model.put(id, after);
      }
    }
  }

  private static void check(
      Database db, Table<Long, Object> table, Version version, Map<Long, State> model) {
    List<Object> expected = new ArrayList<>();
    model.forEach((id, state) -> expected.add(version.view.apply(state, id)));
    assertEquals(expected, List.copyOf(table.asMap().values()));
    record Name(String name) {}
    Set<Object> found = new HashSet<>();
    Index<Name, Long, Object> byName = table.index("byName", Name.class);
    db.run(
        tx -> {
          found.clear();
          for (int i = 0; i < 4; i++) {
            try (IndexCursor<Name, Long, Object> c =
                byName.scan(tx, new Name("t" + i), ScanOrder.ASCENDING)) {
              while (c.next()) {
                found.add(c.value());
              }
            }
          }
        });
    assertEquals(Set.copyOf(expected), found);
    VerifyReport report = db.verify();
    assertTrue(report.ok(), report::toString);
  }

  @Test
  void whatAnOlderClassDoesNotKnowIsKept() {
    try (Database db = Database.inMemory(options())) {
      Table<Long, A> a = db.table(people(A.class, "name"));
      db.run(tx -> a.put(tx, new A(1, "Ada", 1, "17", new Place(3))));
      Table<Long, B> b = db.table(people(B.class, "title").index("byMail", "mail"));
      B first = new B(1, "Ada", 1, "none", Optional.empty(), new WiderPlace(3, -1));
      assertEquals(first, db.read(tx -> b.get(tx, 1L)));
      B written = new B(1, "Ada", 2, "ada@x", Optional.of("London"), new WiderPlace(3, 4));
      db.run(tx -> b.put(tx, written));
      // The handle of before reads what the newer class has written, and refuses to overwrite it.
      A read = new A(1, "Ada", 2, null, new Place(3));
      assertEquals(read, db.read(tx -> a.get(tx, 1L)));
      assertThrows(InvalidUseException.class, () -> db.run(tx -> a.put(tx, read)));
      Table<Long, A> again = db.table(people(A.class, "name"));
      A changed = new A(1, "Eve", 3, "18", new Place(5));
      db.run(tx -> again.put(tx, changed));
      assertEquals(changed, db.read(tx -> again.get(tx, 1L)));
      assertEquals(
          new B(1, "Eve", 3, "ada@x", Optional.of("London"), new WiderPlace(5, -1)),
          db.read(tx -> b.get(tx, 1L)));
      assertTrue(db.finishEvolution("people"));
      IncompatibleSchemaException e =
          assertThrows(IncompatibleSchemaException.class, () -> db.table(people(A.class, "name")));
      assertTrue(e.getMessage().contains("before 2"), e.getMessage());
      assertFalse(db.finishEvolution("people"));
      assertFalse(db.finishEvolution("none"));
    }
  }

  @Test
  void transactionsThatDoNotKnowANewerClassEndBeforeItsFirstHandle() throws Exception {
    try (Database db = Database.inMemory(options())) {
      Table<Long, A> a = db.table(ObjectSpec.of("people", Long.class, A.class));
      ObjectSpec<Long, B> newer = ObjectSpec.of("people", Long.class, B.class);
      B written = new B(1, "Ada", 2, "ada@x", Optional.of("London"), new WiderPlace(3, 4));
      FutureTask<?> open =
          new FutureTask<>(
              () -> {
                Table<Long, B> b = db.table(newer);
                db.run(tx -> b.put(tx, written));
              },
              null);
      Thread opener = Thread.ofPlatform().unstarted(open);
      try (Transaction tx = db.begin()) {
        a.put(tx, new A(1, "Ada", 1, "17", new Place(3))); // reads nothing
        opener.start();
        while (!open.isDone() && opener.getState() != Thread.State.TIMED_WAITING) {
          Thread.onSpinWait();
        }
        tx.commit();
      }
      open.get();
      Table<Long, B> b = db.table(newer);
      assertEquals(written, db.read(tx -> b.get(tx, 1L)));
    }
  }

  enum Color {
    RED
  }

  sealed interface Pet {}

  record Cat(int lives) implements Pet {}

  record Owner(@Id long id, Color color, Pet pet, int size) {}

  static final class Next {
    enum Color {
      GREEN,
      RED
    }

    sealed interface Pet {}

    record Dog() implements Pet {}

    record Cat(int lives) implements Pet {}

    record Owner(@Id long id, Color color, Pet pet, int size) {}
  }

  record Wide(@Id long id, Color color, Pet pet, long size) {}

  @Test
  void constantsAndRecordsOfANewerClassAreReportedWhenTheyAreRead() {
    try (Database db = Database.inMemory(options())) {
      ObjectSpec<Long, Owner> older = ObjectSpec.of("owners", Long.class, Owner.class);
      db.table(older);
      Table<Long, Next.Owner> next =
          db.table(ObjectSpec.of("owners", Long.class, Next.Owner.class));
      db.run(
          tx -> {
            next.put(tx, new Next.Owner(1, Next.Color.RED, new Next.Cat(9), 1));
            next.put(tx, new Next.Owner(2, Next.Color.GREEN, null, 1));
            next.put(tx, new Next.Owner(3, null, new Next.Dog(), 1));
          });
      Table<Long, Owner> owners = db.table(older);
      assertEquals(new Owner(1, Color.RED, new Cat(9), 1), db.read(tx -> owners.get(tx, 1L)));
      Map.of(2L, "GREEN", 3L, "Dog")
          .forEach(
              (id, name) -> {
                IncompatibleSchemaException e =
                    assertThrows(
                        IncompatibleSchemaException.class, () -> db.call(tx -> owners.get(tx, id)));
                assertTrue(e.getMessage().contains(name + ","), e.getMessage());
              });
      db.run(tx -> owners.put(tx, new Owner(2, Color.RED, null, 2)));
      assertEquals(new Next.Owner(2, Next.Color.RED, null, 2), db.read(tx -> next.get(tx, 2L)));
      // A number that was widened has no way back.
      assertThrows(
          IncompatibleSchemaException.class,
          () -> db.table(ObjectSpec.of("owners", Long.class, Wide.class)));
    }
  }

  private static Class<?> compile(Path dir, String source) throws Exception {
    Path file = Files.createDirectories(dir.resolve("app")).resolve("Person.java");
    Files.writeString(file, "package app;\nimport io.fovea.schema.*;\n" + source);
    int result =
        ToolProvider.getSystemJavaCompiler()
            .run(
                null,
                null,
                null,
                "-proc:none",
                "-cp",
                Path.of(Id.class.getProtectionDomain().getCodeSource().getLocation().toURI())
                    .toString(),
                file.toString());
    assertEquals(0, result);
    URLClassLoader loader =
        new URLClassLoader(new URL[] {dir.toUri().toURL()}, Id.class.getClassLoader());
    return loader.loadClass("app.Person");
  }

  private static Object person(Class<?> type, Object... values) throws Exception {
    Constructor<?> constructor = type.getDeclaredConstructors()[0];
    return constructor.newInstance(values);
  }

  @SuppressWarnings("unchecked") // the class of the values is only known as loaded
  private static Table<Long, Object> people(Database db, Class<?> type) {
    return (Table<Long, Object>) db.table(ObjectSpec.of("people", Long.class, type));
  }

  @Test
  void twoClassLoadersShareATable(@TempDir Path dir) throws Exception {
    Class<?> one =
        compile(dir.resolve("1"), "public record Person(@Id long id, String name, int age) {}");
    Class<?> two =
        compile(
            dir.resolve("2"),
            "@Dropped(\"age\") public record Person(@Id long id, java.util.List<String> tags,"
                + " @Formerly(\"name\") String title) {}");
    Path file = dir.resolve("db");
    try (Database db = Database.open(file, options())) {
      people(db, one);
      Table<Long, Object> second = people(db, two);
      Table<Long, Object> first = people(db, one);
      Object tagged = person(two, 1L, List.of("x"), "Ada");
      db.run(tx -> second.put(tx, tagged));
      Object aged = person(one, 1L, "Ada L.", 36);
      assertEquals(person(one, 1L, "Ada", 0), db.read(tx -> first.get(tx, 1L)));
      db.run(tx -> first.put(tx, aged));
      assertEquals(aged, db.read(tx -> first.get(tx, 1L)));
      assertEquals(person(two, 1L, List.of("x"), "Ada L."), db.read(tx -> second.get(tx, 1L)));
    }
    try (Database db = Database.open(file, options().readOnly(true))) {
      assertEquals(person(one, 1L, "Ada L.", 36), db.read(tx -> people(db, one).get(tx, 1L)));
      assertEquals(
          person(two, 1L, List.of("x"), "Ada L."), db.read(tx -> people(db, two).get(tx, 1L)));
      assertNull(db.read(tx -> people(db, one).get(tx, 2L)));
    }
  }

  /** Tools see the newest class, whatever older ones have added. */
  @Test
  void theNewestClassIsDescribed() throws IOException {
    try (Database db = Database.inMemory(options())) {
      Version a = VERSIONS.get(0);
      Version c = VERSIONS.get(2);
      open(db, a);
      Table<Long, Object> newest = open(db, c);
      open(db, a);
      assertEquals(c.spec.table().objects(), db.describe("people").objects());
      assertEquals(3, db.describe("people").indexes().size());
      RowTable table = db.table(db.describe("people"));
      ObjectDump dump = ObjectDump.of(table);
      byte[] key = dump.key(List.of("7"));
      byte[] value =
          dump.object(Map.of("heading", "x", "visits", 3, "tags", List.of(), "mail", "m"));
      db.run(tx -> table.bytes().put(tx, key, value));
      assertEquals(new C(7, List.of(), "m", "x", 3, null), db.read(tx -> newest.get(tx, 7L)));
    }
  }

  private int steps;

  private void way(Database db) {
    for (int v : new int[] {0, 1, 0, 2, 0}) {
      Table<Long, Object> table = open(db, VERSIONS.get(v));
      steps++;
      State after = crashModel(steps + 1).get(1L);
      Object value = VERSIONS.get(v).view.apply(after, 1L);
      db.run(tx -> table.put(tx, value));
      steps++;
      if (v == 1) {
        db.checkpoint();
      }
    }
    db.finishEvolution("people");
    steps++;
  }

  /** Returns the content after a number of steps: each second one writes. */
  private static Map<Long, State> crashModel(int steps) {
    Map<Long, State> model = new TreeMap<>();
    int[] order = {0, 1, 0, 2, 0};
    for (int i = 0; i < Math.min(steps / 2, order.length); i++) {
      State old = model.getOrDefault(1L, NONE);
      model.put(1L, VERSIONS.get(order[i]).written.apply(old, random(new Random(i))));
    }
    return model;
  }

  @Test
  @Tag("slow")
  void crashesAtAnyOperation() {
    SimDisk disk = new SimDisk(1);
    PowerCuts<Integer> cuts = new PowerCuts<>(disk, () -> steps);
    Options small = Options.defaults().bufferBytes(600_000).transactions(x -> x.maxActive(2));
    Database work = SimDatabase.open(new SimStorage(disk), small);
    cuts.during(
        () -> {
          way(work);
          work.close();
        });
    assertTrue(cuts.size() > 20, cuts.size() + " cuts");
    cuts.forEach(
        (left, told) -> {
          try (Database db = SimDatabase.open(new SimStorage(left), small)) {
            boolean finished = told == 11;
            if (told >= 7) { // the newest class has been acknowledged
              Version c = VERSIONS.get(2);
              check(db, open(db, c), c, crashModel(told), crashModel(told + 1));
            }
            Version a = VERSIONS.get(0);
            if (finished) {
              assertThrows(IncompatibleSchemaException.class, () -> open(db, a));
            } else if (told < 10) {
              check(db, open(db, a), a, crashModel(told), crashModel(told + 1));
            }
          }
        });
  }

  private static void check(
      Database db,
      Table<Long, Object> table,
      Version version,
      Map<Long, State> model,
      Map<Long, State> next) {
    Object found = db.read(tx -> table.get(tx, 1L));
    boolean isNext = next.containsKey(1L) && version.view.apply(next.get(1L), 1L).equals(found);
    check(db, table, version, isNext ? next : model);
  }
}
