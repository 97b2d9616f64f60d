package io.fovea.explorer;

import io.fovea.Range;
import io.fovea.Row;
import io.fovea.RowCursor;
import io.fovea.RowTable;
import io.fovea.ScanOrder;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.time.Duration;
import java.util.Objects;
import java.util.Random;

/** Rows that expire by a clock that the explorer advances; a small record says when each does. */
final class Sessions {
  private static final int ROWS = 60;
  private static final Layout.Definition D = Layout.define();
  private static final Field END = D.int64("end");
  private static final Field PAD = D.varBytes("pad", 300);
  private static final TableSpec SPEC =
      TableSpec.of("sessions", KeySpec.of(FieldType.INT32), D.build())
          .expireAfter(END, Duration.ZERO);

  private Sessions() {}

  /** Rows of a worker's own table remain once its expiry is dropped. */
  static void drop(Life life, Worker worker) {
    String name = "brief" + worker.id;
    life.db.dropTable(name);
    RowTable t =
        life.db.table(
            TableSpec.of(name, KeySpec.of(FieldType.INT32), SPEC.layout())
                .expireAfter(END, Duration.ZERO));
    int n = 1 + worker.random.nextInt(50);
    life.db.run(
        tx -> {
          for (int i = 0; i < n; i++) {
            t.insert(tx, t.key().set(i), t.row().setLong(END, Long.MAX_VALUE / 2));
          }
        });
    Violation.unless(life.db.dropExpiry(name), "drop the expiry of " + name);
    RowTable now = life.db.table(Objects.requireNonNull(life.db.describe(name)));
    life.db.run(
        tx -> {
          for (int i = 0; i < n; i += 2) {
            now.put(tx, now.key().set(i), now.row().setLong(END, 1));
          }
        });
    life.db.sweepExpired();
    Violation.same(n, now.count(), "rows of " + name + " without expiry");
    Violation.unless(life.db.dropTable(name), "drop " + name);
  }

  static void step(Life life, Worker worker) throws Exception {
    Random r = worker.random;
    RowTable t = life.db.table(SPEC);
    if (r.nextInt(4) == 0) {
      life.pass(r.nextInt(40));
    }
    if (r.nextInt(6) == 0) {
      life.db.sweepExpired();
      return;
    }
    if (r.nextInt(4) == 0) {
      long before = life.clock.millis();
      life.db.read(
          tx -> {
            try (RowCursor c = t.scan(tx, Range.all(), ScanOrder.ASCENDING)) {
              while (c.next()) {
                long end = c.row().getLong(END);
                Violation.unless(
                    end > before, "a row that ended " + end + " is still present at " + before);
              }
            }
            return null;
          });
      return;
    }
    int k = r.nextInt(ROWS);
    int lives = r.nextInt(100);
    byte[] key = Life.key("s/", k);
    byte[] pad = new byte[r.nextInt(300)];
    boolean deletes = r.nextInt(5) == 0;
    life.write(
        worker,
        tx -> {
          Row row = t.row();
          long end = Life.number(life.small.get(tx, key));
          long before = life.clock.millis();
          boolean there = t.get(tx, t.key().set(k), row);
          if (there) {
            Violation.same(end, row.getLong(END), "end of session " + k);
          } else {
            Violation.unless(
                end <= life.clock.millis(),
                "session " + k + " is missing, which lasts until " + end + ", now is " + before);
          }
          long until = deletes ? 0 : before + lives;
          if (deletes) {
            Violation.unless(t.delete(tx, t.key().set(k)) == there, "delete of session " + k);
          } else if (there) {
            t.update(tx, row.setLong(END, until).setBytes(PAD, pad));
          } else {
            t.insert(tx, t.key().set(k), row.clear().setLong(END, until).setBytes(PAD, pad));
          }
          life.small.put(tx, key, Life.number(until));
        });
  }
}
