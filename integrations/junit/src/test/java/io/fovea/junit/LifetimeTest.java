package io.fovea.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.ObjectSpec;
import io.fovea.Table;
import io.fovea.config.LeakDetection;
import io.fovea.junit.FoveaDatabase.Location;
import io.fovea.schema.Id;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CyclicBarrier;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which databases tests receive, and when these are closed. */
class LifetimeTest {
  record Item(@Id long id, String name) {}

  private static final ObjectSpec<Long, Item> ITEMS =
      ObjectSpec.of("items", Long.class, Item.class);

  /** The databases that the tests of a class received, by class. */
  private static final Map<Class<?>, Queue<Database>> SEEN = new ConcurrentHashMap<>();

  /** Requires that a database is open, and new if no other test of the class may use it. */
  private static void use(Object test, Database db) {
    assertTrue(db.isOpen());
    Table<Long, Item> items = db.table(ITEMS);
    db.run(tx -> items.put(tx, new Item(db.sequence("items").next(), "tea")));
    SEEN.computeIfAbsent(test.getClass(), c -> new ConcurrentLinkedQueue<>()).add(db);
  }

  /** Runs a class and returns the number of databases that it used, all of which are closed. */
  private static int databases(Class<?> type, int tests) {
    SEEN.remove(type);
    Run.of(type).succeeds(tests);
    return closed(type);
  }

  private static int closed(Class<?> type) {
    Set<Database> seen = ConcurrentHashMap.newKeySet();
    seen.addAll(SEEN.remove(type));
    seen.forEach(db -> assertFalse(db.isOpen(), db::toString));
    return seen.size();
  }

  // ---------------------------------------------------------------------------------------- fields

  static class InstanceField {
    @FoveaDatabase private Database db;

    @BeforeEach
    void before() {
      use(this, db);
      assertEquals(1, records(db));
    }

    @AfterEach
    void after() {
      assertTrue(db.isOpen());
    }

    @Test
    void one() {
      use(this, db);
    }

    @Test
    void two() {
      use(this, db);
    }
  }

  private static long records(Database db) {
    return db.verify().records();
  }

  @Test
  void anInstanceFieldIsPerTest() {
    assertEquals(2, databases(InstanceField.class, 2));
  }

  @TestInstance(Lifecycle.PER_CLASS)
  static class InstanceFieldPerClass extends InstanceField {
    @Override
    @BeforeEach
    void before() {}

    @AfterAll
    void afterAll() {
      assertTrue(records(super.db) >= 2);
    }
  }

  @Test
  void anInstanceFieldIsPerClassIfTheInstanceIs() {
    assertEquals(1, databases(InstanceFieldPerClass.class, 2));
  }

  static class StaticField {
    @FoveaDatabase static Database db;

    @BeforeAll
    static void before() {
      db.table(ITEMS);
    }

    @Test
    void one() {
      use(this, db);
    }

    @Test
    void two() {
      use(this, db);
    }

    @Nested
    class Inner {
      @Test
      void three() {
        use(StaticField.this, db);
      }
    }
  }

  @Test
  void aStaticFieldIsPerClass() {
    assertEquals(1, databases(StaticField.class, 3));
  }

  // ------------------------------------------------------------------------------------ parameters

  @FoveaDatabase
  static class AnnotatedClass {
    final Database first;

    AnnotatedClass(Database first) {
      this.first = first;
    }

    @BeforeEach
    void before(Database db) {
      assertSame(first, db);
    }

    @Test
    void one(Database db) {
      assertSame(first, db);
      use(this, db);
    }

    @RepeatedTest(2)
    void repeated(Database db) {
      assertSame(first, db);
      use(this, db);
    }

    @ParameterizedTest
    @ValueSource(strings = {"a", "b"})
    void parameterized(String value, Database db) {
      assertSame(first, db);
      use(this, db);
    }

    @AfterEach
    void after(Database db) {
      assertSame(first, db);
      assertEquals(1, records(db));
    }
  }

  @Test
  void parametersOfAnAnnotatedClassArePerTest() {
    assertEquals(5, databases(AnnotatedClass.class, 5));
  }

