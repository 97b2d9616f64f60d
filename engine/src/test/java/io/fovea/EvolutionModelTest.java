package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Duplicates;
import io.fovea.config.Durability;
import io.fovea.config.Protocol;
import io.fovea.error.FoveaException;
import io.fovea.error.IncompatibleSchemaException;
import io.fovea.error.InvalidUseException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.Step;
import io.fovea.schema.TableSpec;
import io.fovea.support.FieldValues;
import io.fovea.support.FieldValues.Kind;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.support.SimFault;
import io.fovea.support.SimStorage;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Compares evolving tables with sorted maps: random steps, changes, reads by key, batch and index,
 * closes, and crashes, even within a step.
 */
@Tag("slow")
class EvolutionModelTest {
  private static final Options SMALL =
      Options.defaults()
          .bufferBytes(4 << 20)
          .durability(Durability.SYNC)
          .device(dev -> dev.pageSize(4096))
          .memory(mem -> mem.timestampBytes(2 << 20))
          .log(log -> log.bufferBytes(256 << 10).segmentBytes(256 << 10).maxBytes(2 << 20));
  private static final KeySpec KEY = KeySpec.of(FieldType.INT64);
  private static final int KEYS = 150;

  private static final class Run {
    private final Random r;
    private SimDisk disk;
    private Database db;
    private LinkedHashMap<String, Kind> fields = new LinkedHashMap<>();
    private final List<List<Step>> versions = new ArrayList<>();
    private final TreeMap<String, List<String>> indexes = new TreeMap<>();
    private TreeMap<Long, Map<String, Object>> model = new TreeMap<>();
    private TableSpec spec;
    private int names;
    int crashes;
    int evolved;

    Run(long seed) {
      r = new Random(seed);
      disk = new SimDisk(seed);
      for (int i = 2 + r.nextInt(3); i > 0; i--) {
        fields.put("f" + names++, kind());
      }
      indexes.put("i0", List.of("f0"));
      spec = spec();
      open();
    }

    private Kind kind() {
      if (r.nextInt(4) == 0) {
        FieldType type = r.nextBoolean() ? FieldType.TEXT : FieldType.BYTES;
        Kind k = Kind.variable(type, 1 + r.nextInt(r.nextInt(20) == 0 ? 20_000 : 300));
        return r.nextInt(3) == 0 ? k.orNull() : k;
      }
      return FieldValues.any(r, r.nextInt(30) == 0 ? 1500 : 40);
    }

    private TableSpec spec() {
      Layout.Definition b = Layout.define();
      fields.forEach((name, k) -> k.addTo(b, name));
      Layout layout = b.build();
      TableSpec.Builder t = TableSpec.builder("t", KEY, layout);
      for (int i = 0; i < versions.size(); i++) {
        t.version(i + 2, versions.get(i).toArray(Step[]::new));
      }
      indexes.forEach(
          (name, by) ->
              t.index(IndexSpec.on(name, by.stream().map(layout::field).toArray(Field[]::new))));
      return t.build();
    }

    private void open() {
      Protocol p = Protocol.values()[r.nextInt(Protocol.values().length)];
      db = SimDatabase.open(new SimStorage(disk), SMALL.experiments(exp -> exp.protocol(p)));
    }

    private String any() {
      return List.copyOf(fields.keySet()).get(r.nextInt(fields.size()));
    }

