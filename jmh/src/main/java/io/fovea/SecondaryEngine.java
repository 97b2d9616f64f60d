package io.fovea;

import io.fovea.config.Translation;
import io.fovea.schema.EntryHints;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A {@link SecondaryStore} in a separate process, which looks up records on command.
 *
 * <p>Applications have one engine. Several in one JVM share compiled code, with the branches of all
 * of them; docs/benchmarks/hints.md has the cost of that.
 *
 * <p>One thread. The process ends when its standard input closes, so at the latest with this one.
 */
final class SecondaryEngine implements AutoCloseable {
  /** The engines compared. */
  enum Kind {
    /** The paper's "conventional" engine. */
    LATCHED("latched table, no hints", Translation.LATCHED, Hints.NONE, false),
    LATCHED_HINTS("latched table, all hints", Translation.LATCHED, Hints.ALL, false),
    /** The default translation, without hints. */
    PREDICTIVE("predictive, no hints", Translation.PREDICTIVE, Hints.NONE, false),
    PREDICTIVE_HINTS("predictive, all hints", Translation.PREDICTIVE, Hints.ALL, false),
    REMEMBERED("predictive, all hints, remembered", Translation.PREDICTIVE, Hints.ALL, true);

    final String title;
    private final Translation translation;
    private final Hints hints;
    private final boolean remembered;

    Kind(String title, Translation translation, Hints hints, boolean remembered) {
      this.title = title;
      this.translation = translation;
      this.hints = hints;
      this.remembered = remembered;
    }

    private SecondaryStore store(int records, int pageSize, int size) {
      EntryHints entries = hints.pages() ? EntryHints.PAGE_FRAME_SLOT : EntryHints.NONE;
      return new SecondaryStore(
          records, pageSize, size, 1, 1, translation, hints, remembered, entries);
    }
  }

  private final Process process;
  private final BufferedReader answers;

  /** Starts the process, which fills the store in the background. Uses the options of this JVM. */
  SecondaryEngine(Kind kind, int records, int pageSize, int size) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
    command.add("-cp");
    command.add(System.getProperty("java.class.path"));
    command.add(SecondaryEngine.class.getName());
    for (Object argument : List.of(kind, records, pageSize, size)) {
      command.add(argument.toString());
    }
    try {
      process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    answers = process.inputReader();
  }

  void await() {
    answer();
  }

  /**
   * Runs lookups for a time.
   *
   * @param lookups lookups per transaction
   * @return nanoseconds per lookup
   */
  double run(int lookups, long nanos) {
    try {
      process.outputWriter().write(lookups + " " + nanos + "\n");
      process.outputWriter().flush();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return Double.parseDouble(answer());
  }

  private String answer() {
    try {
      String line = answers.readLine();
      if (line == null) {
        throw new IllegalStateException("The process of an engine ended early: " + process.info());
      }
      return line;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() {
    process.destroy();
  }

  /** The child process: KIND RECORDS PAGE_SIZE SIZE. */
  public static void main(String[] args) throws IOException {
    try (SecondaryStore s =
        Kind.valueOf(args[0])
            .store(
                Integer.parseInt(args[1]), Integer.parseInt(args[2]), Integer.parseInt(args[3]))) {
      System.out.println("filled");
      Map<Integer, SecondaryStore.Walk> walks = new HashMap<>();
      BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        String[] parts = line.split(" ");
        SecondaryStore.Walk walk =
            walks.computeIfAbsent(
                Integer.parseInt(parts[0]), group -> s.walk(s.indexes.get(0), group));
        System.out.println(walk.run(Long.parseLong(parts[1])));
      }
    }
  }
}