  @FoveaDatabase
  @TestInstance(Lifecycle.PER_CLASS)
  static class AnnotatedPerClass {
    @Test
    void one(Database db) {
      use(this, db);
    }

    @RepeatedTest(2)
    void two(Database db) {
      use(this, db);
    }

    @Nested
    class Inner {
      @Test
      void three(Database db) {
        use(AnnotatedPerClass.this, db);
      }
    }

    @AfterAll
    void after(Database db) {
      assertEquals(4, records(db));
    }
  }

  @Test
  void parametersOfAnAnnotatedClassArePerClassIfTheInstanceIs() {
    assertEquals(1, databases(AnnotatedPerClass.class, 4));
  }

  static class Parameters {
    @BeforeEach
    void before(@FoveaDatabase Database db) {
      use(this, db);
    }

    @Test
    void one(@FoveaDatabase Database db, @FoveaDatabase(name = "other") Database other) {
      assertNotSame(db, other);
      assertEquals(1, records(db));
      use(this, db);
      use(this, other);
    }

    @Test
    void two(@FoveaDatabase Database db) {
      assertEquals(1, records(db));
    }
  }

  @Test
  void parametersOfTheSameNameShareADatabase() {
    assertEquals(3, databases(Parameters.class, 2));
  }

  static class BeforeAllParameter {
    @BeforeAll
    static void before(@FoveaDatabase Database db) {
      db.table(ITEMS);
    }

    @Test
    void one(@FoveaDatabase Database db) {
      use(this, db);
    }

    @Test
    void two(@FoveaDatabase Database db) {
      use(this, db);
    }

    @AfterAll
    static void after(@FoveaDatabase Database db) {
      assertEquals(2, records(db));
    }
  }

  @Test
  void aParameterOfBeforeAllIsPerClass() {
    assertEquals(1, databases(BeforeAllParameter.class, 2));
  }

  // ----------------------------------------------------------------------- nested and
  // parameterized

  static class Outer {
    @FoveaDatabase Database db;

    @BeforeEach
    void fill() {
      use(this, db);
    }

    @Test
    void outer() {
      assertEquals(1, records(db));
    }

    @Nested
    class Inner {
      @FoveaDatabase(name = "inner")
      Database inner;

      @Test
      void one() {
        assertNotSame(db, inner);
        assertEquals(1, records(db));
        use(Outer.this, inner);
      }

      @Test
      void two(@FoveaDatabase Database same) {
        assertSame(db, same);
        assertEquals(1, records(db));
      }
    }
  }

  @Test
  void nestedTestsHaveTheDatabaseOfTheOuterInstance() {
    assertEquals(4, databases(Outer.class, 3));
  }

  @FoveaDatabase
  static class AnnotatedOuter {
    final Database outer;

    AnnotatedOuter(Database outer) {
      this.outer = outer;
    }

    @Nested
    class Inner {
      @Test
      void inherits(Database db) {
        assertSame(outer, db);
        use(AnnotatedOuter.this, db);
      }
    }

    @Nested
    @FoveaDatabase(name = "inner", location = Location.TEMPORARY_FOLDER)
    class Replacing {
      @Test
      void replaces(@FoveaDatabase(name = "inner") Path file, Database db) {
        assertNotSame(outer, db);
        assertTrue(db.name().endsWith("/inner"));
        assertTrue(Files.exists(file));
        use(AnnotatedOuter.this, outer);
        use(AnnotatedOuter.this, db);
      }
    }
  }

  @Test
  void nestedClassesInheritAndReplaceTheAnnotation() {
    assertEquals(3, databases(AnnotatedOuter.class, 2));
  }

  @ParameterizedClass
  @ValueSource(ints = {1, 2})
  static class Parameterized {
    @Parameter int n;

    @FoveaDatabase static Database ofClass;

    @FoveaDatabase(name = "test")
    Database ofTest;

    @Test
    void one() {
      use(this, ofTest);
      use(this, ofClass);
    }

    @Test
    void two() {
      use(this, ofTest);
      use(this, ofClass);
    }
  }

  @Test
  void parameterizedClasses() {
    assertEquals(1 + 4, databases(Parameterized.class, 4));
  }

