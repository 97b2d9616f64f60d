package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** What verification finds if an extractor throws. */
class VerifyExtractorTest {
  private static byte[] string(String s) {
    return s.getBytes(StandardCharsets.UTF_8);
  }

  /** The finding names the index, the number of failures, and a key. */
  @Test
  void isAFinding() {
    AtomicBoolean fails = new AtomicBoolean();
    Layout.Definition row = Layout.define();
    Field x = row.int32("x");
    IndexSpec ofRows =
        IndexSpec.extracted(
            "of rows",
            KeySpec.of(FieldType.INT32),
            false,
            (key, r, entry) -> {
              if (fails.get() && r.getInt(x) > 1) {
                throw new IllegalStateException("no parser for " + r.getInt(x));
              }
              entry.set(r.getInt(x));
              return true;
            });
    IndexSpec ofBytes =
        IndexSpec.bytes(
            "of bytes",
            KeySpec.of(FieldType.INT32),
            false,
            (key, value, entry) -> {
              if (!fails.get()) {
                entry.set(value.length);
              }
              return true; // the engine reports a missing part
            });
    try (Database db = Database.inMemory(Options.defaults().bufferBytes(4 << 20))) {
      RowTable rows =
          db.table(TableSpec.of("r", KeySpec.of(FieldType.INT64), row.build()).with(ofRows));
      Table<byte[], byte[]> t = db.table(TableSpec.bytes("t", 20).with(ofBytes)).bytes();
      db.run(
          tx -> {
            for (int i = 1; i <= 3; i++) {
              rows.put(tx, rows.key().set(i), rows.row().setInt(x, i));
            }
            t.put(tx, string("a"), string("1"));
          });
      assertEquals(List.of(), db.verify().problems());
      fails.set(true);
      List<String> problems = db.verify().problems();
      assertEquals(2, problems.size(), problems::toString);
      String one = problems.stream().filter(p -> p.contains("of rows")).findFirst().orElseThrow();
      assertTrue(one.contains("its extractor throws for 2 records"), one);
      assertTrue(one.contains("(2)") && one.contains("no parser for 2"), one);
      String other =
          problems.stream().filter(p -> p.contains("of bytes")).findFirst().orElseThrow();
      assertTrue(other.contains("throws for 1 record") && other.contains("[97]"), other);
      fails.set(false);
      assertEquals(List.of(), db.verify().problems());
    }
  }
}
