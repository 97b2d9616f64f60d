package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Protocol;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.IncompatibleSchemaException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.Step;
import io.fovea.schema.TableSpec;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Versions of tables: each kind of step, what is rejected, and the effect on other users. */
@Timeout(120)
class EvolutionTest {
  private static final Options SMALL =
      Options.defaults()
          .bufferBytes(4 << 20)
          .log(log -> log.bufferBytes(256 << 10).segmentBytes(256 << 10).maxBytes(2 << 20));
  private static final KeySpec KEY = KeySpec.of(FieldType.INT64);
  private static final int N = 300;

  private static final Layout.Definition B1 = Layout.define();
  private static final Field FULLNAME = B1.text("fullname", 20);
  private static final Field VISITS1 = B1.int32("visits");
  private static final Field FAX = B1.int32("fax");
  private static final Field PHOTO1 = B1.bytes("photo", 8);
  private static final Layout LAYOUT1 = B1.build();
  private static final TableSpec V1 = TableSpec.of("people", KEY, LAYOUT1);

  private static final Layout.Definition B3 = Layout.define();
  private static final Field EMAIL = B3.text("email", 30);
  private static final Field NAME = B3.text("name", 40);
  private static final Field VISITS = B3.int64("visits");
  private static final Field PHOTO = B3.bytes("photo", 16);
  private static final Field LEVEL = B3.int32("level");
  private static final Field SINCE = B3.int64("since");
  private static final Field MARK = B3.bytes("mark", 4);
  private static final Layout LAYOUT3 = B3.build();

  @TempDir Path dir;
  private Database db;

  private static TableSpec.Builder third() {
    return TableSpec.builder("people", KEY, LAYOUT3)
        .version(2, Step.rename("fullname", "name"), Step.add("email", "none"), Step.widen("name"))
        .version(
            3,
            Step.drop("fax"),
            Step.widen("visits"),
            Step.widen("photo"),
            Step.add("level"),
            Step.add("since", -5_000_000_000L),
            Step.add("mark", new byte[] {1, 2, 3}));
  }

  private static TableSpec spec(Layout layout, Step... steps) {
    return TableSpec.builder("people", KEY, layout).version(2, steps).build();
  }

  private static Layout layout(Map<String, String> fields) {
    Layout.Definition b = Layout.define();
    fields.forEach(
        (name, type) -> {
          String[] words = type.split(" ");
          FieldType t = FieldType.valueOf(words[0]);
          b.add(name, t, t.isFixed() ? t == FieldType.INT32 ? 4 : 8 : Integer.parseInt(words[1]));
        });
    return b.build();
  }

  private static Map<String, String> first() {
    Map<String, String> m = new TreeMap<>();
    LAYOUT1.fields().forEach(f -> m.put(f.name(), f.type() + " " + f.width()));
    return m;
  }

  @BeforeEach
  void open() {
    db = Database.open(dir.resolve("db"), SMALL);
  }

  @AfterEach
  void close() {
    db.close();
    VerifyReport report = FileVerifier.verify(dir.resolve("db"));
    assertTrue(report.ok(), report::toString);
  }

  private void reopen() {
    db.close();
    open();
  }

  private static Row first(Row row, long id) {
    return row.clear()
        .setText(FULLNAME, "person " + id)
        .setInt(VISITS1, (int) (id % 7 - 3))
        .setInt(FAX, 1)
        .setBytes(PHOTO1, new byte[(int) (id % 9)]);
  }

  private RowTable fill(TableSpec spec) {
    RowTable t = db.table(spec);
    db.run(
        tx -> {
          for (long id = 0; id < N; id++) {
            t.insert(tx, t.key().set(id), first(t.row(), id));
          }
        });
    return t;
  }