    /** Returns one step, also applied to the model; null if none was possible. */
    private Step step() {
      String f = any();
      Kind k = fields.get(f);
      boolean indexed = indexes.values().stream().anyMatch(by -> by.contains(f));
      switch (r.nextInt(4)) {
        case 0 -> {
          String name = r.nextInt(4) == 0 && names > 0 ? "f" + r.nextInt(names) : "f" + names++;
          if (fields.containsKey(name) || fields.size() > 12) {
            return null;
          }
          Kind added = kind();
          Object value = r.nextInt(3) == 0 ? added.zero() : added.value(r);
          fields.put(name, added);
          model.values().forEach(row -> row.put(name, value));
          return added.add(name, value);
        }
        case 1 -> {
          if (indexed || fields.size() < 2) {
            return null;
          }
          fields.remove(f);
          model.values().forEach(row -> row.remove(f));
          return Step.drop(f);
        }
        case 2 -> {
          String to = "f" + names++;
          LinkedHashMap<String, Kind> renamed = new LinkedHashMap<>();
          fields.forEach((name, kind) -> renamed.put(name.equals(f) ? to : name, kind));
          fields = renamed;
          model.values().forEach(row -> row.put(to, row.remove(f)));
          indexes.replaceAll(
              (n, by) -> by.stream().map(name -> name.equals(f) ? to : name).toList());
          return Step.rename(f, to);
        }
        default -> {
          Kind wider = wider(k, indexed);
          if (wider.equals(k)) {
            return null;
          }
          fields.put(f, wider);
          return Step.widen(f);
        }
      }
    }

    private Kind wider(Kind k, boolean indexed) {
      if (r.nextInt(3) == 0) {
        return k.orNull();
      }
      Kind wider =
          switch (k.type()) {
            case INT32 -> Kind.of(FieldType.INT64);
            case TEXT, BYTES ->
                (indexed && k.width() > 60 ? k : k.wide(k.width() + 1 + r.nextInt(20)))
                    .varies(k.variable() ^ r.nextInt(4) == 0);
            case DECIMAL -> {
              int precision = k.precision() + r.nextInt(Field.PRECISION_MAX + 1 - k.precision());
              yield Kind.decimal(precision, k.scale() + r.nextInt(precision - k.precision() + 1));
            }
            default -> k;
          };
      return k.nullable() ? wider.orNull() : wider;
    }

    void evolve() {
      List<TableSpec> before = List.of(spec);
      for (int n = 1 + r.nextInt(2); n > 0; n--) {
        List<Step> steps = new ArrayList<>();
        for (int i = r.nextInt(4); i > 0; i--) {
          Step step = step();
          if (step != null) {
            steps.add(step);
          }
        }
        versions.add(steps);
      }
      if (r.nextInt(3) == 0) {
        List<String> order = new ArrayList<>(fields.keySet());
        Collections.shuffle(order, r);
        LinkedHashMap<String, Kind> other = new LinkedHashMap<>();
        order.forEach(f -> other.put(f, fields.get(f)));
        fields = other;
      }
      if (r.nextInt(3) == 0 && indexes.size() < 4) {
        String f = any();
        if (fields.get(f).width() <= 60) {
          indexes.put("i" + versions.size(), List.of(f));
        }
      }
      spec = spec();
      evolved++;
      if (r.nextInt(3) == 0) {
        crashWithin(before.getFirst());
      }
      check();
      for (TableSpec older : before) {
        assertThrows(IncompatibleSchemaException.class, () -> db.table(older));
      }
    }

    /** The power fails during an evolution: the table has one version or the other. */
    private void crashWithin(TableSpec before) {
      disk.powerOffAt(disk.operations() + 1 + r.nextInt(25));
      try {
        db.table(spec);
      } catch (FoveaException e) {
        // expected
      }
      crash();
      if (r.nextBoolean()) {
        // The old specification is valid until the evolution has happened.
        int version = db.schema().core("t").history().version();
        assertTrue(version == before.version() || version == spec.version());
        if (version == before.version()) {
          db.table(before);
        } else {
          assertThrows(IncompatibleSchemaException.class, () -> db.table(before));
        }
      }
    }

    void crash() {
      SimDatabase.abandon(db);
      disk = disk.crash(r.nextBoolean() ? SimCrash.LOSE_ALL : SimCrash.RANDOM);
      crashes++;
      open();
    }

