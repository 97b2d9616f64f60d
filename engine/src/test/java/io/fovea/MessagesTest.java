package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.FoveaException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.schema.Field;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/**
 * Exception messages are sentences: in every {@code new XException("...")} of the sources, a
 * literal that begins the message starts with an upper-case letter, and the last one ends with a
 * full stop.
 */
class MessagesTest {
  /** Exceptions that complete their sentence, or that the engine catches internally. */
  private static final Set<String> PARTS =
      Set.of(
          "AssertionError",
          "ChangesLostException",
          "CorruptionException",
          "DuplicateKeyException",
          "IOException",
          "IndexOutOfBoundsException",
          "KeyTooLargeException",
          "NativeException",
          "ParameterException",
          "StorageException",
          "StorageFullException",
          "ValueTooLargeException");

  /** A message may end with another message, which has its own full stop, or with a throwable. */
  private static final Pattern OTHER_MESSAGE =
      Pattern.compile("\\b(uncleanAdvice\\(\\)|what|getMessage\\(\\)|broken|failure|lacking|p)$");

  private static final Pattern NEW =
      Pattern.compile("new\\s+([A-Z]\\w*(?:Exception|Error))\\s*\\(");

  @Test
  void messagesAreSentences() throws IOException {
    List<String> wrong = new ArrayList<>();
    int seen = 0;
    for (Path file : sources()) {
      String source = Files.readString(file);
      Matcher m = NEW.matcher(source);
      while (m.find()) {
        String message = PARTS.contains(m.group(1)) ? null : message(source, m.end());
        if (message != null) {
          seen++;
          for (String fault : faults(message)) {
            long line = source.substring(0, m.start()).lines().count();
            wrong.add(file + ":" + line + ": " + fault + ": " + message);
          }
        }
      }
    }
    assertTrue(seen > 100, "the sources were not found: " + seen);
    assertEquals("", String.join("\n", wrong));
  }

  @Test
  void faultsAreFound() {
    assertEquals(List.of(), faults("\"A key of \" + n + \" bytes.\""));
    assertEquals(List.of(), faults("name + \" is closed.\""));
    assertEquals(List.of("lower case"), faults("\"the ring is closed.\""));
    assertEquals(List.of("no full stop"), faults("\"The ring is closed\""));
    assertEquals(List.of("no full stop"), faults("\"The size: \" + size"));
    assertEquals(List.of("no full stop"), faults("a ? \"One\" : \"Two.\""));
    assertEquals(List.of("lower case"), faults("a ? \"one.\" : \"Two.\""));
    assertEquals("\"a (b, \" + c(d, e)", message("new X(\"a (b, \" + c(d, e), f)", 6));
  }

  @Test
  void messagesNameWhatIsTooLong() {
    Layout.Definition b = Layout.define();
    Field owner = b.text("owner", 5);
    Field data = b.bytes("data", 5);
    KeySpec.Definition keys = KeySpec.define();
    keys.text("city", 4);
    keys.bytes("code", 4);
    TableSpec people = TableSpec.of("people", keys.build(), b.build());
    try (Database db = Database.inMemory(Options.defaults().bufferBytes(4 << 20))) {
      RowTable table = db.table(people);
      Row row = table.row();
      assertSays("value", "field owner", 7, 5, () -> row.setText(owner, "Cordula"));
      assertSays("value", "field data", 6, 5, () -> row.setBytes(data, new byte[6]));
      assertSays("value", "part city of a key", 6, 4, () -> table.key().text("Berlin"));
      Key key = table.key().text("Rom");
      assertSays("value", "part code of a key", 9, 4, () -> key.bytes(new byte[9]));
      RowTable raw = db.table(TableSpec.bytes("raw", 40));
      Table<byte[], byte[]> bytes = raw.bytes();
      assertSays(
          "key", "table raw", 41, 40, () -> db.run(tx -> bytes.put(tx, new byte[41], new byte[1])));
      assertSays("key", "table raw", 50, 40, () -> db.read(tx -> bytes.get(tx, new byte[50])));
      FoveaException e =
          assertThrows(
              KeyTooLargeException.class, () -> db.table(TableSpec.bytes("longer", 60_000)));
      assertTrue(e.getMessage().contains("key of table longer"), e.getMessage());
    }
    IllegalArgumentException e =
        assertThrows(IllegalArgumentException.class, () -> TableSpec.bytes("raw", 0));
    assertTrue(e.getMessage().contains("keyBytesMax can't be 0"), e.getMessage());
    assertTrue(e.getMessage().contains("table raw"), e.getMessage());
  }

  private static void assertSays(
      String what, String where, int bytes, int maxBytes, Executable refused) {
    assertEquals(
        "A "
            + what
            + " of "
            + bytes
            + " bytes is too long for "
            + where
            + ": the maximum is "
            + maxBytes
            + " bytes.",
        assertThrows(FoveaException.class, refused).getMessage());
  }

  private static List<Path> sources() throws IOException {
    Path module = Path.of(System.getProperty("basedir", ".")).toAbsolutePath().normalize();
    List<Path> files = new ArrayList<>();
    for (String name :
        List.of("bindings", "engine", "integrations/micrometer", "integrations/ratis")) {
      try (Stream<Path> all = Files.walk(module.resolveSibling(name).resolve("src/main/java"))) {
        all.filter(f -> f.toString().endsWith(".java") && !f.toString().contains("generated"))
            .forEach(files::add);
      }
    }
    return files;
  }

  /** Returns the first argument with a literal, from behind the parenthesis; null for none. */
  private static String message(String source, int from) {
    int depth = 1;
    int start = from;
    boolean literal = false;
    for (int i = from; ; i++) {
      char c = source.charAt(i);
      if (c == '"' || c == '\'') {
        literal |= c == '"';
        i = end(source, i);
      } else if (c == '(' || c == '{') {
        depth++;
      } else if (c == ')' || c == '}') {
        depth--;
      }
      if (depth == 0 || depth == 1 && c == ',') {
        if (literal) {
          return source.substring(start, i).strip().replaceAll("\\s+", " ");
        }
        start = i + 1;
      }
      if (depth == 0) {
        return null;
      }
    }
  }

  /** Returns the end of the literal that begins here. */
  private static int end(String source, int from) {
    char quote = source.charAt(from);
    int i = from + 1;
    while (source.charAt(i) != quote) {
      i += source.charAt(i) == '\\' ? 2 : 1;
    }
    return i;
  }

  private static List<String> faults(String message) {
    List<String> faults = new ArrayList<>();
    List<String> branches = branches(message);
    for (String b : branches) {
      if (b.startsWith("\"") && Character.isLowerCase(b.charAt(1))) {
        faults.add("lower case");
      }
      boolean ends = b.endsWith(".\"") || b.endsWith(".\")") || b.endsWith("'.'");
      if (!ends && !OTHER_MESSAGE.matcher(b).find()) {
        faults.add("no full stop");
      }
    }
    return faults;
  }

  private static List<String> branches(String message) {
    int depth = 0;
    int question = -1;
    for (int i = 0; i < message.length(); i++) {
      char c = message.charAt(i);
      if (c == '"' || c == '\'') {
        i = end(message, i);
      } else if (c == '(') {
        depth++;
      } else if (c == ')') {
        depth--;
      } else if (depth == 0 && c == '?') {
        question = i;
      } else if (depth == 0 && c == ':' && question >= 0) {
        List<String> both = new ArrayList<>(branches(message.substring(question + 1, i).strip()));
        both.addAll(branches(message.substring(i + 1).strip()));
        return both;
      }
    }
    return List.of(message);
  }
}
