package io.fovea.explorer;

import io.fovea.Index;
import io.fovea.IndexCursor;
import io.fovea.Key;
import io.fovea.ScanOrder;
import io.fovea.Table;
import io.fovea.error.DuplicateKeyException;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.TableSpec;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/** Byte strings with a unique index: each number belongs to one record. */
final class ByteIndexes {
  private static final int RECORDS = 40;
  private static final int NUMBERS = 60;
  private static final TableSpec SPEC =
      TableSpec.bytes("tickets", 20)
          .with(
              IndexSpec.bytes(
                  "by_number",
                  KeySpec.of(FieldType.INT64),
                  true,
                  (key, value, entry) -> {
                    entry.int64(Life.number(value));
                    return true;
                  }));

  private ByteIndexes() {}

  static void step(Life life, Worker worker) throws Exception {
    Random r = worker.random;
    Table<byte[], byte[]> t = life.db.table(SPEC).bytes();
    Index<Key, byte[], byte[]> index = t.index("by_number", Key.class);
    if (r.nextInt(4) == 0) {
      life.<@Nullable Void, RuntimeException>readOnly(
          tx -> {
            int n = 0;
            long last = -1;
            try (IndexCursor<Key, byte[], byte[]> c =
                index.scan(tx, null, null, ScanOrder.ASCENDING)) {
              while (c.next()) {
                long number = Life.number(c.value());
                Violation.unless(number > last, "number " + number + " behind " + last);
                last = number;
                n++;
              }
            }
            Violation.same(Ranges.members(t, tx), n, "entries of by_number");
            return null;
          });
      return;
    }
    byte[] key = Life.key("k", r.nextInt(RECORDS));
    long number = r.nextInt(NUMBERS);
    boolean deletes = r.nextInt(4) == 0;
    try {
      life.write(
          worker,
          tx -> {
            if (deletes) {
              t.delete(tx, key);
              return;
            }
            // refused by the index, or found by a lookup before
            if (number % 2 == 0) {
              var there = index.get(tx, index.key().set(number));
              if (there != null && !java.util.Arrays.equals(there.getKey(), key)) {
                return;
              }
            }
            t.put(tx, key, Life.number(number));
          });
    } catch (DuplicateKeyException e) {
      Violation.unless(number % 2 == 1, "a free number was refused: " + e);
    } catch (java.util.concurrent.CompletionException | java.util.concurrent.ExecutionException e) {
      if (!(e.getCause() instanceof DuplicateKeyException)) {
        throw e;
      }
      Violation.unless(number % 2 == 1, "a free number was refused: " + e);
    }
  }
}
