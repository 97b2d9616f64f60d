package io.fovea.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The output and exit code of each command, compared with {@link Transcripts}. */
@Timeout(value = 15, unit = TimeUnit.MINUTES)
class TranscriptsTest {
  /** Commands that need another process or a person have separate tests. */
  private static final Set<String> ELSEWHERE = Set.of("top", "doctor", "serve");

  @TempDir Path dir;

  @Test
  void matchOutput() throws IOException {
    Transcripts.make(dir);
    for (Transcripts.Entry e : Transcripts.entries()) {
      Fixture.Ran ran = Fixture.ran(e.typed(), e.args(dir));
      List<String> said = new ArrayList<>(ran.out().lines().toList());
      ran.err().lines().forEach(l -> said.add("! " + l));
      String is =
          said.stream()
              .map(l -> l.replace(dir.resolve("db").toString(), "FILE"))
              .map(l -> l.replace(dir.toString(), "DIR"))
              .map(l -> l.stripTrailing() + "\n")
              .collect(Collectors.joining());
      String what = "line " + e.line() + ": " + e.command() + "\n" + is;
      assertEquals(e.code(), ran.code(), what);
      assertTrue(pattern(e.out()).matcher(is).matches(), what);
    }
  }

  private static Pattern pattern(List<String> lines) {
    StringBuilder b = new StringBuilder();
    for (String line : lines) {
      if (line.equals("...")) {
        b.append("(?:.*\n)*?");
      } else {
        for (String part : line.stripTrailing().split("\\*", -1)) {
          b.append(Pattern.quote(part)).append(".*");
        }
        b.setLength(b.length() - 2);
        b.append("\n");
      }
    }
    return Pattern.compile(b.toString());
  }

  /** A new command must be added to the transcripts. */
  @Test
  void coverAllCommands() throws IOException {
    PrintWriter none = new PrintWriter(PrintWriter.nullWriter());
    Main main = new Main(InputStream.nullInputStream(), none, none, null);
    Set<String> commands = new TreeSet<>(Main.commandLine(main, "fovea").getSubcommands().keySet());
    commands.removeAll(ELSEWHERE);
    TreeMap<String, Set<Boolean>> ends = new TreeMap<>();
    for (Transcripts.Entry e : Transcripts.entries()) {
      String name = Words.of(e.command()).all().getFirst();
      ends.computeIfAbsent(name, n -> new TreeSet<>()).add(e.code() == 0);
    }
    for (String command : commands) {
      assertEquals(Set.of(true, false), ends.get(command), command + ": well, and a mistake");
    }
  }
}