    private Row row(Row row, Map<String, Object> values) {
      row.clear();
      values.forEach((f, v) -> set(row, f, v));
      return row;
    }

    private void set(Row row, String name, Object v) {
      Field f = spec.layout().field(name);
      FieldValues.set(row, f, v);
    }

    private Map<String, Object> values(Row row) {
      Map<String, Object> values = new TreeMap<>();
      fields.forEach(
          (name, k) -> {
            values.put(name, FieldValues.get(row, spec.layout().field(name)));
          });
      return values;
    }

    void change() {
      RowTable t = db.table(spec);
      TreeMap<Long, Map<String, Object>> after = new TreeMap<>();
      long seed = r.nextLong();
      boolean aborts = r.nextInt(6) == 0;
      try {
        db.run(
            tx -> {
              after.clear();
              model.forEach((k, v) -> after.put(k, new TreeMap<>(v)));
              Random once = new Random(seed);
              for (int n = once.nextInt(20); n > 0; n--) {
                changeOne(tx, t, after, once);
              }
              if (aborts) {
                throw new IllegalStateException("too many attempts");
              }
            });
        model = after;
      } catch (IllegalStateException e) {
        assertTrue(aborts);
      }
    }

    private void changeOne(
        Transaction tx, RowTable t, TreeMap<Long, Map<String, Object>> after, Random once) {
      long id = once.nextInt(KEYS);
      Key key = t.key().set(id);
      Row row = t.row();
      Map<String, Object> fresh = new TreeMap<>();
      fields.forEach((f, k) -> fresh.put(f, k.value(once)));
      switch (once.nextInt(7)) {
        case 0, 1 -> {
          t.put(tx, key, row(row, fresh));
          after.put(id, fresh);
        }
        case 2, 3 -> {
          if (t.get(tx, key, row)) {
            String f = List.copyOf(fields.keySet()).get(once.nextInt(fields.size()));
            for (int n = once.nextInt(3); n >= 0; n--) {
              Object v = fields.get(f).value(once);
              set(row, f, v);
              t.update(tx, row);
              after.get(id).put(f, v);
            }
          }
        }
        case 4 -> {
          // With an index cursor, which encounters rows of all versions.
          RowIndex i = t.index(indexes.firstKey());
          try (RowCursor c = i.scan(tx, Range.all(), ScanOrder.DESCENDING)) {
            if (c.next()) {
              long found = c.key().getLong(0);
              String f = List.copyOf(fields.keySet()).getLast();
              set(c.row(), f, fresh.get(f));
              t.update(tx, c.row());
              after.get(found).put(f, fresh.get(f));
            }
          }
        }
        case 5 -> assertEquals(after.remove(id) != null, t.delete(tx, key));
        default -> {
          Range range = Range.of(key, true, t.key().set(id + 4), false);
          assertEquals(after.subMap(id, id + 4).size(), t.deleteRange(tx, range));
          after.subMap(id, id + 4).clear();
        }
      }
    }

    void check() {
      RowTable t = db.table(spec);
      db.run(
          tx -> {
            TreeMap<Long, Map<String, Object>> found = new TreeMap<>();
            try (RowCursor c = t.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
              while (c.next()) {
                found.put(c.key().getLong(0), values(c.row()));
              }
            }
            assertEquals(model, found);
            Batch batch = t.batch(KEYS);
            Row row = t.row();
            for (long id = 0; id < KEYS; id++) {
              batch.add().set(id);
              assertEquals(model.containsKey(id), t.get(tx, t.key().set(id), row));
              if (model.containsKey(id)) {
                assertEquals(model.get(id), values(row));
              }
            }
            assertEquals(model.size(), t.getAll(tx, batch));
            model.forEach((id, v) -> assertEquals(v, values(batch.row((int) (long) id))));
            for (String name : indexes.keySet()) {
              found.clear();
              try (RowCursor c = t.index(name).scan(tx, Range.all(), ScanOrder.ASCENDING)) {
                while (c.next()) {
                  found.put(c.key().getLong(0), values(c.row()));
                }
              }
              assertEquals(model, found);
            }
          });
      checkProjections(t);
      VerifyReport report = db.verify();
      assertTrue(report.ok(), report::toString);
    }