  @FoveaDatabase
  static class Parallel {
    static final CyclicBarrier ALL = new CyclicBarrier(2);

    @FoveaDatabase(name = "shared")
    static Database shared;

    @Test
    void one(Database db) throws Exception {
      both(db);
    }

    @Test
    void two(Database db) throws Exception {
      both(db);
    }

    /** Waits inside of a transaction until the other test has one. */
    private void both(Database db) throws Exception {
      use(this, db);
      assertEquals(1, records(db));
      shared.<Exception>run(tx -> ALL.await());
      use(this, shared);
    }
  }

  @Test
  void parallelTestsHaveTheirOwnDatabases() {
    SEEN.remove(Parallel.class);
    Run.inParallel(Parallel.class).succeeds(2);
    assertEquals(3, closed(Parallel.class));
  }

  // --------------------------------------------------------------------------------- files,
  // options

  static class InFolder {
    static final Queue<Path> FILES = new ConcurrentLinkedQueue<>();

    @FoveaDatabase Path file;

    @FoveaDatabase(location = Location.TEMPORARY_FOLDER)
    Database db;

    @Test
    void survivesAReopen() {
      use(this, db);
      db.close();
      try (Database again = Database.open(file, db.options())) {
        assertEquals(1, records(again));
      }
      FILES.add(file);
    }

    @Test
    void staysOpen(@FoveaDatabase Path same) {
      assertEquals(file, same);
      use(this, db);
      FILES.add(file);
    }
  }

  @Test
  void temporaryFoldersAreDeleted() {
    assertEquals(2, databases(InFolder.class, 2));
    assertEquals(2, InFolder.FILES.size());
    InFolder.FILES.forEach(f -> assertFalse(Files.exists(f.getParent()), f::toString));
  }

  /** JUnit returns fields in the order of their names' hash codes. */
  static class FieldsInBothOrders {
    @FoveaDatabase(name = "1")
    Path a;

    @FoveaDatabase(name = "1", location = Location.TEMPORARY_FOLDER)
    Database b;

    @FoveaDatabase(name = "2", location = Location.TEMPORARY_FOLDER)
    Database c;

    @FoveaDatabase(name = "2")
    Path d;

    @Test
    void one() {
      assertTrue(Files.exists(a));
      assertTrue(Files.exists(d));
      use(this, b);
      use(this, c);
    }
  }

  @Test
  void theOrderOfFieldsIsIrrelevant() {
    assertEquals(2, databases(FieldsInBothOrders.class, 1));
  }

  @Target({ElementType.TYPE, ElementType.PARAMETER})
  @Retention(RetentionPolicy.RUNTIME)
  @FoveaDatabase(location = Location.TEMPORARY_FOLDER, name = "composed")
  @interface Composed {}

  @Composed
  static class WithComposed {
    @Test
    void one(Database db, @FoveaDatabase(name = "composed") Path file) {
      use(this, db);
      assertTrue(Files.exists(file));
    }
  }

  static class WithComposedParameter {
    @Test
    void one(@Composed Database db) {
      use(this, db);
    }
  }

  @Test
  void metaAnnotations() {
    assertEquals(1, databases(WithComposed.class, 1));
    assertEquals(1, databases(WithComposedParameter.class, 1));
  }

  static class Inherited extends AnnotatedClass {
    Inherited(Database first) {
      super(first);
    }
  }

  @Test
  void theAnnotationIsInherited() {
    assertEquals(5, databases(Inherited.class, 5));
  }

  static class Defaults {
    @Test
    void one(@FoveaDatabase Database db, @FoveaDatabase(name = "b") Database named) {
      use(this, db);
      assertEquals(Defaults.class.getName() + ".one(Database, Database)", db.options().name());
      assertEquals(Defaults.class.getName() + ".one(Database, Database)/b", named.name());
      assertEquals(LeakDetection.ALL, db.options().transactions().leakDetection());
      assertEquals(16 << 20, db.options().bufferBytes());
    }
  }

  @Test
  void defaultOptions() {
    assertEquals(1, databases(Defaults.class, 1));
  }
}
