package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.buffer.PoolConfig;
import io.fovea.config.Durability;
import io.fovea.config.Io;
import io.fovea.config.LocationCacheLayout;
import io.fovea.config.Protocol;
import io.fovea.config.Replacement;
import io.fovea.config.Translation;
import io.fovea.error.AbortCause;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.FoveaException;
import io.fovea.error.StorageException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import io.fovea.support.TestEnvironment;
import io.fovea.support.UnreliableDeviceState;
import io.fovea.support.UnreliableStorage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.Consumer;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Compares whole databases with sorted maps: random operations and options, across close and open,
 * running the verifier after each.
 */
@Tag("slow")
class DatabaseModelTest {
  private static final KeySpec.Definition KEY = KeySpec.define();
  private static final Field GROUP = KEY.int32("group");
  private static final Field NAME = KEY.text("name", 20);
  private static final KeySpec KEY_SPEC = KEY.build();
  private static final Layout.Definition B = Layout.define();
  private static final Field A = B.int32("a");
  private static final Field TEXT = B.text("text", 30);
  private static final Field UNIQUE = B.int64("unique");
  private static final Field PAD = B.bytes("pad", 600);
  private static final Layout LAYOUT = B.build();
  private static final TableSpec SPEC =
      TableSpec.of("t", KEY_SPEC, LAYOUT)
          .with(IndexSpec.on("by_text", TEXT))
          .with(IndexSpec.on("by_a_and_name", A, NAME))
          .with(IndexSpec.unique("by_unique", UNIQUE))
          .with(
              IndexSpec.extracted(
                  "odd",
                  KeySpec.of(FieldType.INT32),
                  false,
                  (k, r, e) -> {
                    if (r.getInt(A) % 2 == 0) {
                      return false;
                    }
                    e.set(-r.getInt(A));
                    return true;
                  }));

  private record Pk(int group, String name) implements Comparable<Pk> {
    private static final Comparator<Pk> ORDER =
        Comparator.comparingInt(Pk::group).thenComparing(Pk::name);

    @Override
    public int compareTo(Pk o) {
      return ORDER.compare(this, o);
    }
  }

  private record Value(int a, String text, long unique, int pad) {}

  /** The operations from this one on only read. */
  private static final int READS = 6;

  private interface Place {
    Database open(Options options);

    VerifyReport verify();
  }

  private record InFile(Path file) implements Place {
    @Override
    public Database open(Options options) {
      return Database.open(file, options);
    }

    @Override
    public VerifyReport verify() {
      return FileVerifier.verify(file);
    }
  }

