package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Duplicates;
import io.fovea.config.Protocol;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.FoveaException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.Step;
import io.fovea.schema.TableSpec;
import io.fovea.support.SetClock;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import io.fovea.support.TestEnvironment;
import io.fovea.support.UnreliableDeviceState;
import io.fovea.support.UnreliableStorage;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Compares expiring rows with a map whose entries disappear at their expiry time. Random
 * transactions and loads run while time passes and the table evolves, with sweeps between or during
 * them, across crashes and restarts. When a sweep happens must make no difference.
 */
@Tag("slow")
class ExpiryModelTest {
  private static final int AFTER = 10;
  private static final int KEYS = 300;
  private static final int ALWAYS = 1_000;
  private static final int STEPS = 120;

  /** A version of the table: its fields with their current names and offsets, and its steps. */
  private record Version(
      TableSpec spec, Field colour, Field code, Field pad, Field at, Duration after) {
    private static final Step[] TO_SECOND = {Step.rename("at", "due"), Step.widen("pad")};
    private static final Step[] TO_THIRD = {Step.widen("colour")};
    private static final List<Version> ALL = List.of(first(), second(), third());

    /** The padding comes first, so that all other fields move when it grows. */
    private static Version of(
        String time, FieldType colours, int padding, int after, Step[]... steps) {
      Layout.Definition b = Layout.define();
      Field pad = b.bytes("pad", padding);
      Field colour = b.add("colour", colours, colours == FieldType.INT32 ? 4 : 8);
      Field code = b.int64("code");
      Field at = b.int64(time);
      TableSpec.Builder t = TableSpec.builder("rows", KeySpec.of(FieldType.INT32), b.build());
      for (int i = 0; i < steps.length; i++) {
        t.version(i + 2, steps[i]);
      }
      t.index(IndexSpec.on("by_colour", colour)).index(IndexSpec.unique("by_code", code));
      Duration how = Duration.ofMillis(after);
      return new Version(t.build().expireAfter(at, how), colour, code, pad, at, how);
    }

    private static Version first() {
      return of("at", FieldType.INT32, 300, AFTER);
    }

    private static Version second() {
      return of("due", FieldType.INT32, 400, AFTER + 5, TO_SECOND);
    }

    private static Version third() {
      return of("due", FieldType.INT64, 400, AFTER, TO_SECOND, TO_THIRD);
    }

    Row set(Row row, Value v) {
      return setColour(row, v.colour)
          .setLong(code, v.code)
          .setBytes(pad, new byte[(int) (v.code % 300)])
          .setLong(at, v.at);
    }

    Row setColour(Row row, int to) {
      return colour.type() == FieldType.INT32 ? row.setInt(colour, to) : row.setLong(colour, to);
    }

    Value value(Row row) {
      int is = colour.type() == FieldType.INT32 ? row.getInt(colour) : (int) row.getLong(colour);
      return new Value(is, row.getLong(code), row.getLong(at));
    }
  }

  private record Value(int colour, long code, long at) {
    boolean expired(long now, Version by) {
      return at > 0 && at <= now - by.after.toMillis();
    }
  }

  private static final class Run {
    private final TestEnvironment environment;
    private final UnreliableDeviceState deviceState;
    private final SetClock clock = new SetClock(1_000);
    private final Options options;
    private final Random random;
    private final boolean beside;
    private SimDisk disk;
    private Database db;
    private RowTable t;
    private TreeMap<Integer, Value> model = new TreeMap<>();
    private int crashes;
    private int version;
    private int codes;

    private Version as() {
      return Version.ALL.get(version);
    }

    Run(TestEnvironment environment, UnreliableDeviceState deviceState, long seed) {
      this.environment = environment;
      this.deviceState = deviceState;
      this.random = new Random(seed);
      this.disk = new SimDisk(seed);
      Protocol protocol = Protocol.values()[(int) (seed % Protocol.values().length)];
      // Sweep during the transactions, or only between them.
      this.beside = seed % 2 != 0;
      Duration interval = beside ? Duration.ofNanos(100_000) : Duration.ZERO;
      this.options =
          Options.defaults()
              .bufferBytes(environment.smallest() ? 100L * environment.pageSize() : 8 << 20)
              .device(d -> d.pageSize(environment.pageSize()))
              .memory(m -> m.timestampBytes(1 << 20))
              .log(log -> log.maxBytes(1 << 20).bufferBytes(256 << 10).segmentBytes(128 << 10))
              .expiry(e -> e.clock(clock).sweepInterval(interval))
              .experiments(exp -> exp.protocol(protocol));
      open();
      // A row that never expires, since with time 0 no reader would read the clock.
      Value always = new Value(0, 2 * KEYS, Long.MAX_VALUE);
      db.run(tx -> t.insert(tx, t.key().set(ALWAYS), row(always)));
      model.put(ALWAYS, always);
    }

