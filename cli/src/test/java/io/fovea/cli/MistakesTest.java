package io.fovea.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import picocli.CommandLine.Model.OptionSpec;

/**
 * Replaces every word of every command line of the {@link Transcripts} by garbage, and gives
 * garbage to every option of every command; each run takes a third of the garbage. {@code
 * -Dcli.seed=N} repeats a run, {@code -Dcli.all=true} tries all. Each command must end with an exit
 * code and a readable message, never with a stack trace, a class name, or the bare message of a
 * library.
 */
@Timeout(value = 15, unit = TimeUnit.MINUTES)
class MistakesTest {
  private static final long SEED = Long.getLong("cli.seed", System.nanoTime() & 0xFFFF);

  /** In each place one of this many pieces of garbage is tried. */
  private static final int STRIDE = Boolean.getBoolean("cli.all") ? 1 : 3;

  private static final List<String> GARBAGE =
      List.of(
          "",
          "--",
          "-1",
          "99999999999999999999",
          "x=",
          "..",
          "/",
          "no/such/file",
          "\u0000",
          "\uD800",
          "%s%n'\"\\",
          "a".repeat(300),
          "{\"fovea\":{",
          "x:VARCHAR(1)");

  /** Patterns of library messages. */
  private static final List<String> RAW =
      List.of(
          "Exception",
          "at io.fovea",
          "java.",
          "No enum constant",
          "For input string",
          "Cannot invoke",
          "Index ",
          "class ",
          "picocli");

  private static final Set<Integer> CODES = Set.of(0, 1, 2, 4);

  @TempDir Path dir;

  private static void requireWords(List<String> words, Fixture.Ran ran) {
    String what = "-Dcli.seed=" + SEED + ": " + words + " -> " + ran;
    assertTrue(CODES.contains(ran.code()), what);
    for (String raw : RAW) {
      String said = ran.err();
      for (String word : words) { // messages may quote them
        said = word.length() < 3 ? said : said.replace(word, "");
      }
      assertTrue(!said.contains(raw), what);
    }
    if (ran.code() == 2) {
      List<String> lines = ran.err().lines().filter(l -> l.startsWith("fovea: ")).toList();
      assertTrue(!lines.isEmpty(), what);
      for (String line : lines) {
        assertTrue(line.length() > "fovea: ".length() + 8, what);
      }
    }
  }

  /** Runs in an empty folder, since a command may do what it is asked to do. */
  private Fixture.Ran run(List<String> words, byte[] in) {
    try {
      return Fixture.ran(in, words.toArray());
    } catch (RuntimeException | Error e) {
      return fail(words + " throws " + e, e);
    }
  }

  /** A part of the garbage, which differs between places. */
  private static List<String> garbage(int place) {
    List<String> some = new ArrayList<>();
    for (int i = (int) ((SEED + place) % STRIDE); i < GARBAGE.size(); i += STRIDE) {
      some.add(GARBAGE.get(i));
    }
    return some;
  }

  /** Commands create files with such names. */
  private String inFolder(String garbage) {
    return garbage.startsWith("/") || garbage.isEmpty() ? garbage : dir + "/" + garbage;
  }

  @AfterEach
  void nothingInTheCurrentFolder() {
    assertFalse(Files.exists(Path.of("db")), "a backup in the current folder");
  }

  @Test
  void everyWordOfEveryCommandLine() throws IOException {
    Transcripts.make(dir);
    TreeMap<String, Integer> tried = new TreeMap<>();
    for (Transcripts.Entry e : Transcripts.entries()) {
      List<String> words = Arrays.stream(e.args(dir)).map(Object::toString).toList();
      String command = words.getFirst();
      if (e.code() != 0 || tried.merge(command, 1, Integer::sum) > 1) {
        continue;
      }
      for (int i = 1; i < words.size(); i++) {
        for (String garbage : garbage(i)) {
          List<String> of = new ArrayList<>(words);
          of.set(i, words.get(i).startsWith(dir.toString()) ? inFolder(garbage) : garbage);
          requireWords(of, run(of, e.typed()));
        }
      }
      for (String garbage : garbage(0)) {
        List<String> more = new ArrayList<>(words);
        more.add(garbage);
        requireWords(more, run(more, e.typed()));
        if (!command.equals("shell")) {
          requireWords(words, run(words, garbage.getBytes(StandardCharsets.UTF_8)));
        }
      }
    }
  }