  private static void check(Row row, long id) {
    assertEquals("person " + id, row.getText(NAME));
    assertTrue(row.textEquals(EMAIL, "none"));
    assertEquals(id % 7 - 3, row.getLong(VISITS));
    assertArrayEquals(new byte[(int) (id % 9)], row.getBytes(PHOTO));
    assertEquals(0, row.getInt(LEVEL));
    assertEquals(-5_000_000_000L, row.getLong(SINCE));
    assertArrayEquals(new byte[] {1, 2, 3}, row.getBytes(MARK));
  }

  @ParameterizedTest
  @EnumSource(Protocol.class)
  void oldRowsAreReadInTheNewLayout(Protocol protocol) {
    fill(V1);
    db.close();
    db = Database.open(dir.resolve("db"), SMALL.experiments(exp -> exp.protocol(protocol)));
    RowTable t = db.table(third().build());
    assertEquals(3, t.spec().version());
    for (int round = 0; round < 2; round++) {
      db.run(
          tx -> {
            Row row = t.row();
            Batch batch = t.batch(N);
            for (long id = 0; id < N; id++) {
              assertTrue(t.get(tx, t.key().set(id), row));
              check(row, id);
              batch.add().set(id);
            }
            assertEquals(N, t.getAll(tx, batch));
            for (int i = 0; i < N; i++) {
              check(batch.row(i), i);
            }
            long id = 0;
            try (RowCursor c = t.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
              for (; c.next(); id++) {
                check(c.row(), id);
              }
            }
            assertEquals(N, id);
            assertTrue(t.get(tx, t.key().set(4L), row, Projection.of(LAYOUT3, NAME)));
            assertEquals("person 4", row.getText(NAME));
            assertThrows(InvalidUseException.class, () -> row.getLong(VISITS));
          });
      // Some rows have been rewritten by now and are read like the others.
      db.run(
          tx -> {
            Row row = t.row();
            for (long id = 0; id < N; id += 3) {
              assertTrue(t.getForUpdate(tx, t.key().set(id), row));
              t.update(tx, row.setInt(LEVEL, 9));
              t.update(tx, row.setInt(LEVEL, 8).setText(EMAIL, "other"));
              assertTrue(t.get(tx, t.key().set(id), row));
              assertEquals(8, row.getInt(LEVEL));
              t.update(tx, row.setInt(LEVEL, 0).setText(EMAIL, "none"));
            }
          });
      VerifyReport report = db.verify();
      assertTrue(report.ok(), report::toString);
    }
  }

  @Test
  void aRowIsRewrittenWhenItIsUpdated() {
    RowTable before = fill(V1);
    int size = before.core().recordBytes();
    RowTable t = db.table(third().build());
    assertTrue(t.core().recordBytes() > size);
    db.run(
        tx -> {
          Row row = t.row();
          for (long id = 0; id < 4; id++) {
            assertTrue(t.get(tx, t.key().set(id), row));
            assertFalse(row.buffer().isPlain());
          }
          // From the cursor's row, after a put, and after a delete and insert.
          try (RowCursor c = t.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
            assertTrue(c.next());
            t.update(tx, c.row().setLong(VISITS, 1L << 40));
          }
          t.put(tx, t.key().set(1L), row);
          assertTrue(t.delete(tx, t.key().set(2L)));
          t.insert(tx, t.key().set(2L), row);
        });
    reopen();
    RowTable again = db.table(third().build());
    db.run(
        tx -> {
          Row row = again.row();
          for (long id = 0; id < 4; id++) {
            assertTrue(again.get(tx, again.key().set(id), row));
            assertEquals(id != 3, row.buffer().isPlain(), "" + id);
            assertEquals(id == 0 ? 1L << 40 : id == 3 ? 0 : 0, row.getLong(VISITS));
          }
        });
  }