    private void open() {
      environment.patiently(
          () ->
              db =
                  SimDatabase.open(
                      new UnreliableStorage(new SimStorage(disk), deviceState),
                      options,
                      environment));
      environment.patiently(() -> t = db.table(as().spec));
    }

    void step() {
      switch (random.nextInt(28)) {
        case 0 -> crash();
        case 1 -> reopen();
        case 2 -> environment.patiently(db::checkpoint);
        case 3, 4 -> sweep();
        case 5, 6, 7 -> clock.set(clock.millis() + random.nextInt(8));
        case 8 -> check();
        case 9 -> snapshot();
        case 10 -> evolve();
        case 11 -> dropExpiryTemporarily();
        case 12, 13 -> load();
        default -> {
          long once = random.nextLong();
          environment.patiently(() -> transaction(once));
        }
      }
    }

    private void crash() {
      deviceState.faults(false);
      SimDisk after = disk.crash(SimCrash.RANDOM);
      db.abandon();
      disk = after;
      crashes++;
      deviceState.faults(true);
      open();
    }

    private void reopen() {
      try {
        db.close();
      } catch (FoveaException e) {
        assertTrue(environment.mayThrow(e), e::toString);
      }
      open();
    }

    /** Removes expired rows first, so that another rule does not make them visible again. */
    private void evolve() {
      if (version < Version.ALL.size() - 1 && random.nextInt(3) == 0) {
        sweepAll();
        deviceState.faults(false);
        version++;
        t = db.table(as().spec);
        deviceState.faults(true);
        check();
      }
    }

    private void sweepAll() {
      environment.patiently(db::sweepExpired);
      model = current(model);
    }

    /** Removes the expiry for a while, or while the table has another name. */
    private void dropExpiryTemporarily() {
      sweepAll();
      deviceState.faults(false);
      if (random.nextBoolean()) {
        assertTrue(db.dropExpiry("rows"));
        long before = clock.millis();
        clock.set(before + random.nextInt(20));
        db.sweepExpired();
        assertEquals(model.size(), (int) db.<Integer, RuntimeException>read(tx -> size(tx, t)));
        t = db.table(as().spec);
      } else {
        db.run(
            tx -> {
              tx.renameTable("rows", "others");
              tx.table(as().spec);
            });
        db.run(
            tx -> {
              tx.dropTable("rows");
              tx.renameTable("others", "rows");
            });
      }
      deviceState.faults(true);
      check();
    }

    private static int size(Transaction tx, RowTable t) {
      int n = 0;
      try (RowCursor c = t.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
        while (c.next()) {
          n++;
        }
      }
      return n;
    }

    private void load() {
      long now = clock.millis();
      TreeMap<Integer, Value> m = current(model);
      Duplicates duplicates = Duplicates.values()[random.nextInt(Duplicates.values().length)];
      TreeMap<Integer, Value> come = new TreeMap<>();
      for (int i = random.nextInt(40); i > 0; i--) {
        Value v = value(random, now);
        come.put(random.nextInt(KEYS), new Value(v.colour, ALWAYS + codes++, v.at));
      }
      boolean fails =
          duplicates == Duplicates.FAIL && come.keySet().stream().anyMatch(m::containsKey);
      LoadSource<RowLoad, RuntimeException> source =
          into -> come.forEach((k, v) -> into.add(t.key().set(k), as().set(t.row(), v)));
      LoadOptions how = LoadOptions.defaults().duplicates(duplicates).memoryBytes(1 << 20);
      deviceState.faults(false);
      if (fails) {
        assertThrows(DuplicateKeyException.class, () -> t.load(how, source));
      } else {
        LoadReport report = t.load(how, source);
        come.forEach(
            (k, v) -> {
              if (duplicates != Duplicates.KEEP || !m.containsKey(k)) {
                set(m, k, v, now);
              }
            });
        model = m;
        assertEquals(m.size(), report.records());
      }
      deviceState.faults(true);
      check();
    }

    private void sweep() {
      environment.patiently(db::sweepExpired);
      check();
      deviceState.faults(false);
      long physical = db.read(tx -> t.estimate(tx, Range.all())).count();
      long there = current(model).size();
      assertTrue(physical >= there, () -> physical + " records of " + there);
      deviceState.faults(true);
    }

    /** Returns the rows that have not expired. */
    private TreeMap<Integer, Value> current(Map<Integer, Value> of) {
      long now = clock.millis();
      TreeMap<Integer, Value> left = new TreeMap<>(of);
      left.values().removeIf(v -> v.expired(now, as()));
      return left;
    }