    private void checkProjections(RowTable t) {
      List<String> some = new ArrayList<>(fields.keySet());
      Collections.shuffle(some, r);
      List<String> asked = some.subList(0, 1 + r.nextInt(some.size()));
      Layout layout = spec.layout();
      Projection projection =
          Projection.of(layout, asked.stream().map(layout::field).toArray(Field[]::new));
      Map<Long, Object> changed = new TreeMap<>();
      String f = asked.getFirst();
      db.run(
          tx -> {
            changed.clear();
            Batch batch = t.batch(KEYS);
            Row row = t.row();
            for (long id : model.keySet()) {
              batch.add().set(id);
              assertTrue(t.get(tx, t.key().set(id), row, projection));
              checkSome(asked, id, row);
            }
            t.getAll(tx, batch, projection);
            int i = 0;
            for (long id : model.keySet()) {
              Row of = batch.row(i++);
              checkSome(asked, id, of);
              if (id % 16 == 0) {
                Object v = fields.get(f).value(r);
                set(of, f, v);
                t.update(tx, of);
                changed.put(id, v);
              }
            }
          });
      changed.forEach((id, v) -> model.get(id).put(f, v));
    }

    private void checkSome(List<String> asked, long id, Row row) {
      for (String f : asked) {
        assertEquals(model.get(id).get(f), FieldValues.get(row, spec.layout().field(f)));
      }
    }

    /** Two row objects of one record each change a field, in either order. */
    void twoRows() {
      RowTable t = db.table(spec);
      if (model.isEmpty()) {
        return;
      }
      long id = model.firstKey();
      String a = any();
      String b = any();
      Object va = fields.get(a).value(r);
      Object vb = fields.get(b).value(r);
      db.run(
          tx -> {
            Row first = t.row();
            Row second = t.row();
            t.get(tx, t.key().set(id), first);
            t.get(tx, t.key().set(id), second);
            set(first, a, va);
            t.update(tx, first);
            set(second, b, vb);
            t.update(tx, second);
            set(first, a, va);
            t.update(tx, first);
          });
      model.get(id).put(a, va);
      if (!a.equals(b)) {
        model.get(id).put(b, vb);
      } else {
        model.get(id).put(a, db.call(tx -> value(tx, t, id, a)));
      }
    }

    /** Of two changes of one field, the last effective one counts. */
    private Object value(Transaction tx, RowTable t, long id, String f) {
      Row row = t.row();
      t.get(tx, t.key().set(id), row);
      return FieldValues.get(row, spec.layout().field(f));
    }

    void load() {
      RowTable t = db.table(spec);
      TreeMap<Long, Map<String, Object>> source = new TreeMap<>();
      for (int n = r.nextInt(10); n > 0; n--) {
        Map<String, Object> fresh = new TreeMap<>();
        fields.forEach((f, k) -> fresh.put(f, k.value(r)));
        source.put((long) r.nextInt(KEYS), fresh);
      }
      t.load(
          LoadOptions.defaults().duplicates(Duplicates.REPLACE),
          load -> source.forEach((id, v) -> load.add(t.key().set(id), row(t.row(), v))));
      model.putAll(source);
    }

    void go() {
      db.table(spec);
      for (int i = 0; i < 40; i++) {
        switch (r.nextInt(10)) {
          case 0, 1, 2 -> evolve();
          case 3 -> {
            db.close();
            open();
          }
          case 4 -> crash();
          case 5 -> check();
          case 6 -> {
            db.checkpoint();
            twoRows();
          }
          case 7 -> {
            if (r.nextInt(3) == 0) {
              load();
            } else {
              change();
            }
          }
          default -> change();
        }
      }
      check();
      db.close();
    }
  }

