package io.fovea;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.catalog.Schema;
import io.fovea.config.LeakDetection;
import io.fovea.io.BlockDevice;
import io.fovea.io.Storage;
import io.fovea.recovery.SchemaRecord;
import io.fovea.recovery.Superblock;
import io.fovea.recovery.SuperblockFile;
import io.fovea.schema.Field;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import io.fovea.support.Sample;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import io.fovea.txn.FaultInjection;
import io.fovea.wal.Log;
import io.fovea.wal.LogConfig;
import io.fovea.wal.LogReader;
import io.fovea.wal.LogSession;
import io.fovea.wal.LogStart;
import io.fovea.wal.RecordType;
import io.fovea.wal.Watermark;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Cuts the log of an abandoned database after a sample of its records, as a crash at that time
 * would. Recovery finds exactly the changes of the records up to the cut, and every page is in a
 * tree or free.
 *
 * <p>The pages of the file are as old as the last checkpoint: the buffer is large enough, and
 * nothing else writes them. Group commit makes groups of records durable; here each record ends
 * one.
 */
@Tag("slow")
@Execution(ExecutionMode.CONCURRENT)
class TruncatedLogTest {
  /** Strongly referenced, so that it keeps its level. */
  private static final Logger QUIET = Logger.getLogger("io.fovea");

  private static final int BUFFER = 128 << 10;
  private static final int SEGMENT = 256 << 10;

  private static final Options OPTIONS =
      Options.defaults()
          .bufferBytes(8 << 20)
          .memory(mem -> mem.timestampBytes(1 << 20))
          .transactions(txs -> txs.maxActive(2))
          .log(
              log ->
                  log.bufferBytes(BUFFER)
                      .segmentBytes(SEGMENT)
                      .maxBytes(16 << 20)
                      .checkpointInterval(Duration.ZERO))
          .transactions(txs -> txs.leakDetection(LeakDetection.OFF));

  private static final TableSpec BYTES = TableSpec.bytes("bytes", 60);
  private static final KeySpec.Definition KEY = KeySpec.define();
  private static final Field ID = KEY.int32("id");
  private static final KeySpec KEY_SPEC = KEY.build();
  private static final Layout.Definition LAYOUT = Layout.define();
  private static final Field NUMBER = LAYOUT.int64("number");
  private static final Field NAME = LAYOUT.text("name", 24);
  private static final Layout LAYOUT_SPEC = LAYOUT.build();
  private static final TableSpec ROWS = TableSpec.of("rows", KEY_SPEC, LAYOUT_SPEC);
  private static final TableSpec NUMBERED = ROWS.with(IndexSpec.unique("by_number", NUMBER));
  private static final TableSpec INDEXED = NUMBERED.with(IndexSpec.on("by_name", NAME));

  static {
    QUIET.setLevel(Level.WARNING);
  }

  private static Database open(SimDisk disk) {
    return Database.open(new SimStorage(disk), OPTIONS);
  }

  private static TreeMap<String, String> state(Database db) {
    TreeMap<String, String> state = new TreeMap<>();
    for (String name : db.tables()) {
      state.put(name, "");
      if (name.equals("rows")) {
        rows(db, state);
      } else {
        bytes(db, name, state);
      }
    }
    return state;
  }

  private static void rows(Database db, TreeMap<String, String> state) {
    TableSpec[] specs = {ROWS, NUMBERED, INDEXED};
    state.put("indexes", "" + indexes(db));
    RowTable t = db.table(specs[indexes(db)]);
    db.read(
        tx -> {
          try (RowCursor c = t.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
            while (c.next()) {
              Row row = c.row();
              state.put("rows " + row.getLong(NUMBER), row.getText(NAME));
            }
          }
          return null;
        });
  }

  private static int indexes(Database db) {
    int[] trees = {-db.tables().size()};
    Schema.trees(db.store().catalog(), (id, root) -> trees[0]++);
    return trees[0];
  }

  private static void bytes(Database db, String name, TreeMap<String, String> state) {
    Table<byte[], byte[]> t = db.table(TableSpec.bytes(name, 60)).bytes();
    db.read(
        tx -> {
          try (Cursor<byte[], byte[]> c = t.scan(tx, null, null, ScanOrder.ASCENDING)) {
            while (c.next()) {
              state.put(
                  name + " " + new String(c.key(), StandardCharsets.UTF_8),
                  c.value().length + " " + java.util.Arrays.hashCode(c.value()));
            }
          }
          return null;
        });
  }

  /**
   * Whether a record changes the contents of a database: commits and schema changes do, except the
   * one which records that a dropped tree has no pages left.
   */
  private static boolean counts(LogReader r) {
    if (r.type() == RecordType.SCHEMA) {
      SchemaRecord schema = new SchemaRecord();
      schema.open(r.segment(), r.body(), r.bodyLength(), r.start());
      return schema.published() + schema.dropped() > 0 || schema.ops() > 1;
    }
    return r.type() == RecordType.COMMIT;
  }

  /** Steps that each end with one record that counts. */
  private static final class Steps {
    final SimDisk disk = new SimDisk(1);
    final Map<Long, TreeMap<String, String>> states = new TreeMap<>();
    Database db = TruncatedLogTest.open(disk);

