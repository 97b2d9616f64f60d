package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.index.HintPoison;
import io.fovea.schema.EntryHints;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Entries of secondary indexes contain hints to their records, which may be wrong. */
@Tag("slow")
class IndexHintsTest {
  private static final HintPoison WILD = new HintPoison(70, 70, 70, true);

  private static final Options SMALL =
      Options.defaults()
          .bufferBytes(2 << 20)
          .log(log -> log.bufferBytes(256 << 10).segmentBytes(256 << 10).maxBytes(2 << 20));

  private static final Layout.Definition B = Layout.define();
  private static final Field NUMBER = B.int64("number");
  private static final Field GROUP = B.int32("group");
  private static final Field PAD = B.text("pad", 100);
  private static final Layout LAYOUT = B.build();
  private static final KeySpec KEY = KeySpec.of(FieldType.INT32);
  private static final TableSpec ROWS = TableSpec.of("rows", KEY, LAYOUT);

  private static TableSpec spec(EntryHints hints) {
    return ROWS.with(IndexSpec.unique("by_number", NUMBER).hints(hints))
        .with(IndexSpec.on("by_group", GROUP).hints(hints));
  }

  /** Returns the unique number of a record, which determines its group. */
  private static long number(int id) {
    return id * 7_919L % 1_000_003;
  }

  private static void insert(RowTable t, Transaction tx, int id, long number) {
    t.insert(tx, t.key().set(id), fill(t, id, number));
  }

  private static Row fill(RowTable t, int id, long number) {
    return t.row()
        .clear()
        .setLong(NUMBER, number)
        .setInt(GROUP, (int) (number % 10))
        .setText(PAD, "pad of " + id);
  }

  private static Database filled(EntryHints hints, int n) {
    Database db = Database.inMemory(Options.defaults().bufferBytes(32 << 20));
    fill(db, hints, n);
    return db;
  }

  private static void fill(Database db, EntryHints hints, int n) {
    RowTable t = db.table(spec(hints));
    for (int from = 0; from < n; from += 500) {
      int first = from;
      db.run(
          tx -> {
            for (int i = first; i < Math.min(n, first + 500); i++) {
              insert(t, tx, i, number(i));
            }
          });
    }
  }

  private static DatabaseStats.HintedLookups lookUp(Database db, TableSpec spec, int n) {
    RowTable t = db.table(spec);
    RowIndex index = t.index("by_number");
    DatabaseStats.HintedLookups before = db.stats().hintedLookups();
    for (int i = 0; i < n; i++) {
      assertEquals("pad of " + i, pad(db, t, index, number(i)));
    }
    DatabaseStats.HintedLookups s = db.stats().hintedLookups();
    return new DatabaseStats.HintedLookups(
        s.lookups() - before.lookups(),
        s.hits() - before.hits(),
        s.unset() - before.unset(),
        s.notResident() - before.notResident(),
        s.freed() - before.freed(),
        s.otherTree() - before.otherTree(),
        s.otherKeys() - before.otherKeys(),
        s.frames() - before.frames(),
        s.slots() - before.slots(),
        s.pageRepairs() - before.pageRepairs(),
        s.frameRepairs() - before.frameRepairs(),
        s.slotRepairs() - before.slotRepairs(),
        s.lineRepairs() - before.lineRepairs(),
        s.repairsMissed() - before.repairsMissed(),
        s.repairsSuppressed() - before.repairsSuppressed(),
        s.repairsDisabled());
  }

  /** Returns a field of the record with a number, or null, in its own transaction. */
  private static @Nullable String pad(Database db, RowTable t, RowIndex index, long number) {
    return db.<@Nullable String, RuntimeException>read(
        tx -> {
          Row row = t.row();
          return index.get(tx, index.key().set(number), row) ? row.getText(PAD).toString() : null;
        });
  }

  private static void verify(Database db) {
    VerifyReport report = db.verify();
    assertTrue(report.ok(), report::toString);
  }

  @ParameterizedTest
  @EnumSource(EntryHints.class)
  void aSecondLookupHits(EntryHints hints) {
    int n = 3000;
    try (Database db = filled(hints, n)) {
      assertEquals(hints, db.table(spec(hints)).index("by_number").hints());
      DatabaseStats.HintedLookups h = lookUp(db, spec(hints), n);
      // An entry written before its record was installed has no line hint.
      long repairs = h.pageRepairs() + h.slotRepairs() + h.lineRepairs();
      assertEquals(hints == EntryHints.NONE ? 0 : n, repairs, h::toString);
      h = lookUp(db, spec(hints), n);
      assertEquals(hints == EntryHints.NONE ? 0 : n, h.lookups());
      assertEquals(h.lookups(), h.hits());
      assertEquals(0, h.pageRepairs() + h.frameRepairs() + h.slotRepairs() + h.lineRepairs());
      verify(db);
    }
  }