  @net.jqwik.api.Tag("slow")
  @Property(tries = 25, shrinking = ShrinkingMode.OFF)
  void evolvingTableAgreesWithASortedMap(@ForAll long seed) {
    Run run = new Run(seed);
    run.go();
  }

  @Test
  void everyOperationOfAnEvolution() {
    Layout.Definition first = Layout.define();
    Field a = first.int32("a");
    TableSpec before = TableSpec.of("t", KEY, first.build()).with(IndexSpec.on("by_a", a));
    Layout.Definition second = Layout.define();
    Field wide = second.int64("a");
    Field b = second.text("b", 10);
    TableSpec after =
        TableSpec.builder("t", KEY, second.build())
            .version(2, Step.widen("a"), Step.add("b", "new"))
            .index(IndexSpec.on("by_a", wide))
            .build();
    SimDisk filled = new SimDisk(3);
    try (Database db = SimDatabase.open(new SimStorage(filled), SMALL)) {
      RowTable t = db.table(before);
      db.run(
          tx -> {
            for (long id = 0; id < 60; id++) {
              t.insert(tx, t.key().set(id), t.row().setInt(a, (int) -id));
            }
          });
    }
    int olds = 0;
    int news = 0;
    for (int mode = 0; mode < 2; mode++) {
      boolean over = false;
      for (int n = 1; !over; n++) {
        SimDisk disk = filled.copy();
        Database db = SimDatabase.open(new SimStorage(disk), SMALL);
        long end = disk.operations() + n;
        if (mode == 0) {
          disk.powerOffAt(end);
        } else {
          disk.fail(SimFault.once(n));
        }
        boolean done = false;
        try {
          db.table(after);
          done = true;
          over = disk.operations() < end;
        } catch (FoveaException e) {
          // expected
        }
        SimDatabase.abandon(db);
        SimDisk crashed = disk.crash(n % 2 == 0 ? SimCrash.LOSE_ALL : SimCrash.RANDOM);
        try (Database again = SimDatabase.open(new SimStorage(crashed), SMALL)) {
          int version = again.schema().core("t").history().version();
          assertTrue(version == 2 || !done, "an acknowledged evolution was lost");
          olds += 2 - version;
          news += version - 1;
          RowTable t = again.table(after);
          again.run(
              tx -> {
                try (RowCursor c = t.index("by_a").scan(tx, Range.all(), ScanOrder.DESCENDING)) {
                  for (long id = 0; id < 60; id++) {
                    assertTrue(c.next());
                    assertEquals(id, c.key().getLong(0));
                    assertEquals(-id, c.row().getLong(wide));
                    assertEquals("new", c.row().getText(b));
                  }
                }
              });
          VerifyReport report = again.verify();
          assertTrue(report.ok(), report::toString);
        }
      }
    }
    assertTrue(olds > 3 && news > 3, olds + " and " + news);
  }

  /** Each version moves the fields and adds or removes padding. */
  private static TableSpec turning(int version) {
    Layout.Definition b = Layout.define();
    if (version % 2 == 0) {
      b.bytes("pad" + version, 3 + version % 5);
    }
    b.add(version % 3 == 0 ? "twice" : "n", FieldType.INT64, 8);
    b.add(version % 3 == 0 ? "n" : "twice", FieldType.INT64, 8);
    TableSpec.Builder spec = TableSpec.builder("t", KEY, b.build());
    for (int v = 2; v <= version; v++) {
      spec.version(v, v % 2 == 0 ? Step.add("pad" + v) : Step.drop("pad" + (v - 1)));
    }
    return spec.build();
  }

