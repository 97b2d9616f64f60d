package io.fovea;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.LeakDetection;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Row operations allocate nothing, compiled or interpreted. */
@Tag("slow")
class AllocationTest {
  private static final int N = 2000;
  private static final Layout.Definition B = Layout.define();
  private static final Field NUMBER = B.int32("number");
  private static final Field TEXT = B.text("text", 30);
  private static final Field LONG = B.int64("long");
  private static final TableSpec SPEC =
      TableSpec.of("t", KeySpec.of(FieldType.INT32, FieldType.INT32), B.build())
          .with(IndexSpec.on("by_number", NUMBER));

  private interface Work {
    void run(Transaction tx);
  }

  private static long allocated() {
    var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    return threads.getCurrentThreadAllocatedBytes();
  }

  /**
   * Returns the bytes per operation of the best of several equal rounds, rolled back. An operation
   * that allocates does so in each round; growing sets and sampled stacks of the leak detector
   * affect only some.
   */
  private static double perOperation(Database db, Work work) {
    long bytes = Long.MAX_VALUE;
    for (int round = 0; round < 5 && bytes >= N; round++) {
      try (Transaction tx = db.begin()) {
        long before = allocated();
        work.run(tx);
        bytes = Math.min(bytes, allocated() - before);
      }
    }
    return (double) bytes / N;
  }

  /** Keeps the leak detector from recording stacks of sampled transactions. */
  private static final Options QUIET =
      Options.defaults()
          .bufferBytes(16 << 20)
          .transactions(txs -> txs.leakDetection(LeakDetection.OFF));

  private static void assertNone(String what, double bytes) {
    assertTrue(bytes < 1, what + ": " + bytes + " bytes per operation");
  }

  @Test
  void variableRowsAllocateNothing() {
    Layout.Definition b = Layout.define();
    Field number = b.int32("number");
    Field note = b.varText("note", 500);
    Field photo = b.nullable().varBytes("photo", 5000);
    TableSpec spec = TableSpec.of("v", KeySpec.of(FieldType.INT32), b.build());
    try (Database db = Database.inMemory(QUIET);
        Arena arena = Arena.ofConfined()) {
      RowTable t = db.table(spec.with(IndexSpec.on("by_note", note)));
      RowTable bare = db.table(TableSpec.of("w", spec.key(), spec.layout()));
      Key key = t.key();
      Row row = t.row();
      Key bareKey = bare.key();
      Row bareRow = bare.row();
      MemorySegment out = arena.allocate(500);
      byte[] bytes = new byte[200];
      db.run(
          tx -> {
            for (int i = 0; i < N; i++) {
              row.clear().setInt(number, i).setBytes(note, bytes, 0, i % 50);
              t.insert(tx, key.set(i), row);
              bareRow.clear().setBytes(photo, bytes);
              bare.insert(tx, bareKey.set(i), bareRow);
            }
          });
      assertNone(
          "get",
          perOperation(
              db,
              tx -> {
                for (int i = 0; i < N; i++) {
                  t.get(tx, key.set(i % 50), row);
                  row.getBytes(note, out, 0);
                }
              }));
      assertNone(
          "scan",
          perOperation(
              db,
              tx -> {
                try (RowCursor c = bare.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
                  while (c.next()) {
                    c.row().getBytes(photo, out, 0);
                  }
                }
              }));
      assertNone(
          "update and put",
          perOperation(
              db,
              tx -> {
                for (int i = 0; i < N; i++) {
                  t.get(tx, key.set(i % 50), row);
                  row.setInt(number, i).setBytes(note, out, 0, i % 200);
                  t.update(tx, row);
                  bareRow.clear().setBytes(note, out, 0, i % 500);
                  bare.put(tx, bareKey.set(i % 50), bareRow);
                }
              }));
    }
  }

