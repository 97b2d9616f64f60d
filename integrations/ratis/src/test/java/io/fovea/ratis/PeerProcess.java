package io.fovea.ratis;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A {@link PeerMain}, from the test's side. Any thread may send requests; one thread starts and
 * stops it.
 */
final class PeerProcess {
  /** Lines of output that a failure includes. */
  private static final int LINES = 60;

  private final AtomicLong numbers = new AtomicLong();
  private final Map<String, CompletableFuture<String>> waiting = new ConcurrentHashMap<>();
  private final CompletableFuture<Void> up = new CompletableFuture<>();
  private final List<String> said = Collections.synchronizedList(new ArrayList<>());
  private final Process process;
  private final OutputStream in;

  /** Its standard error. */
  private final Path errors;

  private volatile boolean ended;

  PeerProcess(Peer self, Path directory, String listen, String flags, List<Peer> peers)
      throws IOException {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx160m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-Xshare:auto",
                "--enable-native-access=ALL-UNNAMED",
                "-Djava.util.logging.config.file="
                    + System.getProperty("java.util.logging.config.file", "none"),
                "-cp",
                System.getProperty("java.class.path"),
                PeerMain.class.getName(),
                self.id(),
                directory.toString(),
                listen,
                flags));
    for (Peer p : peers) {
      command.add(p.id() + "=" + p.address());
    }
    errors = directory.resolveSibling(self.id() + ".err");
    process =
        new ProcessBuilder(command)
            .redirectError(ProcessBuilder.Redirect.appendTo(errors.toFile()))
            .start();
    in = process.getOutputStream();
    Thread.ofPlatform().daemon().name("peer-" + self.id()).start(this::listen);
  }

  private void listen() {
    try (BufferedReader out =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      for (String line; (line = out.readLine()) != null; ) {
        if (line.equals("up")) {
          up.complete(null);
          continue;
        }
        String[] parts = line.split(" ", 2);
        CompletableFuture<String> f = waiting.remove(parts[0]);
        if (f != null) {
          f.complete(parts[1]);
        } else if (!Character.isDigit(line.isEmpty() ? ' ' : line.charAt(0))) {
          // A JVM that can't start reports it here.
          said.add(line);
        }
      }
    } catch (IOException e) {
      // it was killed
    }
    ended = true;
    up.completeExceptionally(
        new IOException("The peer has ended with " + status() + ": " + said + "\n" + lastErrors()));
    waiting.values().forEach(f -> f.complete("unknown killed"));
  }

  private String status() {
    try {
      return process.waitFor(1, TimeUnit.SECONDS)
          ? "status " + process.exitValue()
          : "its output alone";
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return e.toString();
    }
  }

  /** Leaves out the JVM's warnings about Netty. */
  private String lastErrors() {
    try {
      List<String> lines =
          Files.readAllLines(errors, StandardCharsets.UTF_8).stream()
              .filter(line -> !line.contains("Unsafe") && !line.contains("PlatformDependent0"))
              .toList();
      return String.join("\n", lines.subList(Math.max(0, lines.size() - LINES), lines.size()));
    } catch (IOException e) {
      return e.toString();
    }
  }

  void awaitUp() throws Exception {
    up.get(60, TimeUnit.SECONDS);
  }

  boolean isUp() {
    return up.isDone() && !ended;
  }

  long pid() {
    return process.pid();
  }

  /** Sends a request and waits for the answer; "unknown" if none arrives in time. */
  String ask(String request, long millis) {
    String number = Long.toString(numbers.incrementAndGet());
    CompletableFuture<String> f = new CompletableFuture<>();
    waiting.put(number, f);
    try {
      synchronized (in) {
        in.write((number + " " + request + "\n").getBytes(StandardCharsets.UTF_8));
        in.flush();
      }
      if (ended) {
        return "unknown ended";
      }
      return f.get(millis, TimeUnit.MILLISECONDS);
    } catch (IOException e) {
      return "unknown " + e.getMessage();
    } catch (TimeoutException e) {
      return "unknown no answer";
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return "unknown interrupted";
    } catch (java.util.concurrent.ExecutionException e) {
      throw new AssertionError(e);
    } finally {
      waiting.remove(number);
    }
  }

  /**
   * Limits the size of the process's files, which simulates a full disk.
   *
   * @param bytes the limit; {@link FileLimit#NONE} for none
   */
  void limit(long bytes) {
    FileLimit.set(pid(), bytes);
  }

  void signal(String name) throws IOException, InterruptedException {
    new ProcessBuilder("kill", "-" + name, Long.toString(pid())).start().waitFor();
  }

  /** Sends SIGKILL, which also ends a stopped process. */
  void kill() {
    process.destroyForcibly();
    try {
      process.waitFor();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
