package io.fovea.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.fovea.Database;
import io.fovea.Options;
import io.fovea.Row;
import io.fovea.RowTable;
import io.fovea.Table;
import io.fovea.config.Durability;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.io.ByteArrayInputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/** A small database with a table, an index, long values, and free pages. */
final class Fixture {
  static final Options SMALL = Options.defaults().durability(Durability.NONE).bufferBytes(8 << 20);

  static final int ROWS = 3000;
  static final int LONGS = 3;

  static final Field X;
  static final TableSpec TABLE;
  static final TableSpec GONE;
  static final TableSpec BLOBS = TableSpec.bytes("blobs", 40);

  static {
    Layout.Definition b = Layout.define();
    X = b.text("x", 100);
    Layout layout = b.build();
    TABLE = TableSpec.of("t", KeySpec.of(FieldType.INT32), layout).with(IndexSpec.on("i", X));
    GONE = TableSpec.of("gone", KeySpec.of(FieldType.INT32), layout);
  }

  /** The output and exit code of a command. */
  record Ran(int code, String out, String err) {}

  private Fixture() {}

  static void fill(Database db) {
    RowTable t = db.table(TABLE);
    RowTable gone = db.table(GONE);
    Row row = t.row();
    Row row2 = gone.row();
    db.run(
        tx -> {
          for (int i = 0; i < ROWS; i++) {
            t.insert(tx, t.key().set(i * 7919 % ROWS), row.setText(X, "text " + i % 100));
            gone.insert(tx, gone.key().set(i), row2.setText(X, "y"));
          }
        });
    db.dropTable("gone");
    Table<byte[], byte[]> blobs = db.table(BLOBS).bytes();
    db.run(
        tx -> {
          for (int i = 0; i < LONGS; i++) {
            blobs.put(tx, ("long " + i).getBytes(StandardCharsets.UTF_8), new byte[20_000]);
          }
        });
  }

  static Path make(Path dir, Options options) {
    Path file = dir.resolve("db");
    try (Database db =
        Database.open(file, options.durability(Durability.NONE).bufferBytes(8 << 20))) {
      fill(db);
    }
    return file;
  }

  static Ran ran(Object... args) {
    return ran(new byte[0], args);
  }

  /** Runs a command with input. */
  static Ran ran(byte[] in, Object... args) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    String[] words = new String[args.length];
    for (int i = 0; i < args.length; i++) {
      words[i] = args[i].toString();
    }
    int code =
        Main.execute(
            new ByteArrayInputStream(in), new PrintWriter(out), new PrintWriter(err), words);
    return new Ran(code, out.toString(), err.toString());
  }

  /** Runs lines in a shell. */
  static Ran shell(List<?> args, String... lines) {
    return ran(String.join("\n", lines).getBytes(StandardCharsets.UTF_8), args.toArray());
  }

  /** Runs a command that must succeed; returns its lines. */
  static List<String> lines(Object... args) {
    return run(0, args).out().lines().toList();
  }

  /** An index by a computed key: the length of a text. */
  static IndexSpec byLength(Field text) {
    return IndexSpec.extracted(
        "by length",
        KeySpec.of(FieldType.INT32),
        false,
        (key, row, entry) -> {
          entry.set(row.length(text));
          return true;
        });
  }

  /** An index of byte strings: the size of the value. */
  static IndexSpec bySize() {
    return IndexSpec.bytes(
        "by size",
        KeySpec.of(FieldType.INT32),
        false,
        (key, value, entry) -> {
          entry.set(value.length);
          return true;
        });
  }

  static Ran run(int expected, Object... args) {
    Ran ran = ran(args);
    assertEquals(expected, ran.code, () -> Arrays.toString(args) + ran);
    return ran;
  }
}
