package io.fovea.explorer;

import io.fovea.BufferShare;
import io.fovea.Database;
import io.fovea.Options;
import io.fovea.Table;
import io.fovea.schema.TableSpec;
import java.util.Arrays;
import java.util.Objects;

/** Another database that shares the buffer, and sometimes uses it. */
final class SharedBuffers {
  private SharedBuffers() {}

  static void step(Life life, Worker worker) {
    BufferShare share = Objects.requireNonNull(life.share);
    int n = 1 + worker.random.nextInt(300);
    try (Database db =
        Database.inMemory(
            Options.defaults().bufferBytes(share.bytes() / 2).bufferShare(share, 700_000))) {
      Table<byte[], byte[]> t = db.table(TableSpec.bytes("t", 16)).bytes();
      db.run(
          tx -> {
            for (int i = 0; i < n; i++) {
              t.put(tx, Life.key("n", i), filled(i));
            }
          });
      Violation.unless(share.used() <= share.bytes(), "the share is exceeded");
      db.read(
          tx -> {
            for (int i = 0; i < n; i++) {
              Violation.unless(
                  Arrays.equals(filled(i), t.get(tx, Life.key("n", i))), "record of a neighbour");
            }
            return null;
          });
    }
  }

  private static byte[] filled(int i) {
    byte[] value = new byte[900];
    Arrays.fill(value, (byte) i);
    return value;
  }
}
