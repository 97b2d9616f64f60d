package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * A thread must be registered after its start, which may fail. So only {@link
 * io.fovea.memory.Threads} creates threads, and its {@code start} returns a running thread. {@link
 * EngineThreadsTest} makes starts fail.
 *
 * <p>Checks the formatted source lines.
 */
class ThreadsTest {
  private static final Pattern MAKES =
      Pattern.compile("\\bnew Thread\\(|Thread\\.ofPlatform\\(|Executors\\.|\\.unstarted\\(");

  /**
   * Exceptions: threads that are registered before their start, or that are not the engine's. Each
   * comment says why no waiter depends on a failed start.
   */
  private static final Set<String> ELSEWHERE =
      Set.of(
          "buffer/BackgroundWriter.java", // then the pool is not opened
          "btree/KeyLocationCache.java", // reverted
          "io/RingPoller.java", // then there is no ring
          "wal/Log.java", // then the log is not opened
          "wal/LogWriter.java"); // likewise

  @Test
  void threadsAreCreatedInOnePlace() throws IOException {
    List<String> wrong = new ArrayList<>();
    Set<String> elsewhere = new TreeSet<>();
    int starts = 0;
    Path root = Path.of("src/main/java/io/fovea");
    try (Stream<Path> files = Files.walk(root)) {
      for (Path file : files.filter(f -> f.toString().endsWith(".java")).toList()) {
        String name = root.relativize(file).toString().replace('\\', '/');
        List<String> lines = Files.readAllLines(file);
        for (int i = 0; i < lines.size() && !name.equals("memory/Threads.java"); i++) {
          String line = lines.get(i).strip();
          starts += line.contains("Threads.start(") ? 1 : 0;
          if (!line.startsWith("*") && !line.startsWith("//") && MAKES.matcher(line).find()) {
            elsewhere.add(name);
            if (!ELSEWHERE.contains(name)) {
              wrong.add(name + ":" + (i + 1) + ": " + line);
            }
          }
        }
      }
    }
    assertEquals(List.of(), wrong);
    assertEquals(ELSEWHERE, elsewhere);
    assertTrue(starts > 4, starts + " starts");
  }
}