    private void transaction(long once) {
      AtomicReference<TreeMap<Integer, Value>> after = new AtomicReference<>(model);
      db.run(
          tx -> {
            Random r = new Random(once);
            TreeMap<Integer, Value> m = current(model);
            long now = clock.millis();
            assertTrue(t.exists(tx, t.key().set(ALWAYS))); // reads the clock for the first time
            for (int n = 1 + r.nextInt(6); n > 0; n--) {
              operation(tx, m, r, now);
              if (!beside && r.nextInt(30) == 0) {
                clock.set(clock.millis() + 3); // not for this transaction; a sweep would run first
              }
            }
            after.set(m);
          });
      model = after.get();
    }

    private void operation(Transaction tx, TreeMap<Integer, Value> m, Random r, long now) {
      int k = r.nextInt(KEYS);
      Key key = t.key().set(k);
      Value v = value(r, now);
      boolean taken =
          m.entrySet().stream().anyMatch(e -> e.getKey() != k && e.getValue().code == v.code);
      Value old = m.get(k);
      switch (r.nextInt(9)) {
        case 0, 1 -> {
          if (taken || old != null) {
            refused(
                () -> t.insert(tx, key, row(v)),
                () -> k + " is " + old + " at " + now + ", code taken: " + taken);
          } else {
            t.insert(tx, key, row(v));
            set(m, k, v, now);
          }
        }
        case 2, 3 -> {
          if (taken) {
            refused(() -> t.put(tx, key, row(v)), () -> v + " is taken");
          } else {
            t.put(tx, key, row(v));
            set(m, k, v, now);
          }
        }
        case 4 -> {
          Row row = t.row();
          assertEquals(old != null, t.getForUpdate(tx, key, row));
          if (old == null) {
            return;
          }
          as().setColour(row, v.colour).setLong(as().at, v.at);
          boolean code = r.nextBoolean();
          if (code) {
            row.setLong(as().code, v.code);
          }
          if (code && taken) {
            refused(() -> t.update(tx, row), () -> v + " is taken");
          } else {
            t.update(tx, row);
            set(m, k, new Value(v.colour, code ? v.code : old.code, v.at), now);
          }
        }
        case 5 -> assertEquals(m.remove(k) != null, t.delete(tx, key));
        case 6 -> {
          int to = k + r.nextInt(8);
          Range range = Range.between(key, t.key().set(to));
          Map<Integer, Value> there = m.subMap(k, true, to, true);
          assertEquals(there.size(), t.deleteRange(tx, range));
          there.clear();
        }
        case 7 -> {
          Row row = t.row();
          assertEquals(old != null, t.get(tx, key, row));
          if (old != null) {
            assertEquals(old, as().value(row));
          }
          boolean found = t.index("by_code").get(tx, t.index("by_code").key().set(v.code), row);
          assertEquals(taken || old != null && old.code == v.code, found);
        }
        default -> compare(tx, t, as(), m, r);
      }
    }

    /** Runs an operation that must be rejected; I/O errors propagate to the retry. */
    private static void refused(Runnable what, Supplier<String> why) {
      try {
        what.run();
      } catch (DuplicateKeyException e) {
        return;
      }
      throw new AssertionError("Not rejected: " + why.get());
    }

    private void set(TreeMap<Integer, Value> m, int k, Value v, long now) {
      if (v.expired(now, as())) {
        m.remove(k);
      } else {
        m.put(k, v);
      }
    }

    private static Value value(Random r, long now) {
      long at =
          switch (r.nextInt(8)) {
            case 0 -> 0;
            case 1 -> -r.nextInt(100);
            default -> now - 12 + r.nextInt(30);
          };
      return new Value(r.nextInt(6), r.nextInt(2 * KEYS), at);
    }

    private Row row(Value v) {
      return as().set(t.row(), v);
    }

    private static void compare(
        Transaction tx, RowTable t, Version as, TreeMap<Integer, Value> m, Random r) {
      boolean down = r.nextBoolean();
      ScanOrder order = down ? ScanOrder.DESCENDING : ScanOrder.ASCENDING;
      Comparator<Map.Entry<Integer, Value>> by = Map.Entry.comparingByKey();
      RowCursor scan;
      switch (r.nextInt(3)) {
        case 0 -> scan = t.scan(tx, Range.all(), order);
        case 1 -> {
          scan = t.index("by_colour").scan(tx, Range.all(), order);
          by =
              Comparator.comparingInt((Map.Entry<Integer, Value> e) -> e.getValue().colour)
                  .thenComparing(Map.Entry.comparingByKey());
        }
        default -> {
          scan = t.index("by_code").scan(tx, Range.all(), order);
          by = Comparator.comparingLong(e -> e.getValue().code);
        }
      }
      List<Map.Entry<Integer, Value>> expected = new ArrayList<>(m.entrySet());
      expected.sort(down ? by.reversed() : by);
      try (RowCursor c = scan) {
        for (Map.Entry<Integer, Value> e : expected) {
          assertTrue(c.next(), () -> "there is " + e);
          assertEquals(e.getKey(), c.key().getInt(0));
          assertEquals(e.getValue(), as.value(c.row()));
        }
        assertFalse(c.next());
      }
    }