  @Test
  void rowsOfThreeVersionsCoexist() {
    RowTable a = fill(V1);
    assertEquals(1, a.core().history().version());
    Layout two = layout(Map.of("x", "INT64"));
    TableSpec second =
        spec(
            two,
            Step.drop("fullname"),
            Step.drop("visits"),
            Step.drop("fax"),
            Step.drop("photo"),
            Step.add("x", 2));
    RowTable b = db.table(second);
    db.run(tx -> b.put(tx, b.key().set(0L), b.row().setLong(two.field("x"), 20)));
    // A new field of the same name and size does not get the old value.
    TableSpec thirdSpec =
        TableSpec.builder("people", KEY, two).version(3, Step.drop("x"), Step.add("x", 3)).build();
    RowTable c = db.table(thirdSpec);
    assertEquals(two.size() + 1, c.core().recordBytes());
    db.run(tx -> c.put(tx, c.key().set(1L), c.row().setLong(two.field("x"), 30)));
    reopen();
    RowTable d = db.table(thirdSpec);
    db.run(
        tx -> {
          Row row = d.row();
          long[] values = {3, 30, 3};
          for (long id = 0; id < 3; id++) {
            assertTrue(d.get(tx, d.key().set(id), row));
            assertEquals(values[(int) id], row.getLong(two.field("x")));
          }
          t(tx, d, row);
        });
  }

  /** A new row filled from another, in a table whose stored rows have trailing bytes. */
  private static void t(Transaction tx, RowTable d, Row read) {
    Row fresh = d.row().set(read);
    d.insert(tx, d.key().set(1_000L), fresh.clear());
    d.insert(tx, d.key().set(1_001L), fresh.set(read));
    assertTrue(d.get(tx, d.key().set(1_001L), fresh));
    assertTrue(fresh.buffer().isPlain());
  }

  @Test
  void aRenameRewritesNoRow() {
    fill(V1.with(IndexSpec.on("by_name", FULLNAME)));
    Map<String, String> fields = first();
    fields.put("name", fields.remove("fullname"));
    Layout.Definition b = Layout.define();
    Field name = b.text("name", 20);
    b.int32("visits");
    b.int32("fax");
    b.bytes("photo", 8);
    int tree =
        db.table(V1.with(IndexSpec.on("by_name", FULLNAME))).core().index("by_name").tree.treeId();
    RowTable t =
        db.table(
            TableSpec.builder("people", KEY, b.build())
                .version(2, Step.rename("fullname", "name"))
                .index(IndexSpec.on("by_name", name))
                .build());
    assertEquals(List.of(), t.core().history().old());
    assertEquals(tree, t.core().index("by_name").tree.treeId());
    db.run(
        tx -> {
          Row row = t.row();
          RowIndex i = t.index("by_name");
          assertTrue(i.get(tx, i.key().set("person 5"), row));
          assertTrue(row.buffer().isPlain());
        });
  }

  private static IndexSpec parity(Function<io.fovea.schema.RowReader, Long> visits) {
    return IndexSpec.extracted(
        "parity",
        KeySpec.of(FieldType.INT64),
        false,
        (k, r, e) -> {
          e.set(visits.apply(r) & 1);
          return true;
        });
  }

