package io.fovea.tpcc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.Key;
import io.fovea.Options;
import io.fovea.Row;
import io.fovea.RowTable;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Reading a range in pieces visits each row once, whichever attempt at a piece is aborted. */
class PiecesTest {
  private static final int ROWS = 3_500;
  private static final Field VALUE;
  private static final TableSpec SPEC;

  static {
    Layout.Definition b = Layout.define();
    VALUE = b.int64("value");
    SPEC = TableSpec.of("rows", KeySpec.of(FieldType.INT64), b.build());
  }

  @Test
  void pieceReadTwiceCountsOnce() throws InterruptedException {
    try (Database db = Database.inMemory(Options.defaults().bufferBytes(16 << 20))) {
      RowTable table = db.table(SPEC);
      db.run(
          tx -> {
            Row row = table.row();
            for (int i = 0; i < ROWS; i++) {
              row.setLong(VALUE, i);
              table.insert(tx, table.key().set((long) i), row);
            }
          });
      // Scans switch to leaves some time after the first read-only transaction.
      db.read(tx -> table.get(tx, table.key().set(0L), table.row()));
      Thread.sleep(50);
      int twice = 0;
      for (int aborted = 0; aborted < ROWS; aborted += 250) {
        List<Long> seen = new ArrayList<>();
        int at = aborted;
        int[] changes = {0};
        int[] taken = {0};
        new Pieces(db, 1)
            .each(
                table,
                table.key().set(0L),
                table.key().set((long) ROWS),
                (key, row, to, i) -> {
                  long n = key.getLong(0);
                  taken[0]++;
                  if (n == at && changes[0]++ == 0) {
                    change(db, n);
                  }
                  to[i] = n;
                },
                (from, i) -> seen.add(from[i]));
        assertEquals(ROWS, seen.size(), "aborted at " + aborted);
        for (int i = 0; i < ROWS; i++) {
          assertEquals(i, seen.get(i).longValue());
        }
        twice += taken[0] > ROWS ? 1 : 0;
      }
      assertTrue(twice > 0, "no piece was read twice");
    }
  }

  /** Another transaction changes a row of the leaf that is being read. */
  private static void change(Database db, long n) {
    Thread other =
        Thread.ofPlatform()
            .start(
                () -> {
                  RowTable table = db.table(SPEC);
                  db.run(
                      tx -> {
                        Row row = table.row();
                        Key key = table.key().set(n);
                        table.getForUpdate(tx, key, row);
                        row.setLong(VALUE, -row.getLong(VALUE));
                        table.update(tx, row);
                      });
                });
    try {
      other.join();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
