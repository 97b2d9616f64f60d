package io.fovea.translations;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * A measured engine in a separate process, which works on command.
 *
 * <p>Applications have one engine. Several in one JVM would share compiled code, with the branches
 * of all of them. So each has its own JVM; all are open at once, and one works at a time.
 *
 * <pre>
 *   this process      "get 2 0 1000000 64 200000000"  ───►   the engine's, {@link Server}
 *                     ◄───   "812345 200031234 ..."          numbers
 * </pre>
 *
 * <p>One thread. The process ends when its standard input closes, so at the latest with this one.
 */
final class Engine implements AutoCloseable {
  private static final long END_SECONDS = 60;

  final String title;
  private final Process process;
  private final BufferedReader answers;

  private Engine(String title, Class<?> main, List<String> arguments) {
    this.title = title;
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
    command.addAll(arguments);
    try {
      process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    answers = process.inputReader();
  }

  /**
   * Starts engines, two at a time, since each needs a thread until it is ready.
   *
   * @param main their class, which calls {@link #serve}
   * @return the engines, ready
   */
  static List<Engine> start(Class<?> main, Map<String, List<String>> arguments) {
    List<Engine> engines = new ArrayList<>();
    int ready = 0;
    for (Map.Entry<String, List<String>> e : arguments.entrySet()) {
      engines.add(new Engine(e.getKey(), main, e.getValue()));
      if (engines.size() - ready == 2) {
        engines.get(ready++).answer();
      }
    }
    while (ready < engines.size()) {
      engines.get(ready++).answer();
    }
    return engines;
  }

  /**
   * Executes a command.
   *
   * @return the answer
   */
  double[] ask(String command) {
    try {
      process.outputWriter().write(command + "\n");
      process.outputWriter().flush();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return Arrays.stream(answer().split(" ")).mapToDouble(Double::parseDouble).toArray();
  }

  private String answer() {
    try {
      String line = answers.readLine();
      if (line == null) {
        throw new IllegalStateException("The process of '" + title + "' has ended.");
      }
      return line;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Tells the engine to close, and waits for its process. */
  @Override
  public void close() {
    try {
      process.outputWriter().close();
      if (!process.waitFor(END_SECONDS, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (IOException e) {
      process.destroyForcibly();
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }

  static void close(List<Engine> engines) {
    engines.forEach(Engine::close);
  }

  // -------------------------------------------------------------------------- the engine's process

  /** Reports that the engine is ready, and executes commands until the input ends. */
  static void serve(Function<String[], double[]> work) throws IOException {
    System.out.println("ready");
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      StringBuilder s = new StringBuilder();
      for (double d : work.apply(line.split(" "))) {
        s.append(s.isEmpty() ? "" : " ").append(d);
      }
      System.out.println(s);
    }
  }
}