  /** On devices with random faults; a copy of the file is verified. */
  private record OnDisk(
      SimDisk disk, TestEnvironment environment, UnreliableDeviceState deviceState, Path copy)
      implements Place {
    @Override
    public Database open(Options options) {
      return SimDatabase.open(
          new UnreliableStorage(new SimStorage(disk), deviceState), options, environment);
    }

    @Override
    public VerifyReport verify() {
      try {
        disk.save(copy);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      return FileVerifier.verify(copy.resolve(SimStorage.NAME));
    }
  }

  private static final class Run {
    private final TestEnvironment environment;
    private final UnreliableDeviceState deviceState;
    private final Place place;
    private final int padMax;
    private Random r;
    private Options options;
    private final NavigableMap<Pk, Value> model = new TreeMap<>();
    private int keys;

    Run(long seed, Path file) {
      this.environment = TestEnvironment.PLAIN;
      this.deviceState = environment.deviceState(seed);
      this.place = new InFile(file);
      this.padMax = 60;
      this.r = new Random(seed);
      int pageSize = 4096 << r.nextInt(3);
      this.options =
          Options.defaults()
              .device(dev -> dev.pageSize(pageSize))
              .bufferBytes((r.nextBoolean() ? 80L : 2000L) * (pageSize + 300) + (1 << 20));
      this.keys = 1 + r.nextInt(400);
    }

    /** With data several times larger than the smallest pool. */
    Run(long seed, TestEnvironment environment, UnreliableDeviceState deviceState, Path dir) {
      this.environment = environment;
      this.deviceState = deviceState;
      this.place = new OnDisk(new SimDisk(seed), environment, deviceState, dir);
      this.padMax = 600;
      this.r = new Random(seed);
      int pageSize = environment.pageSize();
      // Each durability in turn. Non-durable commits are lost if the last page cannot be written.
      Durability durability =
          Durability.values()[(int) ((seed + environment.ordinal()) % Durability.values().length)];
      this.options =
          Options.defaults()
              .device(dev -> dev.pageSize(pageSize))
              .durability(
                  environment.failsWrites() && durability == Durability.NONE
                      ? Durability.SYNC
                      : durability)
              .memory(mem -> mem.timestampBytes(16 << 20))
              .log(
                  log ->
                      log.maxBytes(1 << 20)
                          .bufferBytes(Math.max(64 << 10, 16 * pageSize))
                          .segmentBytes(128 << 10));
      this.keys = 1000 * (pageSize / 4096);
    }

    /** The size before a translation required more. */
    long bufferBytes;

    void changeOptions() {
      if (bufferBytes == 0) {
        bufferBytes = options.bufferBytes();
      }
      options =
          options
              .bufferBytes(bufferBytes)
              .device(dev -> dev.io(Io.values()[r.nextInt(3)]).directIo(r.nextBoolean()))
              .experiments(
                  exp ->
                      exp.hints(new Hints(r.nextInt(4) > 0, r.nextBoolean(), r.nextBoolean()))
                          .translation(Translation.values()[r.nextInt(Translation.values().length)])
                          .replacement(Replacement.values()[r.nextInt(2)])
                          .cacheAllKeyLocations(r.nextBoolean())
                          .locationCacheLayout(LocationCacheLayout.values()[r.nextInt(2)])
                          .protocol(Protocol.values()[r.nextInt(Protocol.values().length)]));
      if (place instanceof OnDisk) {
        options =
            options.bufferBytes(
                environment.smallest()
                    ? PoolConfig.bytesMin(
                        options.device().pageSize(),
                        io.fovea.config.Translation.valueOf(
                            options.experiments().translation().name()),
                        Replacement.valueOf(options.experiments().replacement().name()))
                    : 8 << 20);
      }
      if (options.experiments().translation() == Translation.DIRECT) {
        options = options.bufferBytes(64 << 20); // holds the whole file
      }
    }

    /** Opens the database; retries after a device fault. */
    Database open() {
      Database[] db = new Database[1];
      environment.patiently(() -> db[0] = place.open(options));
      return db[0];
    }

    /** Closes the database. Pages that can't be written are recovered from the log. */
    void close(Database db) {
      try {
        db.close();
      } catch (FoveaException e) {
        if (!environment.mayThrow(e)) {
          throw e;
        }
      }
    }

    Pk pk() {
      return pk(r.nextInt(keys));
    }

    static Pk pk(int n) {
      return new Pk(n % 5 - 2, (n % 3 == 0 ? "\0" : "k") + n / 5);
    }

    Value value() {
      return new Value(
          r.nextInt(9), "t" + r.nextInt(20), r.nextInt(1 << 20), r.nextInt(padMax + 1));
    }

    static Key key(RowTable t, Pk pk) {
      return t.key().clear().int32(pk.group).text(pk.name);
    }

    static Row row(Row row, Value v) {
      return row.setInt(A, v.a)
          .setText(TEXT, v.text)
          .setLong(UNIQUE, v.unique)
          .setBytes(PAD, new byte[v.pad]);
    }

    static Value value(Row row) {
      return new Value(row.getInt(A), row.getText(TEXT), row.getLong(UNIQUE), row.length(PAD));
    }

    static boolean uniqueTaken(Map<Pk, Value> m, Pk self, long unique) {
      return m.entrySet().stream()
          .anyMatch(e -> !e.getKey().equals(self) && e.getValue().unique == unique);
    }

    void run() {
      int sessions = 1 + r.nextInt(3);
      for (int s = 0; s < sessions; s++) {
        session(r.nextInt(40), db -> {});
      }
    }

    void runInEnvironment() {
      session(environment.steps(20), this::fill);
      session(environment.steps(20), db -> {});
    }

    void session(int transactions, Consumer<Database> begin) {
      changeOptions();
      // DIRECT needs a pool for the whole file.
      boolean few =
          environment.smallest() && options.experiments().translation() != Translation.DIRECT;
      Database db = open();
      try {
        begin.accept(db);
        RowTable t = db.table(SPEC);
        for (int i = 0; i < transactions; i++) {
          long once = r.nextLong();
          retryingDeviceErrors(once, () -> transaction(db, t));
          if (environment.wrongHints()) {
            SimDatabase.poisonPlaces(db, r);
          }
          retryingDeviceErrors(once, () -> counts(t));
          if (i % 7 == 6 && options.durability() != Durability.NONE) {
            environment.patiently(() -> db.compact(CompactOptions.defaults()));
          }
        }
        deviceState.faults(false);
        check(db, t);
        VerifyReport report = db.verify();
        assertTrue(report.ok(), report::toString);
        long misses = db.stats().buffer().misses();
        assertTrue(!few || misses > 100, misses + " misses: the data fit into the pool");
        deviceState.faults(true);
      } finally {
        close(db);
      }
      if (environment.failsWrites()) {
        // The opening completes what the close has left unfinished.
        deviceState.faults(false);
        open().close();
      }
      VerifyReport report = place.verify();
      assertTrue(report.ok(), report::toString);
      assertEquals(model.size(), report.records());
    }

    void counts(RowTable t) {
      long odd = model.values().stream().filter(v -> v.a % 2 != 0).count();
      assertEquals(model.size(), t.count());
      assertEquals(model.size(), t.index("by_unique").count());
      assertEquals(odd, t.index("odd").count());
    }

    void fill(Database db) {
      RowTable[] t = new RowTable[1];
      environment.patiently(() -> t[0] = db.table(SPEC));
      for (int from = 0; from < keys; from += 50) {
        int begin = from;
        retryingDeviceErrors(r.nextLong(), () -> fill(db, t[0], begin));
      }
    }

    private void fill(Database db, RowTable t, int from) {
      NavigableMap<Pk, Value> put = new TreeMap<>();
      db.run(
          tx -> {
            put.clear();
            Row row = t.row();
            for (int n = from; n < from + 50; n++) {
              Value v = new Value(r.nextInt(9), "t" + r.nextInt(20), -n, r.nextInt(padMax + 1));
              t.insert(tx, key(t, pk(n)), row(row.clear(), v));
              put.put(pk(n), v);
            }
          });
      model.putAll(put);
    }

    /** Repeats an action, with the same random numbers, until no device fault ends it. */
    void retryingDeviceErrors(long once, Runnable what) {
      Random before = r;
      environment.patiently(
          () -> {
            r = new Random(once);
            what.run();
          });
      r = before;
    }

    void transaction(Database db, RowTable t) {
      NavigableMap<Pk, Value> local = new TreeMap<>(model);
      boolean commit = r.nextInt(5) > 0;
      int operations = r.nextInt(30);
      try (Transaction tx = db.begin()) {
        Row row = t.row();
        for (int i = 0; i < operations; i++) {
          int what = r.nextInt(8);
          if (what < READS) {
            write(what, tx, t, row, local);
          } else {
            // A failed read is repeated, and the transaction continues.
            retryingDeviceErrors(r.nextLong(), () -> operation(what, tx, t, row, local));
          }
        }
        if (commit) {
          commit(tx, local);
        }
      }
    }

    private void commit(Transaction tx, NavigableMap<Pk, Value> local) {
      tx.commit();
      model.clear();
      model.putAll(local);
    }

    /** A write that fails either had no effect, or its transaction cannot commit. */
    private void write(
        int what, Transaction tx, RowTable t, Row row, NavigableMap<Pk, Value> local) {
      try {
        operation(what, tx, t, row, local);
      } catch (StorageException e) {
        try {
          commit(tx, local);
        } catch (TransactionAbortedException broken) {
          assertEquals(AbortCause.USER, broken.abortCause());
        }
        throw e;
      }
    }

    void operation(int what, Transaction tx, RowTable t, Row row, NavigableMap<Pk, Value> local) {
      Pk pk = pk();
      Value v = value();
      Key key = key(t, pk);
      switch (what) {
        case 0, 1 -> {
          boolean duplicate = local.containsKey(pk) || uniqueTaken(local, pk, v.unique);
          expectDuplicate(duplicate, () -> t.insert(tx, key, row(row.clear(), v)));
          if (!duplicate) {
            local.put(pk, v);
          }
        }
        case 2 -> {
          boolean duplicate = uniqueTaken(local, pk, v.unique);
          expectDuplicate(duplicate, () -> t.put(tx, key, row(row.clear(), v)));
          if (!duplicate) {
            local.put(pk, v);
          }
        }
        case 3, 4 -> {
          Value old = local.get(pk);
          assertEquals(old != null, t.get(tx, key, row));
          if (old != null) {
            assertEquals(old, value(row));
            Value changed =
                new Value(
                    r.nextBoolean() ? v.a : old.a,
                    r.nextBoolean() ? v.text : old.text,
                    r.nextInt(4) == 0 ? v.unique : old.unique,
                    r.nextBoolean() ? v.pad : old.pad);
            boolean duplicate = uniqueTaken(local, pk, changed.unique);
            expectDuplicate(duplicate, () -> t.update(tx, row(row, changed)));
            if (!duplicate) {
              local.put(pk, changed);
            }
          }
        }
        case 5 -> {
          if (r.nextInt(6) == 0) {
            deleteRange(tx, t, local);
            return;
          }
          assertEquals(local.containsKey(pk), t.delete(tx, key));
          local.remove(pk);
        }
        case READS -> {
          Value old = local.get(pk);
          assertEquals(old != null, t.get(tx, key, row));
          if (old != null) {
            assertEquals(old, value(row));
          }
        }
        default -> scan(tx, t, local);
      }
    }

    private static void expectDuplicate(boolean expected, Runnable action) {
      boolean thrown = false;
      try {
        action.run();
      } catch (DuplicateKeyException e) {
        thrown = true;
      }
      assertEquals(expected, thrown);
    }

    void scan(Transaction tx, RowTable t, NavigableMap<Pk, Value> local) {
      Pk a = pk();
      Pk b = pk();
      boolean ai = r.nextBoolean();
      boolean bi = r.nextBoolean();
      boolean descending = r.nextBoolean();
      NavigableMap<Pk, Value> expected =
          a.compareTo(b) <= 0 ? local.subMap(a, ai, b, bi) : new TreeMap<>();
      Range range = Range.of(key(t, a), ai, key(t, b), bi);
      if (r.nextInt(3) == 0) {
        expected =
            new TreeMap<>(local) {
              private static final long serialVersionUID = 1L;

              {
                keySet().removeIf(k -> k.group() != a.group());
              }
            };
        range = Range.prefix(t.key().set(a.group));
      }
      List<Map.Entry<Pk, Value>> wanted =
          new ArrayList<>((descending ? expected.descendingMap() : expected).entrySet());
      int limit = r.nextInt(4) == 0 ? r.nextInt(5) : Integer.MAX_VALUE;
      int n = 0;
      try (RowCursor c =
          t.scan(tx, range, descending ? ScanOrder.DESCENDING : ScanOrder.ASCENDING)) {
        while (n < limit && c.next()) {
          assertTrue(n < wanted.size(), "more records than expected");
          assertEquals(wanted.get(n).getKey(), pk(c.key()));
          assertEquals(wanted.get(n).getValue(), value(c.row()));
          n++;
        }
      }
      assertEquals(Math.min(limit, wanted.size()), n);
    }

    /** Deletes a short range, rarely a group or everything below a key. */
    private void deleteRange(Transaction tx, RowTable t, NavigableMap<Pk, Value> local) {
      Pk a = pk();
      Pk b = local.isEmpty() ? a : local.floorEntry(local.lastKey()).getKey();
      boolean ai = r.nextBoolean();
      boolean bi = r.nextBoolean();
      NavigableMap<Pk, Value> tail = local.tailMap(a, ai);
      int n = r.nextInt(8);
      for (Pk pk : tail.keySet()) {
        if (n-- == 0) {
          b = pk;
          break;
        }
      }
      long most = r.nextInt(3) == 0 ? r.nextInt(6) : Long.MAX_VALUE;
      Range range = Range.of(key(t, a), ai, key(t, b), bi);
      List<Pk> gone = new ArrayList<>();
      if (r.nextInt(16) == 0) {
        local.keySet().stream().filter(k -> k.group == a.group).forEach(gone::add);
        range = Range.prefix(t.key().clear().int32(a.group));
      } else if (a.compareTo(b) <= 0) {
        gone.addAll(local.subMap(a, ai, b, bi).keySet());
      }
      List<Pk> first = gone.subList(0, (int) Math.min(most, gone.size()));
      assertEquals(first.size(), t.deleteRange(tx, range, most));
      first.forEach(local::remove);
    }

    static Pk pk(Key key) {
      return new Pk(key.getInt(GROUP), key.getText(NAME));
    }

    void check(Database db, RowTable t) {
      db.read(
          tx -> {
            scanAll(tx, t, null, new ArrayList<>(model.entrySet()));
            Comparator<Map.Entry<Pk, Value>> byPk = Map.Entry.comparingByKey();
            scanAll(
                tx,
                t,
                t.index("by_text"),
                sorted(
                    Comparator.comparing((Map.Entry<Pk, Value> e) -> e.getValue().text)
                        .thenComparing(byPk)));
            scanAll(
                tx,
                t,
                t.index("by_a_and_name"),
                sorted(
                    Comparator.comparing((Map.Entry<Pk, Value> e) -> e.getValue().a)
                        .thenComparing(e -> e.getKey().name)
                        .thenComparing(byPk)));
            scanAll(
                tx,
                t,
                t.index("by_unique"),
                sorted(Comparator.comparing((Map.Entry<Pk, Value> e) -> e.getValue().unique)));
            List<Map.Entry<Pk, Value>> odd =
                sorted(
                    Comparator.comparing((Map.Entry<Pk, Value> e) -> -e.getValue().a)
                        .thenComparing(byPk));
            odd.removeIf(e -> e.getValue().a % 2 == 0);
            scanAll(tx, t, t.index("odd"), odd);
            return null;
          });
    }

    private List<Map.Entry<Pk, Value>> sorted(Comparator<Map.Entry<Pk, Value>> order) {
      List<Map.Entry<Pk, Value>> list = new ArrayList<>(model.entrySet());
      list.sort(order);
      return list;
    }

    private void scanAll(
        Transaction tx, RowTable t, @Nullable RowIndex index, List<Map.Entry<Pk, Value>> wanted) {
      ScanOrder one = ScanOrder.values()[r.nextInt(2)];
      for (ScanOrder order : environment.delays() ? new ScanOrder[] {one} : ScanOrder.values()) {
        List<Map.Entry<Pk, Value>> expected =
            order == ScanOrder.ASCENDING ? wanted : wanted.reversed();
        int n = 0;
        try (RowCursor c =
            index == null ? t.scan(tx, Range.all(), order) : index.scan(tx, Range.all(), order)) {
          while (c.next()) {
            assertEquals(expected.get(n).getKey(), pk(c.key()));
            assertEquals(expected.get(n).getValue(), value(c.row()));
            n++;
          }
        }
        assertEquals(expected.size(), n);
      }
    }
  }

  @net.jqwik.api.Tag("slow")
  @Property(tries = 40, shrinking = ShrinkingMode.OFF)
  void aDatabaseIsADurableSortedMap(@ForAll long seed) throws IOException {
    Path dir = Files.createTempDirectory("fovea-model");
    try {
      new Run(seed, dir.resolve("db")).run();
    } finally {
      try (var files = Files.list(dir)) {
        for (Path f : files.toList()) {
          Files.delete(f);
        }
      }
      Files.delete(dir);
    }
  }

  @ParameterizedTest
  @EnumSource
  void aDatabaseIsASortedMapInAllEnvironment(TestEnvironment environment, @TempDir Path dir) {
    environment.each(
        2,
        (deviceState, seed) ->
            new Run(seed, environment, deviceState, dir.resolve("db" + seed)).runInEnvironment());
  }
}