    private void check() {
      long once = random.nextLong();
      environment.patiently(
          () ->
              db.run(
                  TxOptions.forReading(),
                  tx -> compare(tx, t, as(), current(model), new Random(once))));
    }

    private void snapshot() {
      TreeMap<Integer, Value> m = current(model);
      long once = random.nextLong();
      deviceState.faults(false);
      try (Database then = db.snapshot()) {
        clock.set(clock.millis() + random.nextInt(20));
        db.sweepExpired();
        RowTable old = then.table(as().spec);
        then.run(TxOptions.forReading(), tx -> compare(tx, old, as(), m, new Random(once)));
      }
      deviceState.faults(true);
    }

    void end() {
      deviceState.faults(false);
      if (db.stats().health() != DatabaseStats.Health.OK) {
        reopen();
      }
      check();
      assertTrue(db.verify().ok(), () -> db.verify().toString());
      db.sweepExpired();
      check();
      VerifyReport report = db.verify();
      assertTrue(report.ok(), report::toString);
      assertEquals(current(model).size(), report.records());
      assertEquals(report.records(), t.count());
      db.close();
    }
  }

  @ParameterizedTest
  @EnumSource
  void inEnvironment(TestEnvironment environment) {
    environment.each(
        6,
        (deviceState, seed) -> {
          deviceState.faults(false);
          Run run = new Run(environment, deviceState, seed);
          deviceState.faults(true);
          for (int i = 0, n = environment.steps(STEPS); i < n; i++) {
            run.step();
          }
          if (run.crashes == 0) {
            run.crash(); // a short run may have none
          }
          run.end();
        });
  }

  /** Concurrent writers, readers and sweeps: no reader sees a row too early or too late. */
  @ParameterizedTest
  @EnumSource
  void concurrentWriters(Protocol protocol) throws InterruptedException {
    SetClock clock = new SetClock(1_000);
    Options options =
        Options.defaults()
            .bufferBytes(8 << 20)
            .expiry(e -> e.clock(clock).sweepInterval(Duration.ofNanos(100_000)))
            .experiments(exp -> exp.protocol(protocol));
    AtomicReference<Throwable> failed = new AtomicReference<>();
    AtomicBoolean done = new AtomicBoolean();
    try (Database db = Database.inMemory(options)) {
      Version as = Version.ALL.getFirst();
      RowTable t = db.table(as.spec);
      List<Thread> threads = new ArrayList<>();
      for (int id = 0; id < 3; id++) {
        int own = id;
        threads.add(
            new Thread(
                () -> {
                  try {
                    for (int i = 0; !done.get() && (own == 2 || i < 4_000); i++) {
                      int k = own * 100 + i % 100;
                      long code = k;
                      if (own == 2) {
                        db.read(tx -> seen(tx, t, as, clock));
                      } else {
                        // Its own key and code are free once it expires, or the row has its time.
                        db.run(
                            tx -> {
                              long now = clock.millis();
                              t.put(
                                  tx,
                                  t.key().set(k),
                                  t.row()
                                      .setLong(as.code, code)
                                      .setLong(as.at, now - AFTER + 1 + k % 3));
                            });
                        if (i % 20 == 0) {
                          clock.set(clock.millis() + 1);
                        }
                      }
                    }
                  } catch (Throwable e) {
                    failed.set(e);
                  }
                  done.set(true);
                }));
      }
      threads.forEach(Thread::start);
      for (Thread thread : threads) {
        thread.join();
      }
      if (failed.get() != null) {
        throw new AssertionError(failed.get());
      }
      clock.set(clock.millis() + 1_000);
      while (db.sweepExpired() > 0) {}
      assertTrue(db.stats().expiredRows().swept() > 0);
      assertEquals(0, db.stats().expiredRows().sweepFailures());
      VerifyReport report = db.verify();
      assertTrue(report.ok(), report::toString);
      assertEquals(0, report.records());
    }
  }

  private static int seen(Transaction tx, RowTable t, Version as, SetClock clock) {
    long before = clock.millis();
    int n = 0;
    try (RowCursor c = t.index("by_colour").scan(tx, Range.all(), ScanOrder.ASCENDING)) {
      while (c.next()) {
        n++;
        long at = c.row().getLong(as.at);
        assertTrue(at > before - AFTER, () -> at + " was seen at " + before);
      }
    }
    return n;
  }
}
