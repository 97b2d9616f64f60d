package io.fovea.explorer;

import io.fovea.Cursor;
import io.fovea.Database;
import io.fovea.ScanOrder;
import io.fovea.Table;
import io.fovea.Transaction;
import io.fovea.schema.TableSpec;
import java.util.Random;

/** Groups of records that are inserted singly and deleted as ranges; a small record counts each. */
final class Ranges {
  private static final int GROUPS = 8;

  private Ranges() {}

  private static byte[] prefix(int group) {
    return Life.text(String.format(java.util.Locale.ROOT, "g/%05d/", group));
  }

  private static byte[] member(int group, int i) {
    return Life.key(String.format(java.util.Locale.ROOT, "g/%05d/", group), i);
  }

  static void step(Life life, Worker worker) throws Exception {
    Random r = worker.random;
    int group = r.nextInt(GROUPS);
    int n = r.nextInt(4) == 0 ? 200 + r.nextInt(300) : 1 + r.nextInt(40);
    int size = r.nextInt(200);
    int how = r.nextInt(3);
    byte[] key = Life.key("r/", group);
    life.write(
        worker,
        tx -> {
          int there = (int) Life.number(life.small.get(tx, key));
          if (there == 0) {
            for (int i = 0; i < n; i++) {
              life.ranges.insert(tx, member(group, i), new byte[size]);
            }
            life.small.put(tx, key, Life.number(n));
            return;
          }
          long gone =
              switch (how) {
                case 0 -> life.ranges.deletePrefix(tx, prefix(group));
                case 1 -> life.ranges.deleteRange(tx, prefix(group), prefix(group + 1));
                default -> life.ranges.deleteRange(tx, prefix(group), prefix(group + 1), 30);
              };
          Violation.same(how == 2 ? Math.min(30, there) : there, gone, "deleted of range " + group);
          // After a partial delete, renumber the rest.
          int left = there - (int) gone;
          if (left > 0) {
            life.ranges.deletePrefix(tx, prefix(group));
            for (int i = 0; i < left; i++) {
              life.ranges.put(tx, member(group, i), new byte[size]);
            }
          }
          life.small.put(tx, key, Life.number(left));
        });
  }

  /** Checks all groups, or those of a table as a whole, against their counts. */
  static long check(Database db, Transaction tx) {
    if (db.describe("ranges") == null || db.describe("small") == null) {
      return 0;
    }
    Table<byte[], byte[]> ranges = db.table(TableSpec.bytes("ranges", 32)).bytes();
    Table<byte[], byte[]> small = db.table(TableSpec.bytes("small", 32)).bytes();
    long hash = 0;
    for (int g = 0; g < GROUPS; g++) {
      long n = 0;
      try (Cursor<byte[], byte[]> c = ranges.scanPrefix(tx, prefix(g), ScanOrder.ASCENDING)) {
        while (c.next()) {
          n++;
        }
      }
      Violation.same(Life.number(small.get(tx, Life.key("r/", g))), n, "members of group " + g);
      hash = hash * 31 + n;
    }
    return hash;
  }

  static long members(Table<byte[], byte[]> ranges, Transaction tx) {
    long n = 0;
    try (Cursor<byte[], byte[]> c = ranges.scan(tx, null, null, ScanOrder.DESCENDING)) {
      while (c.next()) {
        n++;
      }
    }
    return n;
  }

  static void read(Life life, Worker worker) {
    life.db.read(tx -> check(life.db, tx));
  }

  /** Deletes all records of the table. */
  static void clear(Life life, Worker worker) throws Exception {
    life.write(
        worker,
        tx -> {
          long sum = 0;
          for (int g = 0; g < GROUPS; g++) {
            sum += Life.number(life.small.get(tx, Life.key("r/", g)));
            life.small.put(tx, Life.key("r/", g), Life.number(0));
          }
          Violation.same(sum, life.ranges.deleteRange(tx, null, null), "deleted of all ranges");
        });
  }
}