  @ParameterizedTest
  @EnumSource(EntryHints.class)
  void aLaterIndexHitsAfterItsFirstUse(EntryHints hints) {
    // Enough lookups for the policy to make several decisions.
    int n = 12_000;
    try (Database db = filled(EntryHints.NONE, n)) {
      TableSpec more = spec(EntryHints.NONE).with(IndexSpec.unique("later", NUMBER).hints(hints));
      RowTable t = db.table(more);
      RowIndex later = t.index("later");
      // Built bottom-up: entries have no hints before their first lookup.
      for (int round = 0; round < 2; round++) {
        long hits = db.stats().hintedLookups().hits();
        for (int i = 0; i < n; i++) {
          assertEquals("pad of " + i, pad(db, t, later, number(i)));
        }
        DatabaseStats.HintedLookups h = db.stats().hintedLookups();
        assertEquals(hints == EntryHints.NONE ? 0 : (round + 1) * n, h.lookups());
        assertEquals(hints == EntryHints.NONE || round == 0 ? 0 : n, h.hits() - hits);
      }
      verify(db);
    }
  }

  @Test
  void insertsStoreMostHints() {
    try (Database db = Database.inMemory(Options.defaults().bufferBytes(32 << 20))) {
      TableSpec spec = spec(EntryHints.PAGE);
      RowTable t = db.table(spec);
      for (int i = 0; i < 3000; i++) {
        int id = i;
        db.run(tx -> insert(t, tx, id, number(id)));
      }
      DatabaseStats.HintedLookups h = lookUp(db, spec, 3000);
      assertEquals(0, h.unset());
      assertTrue(h.hits() > 1500, h::toString);
    }
  }

  @Test
  void scansUseHints() {
    int n = 2000;
    try (Database db = filled(EntryHints.PAGE_FRAME_SLOT, n)) {
      RowTable t = db.table(spec(EntryHints.PAGE_FRAME_SLOT));
      RowIndex index = t.index("by_group");
      for (int round = 0; round < 2; round++) {
        DatabaseStats.HintedLookups before = db.stats().hintedLookups();
        int seen =
            db.read(
                tx -> {
                  int count = 0;
                  try (RowCursor c = index.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
                    while (c.next()) {
                      assertTrue(c.row().getText(PAD).startsWith("pad of "));
                      assertEquals((int) (c.row().getLong(NUMBER) % 10), c.row().getInt(GROUP));
                      count++;
                    }
                  }
                  return count;
                });
        assertEquals(n, seen);
        DatabaseStats.HintedLookups after = db.stats().hintedLookups();
        assertEquals(n, after.lookups() - before.lookups());
        if (round == 1) {
          assertEquals(n, after.hits() - before.hits());
          assertEquals(0, after.repairsMissed(), "one version for all entries of a leaf");
        }
      }
    }
  }

  @Test
  void optionsDecideWhatIsUsed() {
    int n = 1000;
    for (Hints hints : List.of(Hints.NONE, Hints.FRAME, Hints.PAGE, Hints.BOTH, Hints.ALL)) {
      try (Database db =
          Database.inMemory(
              Options.defaults().bufferBytes(8 << 20).experiments(exp -> exp.hints(hints)))) {
        RowTable t = db.table(ROWS.with(IndexSpec.on("chosen", GROUP)));
        assertEquals(
            !hints.pages()
                ? EntryHints.NONE
                : hints.frames() ? EntryHints.PAGE_FRAME_SLOT : EntryHints.PAGE_SLOT,
            t.index("chosen").hints());
        db.dropTable("rows");
        fill(db, EntryHints.PAGE_FRAME_SLOT, n);
        lookUp(db, spec(EntryHints.PAGE_FRAME_SLOT), n);
        DatabaseStats.HintedLookups h = lookUp(db, spec(EntryHints.PAGE_FRAME_SLOT), n);
        assertEquals(hints.pages() ? n : 0, h.lookups());
        assertEquals(h.lookups(), h.hits());
        verify(db);
      }
    }
  }