  @Test
  void indexesAreKeptOrRebuilt() {
    TableSpec old =
        V1.with(IndexSpec.on("by_visits", VISITS1))
            .with(IndexSpec.unique("by_name", FULLNAME))
            .with(parity(r -> (long) r.getInt(VISITS1)));
    RowTable before = fill(old);
    Map<String, Integer> trees = new TreeMap<>();
    before.core().readable().forEach(i -> trees.put(i.name, i.tree.treeId()));
    TableSpec spec =
        third()
            .index(IndexSpec.on("by_visits", VISITS))
            .index(IndexSpec.unique("by_name", NAME))
            .index(parity(r -> r.getLong(VISITS)))
            .index(IndexSpec.on("by_since", SINCE, LEVEL))
            .build();
    for (int round = 0; round < 2; round++) {
      RowTable t = db.table(spec);
      assertEquals(trees.get("by_name"), t.core().index("by_name").tree.treeId());
      assertFalse(trees.containsValue(t.core().index("by_visits").tree.treeId()));
      assertFalse(trees.containsValue(t.core().index("parity").tree.treeId()));
      db.run(
          tx -> {
            Row row = t.row();
            RowIndex byName = t.index("by_name");
            RowIndex byVisits = t.index("by_visits");
            for (long id = 0; id < N; id++) {
              assertTrue(byName.get(tx, byName.key().set("person " + id), row));
              check(row, id);
            }
            assertTrue(byName.get(tx, byName.key().set("person 8"), row));
            t.update(tx, row.setLong(VISITS, row.getLong(VISITS)).setInt(LEVEL, 0));
            assertFalse(byName.get(tx, byName.key().set("absent"), row));
            long last = Long.MIN_VALUE;
            int n = 0;
            try (RowCursor c = byVisits.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
              for (; c.next(); n++) {
                check(c.row(), c.key().getLong(0));
                assertTrue(c.row().getLong(VISITS) >= last);
                last = c.row().getLong(VISITS);
              }
            }
            assertEquals(N, n);
            RowIndex bySince = t.index("by_since");
            try (RowCursor c =
                bySince.scan(
                    tx, Range.prefix(bySince.key().set(-5_000_000_000L)), ScanOrder.DESCENDING)) {
              for (n = 0; c.next(); n++) {
                check(c.row(), c.key().getLong(0));
              }
            }
            assertEquals(N, n);
          });
      VerifyReport report = db.verify();
      assertTrue(report.ok(), report::toString);
      reopen();
    }
    RowTable t = db.table(spec);
    db.run(
        tx -> {
          Row row = t.row();
          // Entries of old rows are removed with their values, by every operation.
          assertTrue(t.get(tx, t.key().set(0L), row));
          t.update(tx, row.setLong(VISITS, 1L << 50).setText(NAME, "changed"));
          t.put(tx, t.key().set(1L), first3(t.row()));
          assertTrue(t.delete(tx, t.key().set(2L)));
          assertEquals(
              3, t.deleteRange(tx, Range.of(t.key().set(3L), true, t.key().set(6L), false)));
        });
    VerifyReport report = db.verify();
    assertTrue(report.ok(), report::toString);
  }

  private static Row first3(Row row) {
    return row.clear().setText(NAME, "put").setLong(VISITS, 77);
  }

  @Test
  void anIndexOnADroppedFieldMustBeDroppedFirst() {
    fill(V1.with(IndexSpec.on("by_fax", FAX)));
    Map<String, String> fields = first();
    fields.remove("fax");
    Layout layout = layout(fields);
    TableSpec spec = spec(layout, Step.drop("fax"));
    refused(spec, "by_fax", "that the specification lacks");
    TableSpec named =
        TableSpec.builder("people", KEY, layout)
            .version(2, Step.drop("fax"))
            .index(IndexSpec.on("by_fax", layout.field("visits")))
            .build();
    refused(named, "fax INT32", "by_fax", "dropIndex");
    assertTrue(db.dropIndex("people", "by_fax"));
    assertNotNull(db.table(spec));
  }

  @Test
  void aUniqueIndexOnANewFieldFindsDuplicateDefaults() {
    fill(V1);
    TableSpec spec = third().index(IndexSpec.unique("by_since", SINCE)).build();
    assertThrows(DuplicateKeyException.class, () -> db.table(spec));
    assertNotNull(db.table(third().build()));
  }

  private void refused(TableSpec spec, String... words) {
    IncompatibleSchemaException e =
        assertThrows(IncompatibleSchemaException.class, () -> db.table(spec));
    for (String word : words) {
      assertTrue(e.getMessage().contains(word), e.getMessage());
    }
    assertTrue(e.getMessage().contains("people"), e.getMessage());
    assertTrue(e.getMessage().endsWith("."), e.getMessage());
  }

