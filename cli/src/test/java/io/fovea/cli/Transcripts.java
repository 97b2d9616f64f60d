package io.fovea.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.ObjectSpec;
import io.fovea.Options;
import io.fovea.RowTable;
import io.fovea.config.Durability;
import io.fovea.schema.Field;
import io.fovea.schema.IndexSpec;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * The transcripts in {@code transcripts.txt}: each command occurs with a success and an error.
 *
 * <pre>
 *   $ get FILE stock 2          a command line; FILE is the database, DIR the folder
 *   &lt; text                      a line of standard input
 *   item  2                     a line of standard output; * matches any text, ... any lines
 *   ! fovea: ...                a line of standard error, likewise
 *   [0]                         the exit code
 * </pre>
 */
final class Transcripts {
  private static final Layout.Definition B = Layout.define();
  private static final Field NAME = B.text("name", 20);
  private static final Field QUANTITY = B.int32("quantity");
  private static final TableSpec STOCK =
      TableSpec.of("stock", KeySpec.builder().int32("item").build(), B.build())
          .with(IndexSpec.on("by_quantity", QUANTITY));

  record Thing(String name, int size) {}

  private static final ObjectSpec<String, Thing> THINGS =
      ObjectSpec.of("things", String.class, Thing.class);

  private Transcripts() {}

  /** A command of the transcript, with its results. */
  record Entry(int line, String command, List<String> in, List<String> out, int code) {
    /** The words of the command line. */
    Object[] args(Path dir) {
      return Words.of(command).all().stream()
          .map(w -> w.replace("FILE", dir.resolve("db").toString()))
          .map(w -> w.replace("DIR", dir.toString()))
          .toArray();
    }

    /** The standard input. */
    byte[] typed() {
      return in.stream()
          .map(l -> l + "\n")
          .collect(Collectors.joining())
          .getBytes(StandardCharsets.UTF_8);
    }
  }

  static void make(Path dir) {
    Options options =
        Options.defaults()
            .durability(Durability.SYNC)
            .bufferBytes(8 << 20)
            .log(l -> l.changeRetentionBytes(1 << 20));
    try (Database db = Database.open(dir.resolve("db"), options)) {
      RowTable t = db.table(STOCK);
      db.run(
          tx -> {
            for (int i = 1; i <= 3; i++) {
              t.put(
                  tx,
                  t.key().set(i),
                  t.row().setText(NAME, "item " + i).setInt(QUANTITY, 10 * (4 - i)));
            }
          });
      var things = db.table(THINGS);
      db.run(tx -> things.put(tx, "a", new Thing("anvil", 7)));
      var bytes = db.table(TableSpec.bytes("bytes", 10)).bytes();
      db.run(tx -> bytes.put(tx, new byte[] {1}, new byte[] {2, 3}));
    }
  }

  static List<Entry> entries() throws IOException {
    List<String> lines;
    try (InputStream in = Transcripts.class.getResourceAsStream("transcripts.txt")) {
      lines = new String(in.readAllBytes(), StandardCharsets.UTF_8).lines().toList();
    }
    List<Entry> all = new ArrayList<>();
    String command = null;
    List<String> in = new ArrayList<>();
    List<String> out = new ArrayList<>();
    int number = 0;
    for (int i = 0; i < lines.size(); i++) {
      String line = lines.get(i);
      if (line.startsWith("$ ")) {
        assertEquals(null, command, "line " + (i + 1));
        command = line.substring(2);
        number = i + 1;
      } else if (command != null && line.matches("\\[\\d+]")) {
        int code = Integer.parseInt(line.substring(1, line.length() - 1));
        all.add(new Entry(number, command, List.copyOf(in), List.copyOf(out), code));
        command = null;
        in.clear();
        out.clear();
      } else if (command != null && (line.equals("<") || line.startsWith("< "))) {
        in.add(line.substring(Math.min(2, line.length())));
      } else if (command != null) {
        out.add(line);
      } else {
        assertTrue(line.isBlank() || line.startsWith("#"), "line " + (i + 1) + ": " + line);
      }
    }
    assertEquals(null, command);
    return all;
  }
}