    void did() {
      states.put(Objects.requireNonNull(db.store().journal()).log().tail(), state(db));
    }

    void run(Consumer<Database> step) {
      step.accept(db);
      did();
    }
  }

  private record Mark(long end, int type, boolean counts) {}

  /** The number of cuts after records that do not count. */
  private static final int CUTS = 16;

  private static Superblock superblock(SimDisk disk) {
    return Objects.requireNonNull(
        new SuperblockFile(new SimStorage(disk).open(Storage.DATA), "db").read());
  }

  private static List<Mark> marks(SimDisk disk) {
    Superblock s = superblock(disk);
    List<Mark> marks = new ArrayList<>();
    marks.add(new Mark(s.redoLsn(), RecordType.VOID, false));
    try (LogReader r =
        LogReader.open(new SimStorage(disk).open(Storage.LOG), s.id(), s.redoLsn())) {
      while (r.next()) {
        if (r.type() != RecordType.VOID) {
          marks.add(new Mark(r.end(), r.type(), counts(r)));
        }
      }
    }
    return marks;
  }

  private static SimDisk cut(SimDisk disk, long end) {
    Superblock s = superblock(disk);
    SimDisk cut = disk.copy();
    cut.delete("db.log");
    // The superblock describes the old segments, whose number depends on thread scheduling.
    SuperblockFile file = new SuperblockFile(new SimStorage(cut).open(Storage.DATA), "db");
    file.read();
    file.sync(file.stage(s.withDurable(Watermark.NONE)));
    BlockDevice to = new SimStorage(cut).open(Storage.LOG);
    // Each incarnation has its own segments; record checksums include its number.
    try (LogReader r =
        LogReader.open(new SimStorage(disk).open(Storage.LOG), s.id(), s.redoLsn())) {
      Log log =
          Log.open(
              to,
              new LogConfig(SEGMENT, BUFFER, 1_000_000, 1 << 20),
              new LogStart(
                  s.id(),
                  s.incarnation(),
                  s.redoLsn(),
                  s.redoLsn(),
                  0,
                  Long.MAX_VALUE,
                  s.session(),
                  0,
                  0));
      LogSession session = log.session();
      while (r.next() && r.end() <= end) {
        if (r.type() == RecordType.VOID) {
          continue;
        }
        session.begin(LogSession.space(r.bodyLength()));
        // Fills gaps with a filler of the same size, as at the end of a lap.
        long at = session.reserve(r.type(), r.bodyLength());
        MemorySegment.copy(r.segment(), r.body(), session.buffer(), at, r.bodyLength());
        session.complete();
        assertEquals(r.end(), session.recordEnd(), "record at " + r.start());
        session.end();
      }
      log.close();
    }
    return cut;
  }

  private static void check(SimDisk disk, TreeMap<String, String> expected, String what) {
    try (Database db = open(disk)) {
      VerifyReport report = db.verify();
      assertTrue(report.ok(), () -> what + ": " + report);
      assertEquals(expected, state(db), what);
    }
  }

  /**
   * Recovers from cuts after a sample of the records, after the first of each type and after each
   * that counts; occasionally cuts that recovery too.
   */
  private static void cutEverywhere(Steps steps, TreeMap<String, String> before) {
    steps.db.abandon();
    List<Mark> marks = marks(steps.disk);
    List<Long> tails = new ArrayList<>(steps.states.keySet());
    TreeMap<String, String> now = before;
    int step = 0;
    Sample sample = Sample.oneOf(Math.max(1, marks.size() / CUTS));
    Set<Integer> types = new HashSet<>();
    int cuts = 0;
    for (int i = 0; i < marks.size(); i++) {
      Mark m = marks.get(i);
      if (m.counts()) {
        // This record ends the step, unless a later record does.
        boolean last = true;
        for (int j = i + 1; j < marks.size() && marks.get(j).end() <= tails.get(step); j++) {
          last &= !marks.get(j).counts();
        }
        if (last) {
          now = Objects.requireNonNull(steps.states.get(tails.get(step)));
          step++;
        }
      }
      if (!types.add(m.type()) && !m.counts() && !sample.has(i)) {
        continue;
      }
      String what = "cut after record " + i + " of " + marks.size() + ", at " + m.end();
      SimDisk cut = cut(steps.disk, m.end());
      boolean twice = cuts++ % 9 == 5;
      SimDisk again = twice ? cut.copy() : cut;
      TreeMap<String, String> expected = now;
      Sample.run(
          i,
          n -> {
            check(cut, expected, what);
            if (twice) {
              recoveryOfRecovery(again, expected, what);
            }
          });
    }
    assertEquals(tails.size(), step, "not every step was reached");
  }

  /** Cuts an abandoned recovery after some of the records that it has appended. */
  private static void recoveryOfRecovery(
      SimDisk disk, TreeMap<String, String> expected, String what) {
    long began = marks(disk).getLast().end();
    Database db = open(disk);
    db.abandon();
    check(disk.copy(), expected, what + ", recovered twice");
    List<Mark> marks = marks(disk);
    assertTrue(marks.getLast().end() >= began, what);
    Sample sample = Sample.oneOf(15);
    for (int i = 0; i < marks.size(); i++) {
      if (marks.get(i).end() > began && sample.has(i)) {
        check(cut(disk, marks.get(i).end()), expected, what + ", its recovery after record " + i);
      }
    }
  }

