package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.LeakDetection;
import io.fovea.error.InvalidUseException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.parallel.Isolated;

/** Memory lent by a cursor returns to its transaction, whose next cursor reuses it. */
@Isolated("one test has a logger that fails")
class CursorMemoryTest {
  private static final Layout LAYOUT;
  private static final Field V;
  private static final Field T;

  static {
    Layout.Definition b = Layout.define();
    V = b.int64("v");
    T = b.text("t", 20);
    LAYOUT = b.build();
  }

  private static final TableSpec SPEC =
      TableSpec.of("t", KeySpec.of(FieldType.INT64), LAYOUT).with(IndexSpec.on("by_v", V));

  private final Database db =
      Database.inMemory(
          Options.defaults()
              .bufferBytes(4 << 20)
              .transactions(t -> t.maxActive(2).leakDetection(LeakDetection.ALL)));
  private final RowTable t = db.table(SPEC);

  @BeforeEach
  void fill() {
    db.run(
        tx -> {
          for (long i = 0; i < 5; i++) {
            t.insert(tx, t.key().set(i), t.row().setLong(V, 10 + i).setText(T, "r" + i));
          }
        });
  }

  @AfterEach
  void close() {
    db.close();
  }

  private record Lent(Row row, Key key, Key indexKey) {}

  private Lent lent(RowCursor table, RowCursor index) {
    assertTrue(table.next());
    assertTrue(index.next());
    return new Lent(table.row(), table.key(), index.indexKey());
  }

  private RowCursor scan(Transaction tx) {
    return t.scan(tx, Range.all(), ScanOrder.ASCENDING);
  }

  private RowCursor scanIndex(Transaction tx) {
    return t.index("by_v").scan(tx, Range.all(), ScanOrder.ASCENDING);
  }

  @Test
  void objectsOfAClosedCursorAreRefused() {
    db.run(
        tx -> {
          RowCursor table = scan(tx);
          RowCursor index = scanIndex(tx);
          Lent l = lent(table, index);
          table.close();
          index.close();
          try (RowCursor other = scan(tx);
              RowCursor third = scanIndex(tx)) {
            Lent o = lent(other, third);
            refused(tx, l);
            assertEquals(10, o.row().getLong(V));
            assertEquals("r0", o.row().getText(T));
            assertEquals(0, o.key().getLong(0));
            assertEquals(10, o.indexKey().getLong(0));
            t.update(tx, o.row().setLong(V, 10));
          }
        });
    db.run(tx -> assertTrue(t.get(tx, t.key().set(0L), t.row())));
  }

  @Test
  void cursorObjectsOfAnEndedTransactionAreRefused() {
    List<Lent> all = new ArrayList<>();
    db.run(tx -> all.add(lent(scan(tx), scanIndex(tx))));
    db.run(
        tx -> {
          try (RowCursor other = scan(tx);
              RowCursor third = scanIndex(tx)) {
            Lent o = lent(other, third);
            refused(tx, all.get(0));
            assertEquals(10, o.row().getLong(V));
            assertEquals(0, o.key().getLong(0));
            assertEquals(10, o.indexKey().getLong(0));
          }
        });
  }

  private void refused(Transaction tx, Lent l) {
    Row row = l.row();
    Key key = l.key();
    Key own = t.key().set(3L);
    List<Executable> uses =
        List.of(
            () -> row.getLong(V),
            () -> row.setLong(V, 77),
            () -> row.setText(T, "x"),
            () -> row.clear(),
            () -> row.set(t.row()),
            () -> t.row().set(row),
            () -> row.key(own),
            () -> t.get(tx, own, row),
            () -> t.put(tx, own, row),
            () -> t.update(tx, row),
            () -> key.set(77L),
            () -> key.int64(77),
            () -> key.getLong(0),
            () -> key.isNull(0),
            () -> key.set(own),
            () -> t.key().set(key),
            () -> t.get(tx, key, t.row()),
            () -> t.delete(tx, key),
            () -> scanOf(tx, key),
            () -> l.indexKey().set(77L),
            () -> l.indexKey().getLong(0));
    for (int i = 0; i < uses.size(); i++) {
      assertThrows(InvalidUseException.class, uses.get(i), "use " + i);
    }
    assertFalse(row.toString().isEmpty());
    assertFalse(key.toString().isEmpty());
    assertEquals(0, key.compareTo(key));
  }

  private void scanOf(Transaction tx, Key key) {
    try (RowCursor c = t.scan(tx, Range.prefix(key), ScanOrder.ASCENDING)) {
      c.next();
    }
  }

  /** The end of a transaction completes even if reporting it fails. */
  @Test
  void failingLoggerLeaksNothing() {
    Logger logger = Logger.getLogger("io.fovea");
    Handler fails = new FailingHandler();
    Level level = logger.getLevel();
    logger.setLevel(Level.WARNING); // other tests of this JVM may have lowered it
    logger.addHandler(fails);
    try {
      for (int i = 0; i < 10; i++) {
        long v = i;
        Transaction tx = db.begin();
        RowCursor one = scan(tx);
        RowCursor two = scan(tx);
        assertTrue(one.next());
        assertTrue(two.next());
        t.put(tx, t.key().set(1L), t.row().setLong(V, v));
        assertThrows(OutOfMemoryError.class, tx::commit);
        assertThrows(InvalidUseException.class, one::next);
        assertThrows(InvalidUseException.class, two::next);
      }
    } finally {
      logger.removeHandler(fails);
      logger.setLevel(level);
    }
    Row row = t.row();
    db.run(tx -> assertTrue(t.get(tx, t.key().set(1L), row)));
    assertEquals(0, db.stats().activeTransactions());
  }

  private static final class FailingHandler extends Handler {
    @Override
    public void publish(LogRecord record) {
      throw new OutOfMemoryError("thrown by the test");
    }

    @Override
    public void flush() {}

    @Override
    public void close() {}
  }
}