  @Test
  void layoutsWithoutMatchingStepsAreRefused() {
    RowTable before = fill(V1);
    Map<String, String> more = first();
    more.put("x", "INT32");
    refused(TableSpec.of("people", KEY, layout(more)), "layout", "field", "version 1");
    refused(spec(layout(more)), "x INT32", "no step adds");
    Map<String, String> less = first();
    less.remove("fax");
    refused(spec(layout(less)), "fax INT32", "no step drops");
    Map<String, String> wide = first();
    wide.put("visits", "INT64");
    refused(spec(layout(wide)), "visits INT32", "visits INT64", "no step widens");
    Map<String, String> narrow = first();
    narrow.put("fullname", "TEXT 19");
    refused(spec(layout(narrow), Step.widen("fullname")), "TEXT(20)", "TEXT(19)", "can't hold");
    Map<String, String> other = first();
    other.put("photo", "TEXT 8");
    refused(spec(layout(other), Step.widen("photo")), "photo BYTES(8)", "photo TEXT(8)");
    refused(spec(layout(less), Step.drop("fax"), Step.drop("x")), "drop x", "no such field");
    more.remove("x");
    refused(
        spec(layout(more), Step.rename("x", "y"), Step.drop("y")), "rename x to y", "version 2");
    refused(spec(layout(first()), Step.drop("y"), Step.add("fax")), "drop y");
    refused(spec(layout(first()), Step.add("fax")), "add fax", "of that name");
    Layout same = LAYOUT1;
    refused(
        TableSpec.builder("people", KeySpec.of(FieldType.INT32), same).version(2).build(),
        "its key",
        "all its versions");
    refused(TableSpec.builder("people", KEY, same).version(3).build(), "version 1", "version 2");
    refused(TableSpec.bytes("people", 9), "byte strings");
    db.table(TableSpec.bytes("strings", 9));
    assertThrows(
        IncompatibleSchemaException.class,
        () -> db.table(TableSpec.builder("strings", KEY, same).version(2).build()));
    db.run(tx -> assertTrue(before.get(tx, before.key().set(0L), before.row())));
  }

  @Test
  void anOlderSpecificationIsRefused() {
    fill(V1);
    db.table(third().build());
    refused(V1, "version 3 in the file", "version 1");
    reopen();
    refused(V1, "version 3 in the file", "version 1");
    refused(
        TableSpec.builder("people", KEY, LAYOUT1).version(2).build(),
        "version 3 in the file",
        "version 2");
    Layout other = layout(first());
    refused(
        TableSpec.builder("people", KEY, other).version(3).build(), "layout", "both of version 3");
  }

  @Test
  void readersDoNotEvolve() {
    fill(V1);
    db.close();
    try (Database reading = Database.open(dir.resolve("db"), SMALL.readOnly(true))) {
      IncompatibleSchemaException e =
          assertThrows(IncompatibleSchemaException.class, () -> reading.table(third().build()));
      assertTrue(e.getMessage().contains("version 1 in the file"), e.getMessage());
      assertNotNull(reading.table(V1));
    }
    open();
    db.table(third().build());
    db.close();
    try (Database reading = Database.open(dir.resolve("db"), SMALL.readOnly(true))) {
      RowTable t = reading.table(third().build());
      Row row = t.row();
      assertEquals(true, reading.read(tx -> t.get(tx, t.key().set(7L), row)));
    }
    open();
  }

  @Test
  void snapshotsHaveTheirOwnVersion() {
    fill(V1);
    try (Database then = db.snapshot()) {
      RowTable t = db.table(third().build());
      db.run(tx -> t.put(tx, t.key().set(0L), first3(t.row())));
      RowTable old = then.table(V1);
      then.read(
          tx -> {
            Row row = old.row();
            assertTrue(old.get(tx, old.key().set(0L), row));
            assertEquals("person 0", row.getText(FULLNAME));
            return null;
          });
      assertThrows(IncompatibleSchemaException.class, () -> then.table(third().build()));
    }
    try (Database then = db.snapshot()) {
      RowTable t = then.table(third().build());
      then.read(
          tx -> {
            Row row = t.row();
            assertTrue(t.get(tx, t.key().set(1L), row));
            check(row, 1);
            return null;
          });
    }
  }