  @Test
  void splitsInvalidateHintsAndLookupsRepairThem() {
    int n = 2000;
    TableSpec spec = spec(EntryHints.PAGE_FRAME_SLOT);
    try (Database db = Database.inMemory(Options.defaults().bufferBytes(32 << 20))) {
      RowTable t = db.table(spec);
      for (int odd = 0; odd < 2; odd++) {
        for (int i = odd; i < n; i += 2) {
          int id = i;
          db.run(tx -> insert(t, tx, id, number(id)));
        }
      }
      DatabaseStats.HintedLookups first = lookUp(db, spec, n);
      assertTrue(first.otherKeys() > 0 && first.slots() > 0, first::toString);
      assertTrue(first.pageRepairs() > 0 && first.slotRepairs() > 0, first::toString);
      DatabaseStats.HintedLookups second = lookUp(db, spec, n);
      assertTrue(second.hits() > n * 9 / 10, second::toString);
    }
  }

  @Test
  void churnDisablesRepairs() {
    int n = 2000;
    TableSpec spec = spec(EntryHints.PAGE_FRAME_SLOT);
    try (Database db = filled(EntryHints.PAGE_FRAME_SLOT, n)) {
      lookUp(db, spec, n);
      // Repaired hints are wrong again at the next use.
      new HintPoison(100, 0, 0, false).in(db.schema().hintUse());
      for (int i = 0; i < 12; i++) {
        lookUp(db, spec, n);
      }
      DatabaseStats.HintedLookups h = lookUp(db, spec, n);
      assertTrue(h.repairsDisabled() >= 1, h::toString);
      assertTrue(h.repairsSuppressed() > n * 8 / 10, h::toString);
      HintPoison.NONE.in(db.schema().hintUse());
      for (int i = 0; i < 12; i++) {
        lookUp(db, spec, n);
      }
      h = lookUp(db, spec, n);
      assertEquals(0, h.repairsDisabled());
      assertEquals(n, h.hits());
    }
  }

  private static final Layout.Definition V = Layout.define();
  private static final Field CODE = V.int64("code");
  private static final Field TEXT = V.varText("text", 100);
  private static final TableSpec PACKED =
      TableSpec.of("packed", KEY, V.build())
          .with(IndexSpec.unique("by_code", CODE).hints(EntryHints.PAGE_FRAME_SLOT));

  private static Database packed(int n) {
    Database db = Database.inMemory(Options.defaults().bufferBytes(32 << 20));
    put(db, n, 100, new Random(1));
    lookUpAll(db, n);
    return db;
  }

