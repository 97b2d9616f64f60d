package io.fovea.support;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Runs the jcstress tests (classes {@code *Races}) in separate JVMs, briefly: every other test, and
 * the rest in another run. So a broken protocol on a shared word fails the build.
 *
 * <p>To run all, in all of jcstress's compilation modes:
 *
 * <pre>
 *   mvn -B -ntp -pl engine -am -Praces test -Dtest=RacesTest
 * </pre>
 *
 * {@code -Dtest.jvm="-Dfovea.races=-m_tough_-t_PinRaces"} passes options to jcstress, with
 * underscores for spaces. The report of the last run is target/jcstress/index.html.
 */
@Tag("slow")
@Order(1)
@Timeout(value = 1, unit = TimeUnit.DAYS) // jcstress has its own limits
@Execution(ExecutionMode.CONCURRENT)
class RacesTest {
  /** Options of the short form: one JVM and 100 ms per test, mostly JVM startup. */
  private static final String SHORT = "-f 1 -iters 1 -time 100 -sc false -af NONE -hs 32";

  private static final String SHORT_JVM =
      "--enable-native-access=ALL-UNNAMED -XX:+UseSerialGC -Xmx512m -XX:-AlwaysPreTouch";
  private static final Pattern NAME =
      Pattern.compile("^JCTEST\\d+S(io\\.fovea\\.[\\w.]+?)\\d+S", Pattern.MULTILINE);
  private static final Pattern SUMMARY = Pattern.compile("Results: (\\d+) planned; (\\d+) passed");

  /**
   * A run in which a test did not get enough CPU time is repeated once. A forbidden outcome, a
   * crash or a missing result fails immediately.
   */
  @Test
  void noForbiddenOutcome() throws IOException, InterruptedException {
    Path directory = Path.of("target", "jcstress").toAbsolutePath();
    Files.createDirectories(directory);
    String output = run(directory);
    if (output.contains("[TIMEOUT]") && !output.contains("[FAILED]")) {
      output = run(directory);
    }
    Matcher summary = SUMMARY.matcher(output);
    int planned = 0;
    int passed = 0;
    while (summary.find()) {
      planned = Integer.parseInt(summary.group(1));
      passed = Integer.parseInt(summary.group(2));
    }
    String results =
        "-Dsample.seed=" + Sample.seed() + "\n" + failures(output) + "\nsee " + directory;
    assertTrue(planned > 0, () -> "jcstress ran no test\n" + results);
    assertEquals(planned, passed, () -> "tests that passed, of those planned\n" + results);
  }

  /** Runs jcstress; returns its output. */
  private static String run(Path directory) throws IOException, InterruptedException {
    try (DirectoryStream<Path> old = Files.newDirectoryStream(directory, "*.{gz,html}")) {
      for (Path file : old) {
        Files.delete(file);
      }
    }
    Path log = directory.resolve("run.log");
    Process run =
        new ProcessBuilder(command(directory))
            .directory(directory.toFile())
            .redirectErrorStream(true)
            .redirectOutput(log.toFile())
            .start();
    try {
      if (!run.waitFor(3, TimeUnit.HOURS)) {
        fail("jcstress did not end; see " + log);
      }
    } finally {
      run.destroyForcibly();
    }
    return Files.readString(log);
  }

  private static List<String> command(Path directory) throws IOException {
    String options = System.getProperty("fovea.races", "").replace('_', ' ').strip();
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-cp");
    command.add(
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")));
    command.add("org.openjdk.jcstress.Main");
    command.add("-r");
    command.add(directory.toString());
    command.addAll(List.of((options.isEmpty() ? SHORT : options).split(" +")));
    if (options.isEmpty()) {
      command.add("-t");
      command.add("^(" + String.join("|", some()) + ")$");
      command.add("-jvmArgs");
      command.add(SHORT_JVM);
    } else {
      command.add("-jvmArgsPrepend");
      command.add("--enable-native-access=ALL-UNNAMED");
    }
    return command;
  }

  /** Returns a sample of the tests, by the names in jcstress's list. */
  private static List<String> some() throws IOException {
    Sample sample = Sample.oneOf(2);
    List<String> some = new ArrayList<>();
    try (InputStream in = RacesTest.class.getResourceAsStream("/META-INF/TestList")) {
      String list = new String(Objects.requireNonNull(in).readAllBytes(), StandardCharsets.UTF_8);
      int number = 0;
      for (Matcher m = NAME.matcher(list); m.find(); number++) {
        if (sample.has(number)) {
          some.add(Pattern.quote(m.group(1)));
        }
      }
      assertTrue(number > 30, number + " tests in the list of jcstress");
    }
    return some;
  }

  /** Returns the output from the results on. */
  private static String failures(String output) {
    int at = output.lastIndexOf("RUN RESULTS:");
    return at < 0 ? output.substring(Math.max(0, output.length() - 4000)) : output.substring(at);
  }
}
