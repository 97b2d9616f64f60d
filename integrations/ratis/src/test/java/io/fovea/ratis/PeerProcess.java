package io.fovea.ratis;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;

/** A {@link PeerMain}, seen from the test. Requests by any thread; its life by one. */
final class PeerProcess {
  /** So much of what it says is in a failure. */
  private static final int LINES = 60;

  private final AtomicLong numbers = new AtomicLong();
  private final Map<String, CompletableFuture<String>> waiting = new ConcurrentHashMap<>();
  private final CompletableFuture<Void> up = new CompletableFuture<>();
  private final Process process;
  private final OutputStream in;

  /** What it says of itself. */
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
        }
      }
    } catch (IOException e) {
      // it was killed
    }
    ended = true;
    up.completeExceptionally(new IOException("The peer has ended: " + lastErrors()));
    waiting.values().forEach(f -> f.complete("unknown killed"));
  }

  private String lastErrors() {
    try {
      List<String> lines = Files.readAllLines(errors, StandardCharsets.UTF_8);
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

  /** Asks, and waits for the answer; "unknown" where none comes in time. */
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
   * Lets no file of the process grow beyond a size, as if its disk were full there.
   *
   * @param bytes the size; {@link FileLimit#NONE} for any
   */
  void limit(long bytes) {
    FileLimit.set(pid(), bytes);
  }

  void signal(String name) throws IOException, InterruptedException {
    new ProcessBuilder("kill", "-" + name, Long.toString(pid())).start().waitFor();
  }

  /** SIGKILL, which ends one that was stopped as well. */
  void kill() {
    process.destroyForcibly();
    try {
      process.waitFor();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