  /**
   * Writers whose handles become outdated at any time: everything they commit is present, and no
   * field is read at the offset of another version.
   */
  @ParameterizedTest
  @EnumSource(Protocol.class)
  void writersContinueDuringEvolutions(Protocol protocol) throws Exception {
    Options options = SMALL.durability(Durability.ASYNC).experiments(e -> e.protocol(protocol));
    try (Database db = SimDatabase.open(new SimStorage(new SimDisk(5)), options)) {
      AtomicReference<RowTable> current = new AtomicReference<>(db.table(turning(1)));
      AtomicLong done = new AtomicLong();
      AtomicReference<Throwable> failure = new AtomicReference<>();
      AtomicBoolean end = new AtomicBoolean();
      Thread[] writers = new Thread[3];
      for (int i = 0; i < writers.length; i++) {
        Random r = new Random(i);
        writers[i] =
            Thread.ofPlatform()
                .start(
                    () -> {
                      try {
                        while (!end.get()) {
                          if (count(db, current.get(), r)) {
                            done.incrementAndGet();
                          }
                        }
                      } catch (Throwable e) {
                        failure.set(e);
                      }
                    });
      }
      for (int version = 2; version <= 12; version++) {
        current.set(db.table(turning(version)));
        long enough = done.get() + 100;
        while (done.get() < enough && failure.get() == null) {
          Thread.sleep(1);
        }
      }
      end.set(true);
      for (Thread t : writers) {
        t.join();
      }
      if (failure.get() != null) {
        throw new AssertionError(failure.get());
      }
      RowTable t = current.get();
      Field n = t.spec().layout().field("n");
      long sum =
          db.read(
              tx -> {
                long all = 0;
                try (RowCursor c = t.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
                  while (c.next()) {
                    all += c.row().getLong(n);
                  }
                }
                return all;
              });
      assertEquals(done.get(), sum);
      VerifyReport report = db.verify();
      assertTrue(report.ok(), report::toString);
    }
  }

  private static boolean count(Database db, RowTable t, Random r) {
    Field n = t.spec().layout().field("n");
    Field twice = t.spec().layout().field("twice");
    long id = r.nextInt(40);
    try {
      db.run(
          tx -> {
            Row row = t.row();
            if (t.get(tx, t.key().set(id), row)) {
              assertEquals(2 * row.getLong(n), row.getLong(twice));
              row.setLong(n, row.getLong(n) + 1);
              t.update(tx, row.setLong(twice, row.getLong(twice) + 2));
            } else {
              t.insert(tx, t.key().set(id), row.clear().setLong(n, 1).setLong(twice, 2));
            }
          });
      return true;
    } catch (InvalidUseException old) {
      assertTrue(String.valueOf(old.getMessage()).contains("handle of version"), old::getMessage);
      return false;
    }
  }

  @Test
  void manyVersionsHaveRowsOfManyLengths() {
    Layout.Definition fields = Layout.define();
    Field x = fields.int32("x");
    Layout layout = fields.build();
    SimDisk disk = new SimDisk(1);
    Database db = SimDatabase.open(new SimStorage(disk), SMALL);
    TableSpec.Builder b = TableSpec.builder("people", KEY, layout);
    RowTable t = db.table(TableSpec.of("people", KEY, layout));
    for (int version = 1; version <= TableSpec.VERSION_MAX; version++) {
      if (version > 1) {
        b.version(version, Step.drop("x"), Step.add("x", version));
        t = db.table(b.build());
      }
      RowTable now = t;
      long id = version;
      db.run(tx -> now.insert(tx, now.key().set(id), now.row().setInt(x, 7)));
    }
    db.close();
    db = SimDatabase.open(new SimStorage(disk), SMALL);
    RowTable last = db.table(b.build());
    db.run(
        tx -> {
          Row row = last.row();
          for (long id = 1; id <= TableSpec.VERSION_MAX; id++) {
            assertTrue(last.get(tx, last.key().set(id), row));
            assertEquals(id == TableSpec.VERSION_MAX ? 7 : TableSpec.VERSION_MAX, row.getInt(x));
          }
        });
    db.close();
  }
}