  private static byte[] value(int n, int bytes) {
    byte[] v = new byte[bytes];
    new Random(n).nextBytes(v);
    return v;
  }

  private static byte[] key(int i) {
    return String.format("key%05d", i).getBytes(StandardCharsets.UTF_8);
  }

  private static void insertRows(Database db, TableSpec spec, int from, int to) {
    RowTable t = db.table(spec);
    Key key = t.key();
    Row row = t.row();
    db.run(
        tx -> {
          for (int i = from; i < to; i++) {
            t.insert(tx, key.set(i), row.clear().setLong(NUMBER, i).setText(NAME, "n" + i % 7));
          }
        });
  }

  @Test
  void changesOfTheSchema() {
    Steps s = new Steps();
    TreeMap<String, String> before = state(s.db);
    s.run(db -> db.table(ROWS));
    s.run(db -> insertRows(db, ROWS, 0, 400));
    s.run(db -> db.table(NUMBERED));
    s.run(db -> db.table(INDEXED));
    s.run(db -> insertRows(db, INDEXED, 400, 420));
    s.run(db -> db.table(BYTES));
    s.run(
        db ->
            db.run(
                tx -> {
                  for (int i = 0; i < 20; i++) {
                    db.table(BYTES).bytes().put(tx, key(i), value(i, 100 * i));
                  }
                }));
    s.run(db -> db.dropTable("bytes"));
    s.run(db -> db.dropTable("rows"));
    cutEverywhere(s, before);
  }

  @Test
  void longValues() {
    Steps s = new Steps();
    s.db.table(BYTES);
    s.db.checkpoint();
    Table<byte[], byte[]> t = s.db.table(BYTES).bytes();
    TreeMap<String, String> before = state(s.db);
    for (int round = 0; round < 4; round++) {
      int n = round;
      s.run(
          db ->
              db.run(
                  tx -> {
                    for (int i = 0; i < 6; i++) {
                      t.put(tx, key(i), value(n, (i + n) % 3 == 0 ? 30 : 3_000 * i));
                    }
                    t.put(tx, key(90 + n), value(n, 20_000));
                  }));
      s.run(
          db ->
              db.run(
                  tx -> {
                    t.delete(tx, key(n));
                    t.put(tx, key(n + 1), value(n, 10));
                  }));
    }
    s.run(db -> db.dropTable("bytes"));
    cutEverywhere(s, before);
  }

  /** Enough pages of long values that their ids fill several parts of the commit. */
  @Test
  void pagesInParts() {
    Steps s = new Steps();
    s.db.abandon();
    // Parts of 1 KiB: a record names at most 96 pages.
    s.db =
        SimDatabase.open(
            new SimStorage(s.disk),
            OPTIONS,
            FaultInjection.NONE,
            c -> c.with(c.durability(), 8 << 10));
    s.db.table(BYTES);
    s.db.checkpoint();
    Table<byte[], byte[]> t = s.db.table(BYTES).bytes();
    TreeMap<String, String> before = state(s.db);
    s.run(
        db ->
            db.run(
                tx -> {
                  for (int i = 0; i < 15; i++) {
                    t.put(tx, key(i), value(i, 40_000));
                  }
                }));
    s.run(
        db ->
            db.run(
                tx -> {
                  for (int i = 5; i < 15; i++) {
                    t.put(tx, key(i), value(i + 1, 40_000));
                  }
                }));
    s.run(db -> db.run(tx -> assertEquals(15, t.deleteRange(tx, null, null))));
    cutEverywhere(s, before);
  }

  @Test
  void transactionsInParts() {
    Steps s = new Steps();
    s.db.table(BYTES);
    s.db.checkpoint();
    Table<byte[], byte[]> t = s.db.table(BYTES).bytes();
    TreeMap<String, String> before = state(s.db);
    s.run(db -> db.run(tx -> t.put(tx, key(1), value(1, 10))));
    for (int round = 0; round < 2; round++) {
      int n = round;
      s.run(
          db ->
              db.run(
                  tx -> {
                    for (int i = 0; i < 150; i++) {
                      t.put(tx, key(i), value(i + n, 700));
                    }
                  }));
    }
    s.run(
        db ->
            db.run(
                tx -> {
                  for (int i = 0; i < 145; i++) {
                    t.delete(tx, key(i));
                  }
                }));
    cutEverywhere(s, before);
  }

  @Test
  void cutAfterTheLastRecordEqualsTheLog() {
    Steps s = new Steps();
    s.run(db -> db.table(BYTES));
    s.db.abandon();
    List<Mark> marks = marks(s.disk);
    SimDisk whole = cut(s.disk, marks.getLast().end());
    assertEquals(marks, marks(whole));
    assertArrayEquals(new boolean[] {true}, new boolean[] {marks.size() > 3});
  }
}