  @Test
  void rowsAllocateNothing() {
    try (Database db = Database.inMemory(QUIET)) {
      RowTable t = db.table(SPEC);
      Key key = t.key();
      Row row = t.row();
      RowIndex index = t.index("by_number");
      Key indexKey = index.key();
      db.run(
          tx -> {
            for (int i = 0; i < N; i++) {
              row.clear().setInt(NUMBER, i % 100).setText(TEXT, "some text").setLong(LONG, i);
              t.insert(tx, key.set(1, i), row);
            }
          });
      assertNone(
          "get",
          perOperation(
              db,
              tx -> {
                for (int i = 0; i < N; i++) {
                  t.get(tx, key.set(1, i % 50), row);
                  row.getInt(NUMBER);
                }
              }));
      Batch batch = t.batch(20);
      assertNone(
          "getAll",
          perOperation(
              db,
              tx -> {
                for (int i = 0; i < N; i += 20) {
                  batch.clear();
                  for (int j = 0; j < 20; j++) {
                    batch.add().set(1, (i + j) % 50);
                  }
                  t.getAll(tx, batch);
                }
              }));
      assertNone(
          "update",
          perOperation(
              db,
              tx -> {
                for (int i = 0; i < N; i++) {
                  t.get(tx, key.set(1, i % 50), row);
                  row.setLong(LONG, row.getLong(LONG) + 1).setText(TEXT, "other");
                  t.update(tx, row);
                }
              }));
      assertNone(
          "update of an indexed field",
          perOperation(
              db,
              tx -> {
                for (int i = 0; i < N; i++) {
                  t.get(tx, key.set(1, i % 50), row);
                  row.setInt(NUMBER, row.getInt(NUMBER) ^ 1);
                  t.update(tx, row);
                }
              }));
      assertNone(
          "delete and insert",
          perOperation(
              db,
              tx -> {
                for (int i = 0; i < N; i++) {
                  t.get(tx, key.set(1, i % 50), row);
                  t.delete(tx, key);
                  row.clear().setInt(NUMBER, 5).setText(TEXT, "new");
                  t.insert(tx, key, row);
                }
              }));
      assertNone(
          "a step of an index scan",
          perOperation(
              db,
              tx -> {
                try (RowCursor c =
                    index.scan(tx, Range.prefix(indexKey.clear()), ScanOrder.ASCENDING)) {
                  while (c.next()) {
                    c.row().getInt(NUMBER);
                    c.key().getInt(1);
                  }
                }
              }));
    }
  }

  /** Booleans, doubles and nulls allocate nothing; UUIDs, instants and decimals become objects. */
  @Test
  void nullsAllocateNothing() {
    Layout.Definition b = Layout.define();
    Field flag = b.nullable().bool("flag");
    Field rate = b.nullable().float64("rate");
    Field text = b.nullable().text("text", 20);
    Field number = b.nullable().int64("number");
    TableSpec spec =
        TableSpec.of("nulls", KeySpec.of(FieldType.FLOAT64, FieldType.BOOLEAN), b.build())
            .with(IndexSpec.on("by_rate", rate, flag))
            .with(IndexSpec.unique("by_number", number));
    try (Database db = Database.inMemory(QUIET)) {
      RowTable t = db.table(spec);
      Key key = t.key();
      Row row = t.row();
      RowIndex index = t.index("by_rate");
      Key indexKey = index.key();
      db.run(
          tx -> {
            for (int i = 0; i < N; i++) {
              row.clear().setBoolean(flag, true).setDouble(rate, i % 7).setText(text, "text");
              t.insert(tx, key.clear().float64(i).bool(true), row);
            }
          });
      assertNone(
          "get",
          perOperation(
              db,
              tx -> {
                for (int i = 0; i < N; i++) {
                  t.get(tx, key.clear().float64(i % 50).bool(true), row);
                  if (row.isNull(rate) || !row.getBoolean(flag) || !row.isNull(number)) {
                    throw new AssertionError();
                  }
                  row.getDouble(rate);
                }
              }));
      assertNone(
          "update",
          perOperation(
              db,
              tx -> {
                for (int i = 0; i < N; i++) {
                  t.get(tx, key.clear().float64(i % 50).bool(true), row);
                  if (row.isNull(text)) {
                    row.setText(text, "text").setDouble(rate, 1).setLong(number, i % 50);
                  } else {
                    row.setNull(text).setNull(rate).setNull(number);
                  }
                  t.update(tx, row);
                }
              }));
      assertNone(
          "a step of an index scan",
          perOperation(
              db,
              tx -> {
                Range range = Range.prefix(indexKey.clear().float64(3));
                try (RowCursor c = index.scan(tx, range, ScanOrder.ASCENDING)) {
                  while (c.next()) {
                    c.row().getBoolean(flag);
                    c.indexKey().getDouble(0);
                    c.indexKey().isNull(1);
                  }
                }
              }));
    }
  }
}
