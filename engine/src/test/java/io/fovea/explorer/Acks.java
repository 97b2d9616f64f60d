package io.fovea.explorer;

import io.fovea.Database;
import io.fovea.Table;
import io.fovea.schema.TableSpec;

/** Checks that acknowledged writes are present. */
final class Acks {
  private Acks() {}

  static void require(Database db, long[] least, String what) {
    Table<byte[], byte[]> small = db.table(TableSpec.bytes("small", 32)).bytes();
    db.read(
        tx -> {
          for (int i = 0; i < least.length; i++) {
            long found = Life.number(small.get(tx, Life.key("a/", i)));
            if (found < least[i]) {
              throw new Violation(
                  what
                      + ": write of worker "
                      + i
                      + " "
                      + least[i]
                      + " was acknowledged, found "
                      + found);
            }
          }
          return null;
        });
  }
}