  @Test
  void everyOptionOfEveryCommand() throws IOException {
    Transcripts.make(dir);
    String file = dir.resolve("db").toString();
    PrintWriter none = new PrintWriter(PrintWriter.nullWriter());
    Main main = new Main(InputStream.nullInputStream(), none, none, null);
    int n = 0;
    int tried = 0;
    for (CommandLine each : Main.commandLine(main, "fovea").getSubcommands().values()) {
      String name = each.getCommandName();
      if (Set.of("top", "doctor", "completion").contains(name)) {
        continue;
      }
      for (OptionSpec option : each.getCommandSpec().options()) {
        if (option.longestName().equals("--follow")) {
          continue; // it does not end
        }
        for (String garbage : garbage(n)) {
          List<String> words = new ArrayList<>(List.of(name));
          words.addAll(List.of(file, "stock", "1"));
          String value = option.type() == Path.class ? inFolder(garbage) : garbage;
          words.add(option.longestName() + (option.arity().max() > 0 ? "=" + value : ""));
          requireWords(words, run(words, new byte[0]));
          tried++;
          if (option.arity().max() == 0) {
            break;
          }
        }
        n++;
      }
    }
    assertTrue(tried > 400 / STRIDE, "tried: " + tried);
  }

  /** First lines written by hand. */
  @Test
  void everyPartOfAFirstLine() {
    String good =
        "{\"fovea\":{\"table\":\"x\",\"kind\":\"rows\",\"key\":[{\"name\":\"id\",\"type\":\"INT32\"}],"
            + "\"row\":[{\"name\":\"text\",\"type\":\"VARTEXT\",\"bytes\":20},"
            + "{\"name\":\"due\",\"type\":\"INT64\",\"bytes\":8,\"nullable\":false}],"
            + "\"indexes\":[{\"index\":\"i\",\"unique\":false,\"key\":[{\"name\":\"due\"}]}],\"expires\":{\"field\":\"due\",\"after\":\"PT1H\"}}}\n"
            + "{\"id\":1,\"text\":\"a\",\"due\":9000000000000000000}\n";
    Path file = dir.resolve("good");
    Fixture.Ran ran = run(List.of("import", file.toString(), "x"), bytes(good));
    assertEquals("1 record\n", ran.out(), ran::toString);
    assertTrue(
        Fixture.lines("schema", file).contains("  row    text VARTEXT(20), due INT64"),
        Fixture.lines("schema", file)::toString);
    String[] parts = {
      "\"INT32\"",
      "\"VARTEXT\"",
      "20",
      "8",
      "\"due\"",
      "\"PT1H\"",
      "\"rows\"",
      "false",
      "\"id\"",
      "[{\"name\":\"due\"}]",
      "[{\"name\":\"id\",\"type\":\"INT32\"}]"
    };
    String[] wrong = {"\"VARCHAR\"", "\"\"", "null", "-1", "70000", "1e400", "{}", "[]", "[[]]"};
    int n = 0;
    for (String part : parts) {
      for (String by : wrong) {
        if ((n + n / wrong.length + SEED) % STRIDE != 0) {
          n++;
          continue;
        }
        String input = good.replaceFirst(java.util.regex.Pattern.quote(part), by);
        Path to = dir.resolve("to" + n++);
        List<String> words = List.of("import", to.toString(), "x");
        Fixture.Ran said = run(words, bytes(input));
        requireWords(words, said);
        if (said.err().contains("first line")) {
          assertFalse(Files.exists(to), said.toString());
        }
      }
    }
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
