package io.fovea.streams.broker;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/**
 * A JVM that a test starts, exchanges lines with, and kills.
 *
 * <p>Lines that the child sends through {@link ParentPipe} arrive in order; its other output goes
 * to its log. The child ends with its standard input, so no process remains when the test's JVM
 * dies.
 *
 * <p>One thread talks to a child; any thread may kill it.
 */
public final class Child implements AutoCloseable {
  private static final String END = "\0";

  private final Process process;
  private final Path log;
  private final String name;
  private final PrintStream in;
  private final LinkedBlockingQueue<String> lines = new LinkedBlockingQueue<>();

  /**
   * Starts a JVM with the class path of this one.
   *
   * @param log the file for its output; appended to
   * @param options of the JVM
   * @param main its main class
   * @param args its arguments
   */
  public static Child start(Path log, List<String> options, String main, String... args)
      throws IOException {
    return start(log, classPath(), options, main, args);
  }

  static Child start(
      Path log, List<String> classPath, List<String> options, String main, String... args)
      throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    // Short-lived processes: C2 would not finish in time.
    command.addAll(List.of("-ea", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"));
    command.addAll(
        List.of(
            "--enable-native-access=ALL-UNNAMED",
            "-XX:ErrorFile=" + log.resolveSibling("hs_err_%p.log"),
            "-Dorg.apache.logging.log4j.level=WARN"));
    command.addAll(options);
    command.addAll(List.of("-cp", String.join(File.pathSeparator, classPath), main));
    command.addAll(Arrays.asList(args));
    return new Child(command, log, main.substring(main.lastIndexOf('.') + 1));
  }

  private Child(List<String> command, Path log, String name) throws IOException {
    this.log = log;
    this.name = name;
    process =
        new ProcessBuilder(command)
            .directory(log.toAbsolutePath().getParent().toFile())
            .redirectError(ProcessBuilder.Redirect.appendTo(log.toFile()))
            .start();
    in = new PrintStream(process.getOutputStream(), true, StandardCharsets.UTF_8);
    Thread reader =
        new Thread(
            () -> {
              try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8)) {
                out.lines().forEach(lines::add);
              } catch (IOException | RuntimeException e) {
                // the pipe of a killed process
              }
              lines.add(END);
            },
            "lines of " + name);
    reader.setDaemon(true);
    reader.start();
  }

  /** The entries of this JVM's class path, which surefire hides in a jar. */
  static List<String> classPath() {
    String path =
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
    return List.of(path.split(File.pathSeparator));
  }

  /** Sends a line to the child. */
  public void say(String line) {
    in.println(line);
  }

  /**
   * Returns the next line.
   *
   * @return the line; null on timeout
   * @throws AssertionError if the child has ended
   */
  public String next(Duration atMost) throws InterruptedException {
    String line = lines.poll(atMost.toNanos(), TimeUnit.NANOSECONDS);
    if (END.equals(line)) {
      lines.add(END);
      throw new AssertionError(name + " ended unexpectedly: " + tail());
    }
    return line;
  }

  /** Waits for a line and returns it; passes earlier ones to {@code others}. */
  public String await(String prefix, Duration atMost, Predicate<String> others)
      throws InterruptedException {
    long end = System.nanoTime() + atMost.toNanos();
    for (; ; ) {
      String line = next(Duration.ofNanos(Math.max(0, end - System.nanoTime())));
      if (line == null) {
        throw new AssertionError("no line \"" + prefix + "\" of " + name + ": " + tail());
      }
      if (line.startsWith(prefix)) {
        return line;
      }
      others.test(line);
    }
  }

  /** Returns the lines that were not read yet. */
  public List<String> rest() {
    List<String> all = new ArrayList<>();
    lines.drainTo(all);
    all.remove(END);
    return all;
  }

  public boolean alive() {
    return process.isAlive();
  }

  public long pid() {
    return process.pid();
  }

  /** Sends SIGKILL and waits until the process is gone. */
  public void kill() throws InterruptedException {
    process.destroyForcibly();
    if (!process.waitFor(1, TimeUnit.MINUTES)) {
      throw new AssertionError(name + " survived SIGKILL");
    }
  }

  /** Waits until the process ends; returns its status. */
  public int ended(Duration atMost) throws InterruptedException {
    if (!process.waitFor(atMost.toNanos(), TimeUnit.NANOSECONDS)) {
      throw new AssertionError(name + " does not end: " + tail());
    }
    return process.exitValue();
  }

  /** The end of the child's log. */
  String tail() {
    try {
      String text = Files.readString(log);
      return log + "\n" + text.substring(Math.max(0, text.length() - 6000));
    } catch (IOException e) {
      return log + ": " + e;
    }
  }

  @Override
  public void close() {
    process.destroyForcibly();
    try {
      process.waitFor(1, TimeUnit.MINUTES);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
