package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Translation;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Descent steps are counted as hinted only under translations with hints. */
class StepsByHintTest {
  private static final int N = 3000;

  private static DatabaseStats read(Options options) {
    Layout.Definition b = Layout.define();
    Field number = b.int64("number");
    try (Database db = Database.inMemory(options.bufferBytes(16 << 20))) {
      RowTable t = db.table(TableSpec.of("t", KeySpec.of(FieldType.INT32), b.build()));
      db.run(
          tx -> {
            for (int i = 0; i < N; i++) {
              t.put(tx, t.key().set(i), t.row().setLong(number, i));
            }
          });
      for (int round = 0; round < 2; round++) {
        db.read(
            tx -> {
              for (int i = 0; i < N; i++) {
                assertTrue(t.get(tx, t.key().set(i), t.row()));
              }
              return null;
            });
      }
      return db.stats();
    }
  }

  @ParameterizedTest
  @EnumSource
  void underEachTranslation(Translation kind) {
    DatabaseStats stats = read(Options.defaults().experiments(exp -> exp.translation(kind)));
    long steps = stats.descents().steps();
    assertTrue(steps > N);
    if (kind == Translation.VIRTUAL || kind == Translation.DIRECT) {
      assertEquals(0, stats.descents().stepsByHint());
      assertEquals(0, stats.buffer().mispredicted());
    } else {
      assertTrue(stats.descents().stepsByHint() > steps / 2, stats.descents()::toString);
    }
  }

  @ParameterizedTest
  @EnumSource
  void withoutHints(Translation kind) {
    Options options =
        Options.defaults().experiments(exp -> exp.translation(kind).hints(Hints.NONE));
    DatabaseStats stats = read(options);
    assertEquals(0, stats.descents().stepsByHint());
    assertEquals(0, stats.buffer().hinted());
  }
}
