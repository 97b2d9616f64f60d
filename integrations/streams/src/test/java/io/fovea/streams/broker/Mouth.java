package io.fovea.streams.broker;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * The child's side of {@link Child}: lines in, lines out, and the end of the process at the end of
 * the lines.
 */
public final class Mouth {
  private final PrintStream out;
  private final BlockingQueue<String> in = new LinkedBlockingQueue<>();

  /** Takes standard output for itself; what else is written to it goes to standard error. */
  public Mouth() {
    out = System.out;
    System.setOut(System.err);
    Thread reader =
        new Thread(
            () -> {
              try (BufferedReader lines =
                  new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
                lines.lines().forEach(in::add);
              } catch (IOException | RuntimeException e) {
                // As good as the end.
              }
              // Whoever started this process is gone: nobody reads what it does.
              Runtime.getRuntime().halt(3);
            },
            "parent");
    reader.setDaemon(true);
    reader.start();
  }

  /** Sends a line to the parent. */
  public synchronized void say(String line) {
    out.println(line);
    out.flush();
  }

  /** The next line of the parent. */
  public String next() throws InterruptedException {
    return in.take();
  }
}