  @Test
  void stepsThatDoNotLeadToTheLayoutAreRejected() {
    Layout layout = layout(Map.of("a", "INT32", "t", "TEXT 3"));
    TableSpec.Builder[] wrong = {
      TableSpec.builder("t", KEY, layout).version(2, Step.add("b")),
      TableSpec.builder("t", KEY, layout).version(2, Step.drop("a")),
      TableSpec.builder("t", KEY, layout).version(2, Step.rename("x", "b")),
      TableSpec.builder("t", KEY, layout).version(2, Step.rename("t", "a")),
      TableSpec.builder("t", KEY, layout).version(2, Step.widen("b")),
      TableSpec.builder("t", KEY, layout).version(2, Step.add("a"), Step.add("a")),
      TableSpec.builder("t", KEY, layout).version(2, Step.add("a", 1L << 31)),
      TableSpec.builder("t", KEY, layout).version(2, Step.add("a", "text")),
      TableSpec.builder("t", KEY, layout).version(2, Step.add("t", 1)),
      TableSpec.builder("t", KEY, layout).version(2, Step.add("t", "äö")),
      TableSpec.builder("t", KEY, layout).version(2, Step.add("t", new byte[2])),
      TableSpec.builder("t", KEY, layout).version(2, Step.add("b")).version(3, Step.add("a")),
    };
    for (TableSpec.Builder b : wrong) {
      assertThrows(IllegalArgumentException.class, b::build);
    }
    TableSpec.Builder b = TableSpec.builder("t", KEY, layout);
    assertThrows(IllegalArgumentException.class, () -> b.version(1));
    assertThrows(IllegalArgumentException.class, () -> b.version(TableSpec.VERSION_MAX + 1));
    b.version(2, Step.add("b", "xyz"), Step.rename("b", "t")).version(3, Step.drop("gone"));
    assertThrows(IllegalArgumentException.class, () -> b.version(3));
    assertThrows(IllegalArgumentException.class, () -> b.version(5));
    TableSpec spec = b.version(4, Step.add("gone", 1), Step.drop("gone")).build();
    assertEquals(4, spec.version());
    assertEquals(3, TableSpec.VERSION_MAX - 252);
    assertNull(spec.steps(1));
    assertEquals("[drop gone]", String.valueOf(spec.steps(3)));
    assertTrue(spec.toString().contains("version 4"), spec.toString());
    assertEquals(4, db.table(spec).core().history().version());
  }

