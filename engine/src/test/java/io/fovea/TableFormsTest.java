package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.InvalidUseException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.error.RecordNotFoundException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.Id;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Compares point operations on the three forms of a table (rows, bytes, objects) with a sorted map,
 * including the transaction's own uncommitted changes.
 */
@Tag("slow")
class TableFormsTest {
  public record Note(@Id long number, String text) {}

  private static final Layout.Definition B = Layout.define();
  private static final Field TEXT = B.text("text", 2000);
  private static final TableSpec ROWS =
      TableSpec.of("rows", KeySpec.of(FieldType.INT64), B.build());
  private static final TableSpec BYTES = TableSpec.bytes("bytes", 8);
  private static final ObjectSpec<Long, Note> NOTES =
      ObjectSpec.of("notes", Long.class, Note.class);

  private enum Form {
    ROWS {
      @Override
      Table<Long, Note> table(Database db) {
        return db.table(TableFormsTest.ROWS)
            .as(
                new KeyCodec<>() {
                  @Override
                  public void encode(Long number, Key key) {
                    key.set((long) number);
                  }

                  @Override
                  public Long decode(Key key) {
                    return key.getLong(0);
                  }
                },
                new Codec<>() {
                  @Override
                  public void encode(Note note, Row row) {
                    // A row does not contain its number, so the text does.
                    row.setText(TEXT, note.number + ":" + note.text);
                  }

                  @Override
                  public Note decode(Row row) {
                    return note(row.getText(TEXT));
                  }
                });
      }
    },
    BYTES {
      @Override
      Table<Long, Note> table(Database db) {
        return db.table(TableFormsTest.BYTES)
            .as(
                new ByteCodec<>() {
                  @Override
                  public byte[] encode(Long number) {
                    return ByteBuffer.allocate(8).putLong(number).array();
                  }

                  @Override
                  public Long decode(byte[] bytes) {
                    return ByteBuffer.wrap(bytes).getLong();
                  }
                },
                new ByteCodec<>() {
                  @Override
                  public byte[] encode(Note note) {
                    return (note.number + ":" + note.text).getBytes(StandardCharsets.UTF_8);
                  }

                  @Override
                  public Note decode(byte[] bytes) {
                    return note(new String(bytes, StandardCharsets.UTF_8));
                  }
                });
      }
    },
    OBJECTS {
      @Override
      Table<Long, Note> table(Database db) {
        return db.table(NOTES);
      }
    };

    abstract Table<Long, Note> table(Database db);

    private static Note note(String stored) {
      int colon = stored.indexOf(':');
      return new Note(Long.parseLong(stored.substring(0, colon)), stored.substring(colon + 1));
    }
  }

  @TempDir Path dir;

  /** The buffer holds a tenth of the data, so that pages are missing for keys of a batch. */
  @ParameterizedTest
  @EnumSource
  void pointOperations(Form form) {
    Random r = new Random(form.ordinal());
    TreeMap<Long, Note> expected = new TreeMap<>();
    try (Database db =
        Database.open(dir.resolve("forms.fovea"), Options.defaults().bufferBytes(1 << 20))) {
      Table<Long, Note> table = form.table(db);
      for (int round = 0; round < 12; round++) {
        boolean wide = round % 4 == 0;
        db.run(
            tx -> {
              for (int i = 0; i < (wide ? 1_500 : 100); i++) {
                change(tx, table, expected, r);
              }
              readSome(tx, table, expected, r, wide ? 3_000 : 70);
            });
        assertEquals(expected.size(), table.count());
        assertTrue(table.dataBytes() >= 8L * expected.size());
      }
      db.run(tx -> readSome(tx, table, expected, r, 3_000));
    }
  }

  private static void change(
      Transaction tx, Table<Long, Note> table, TreeMap<Long, Note> expected, Random r) {
    long number = r.nextInt(4_000);
    Note note = new Note(number, "n".repeat(r.nextInt(1_500)));
    switch (r.nextInt(4)) {
      case 0 -> assertEquals(expected.remove(number) != null, table.delete(tx, number));
      case 1 -> {
        Note after = expected.computeIfPresent(number, (k, v) -> note);
        assertEquals(after, table.updateIfPresent(tx, number, before -> note));
      }
      default -> {
        table.put(tx, number, note);
        expected.put(number, note);
      }
    }
  }

  private static void readSome(
      Transaction tx, Table<Long, Note> table, TreeMap<Long, Note> expected, Random r, int keys) {
    List<Long> wanted = new ArrayList<>();
    List<@Nullable Note> found = new ArrayList<>();
    for (int i = 0; i < keys; i++) {
      long number = r.nextInt(4_200); // some keys are beyond the last record or duplicates
      wanted.add(number);
      found.add(expected.get(number));
    }
    assertEquals(found, table.getAll(tx, wanted));
    for (long number : wanted.subList(0, 20)) {
      assertEquals(expected.get(number), table.get(tx, number));
      assertEquals(expected.get(number), table.getForUpdate(tx, number));
      assertEquals(expected.containsKey(number), table.exists(tx, number));
    }
    assertEquals(List.of(), table.getAll(tx, List.of()));
  }

  @ParameterizedTest
  @EnumSource
  void nullAmongTheKeys(Form form) {
    try (Database db = Database.inMemory(Options.defaults().bufferBytes(8 << 20))) {
      Table<Long, Note> table = form.table(db);
      db.run(
          tx -> {
            table.put(tx, 1L, new Note(1, "one"));
            List<Long> keys = Arrays.asList(1L, null);
            assertThrows(NullPointerException.class, () -> table.getAll(tx, keys));
            assertEquals(List.of(new Note(1, "one")), table.getAll(tx, List.of(1L)));
          });
    }
  }

  @Test
  void bytes() {
    try (Database db = Database.inMemory(Options.defaults().bufferBytes(8 << 20))) {
      Table<byte[], byte[]> table = db.table(BYTES).bytes();
      byte[] a = {1};
      byte[] b = {2};
      byte[] large = new byte[40_000]; // longer than a page and than the staging buffer
      large[39_999] = 7;
      db.run(
          tx -> {
            assertEquals(false, table.updateIfPresent(tx, a, b));
            assertThrows(RecordNotFoundException.class, () -> table.update(tx, a, b));
            assertEquals(Collections.singletonList(null), table.getAll(tx, List.of(a)));
            table.put(tx, a, a);
            table.update(tx, a, large);
            table.put(tx, b, b);
            List<byte @Nullable []> found = table.getAll(tx, List.of(b, a, a));
            assertEquals(7, found.get(1)[39_999]);
            assertEquals(7, found.get(2)[39_999]);
            assertEquals(1, found.get(0).length);
            assertThrows(KeyTooLargeException.class, () -> table.getAll(tx, List.of(new byte[9])));
            assertThrows(
                InvalidUseException.class, () -> table.getAll(tx, List.of(a, new byte[0])));
            assertEquals(40_000, table.getForUpdate(tx, a).length);
          });
      assertEquals(2, table.table().count());
    }
  }
}