  /** Puts records with random text lengths in random order; existing ones move within pages. */
  private static void put(Database db, int n, int percent, Random r) {
    RowTable t = db.table(PACKED);
    List<Integer> ids = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      if (r.nextInt(100) < percent) {
        ids.add(i);
      }
    }
    Collections.shuffle(ids, r);
    for (int from = 0; from < ids.size(); from += 100) {
      List<Integer> some = ids.subList(from, Math.min(ids.size(), from + 100));
      db.run(
          tx -> {
            for (int i : some) {
              Row row = t.row().clear().setLong(CODE, number(i));
              row.setText(TEXT, i + " ".repeat(r.nextInt(80)));
              t.put(tx, t.key().set(i), row);
            }
          });
    }
  }

  private static void lookUpAll(Database db, int n) {
    RowTable t = db.table(PACKED);
    RowIndex index = t.index("by_code");
    Row row = t.row();
    for (int i = 0; i < n; i++) {
      long code = number(i);
      String text =
          db.read(
              tx -> index.get(tx, index.key().set(code), row) ? row.getText(TEXT).toString() : "");
      assertEquals(Integer.toString(i), text.strip());
    }
  }

  @Test
  void recordsMovingInPagesDisableLines() {
    int n = 2000;
    Random r = new Random(7);
    try (Database db = packed(n)) {
      for (int i = 0; i < 16; i++) {
        put(db, n, 100, r);
        lookUpAll(db, n);
      }
      DatabaseStats.HintedLookups before = db.stats().hintedLookups();
      assertEquals(1, before.repairsDisabled(), "only lines are disabled");
      put(db, n, 100, r);
      lookUpAll(db, n);
      DatabaseStats.HintedLookups h = db.stats().hintedLookups();
      assertTrue(h.hits() - before.hits() > n * 9 / 10, "pages, frames and slots stayed correct");
      assertTrue(h.repairsSuppressed() - before.repairsSuppressed() > n * 7 / 10, h::toString);
      long probes = h.lineRepairs() - before.lineRepairs();
      assertTrue(probes > 0 && probes < n / 8, "one of 16 probes on: " + probes);
      for (int i = 0; i < 12; i++) {
        lookUpAll(db, n);
      }
      before = db.stats().hintedLookups();
      assertEquals(0, before.repairsDisabled());
      lookUpAll(db, n);
      assertEquals(0, db.stats().hintedLookups().lineRepairs() - before.lineRepairs());
    }
  }

  /** Which hints are made wrong, how often, and in what way, before all records are looked up. */
  private enum Wrong {
    PAGES,
    FRAMES,
    SLOTS,
    LINES;

    void make(Database db, int n, int percent, Random r) {
      if (this == LINES) {
        put(db, n, percent, r);
      } else {
        new HintPoison(
                this == PAGES ? percent : 0,
                this == FRAMES ? percent : 0,
                this == SLOTS ? percent : 0,
                false)
            .in(db.schema().hintUse());
      }
    }
  }

  /**
   * A repair costs one latch attempt and a store; a correct hint saves a descent, including more
   * than two latch validations. So up to 2⅓ repairs per correct hint pay off (30 % hits, where the
   * policy stops), not counting those of the probe, which is a sixteenth of the lookups. This holds
   * for every kind and rate of errors.
   */
  @ParameterizedTest
  @EnumSource(Wrong.class)
  void repairsPayForThemselves(Wrong wrong) {
    int n = 2000;
    for (int percent : new int[] {10, 40, 60, 80, 100}) {
      Random r = new Random(percent);
      try (Database db = packed(n)) {
        for (int i = 0; i < 14; i++) {
          wrong.make(db, n, percent, r);
          lookUpAll(db, n);
        }
        DatabaseStats.HintedLookups before = db.stats().hintedLookups();
        int rounds = 3;
        for (int i = 0; i < rounds; i++) {
          wrong.make(db, n, percent, r);
          lookUpAll(db, n);
        }
        DatabaseStats.HintedLookups h = db.stats().hintedLookups();
        long lookups = h.lookups() - before.lookups();
        assertEquals((long) rounds * n, lookups);
        long repairs =
            switch (wrong) {
              case PAGES -> h.pageRepairs() - before.pageRepairs();
              case FRAMES -> h.frameRepairs() - before.frameRepairs();
              case SLOTS -> h.slotRepairs() - before.slotRepairs();
              case LINES -> h.lineRepairs() - before.lineRepairs();
            };
        // Line hints that are correct without a repair appear in no count.
        long right =
            wrong == Wrong.LINES ? lookups * (100 - percent) / 100 : h.hits() - before.hits();
        long most = right * 7 / 3 + lookups / 8;
        assertTrue(
            repairs <= most,
            () -> wrong + ", " + percent + " %: " + repairs + " repairs, " + right + " right");
        assertTrue(percent > 40 || repairs > 0, "hints are repaired while that pays off");
      }
    }
  }

  @Test
  void anotherTreeOnTheSamePages() {
    TableSpec spec = spec(EntryHints.PAGE_FRAME_SLOT);
    TableSpec other = TableSpec.of("other", KEY, LAYOUT);
    int n = 1500;
    try (Database db = filled(EntryHints.PAGE_FRAME_SLOT, n)) {
      // Records are deleted and reinserted; in between, their former pages belong to another tree
      // with the same keys. The entries still have their first hints.
      RowTable t = db.table(spec);
      lookUp(db, spec, n);
      for (int from = 0; from < n; from += 100) {
        int first = from;
        db.run(
            tx -> {
              for (int i = first; i < first + 100; i++) {
                if (i % 3 != 0) {
                  t.delete(tx, t.key().set(i));
                }
              }
            });
      }
      RowTable o = db.table(other);
      db.run(
          tx -> {
            for (int i = 0; i < n; i++) {
              insert(o, tx, i, -5);
            }
          });
      RowIndex index = t.index("by_number");
      for (int i = 0; i < n; i++) {
        assertEquals(i % 3 == 0 ? "pad of " + i : null, pad(db, t, index, number(i)));
      }
      verify(db);
    }
  }

  @Test
  void readingDoesNotChangeTheFile(@TempDir Path dir) {
    Path file = dir.resolve("db");
    TableSpec spec = spec(EntryHints.PAGE_FRAME_SLOT);
    int n = 500;
    try (Database db = Database.open(file, SMALL)) {
      fill(db, EntryHints.PAGE_FRAME_SLOT, n);
    }
    try (Database db = Database.open(file, SMALL)) {
      DatabaseStats.HintedLookups h = lookUp(db, spec, n);
      assertTrue(h.pageRepairs() + h.slotRepairs() > 0, h::toString);
      assertEquals(0, db.stats().buffer().framesDirty());
      assertEquals(0, db.stats().io().writes());
      assertEquals(n, lookUp(db, spec, n).hits(), "hints are repaired in memory");
    }
    try (Database db = Database.open(file, SMALL)) {
      RowTable t = db.table(spec);
      db.run(tx -> insert(t, tx, n, number(n)));
      DatabaseStats.HintedLookups h = lookUp(db, spec, n);
      assertTrue(h.pageRepairs() + h.slotRepairs() > 0, "repairs were not written");
    }
    try (Database db = Database.open(file, SMALL)) {
      DatabaseStats.HintedLookups h = lookUp(db, spec, n);
      assertEquals(0, h.slotRepairs() + h.pageRepairs(), "repairs were written");
      assertEquals(0, h.otherKeys());
    }
  }

  private static final class Model {
    final TreeMap<Integer, Long> records = new TreeMap<>();
    final TreeMap<Long, Integer> numbers = new TreeMap<>();
    long next = 1;

    void step(Random r, Database db, RowTable t, int ids) {
      int op = r.nextInt(100);
      int id = r.nextInt(ids);
      long fresh = next++ * 7919 % 1_000_003;
      if (op < 30) {
        db.run(tx -> t.put(tx, t.key().set(id), fill(t, id, fresh)));
        Long old = records.put(id, fresh);
        if (old != null) {
          numbers.remove(old);
        }
        numbers.put(fresh, id);
      } else if (op < 45) {
        boolean there = db.call(tx -> t.delete(tx, t.key().set(id)));
        Long old = records.remove(id);
        assertEquals(old != null, there);
        if (old != null) {
          numbers.remove(old);
        }
      } else if (op < 55) {
        // Inserts or deletes many adjacent records: splits and merges.
        boolean come = r.nextBoolean();
        int to = Math.min(ids, id + 60);
        long first = next;
        next += 60;
        db.run(
            tx -> {
              for (int i = id; i < to; i++) {
                if (come) {
                  t.put(tx, t.key().set(i), fill(t, i, (first + i - id) * 7919 % 1_000_003));
                } else {
                  t.delete(tx, t.key().set(i));
                }
              }
            });
        for (int i = id; i < to; i++) {
          Long old = records.remove(i);
          if (old != null) {
            numbers.remove(old);
          }
          if (come) {
            long number = (first + i - id) * 7919 % 1_000_003;
            records.put(i, number);
            numbers.put(number, i);
          }
        }
      } else if (op < 97) {
        check(r, db, t, id);
      } else {
        checkAll(db, t);
      }
    }

    private void check(Random r, Database db, RowTable t, int id) {
      RowIndex index = t.index("by_number");
      Long near = numbers.ceilingKey((long) r.nextInt(1_000_003));
      long number = near == null ? -id : near;
      assertEquals(near == null ? null : "pad of " + numbers.get(near), pad(db, t, index, number));
    }

    void checkAll(Database db, RowTable t) {
      RowIndex index = t.index("by_number");
      List<String> found =
          db.read(
              tx -> {
                List<String> list = new ArrayList<>();
                try (RowCursor c = index.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
                  while (c.next()) {
                    list.add(c.row().getLong(NUMBER) + " " + c.row().getText(PAD));
                  }
                }
                return list;
              });
      List<String> expected = new ArrayList<>();
      numbers.forEach((n, i) -> expected.add(n + " pad of " + i));
      assertEquals(expected, found);
    }
  }

  @net.jqwik.api.Tag("slow")
  @Property(tries = 12, shrinking = ShrinkingMode.OFF)
  void randomOperationsWithPoisonedHints(@ForAll long seed) {
    Random r = new Random(seed);
    EntryHints[] kinds = EntryHints.values();
    EntryHints kind = kinds[1 + r.nextInt(kinds.length - 1)];
    // 2 MiB: fewer pages than the records need.
    Options options = Options.defaults().bufferBytes(2 << 20);
    try (Database db = Database.inMemory(options)) {
      WILD.in(db.schema().hintUse());
      for (int life = 0; life < 2; life++) {
        Model model = new Model();
        RowTable t = db.table(spec(kind));
        for (int i = 0; i < 700; i++) {
          model.step(r, db, t, 12_000);
        }
        model.checkAll(db, t);
        verify(db);
        DatabaseStats.HintedLookups h = db.stats().hintedLookups();
        assertTrue(h.lookups() > h.hits() && h.pageRepairs() > 0, h::toString);
        db.dropTable("rows");
      }
    }
  }

  @Test
  void manyThreadsWithPoisonedHints() throws Exception {
    int threads = 4;
    int ids = 3000;
    try (Database db = Database.inMemory(Options.defaults().bufferBytes(2 << 20))) {
      WILD.in(db.schema().hintUse());
      TableSpec spec = spec(EntryHints.PAGE_FRAME_SLOT);
      RowTable t = db.table(spec);
      AtomicReference<Throwable> failed = new AtomicReference<>();
      List<Thread> all = new ArrayList<>();
      for (int w = 0; w < threads; w++) {
        int worker = w;
        Thread thread =
            new Thread(
                () -> {
                  try {
                    work(db, t, worker, threads, ids);
                  } catch (Throwable e) {
                    failed.compareAndSet(null, e);
                  }
                });
        all.add(thread);
        thread.start();
      }
      for (Thread thread : all) {
        thread.join();
      }
      if (failed.get() != null) {
        throw new AssertionError(failed.get());
      }
      verify(db);
    }
  }

  /** Each thread changes its own records, between those of others, and looks all of them up. */
  private static void work(Database db, RowTable t, int worker, int threads, int ids) {
    Random r = new Random(worker);
    RowIndex index = t.index("by_number");
    boolean[] there = new boolean[ids];
    for (int i = 0; i < 2500; i++) {
      int own = r.nextInt(ids);
      int id = own * threads + worker;
      if (r.nextInt(3) > 0) {
        db.run(
            tx -> {
              if (there[own]) {
                assertTrue(t.delete(tx, t.key().set(id)));
              } else {
                insert(t, tx, id, number(id));
              }
            });
        there[own] = !there[own];
      }
      int look = r.nextInt(ids);
      int lookId = look * threads + worker;
      assertEquals(there[look] ? "pad of " + lookId : null, pad(db, t, index, number(lookId)));
      int foreign = r.nextInt(ids * threads);
      String pad = pad(db, t, index, number(foreign));
      assertTrue(pad == null || pad.equals("pad of " + foreign), pad);
    }
  }

  @net.jqwik.api.Tag("slow")
  @Property(tries = 6, shrinking = ShrinkingMode.OFF)
  void hintsOfARecoveredFileAreHarmless(@ForAll long seed) {
    Random r = new Random(seed);
    SimDisk disk = new SimDisk(seed);
    Model model = new Model();
    for (int life = 0; life < 3; life++) {
      Database db = SimDatabase.open(new SimStorage(disk), SMALL);
      RowTable t = db.table(spec(EntryHints.PAGE_FRAME_SLOT));
      model.checkAll(db, t);
      (r.nextBoolean() ? WILD : HintPoison.NONE).in(db.schema().hintUse());
      for (int i = 0; i < 250; i++) {
        model.step(r, db, t, 6_000);
        if (r.nextInt(80) == 0) {
          db.checkpoint();
        }
      }
      verify(db);
      // All commits were acknowledged as durable; other writes may be complete, missing or torn.
      SimDisk next = disk.crash(SimCrash.RANDOM);
      SimDatabase.abandon(db);
      disk = next;
    }
    try (Database db = SimDatabase.open(new SimStorage(disk), SMALL)) {
      RowTable t = db.table(spec(EntryHints.PAGE_FRAME_SLOT));
      verify(db);
      model.checkAll(db, t);
      model.checkAll(db, t);
    }
  }

  @Test
  void indexesOfABackup(@TempDir Path dir) {
    int n = 2000;
    TableSpec spec = spec(EntryHints.PAGE_FRAME_SLOT);
    try (Database db = Database.open(dir.resolve("db"), SMALL)) {
      fill(db, EntryHints.PAGE_FRAME_SLOT, n);
      WILD.in(db.schema().hintUse());
      lookUp(db, spec, n);
      db.backup(dir.resolve("copy"));
    }
    Path copy = dir.resolve("copy").resolve("db");
    assertEquals(List.of(), FileReport.verify(copy, SMALL).problems());
    try (Database db = Database.open(copy, SMALL.experiments(exp -> exp.hints(Hints.PAGE)))) {
      lookUp(db, spec, n);
      verify(db);
      assertFalse(db.table(spec).index("by_group").hints() == EntryHints.NONE);
    }
  }
}
