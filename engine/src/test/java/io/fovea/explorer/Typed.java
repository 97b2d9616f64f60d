package io.fovea.explorer;

import io.fovea.Cursor;
import io.fovea.Index;
import io.fovea.ObjectSpec;
import io.fovea.ScanOrder;
import io.fovea.Table;
import io.fovea.schema.Formerly;
import io.fovea.schema.Initial;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/** Objects: their number is known, each states its version, and a unique name belongs to one. */
final class Typed {
  private static final int THINGS = 40;

  /** The stored class; public for its codec. */
  public record Thing(long id, String name, long version, List<String> tags) {}

  private static final ObjectSpec<Long, Thing> SPEC =
      ObjectSpec.of("things", Long.class, Thing.class).unique("by_name", "name");

  /** A later version of the class. */
  public record Later(
      long id,
      @Formerly("name") String title,
      long version,
      List<String> tags,
      @Initial("7") int added) {}

  private Typed() {}

  /** Reads objects of an older class as those of a newer one, and stores them as such. */
  static void evolve(Life life, Worker worker) {
    String name = "object" + worker.id;
    life.db.dropTable(name);
    Table<Long, Thing> old = life.db.table(ObjectSpec.of(name, Long.class, Thing.class));
    int n = 1 + worker.random.nextInt(60);
    life.db.run(
        tx -> {
          for (long i = 0; i < n; i++) {
            old.insert(tx, i, thing(i, i));
          }
        });
    Table<Long, Later> now = life.db.table(ObjectSpec.of(name, Long.class, Later.class));
    life.db.run(
        tx -> {
          for (long i = 0; i < n; i++) {
            Thing first = thing(i, i);
            Later right = new Later(i, first.name, i, first.tags, i % 3 == 0 ? 8 : 7);
            Later found = now.get(tx, i);
            if (i % 3 == 0) {
              Violation.unless(found != null && found.added == 7, "object " + i + " of " + name);
              now.put(tx, i, right);
              found = now.get(tx, i);
            }
            Violation.unless(right.equals(found), "object " + i + " of " + name + " is " + found);
          }
        });
    Violation.same(n, now.count(), "objects of " + name);
    Violation.unless(life.db.dropTable(name), "drop " + name);
  }

  private static Thing thing(long id, long version) {
    List<String> tags = new ArrayList<>();
    for (int i = 0; i < version % 5; i++) {
      tags.add("tag " + id + " " + i);
    }
    return new Thing(id, "name " + id + "/" + version % 3, version, tags);
  }

  private static void require(Thing t, long id) {
    Violation.unless(t.equals(thing(id, t.version)), "thing " + id + " is " + t);
  }

  static void step(Life life, Worker worker) throws Exception {
    Random r = worker.random;
    Table<Long, Thing> t = life.db.table(SPEC);
    Index<String, Long, Thing> names = t.index("by_name", String.class);
    long id = r.nextInt(THINGS);
    byte[] key = Life.key("o/", id);
    if (r.nextInt(3) == 0) {
      life.<@Nullable Void, RuntimeException>readOnly(
          tx -> {
            int n = 0;
            try (Cursor<Long, Thing> c = t.scan(tx, null, null, ScanOrder.ASCENDING)) {
              while (c.next()) {
                require(c.value(), c.key());
                Map.Entry<Long, Thing> e = names.get(tx, c.value().name());
                Violation.unless(
                    e != null && e.getValue().equals(c.value()), "by_name of " + c.value());
                n++;
              }
            }
            long counted = 0;
            for (int i = 0; i < THINGS; i++) {
              counted += Life.number(life.small.get(tx, Life.key("o/", i))) > 0 ? 1 : 0;
            }
            Violation.same(counted, n, "things");
            return null;
          });
      return;
    }
    boolean deletes = r.nextInt(4) == 0;
    life.write(
        worker,
        tx -> {
          long state = Life.number(life.small.get(tx, key));
          Thing old = t.get(tx, id);
          Violation.unless((old != null) == (state > 0), "thing " + id + " presence");
          if (old != null) {
            require(old, id);
            Violation.same(state, old.version(), "version of thing " + id);
          }
          long next = Math.abs(state) + (deletes ? 0 : 1);
          if (deletes) {
            Violation.unless(t.delete(tx, id) == (state > 0), "delete of thing " + id);
          } else {
            t.put(tx, id, thing(id, next));
          }
          life.small.put(tx, key, Life.number(deletes ? -next : next));
        });
  }
}