  @Test
  void oldHandlesAreRefusedAndTransactionsAreWaitedFor() throws Exception {
    RowTable old = fill(V1.with(IndexSpec.on("by_visits", VISITS1)));
    RowIndex oldIndex = old.index("by_visits");
    TableSpec spec = third().index(IndexSpec.on("by_visits", VISITS)).build();
    CountDownLatch read = new CountDownLatch(1);
    AtomicReference<RowTable> made = new AtomicReference<>();
    AtomicReference<Throwable> failure = new AtomicReference<>();
    Thread other =
        Thread.ofPlatform()
            .unstarted(
                () -> {
                  try {
                    read.await();
                    made.set(db.table(spec));
                  } catch (Throwable e) {
                    failure.set(e);
                  }
                });
    other.start();
    db.run(
        tx -> {
          Row row = old.row();
          assertTrue(old.get(tx, old.key().set(0L), row));
          old.update(tx, row.setInt(VISITS1, 50));
          try (RowCursor c = old.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
            assertTrue(c.next());
            read.countDown();
            while (!old.core().isRefused()) {
              Thread.onSpinWait();
            }
            // The transaction finishes what it has begun; new ones are rejected.
            for (int i = 1; i < N; i++) {
              assertTrue(c.next());
              assertEquals("person " + i, c.row().getText(FULLNAME));
            }
          }
          InvalidUseException e =
              assertThrows(InvalidUseException.class, () -> old.get(tx, old.key().set(1L), row));
          assertTrue(e.getMessage().contains("version 3"), e.getMessage());
          assertThrows(InvalidUseException.class, () -> db.table(spec));
          assertNull(made.get());
        });
    other.join();
    assertNull(failure.get());
    RowTable t = made.get();
    db.run(
        tx -> {
          Row row = t.row();
          assertTrue(t.get(tx, t.key().set(0L), row));
          assertEquals(50, row.getLong(VISITS));
          assertThrows(InvalidUseException.class, () -> old.exists(tx, old.key().set(0L)));
          assertThrows(
              InvalidUseException.class, () -> oldIndex.get(tx, oldIndex.key().set(1), row));
          assertThrows(
              InvalidUseException.class, () -> old.scan(tx, Range.all(), ScanOrder.ASCENDING));
          assertThrows(InvalidUseException.class, () -> t.get(tx, t.key().set(0L), old.row()));
        });
    assertTrue(db.renameTable("people", "persons"));
    assertTrue(db.dropIndex("persons", "by_visits"));
    assertTrue(db.dropTable("persons"));
  }

  @Test
  void anInterruptedEvolutionChangesNothing() throws Exception {
    RowTable old = fill(V1);
    AtomicReference<Throwable> failure = new AtomicReference<>();
    Thread other =
        Thread.ofPlatform()
            .unstarted(
                () -> {
                  try {
                    db.table(third().build());
                  } catch (Throwable e) {
                    failure.set(e);
                  }
                });
    db.run(
        tx -> {
          Row row = old.row();
          assertTrue(old.get(tx, old.key().set(0L), row));
          other.start();
          while (!old.core().isRefused()) {
            Thread.onSpinWait();
          }
          other.interrupt();
          while (old.core().isRefused()) {
            Thread.onSpinWait();
          }
          old.update(tx, row.setInt(VISITS1, 50));
        });
    other.join();
    assertEquals(OperationInterruptedException.class, failure.get().getClass());
    assertEquals(old.core(), db.table(V1).core());
  }

  @Test
  void concurrentOpenersAgree() throws Exception {
    fill(V1);
    Thread[] threads = new Thread[4];
    RowTable[] made = new RowTable[threads.length];
    for (int i = 0; i < threads.length; i++) {
      int n = i;
      threads[i] = Thread.ofPlatform().start(() -> made[n] = db.table(third().build()));
    }
    for (Thread t : threads) {
      t.join();
    }
    for (RowTable t : made) {
      assertEquals(made[0].core(), t.core());
    }
  }

  @Test
  void objectsAreDecodedFromOldRows() {
    fill(V1);
    Table<Long, String> t =
        db.table(third().build())
            .as(
                new KeyCodec<Long>() {
                  @Override
                  public void encode(Long object, Key key) {
                    key.set(object);
                  }

                  @Override
                  public Long decode(Key key) {
                    return key.getLong(0);
                  }
                },
                new Codec<String>() {
                  @Override
                  public void encode(String object, Row row) {
                    row.setText(NAME, object);
                  }

                  @Override
                  public String decode(Row row) {
                    return new String(row.getBytes(NAME), StandardCharsets.UTF_8)
                        + row.getText(EMAIL);
                  }
                });
    assertEquals("person 9none", db.read(tx -> t.get(tx, 9L)));
    db.run(tx -> t.put(tx, 9L, "new"));
    assertEquals("new", db.read(tx -> t.get(tx, 9L)));
  }
}
